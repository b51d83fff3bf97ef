//! The protocol: everything that the core can ask of its host, in one enum. `lib/effects.js` has one `case` for each
//! variant (`tests/protocol.rs` checks that the two agree). Effects with an `id` are calls, answered by that id; the
//! others only tell.

use serde::Serialize;

use crate::event::{DecidedBy, ErrorReference, Event, HookError};
use crate::types::{
    CallId, CompactionKind, Decision, GroupKey, HandlerId, HookName, HookStatus, OperationKey, RunKey, RunStopReason,
    Usage,
};

/// Why a pending call was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AbortReason {
    /// The call's own deadline passed.
    Timeout,
    /// The answer is no longer wanted: the run was cancelled, or went on without it.
    Cancel,
}

/// Where in a run middleware is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MiddlewarePoint {
    BeforeAgent,
    BeforeModel,
    AfterAgent,
}

/// Which of the steering queues is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SteerKind {
    /// Before a model call: steered messages alone.
    Steer,
    /// When the run would stop: steered messages, else follow-ups.
    FollowUp,
    /// Nothing is taken: answered with whether anything waits.
    Waiting,
}

/// How a message joins what the next request sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// As a message of its own.
    Push,
    /// Its blocks follow those of the last message, which has the same role.
    Join,
    /// Not at all: it holds nothing that an API would take.
    Skip,
}

/// What a hook event carries beside its identity. Values that live in the host are named by their key.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookSubject {
    pub event: HookName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<HookStatus>,
    /// Key of the tool result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<CallId>,
    /// The run's result, without its transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_result: Option<RunSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<HookError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionSubject>,
}

/// What a compaction came to, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CompactionSizes {
    pub before: f64,
    pub after: f64,
}

/// What events of a compaction carry.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSubject {
    /// Which of its run's it is, from 1.
    pub number: u32,
    pub kind: CompactionKind,
    pub before: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

impl HookSubject {
    /// An event that carries nothing yet.
    pub fn of(event: HookName) -> HookSubject {
        HookSubject {
            event,
            call: None,
            status: None,
            result: None,
            run_result: None,
            error: None,
            duration_ms: None,
            compaction: None,
        }
    }
}

/// What a run came to. Its text stays with the host, as all text does.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    pub usage: Usage,
    pub stop_reason: RunStopReason,
    /// The call that was the final answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<CallId>,
}

/// One event of a session's log. What the host keeps is named by its key.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Recorded<'a> {
    /// Message `index` of what is kept under `from`, or of the run's input.
    User {
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<CallId>,
        index: usize,
    },
    Assistant {
        key: CallId,
    },
    ToolStarted {
        id: &'a str,
        name: &'a str,
        turn: u32,
    },
    ToolResult {
        key: CallId,
        turn: u32,
    },
    FileSnapshot {
        path: &'a str,
        /// Absent where there was no file, and where it was too large to keep.
        before: Option<&'a str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        encoding: Option<&'static str>,
        /// SHA-256 of what the file will hold, in hexadecimal; absent where it is to be deleted.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<&'a str>,
        turn: u32,
    },
    PermissionDecision {
        call: CallId,
        decision: Decision,
        #[serde(skip_serializing_if = "Option::is_none")]
        rule_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        simulated: bool,
        by: DecidedBy,
        turn: u32,
    },
}

/// How a conversation is compacted.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "how", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CompactionChange<'a> {
    /// These results, as (message, position), become references.
    References { results: &'a [(usize, usize)], before: f64 },
    /// The messages before `to`, but for `except`, are replaced by the summary kept under `summary`, or by a marker.
    Cut { to: usize, except: Option<usize>, summary: Option<CallId>, before: f64 },
}

/// A call that the core made.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MadeCall<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub input: &'a serde_json::Value,
}

/// How a group of children ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompletionStatus {
    Completed,
    Partial,
    Failed,
    Cancelled,
}

/// How one child ended. Its text stays with the host.
#[derive(Debug, Serialize)]
pub struct ChildReport<'a> {
    pub name: &'a str,
    pub agent: &'a str,
    pub status: HookStatus,
    /// Absent where it never began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
}

