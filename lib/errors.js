// The error classes of the public API, each with a stable code. Errors of the core cross the bridge as data and become
// instances here. Knows nothing of who throws them.

const DEFAULT_CODE = Symbol("the code of the class");

/** The base of every error that this package throws itself. */
export class AgentError extends Error {
  /** @param {string} message @param {{ code?: string, cause?: unknown }} [options] */
  constructor(message, options) {
    // `cause: undefined` means no cause: an own property of that value would show in every inspection.
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = options?.code ?? this[DEFAULT_CODE];
  }
}

export class ProviderError extends AgentError {
  /** @param {string} message @param {{ code?: string, cause?: unknown, status?: number }} [options] */
  constructor(message, options) {
    super(message, options);
    if (options?.status !== undefined) this.status = options.status;
  }
}

export class ToolError extends AgentError {}
export class CodecError extends AgentError {}
export class AbortError extends AgentError {}
export class ReentrancyError extends AgentError {}
export class ClosedError extends AgentError {}

export class ConfigError extends AgentError {
  /** @param {string} message @param {{ code?: string, cause?: unknown, file?: string, path?: string }} [options] */
  constructor(message, options) {
    super(message, options);
    if (options?.file !== undefined) this.file = options.file;
    if (options?.path !== undefined) this.path = options.path;
  }
}

export class SandboxError extends AgentError {}

export class CheckpointConflictError extends AgentError {
  /** @param {string} sessionId @param {number} expected @param {number} actual the heads, as sequence numbers */
  constructor(sessionId, expected, actual) {
    super(`session ${sessionId} was written by another: expected its head at ${expected}, found it at ${actual}`);
    this.sessionId = sessionId;
    this.expected = expected;
    this.actual = actual;
  }
}

const CLASSES = new Map(
  /** @type {[string, any][]} */ ([
    ["agent_error", AgentError],
    ["provider_error", ProviderError],
    ["tool_error", ToolError],
    ["codec_error", CodecError],
    ["aborted", AbortError],
    ["reentrancy", ReentrancyError],
    ["closed", ClosedError],
    ["config_error", ConfigError],
    ["sandbox_error", SandboxError],
    ["checkpoint_conflict", CheckpointConflictError],
  ]),
);

for (const [code, errorClass] of CLASSES) {
  // On the prototype and not enumerable, as the language's own errors have it: the stack then begins with the name, and
  // the classes that a host derives inherit both.
  const name = { value: errorClass.name, writable: true, configurable: true };
  Object.defineProperty(errorClass.prototype, "name", name);
  Object.defineProperty(errorClass.prototype, DEFAULT_CODE, { value: code });
}

/**
 * The error that the core told of.
 * @param {{ code: string, message: string, status?: number, file?: string, path?: string,
 *   sessionId?: string, expected?: number, actual?: number }} data
 * @returns {AgentError} of the class that the code names; an AgentError with that code where none does
 */
export function errorFromData(data) {
  if (data.code === "checkpoint_conflict") {
    return new CheckpointConflictError(data.sessionId, data.expected, data.actual);
  }
  const errorClass = CLASSES.get(data.code) ?? AgentError;
  return new errorClass(data.message, data);
}

/** What is wrong with a hooks.json file crosses as JSON text, for it has more than a message. */
export function errorOfHookFile(error) {
  const { message, file, path } = JSON.parse(error.message);
  return new ConfigError(message, { file, path: path ?? undefined });
}
