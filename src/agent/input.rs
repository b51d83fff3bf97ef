//! What the host says when it makes a family and when it starts a run. The JS half has validated it; what does not parse
//! is a fault of ours.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::CoreError;
use crate::tools::ToolSpecification;
use crate::types::{CallId, MessageOutline, RunKey, message};

/// Which middleware functions there are: for others, nothing is asked.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MiddlewareOptions {
    pub before_agent: bool,
    pub before_model: bool,
    pub after_agent: bool,
    pub wrap_tool_call: bool,
}

/// Who compacts conversations.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactionOptions {
    /// Before model calls, and where a request was too long; not only when the host asks.
    pub automatic: bool,
    /// The host has a compactor.
    pub host: bool,
}

/// How commands run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommandOptions {
    /// Where the addon lies: the supervisor is beside it.
    pub addon_folder: PathBuf,
    /// The whole environment of every command.
    pub environment: Vec<(String, String)>,
    /// How long a command of the `bash` tool may take where its call says nothing.
    pub timeout_ms: u64,
    /// How much a command of the `bash` tool may write.
    pub max_output_bytes: u64,
    /// How much memory a command may hold.
    pub memory_bytes: Option<u64>,
    /// The host has a sandbox that is to wrap each command.
    pub sandboxed: bool,
}

/// A kind of child, as far as the core must know it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefinitionOptions {
    pub name: String,
    /// Names of the tools that it is narrowed to; absent: all of its parent's.
    pub tools: Option<Vec<String>>,
    pub model: Option<String>,
}

/// A skill that can be loaded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillOptions {
    pub name: String,
    pub folder: PathBuf,
}

/// How much may go on in the background.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackgroundLimits {
    /// Groups of children and commands, at once.
    pub max_total: usize,
    /// Commands, at once.
    pub max_detached: usize,
    /// What is kept of a command's output that nobody has read.
    pub buffer_bytes: usize,
    /// How long a command or a child may take; absent: for ever.
    pub max_task_ms: Option<u64>,
    /// How long a command may take where its call says nothing; absent: for ever.
    pub command_timeout_ms: Option<u64>,
}

/// Where task lists are.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskOptions {
    pub folder: PathBuf,
    /// The list that all sessions share; absent: each has its own.
    pub list: Option<String>,
    /// Lists of sessions go when the family closes, as the sessions do.
    pub temporary: bool,
    /// Lists in which nothing was written since then are removed, in milliseconds since the epoch; absent: none.
    pub unused_before_ms: Option<u64>,
}

/// What a family is made of.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FamilyOptions {
    /// The name that model events carry.
    pub model_name: String,
    pub max_turns: u32,
    pub max_parallel_tools: usize,
    /// Children that run at once, over the whole family.
    pub max_parallel_subagents: usize,
    /// The kinds of children there are; none where there is no `Agent` tool.
    #[serde(default)]
    pub definitions: Vec<DefinitionOptions>,
    /// Models are chosen by tier; otherwise by name.
    #[serde(default)]
    pub has_tiers: bool,
    #[serde(default)]
    pub skills: Vec<SkillOptions>,
    /// Commands may be left running.
    pub background: bool,
    pub background_limits: BackgroundLimits,
    /// Absent: there are no task lists.
    pub tasks: Option<TaskOptions>,
    /// Makes the names of children and groups unguessable.
    pub name_seed: String,
    pub tools: Vec<ToolSpecification>,
    pub middleware: MiddlewareOptions,
    /// The folder that tools work in, absolute.
    pub workdir: PathBuf,
    /// Names of the built-in tools that the agent has.
    pub builtin_tools: Vec<String>,
    /// File tools follow no link at all.
    pub deny_symlinks: bool,
    /// Of files of more bytes it is not stored what they held before a change; absent: the default.
    pub max_snapshot_bytes: Option<u64>,
    /// How commands run.
    pub commands: CommandOptions,
    /// The agent's home, where hooks.json files are to be read; absent: none is.
    pub hook_files_home: Option<PathBuf>,
    pub compaction: CompactionOptions,
    /// Sessions are stored.
    pub stores: bool,
    /// Calls that a stored session has no result of get a failed one.
    pub recovers: bool,
    /// Decisions of permission are stored with the session.
    pub audits: bool,
    /// The host is asked for each decision; otherwise the native policy, or the SDK's defaults.
    pub host_policy: bool,
    /// The host is asked for each decision on a child's calls; otherwise its own native policy, or its parent's.
    #[serde(default)]
    pub host_child_policy: bool,
    /// Calls run whatever the policy says.
    pub dry_run: bool,
    /// There is a handler to ask for approval.
    pub has_approval: bool,
    /// The host masks diagnostics itself.
    pub host_redacts: bool,
}

/// A compaction that the host asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactRequest {
    pub instructions: Option<String>,
}

/// What a run is started with.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartOptions {
    pub run: RunKey,
    pub session_id: String,
    /// Somebody pulls the run's events.
    pub stream: bool,
    /// The caller's signal was aborted before the run was started.
    pub aborted: bool,
    pub max_turns: Option<u32>,
    pub max_total_tokens: Option<f64>,
    /// The call to the approval handler that the run was started in, if it was.
    pub inside_approval: Option<CallId>,
    /// The run was started in a callback of a child, which may wait for what the run starts.
    #[serde(default)]
    pub inside_child: bool,
    /// There is a SteerController to ask.
    pub steer: bool,
    /// The run is a compaction that the host asked for.
    pub compact: Option<CompactRequest>,
    /// JSON text of the input messages; absent for one non-empty string.
    pub messages: Option<String>,
}

impl StartOptions {
    /// The outlines of the input messages.
    ///
    /// # Errors
    /// `CoreError::Internal` when the host let a message through that it should have refused.
    pub fn input(&self) -> Result<Vec<MessageOutline>, CoreError> {
        match &self.messages {
            _ if self.compact.is_some() => Ok(Vec::new()),
            None => Ok(vec![MessageOutline::user_text(false)]),
            Some(json) => read_messages(json),
        }
    }
}

/// The outlines of an array of messages.
pub fn read_messages(json: &str) -> Result<Vec<MessageOutline>, CoreError> {
    let messages: Vec<&RawValue> =
        serde_json::from_str(json).map_err(|error| CoreError::Internal(format!("messages: {error}")))?;
    messages
        .into_iter()
        .enumerate()
        .map(|(index, text)| {
            message::outline(text.get()).map_err(|problem| CoreError::Internal(format!("messages[{index}].{problem}")))
        })
        .collect()
}
