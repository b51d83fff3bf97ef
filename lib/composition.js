// What an agent is put together from, given its checked options: what the core is told, and what stays in this half.
import { randomBytes } from "node:crypto";

import { UserInput } from "./ask-user.js";
import { BACKGROUND_TOOLS, BUILTIN_TOOLS, withFittingBash } from "./builtin-tools.js";
import { loadDefinitions } from "./definitions.js";
import { finalAnswerTool } from "./final-answer.js";
import { sortMiddleware } from "./middleware.js";
import { addonFolder } from "./native.js";
import { composePolicies, defaultPolicy, nativePolicy } from "./policy.js";
import { childRole, kindsOfAgents, rootRole } from "./roles.js";
import { HostSandbox } from "./sandbox.js";
import { resolveProjectPaths } from "./sessions/project-paths.js";
import { prepareTools } from "./tools.js";

const DEFAULT_COMMAND_TIMEOUT_MS = 120_000;
const DEFAULT_MAX_OUTPUT_BYTES = 50_000_000;
const DEFAULT_LIMITS = { maxTotal: 100, maxDetached: 20, bufferBytes: 1024 * 1024 };
/** Random bytes that make names unguessable. */
const SEED_BYTES = 16;
const MS_PER_DAY = 86_400_000;

const TASK_TOOLS = ["TaskCreate", "TaskUpdate", "TaskGet", "TaskList"];

/**
 * @param {object} checked the options
 * @param {{ stores: boolean }} storage whether sessions are stored
 * @returns {{ options: object, policies: object, parts: object }} what the core is told as JSON data, native policies, and
 *   the host's own objects
 * @throws {ConfigError} for a tool or a definition that cannot be used
 */
export function compose(checked, { stores }) {
  const definitions = loadDefinitions(checked);
  const own = prepareTools(checked.tools);
  const tools = own.filter(({ name }) => isSelected(name, checked));
  if (checked.outputSchema !== undefined) tools.push(finalAnswerTool(checked.outputSchema, own));
  const builtin = builtinTools(checked, own, { stores, definitions });
  const middleware = sortMiddleware(checked.use);
  const policies = policiesOf(checked);
  const shown = [
    ...tools.map(({ name, description, parameters }) => Object.freeze({ name, description, parameters })),
    ...builtin,
  ];
  const { agents, skills } = definitions;
  const root = rootRole(checked, shown, { skills, finalAnswer: checked.outputSchema !== undefined });
  return {
    options: familyOptions(checked, { tools, builtin, middleware, policies, stores, definitions }),
    policies: { root: policies.root, subagents: policies.subagents },
    parts: {
      rootRole: root,
      childRole: (index, model) => childRole(root, checked, agents[index], model, skills),
      tools,
      middleware,
      permission: checked.permission,
      childPermission: policies.child,
      onApproval: checked.onApproval,
      userInput: checked.onAskUser === undefined ? undefined : new UserInput(checked.onAskUser),
      redact: checked.redact,
      automatic: checked.compacts,
      contextWindow: checked.windowTokens,
      compactor: checked.compactor,
      hostSandbox: checked.sandbox,
      sandbox: checked.sandbox === undefined ? undefined : new HostSandbox(checked.sandbox, checked.workdir),
    },
  };
}

function isSelected(name, { allowedTools, disallowedTools }) {
  return (allowedTools === undefined || allowedTools.includes(name)) && !disallowedTools?.includes(name);
}

/** The built-in tools that the agent has, as a model is shown them. */
function builtinTools(checked, own, { stores, definitions: { agents, skills } }) {
  const taken = new Set(own.map(({ name }) => name));
  const isThere = (name) => {
    if (name === "context") return stores;
    if (name === "Agent") return checked.agents;
    if (name === "load_skill") return skills.length > 0;
    if (name === "ask_user") return checked.onAskUser !== undefined;
    if (BACKGROUND_TOOLS.includes(name)) return checked.background;
    return !TASK_TOOLS.includes(name) || checked.tasks;
  };
  const there = BUILTIN_TOOLS.filter(({ name }) => !taken.has(name) && isSelected(name, checked) && isThere(name));
  return withFittingBash(there).map((tool) => {
    if (tool.name !== "Agent") return tool;
    return Object.freeze({ ...tool, description: `${tool.description} Kinds of agents:\n${kindsOfAgents(agents)}` });
  });
}