/// What a background command came to.
#[derive(Debug, Serialize)]
pub struct CommandReport<'a> {
    pub label: &'a str,
    pub content: &'a str,
    pub status: CompletionStatus,
}

/// What a group of children came to, in the order of the tasks.
#[derive(Debug, Serialize)]
pub struct Completion<'a> {
    pub id: &'a str,
    pub label: &'a str,
    pub status: CompletionStatus,
    pub children: Vec<ChildReport<'a>>,
}

/// One thing that the core asks of its host, or tells it.
#[derive(Debug, Serialize)]
#[serde(tag = "t", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Effect<'a> {
    /// Call the model with the session's conversation. Answered with `{ message, usage, stopReason?, refused? }`.
    Model {
        id: CallId,
        run: RunKey,
        turn: u32,
        /// Text that this request ends with, and nothing stores.
        #[serde(skip_serializing_if = "Option::is_none")]
        reminder: Option<&'a str>,
    },
    /// Validate a call's input by the tool's own validator. Answered with nothing.
    Check { id: CallId, run: RunKey, call: CallId, tool: usize },
    /// Execute a tool on its validated input. Answered with whether the result, which is kept, is an error.
    Tool { id: CallId, run: RunKey, call: CallId, tool: usize, timed: bool },
    /// Run the onion of `wrapToolCall`. Answered like `Tool`; each `next()` of the innermost comes as `Driver` input.
    WrapTool { id: CallId, run: RunKey, call: CallId },
    /// The `next()` numbered `index` of the onion `wrap` has this result.
    WrapNext { run: RunKey, wrap: CallId, index: u32, result: CallId },
    /// Keep, under `key`, the call kept under `call` with the path that permission sees in place of the model's.
    AskedCall { run: RunKey, key: CallId, call: CallId, path: &'a str },
    /// Measure what the next request would come to. Answered with `{ tokens, window }`.
    Measure { id: CallId, run: RunKey },
    /// Tell what a compaction could do. Answered with `{ pieces, fixed }`.
    Outline { id: CallId, run: RunKey },
    /// Have the model summarise the messages before `to`, but for `except`. Answered with what it used.
    Summarise {
        id: CallId,
        run: RunKey,
        to: usize,
        except: Option<usize>,
        instructions: Option<&'a str>,
        max_tokens: u32,
    },
    /// Put the compacted conversation in the place of the old, in the log first. Answered with what is left.
    Compact { id: CallId, run: RunKey, change: CompactionChange<'a> },
    /// Ask the host's compactor. Answered with `{ compacted, told }`: as `Compact`, or nothing where it
    /// changed nothing; and what it says of that.
    AskCompactor { id: CallId, run: RunKey, instructions: Option<&'a str> },
    /// Whether the error of the model call `call` says that the request was too long. Answered with whether it does.
    IsOverflow { id: CallId, run: RunKey, call: CallId },
    /// Execute a built-in tool whose work is the host's. Answered like `Tool`.
    HostTool { id: CallId, run: RunKey, call: CallId, name: &'a str },
    /// Read the session's log into the conversation; with `recover`, calls without a result get a failed one. Answered with
    /// how many messages there are, and what was mended.
    Load { id: CallId, run: RunKey, recover: bool },
    /// Write events into the session's log. Answered with nothing, when they are durable.
    Record { id: CallId, run: RunKey, events: &'a [Recorded<'a>] },
    /// The session is stored; what is kept of it in memory may go.
    ForgetSession { session: &'a str },
    /// Keep, under `key`, a call that no model made: permission is asked about it.
    KeepCall { run: RunKey, key: CallId, call: MadeCall<'a> },
    /// Have the host's sandbox wrap a command. Answered with the command line that runs it inside.
    WrapCommand { id: CallId, run: RunKey, command: &'a str },
    /// Write a hook event, made of `make`, as JSON text for commands; with `keep`, handlers will be given it under `key`.
    HookEvent { id: CallId, run: RunKey, key: CallId, make: &'a HookSubject, keep: bool },
    /// Have the host mask the secrets of texts. Answered with as many texts.
    Redact { id: CallId, run: RunKey, texts: &'a [String] },
    /// Ask the host's policy about a call; that of the root agent, if `enforced`. Answered with a verdict.
    Policy { id: CallId, run: RunKey, call: CallId, enforced: bool },
    /// Ask the host's policy whether a search may show a path. Answered with whether it may.
    Visible { id: CallId, run: RunKey, call: CallId, path: &'a str },
    /// Ask the approval handler about a call. Answered with `allow`, or anything else.
    Approval { id: CallId, run: RunKey, call: CallId },
    /// Ask all middleware at one point of the run. Answered with nothing.
    Middleware { id: CallId, run: RunKey, point: MiddlewarePoint, turn: u32 },
    /// Take steered messages. Answered with an array of messages, kept under the id.
    Steer { id: CallId, run: RunKey, kind: SteerKind },
    /// Invoke a handler with the hook event kept under `key`; the first of a dispatch carries what to `make` it of, the
    /// `last` lets it go. Answered with nothing.
    Hook {
        id: CallId,
        run: RunKey,
        handler: HandlerId,
        key: CallId,
        #[serde(skip_serializing_if = "Option::is_none")]
        make: Option<&'a HookSubject>,
        last: bool,
    },
    /// A pending call was given up: abort its signal, drop its answer.
    Abort { id: CallId, why: AbortReason },
    /// Nothing refers to this handler any more.
    ReleaseHandler { handler: HandlerId },
    /// The calls of the message kept under `message` are kept under `first`, `first + 1`, …
    Calls { run: RunKey, message: CallId, first: CallId },
    /// Keep a result, made by the core, under `key`.
    Result { run: RunKey, key: CallId, call: CallId, content: &'a str, is_error: bool },
    /// Append to the conversation what is kept under `from` (or the run's input): message `index` of it if it is a list.
    Append {
        run: RunKey,
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<CallId>,
        #[serde(skip_serializing_if = "Option::is_none")]
        index: Option<usize>,
        place: Placement,
        /// Blocks that a request leaves out because they are empty.
        #[serde(skip_serializing_if = "<[usize]>::is_empty")]
        leave_out: &'a [usize],
    },
    /// Append the results kept under `keys` as one message.
    AppendResults { run: RunKey, keys: &'a [CallId], place: Placement },
    /// An event for the run's stream and for subscribers.
    Event { run: RunKey, event: Event<'a> },
    /// Nothing of this turn is named again: values kept for it can go.
    TurnOver { run: RunKey },
    /// The run is over.
    Done {
        run: RunKey,
        result: RunSummary,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorReference>,
        /// It was a compaction that the host asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        compaction: Option<CompactionSizes>,
    },
    /// The run started a group of children: what follows belongs to the run's context.
    GroupBegan { run: RunKey, group: GroupKey },
    /// Make a run for a child of the group. Answered with `{ run, model, stream }`.
    MakeRun {
        id: CallId,
        group: GroupKey,
        agent: &'a str,
        definition: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<&'a str>,
        prompt: &'a str,
    },
    /// The group is over: tell of it if it is to be `told`, and make the run that takes it up if it `starts`. Answered as
    /// `MakeRun`, or with nothing.
    GroupOver { id: CallId, group: GroupKey, completion: Completion<'a>, told: bool, starts: bool },
    /// The run left a command running.
    CommandBegan { run: RunKey, command: &'a str },
    /// That command is over, and this is to be told of it.
    CommandOver { command: &'a str, completion: Option<CommandReport<'a>> },
    /// An operation that the host waits for is over.
    Operation { operation: OperationKey },
}

impl Effect<'_> {
    /// The tags of all variants, in order: what `lib/effects.js` must have a case for.
    pub const TAGS: [&'static str; 41] = [
        "model",
        "check",
        "tool",
        "wrap_tool",
        "wrap_next",
        "asked_call",
        "measure",
        "outline",
        "summarise",
        "compact",
        "ask_compactor",
        "is_overflow",
        "host_tool",
        "load",
        "record",
        "forget_session",
        "keep_call",
        "wrap_command",
        "hook_event",
        "redact",
        "policy",
        "visible",
        "approval",
        "middleware",
        "steer",
        "hook",
        "abort",
        "release_handler",
        "calls",
        "result",
        "append",
        "append_results",
        "event",
        "turn_over",
        "done",
        "group_began",
        "make_run",
        "group_over",
        "command_began",
        "command_over",
        "operation",
    ];
}