/** Native policies decide in the core; where a function of the host must be asked, its object does. */
function policiesOf({ permission, subagentPermission }) {
  const root = permission === undefined ? undefined : nativePolicy(permission);
  const subagents = subagentPermission === undefined ? undefined : nativePolicy(subagentPermission);
  const hostRoot = permission !== undefined && root === undefined;
  const hostChild = hostRoot || (subagentPermission !== undefined && subagents === undefined);
  const parents = permission ?? (hostChild ? defaultPolicy() : undefined);
  const child =
    hostChild && subagentPermission !== undefined ? composePolicies(parents, subagentPermission) : permission;
  return { root, subagents, hostRoot, hostChild, child };
}

function familyOptions(checked, { tools, builtin, middleware, policies, stores, definitions: { agents, skills } }) {
  const limits = { ...DEFAULT_LIMITS, ...checked.backgroundLimits };
  return {
    workdir: checked.workdir,
    builtinTools: builtin.map(({ name }) => name),
    denySymlinks: checked.fileTools.symlinks === "deny",
    maxSnapshotBytes: checked.fileTools.maxSnapshotBytes,
    commands: {
      addonFolder,
      environment: checked.environment,
      timeoutMs: checked.bash.timeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS,
      maxOutputBytes: checked.bash.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES,
      memoryBytes: checked.bash.memoryBytes,
      sandboxed: checked.sandbox !== undefined,
    },
    hookFilesHome: checked.hookFiles ? checked.home : undefined,
    compaction: { automatic: checked.compacts, host: checked.compactor !== undefined },
    stores,
    recovers: checked.crashRecovery === "safe",
    audits: checked.permissionAudit,
    hostPolicy: policies.hostRoot,
    hostChildPolicy: policies.hostChild,
    dryRun: checked.permissionMode === "dry-run",
    hasApproval: checked.onApproval !== undefined,
    modelName: checked.modelName,
    maxTurns: checked.maxTurns,
    maxParallelTools: checked.maxParallelTools,
    maxParallelSubagents: checked.maxParallelSubagents,
    definitions: agents.map(({ name, tools: named, model }) => ({ name, tools: named, model })),
    hasTiers: checked.models !== undefined,
    skills: skills.map(({ name, folder }) => ({ name, folder })),
    background: checked.background,
    backgroundLimits: { ...limits, commandTimeoutMs: checked.bash.backgroundTimeoutMs },
    tasks: checked.tasks ? taskOptions(checked, stores) : undefined,
    nameSeed: randomBytes(SEED_BYTES).toString("hex"),
    tools: tools.map(({ name, schemaText, timeoutMs, isFinal }) => ({
      name,
      schema: schemaText ?? undefined,
      timeoutMs,
      isFinal: isFinal === true,
    })),
    middleware: {
      beforeAgent: middleware.beforeAgent.length > 0,
      beforeModel: middleware.beforeModel.length > 0,
      afterAgent: middleware.afterAgent.length > 0,
      wrapToolCall: middleware.wrapToolCall.length > 0,
    },
    hostRedacts: checked.redact !== undefined,
  };
}

function taskOptions(checked, stores) {
  const maxAgeDays = checked.cleanup?.maxAgeDays;
  return {
    folder: resolveProjectPaths(checked).tasksDir,
    list: checked.taskListId,
    temporary: !stores,
    unusedBeforeMs:
      maxAgeDays === undefined ? undefined : Math.max(0, Math.floor(Date.now() - maxAgeDays * MS_PER_DAY)),
  };
}
