//! The protocol: everything that the core can ask of its host, in one enum. `lib/effects.js` has one `case` for each
//! variant (`tests/protocol.rs` checks that the two agree). Effects with an `id` are calls, answered by that id; the
//! others only tell.

use serde::Serialize;

use crate::event::{ErrorReference, Event, HookError};
use crate::types::{CallId, HandlerId, HookName, HookStatus, OperationKey, RunKey, RunStopReason, Usage};

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
}

impl HookSubject {
    /// An event that carries nothing yet.
    pub fn of(event: HookName) -> HookSubject {
        HookSubject { event, call: None, status: None, result: None, run_result: None, error: None, duration_ms: None }
    }
}

/// What a run came to. Its text stays with the host, as all text does.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    pub usage: Usage,
    pub stop_reason: RunStopReason,
}

/// One thing that the core asks of its host, or tells it.
#[derive(Debug, Serialize)]
#[serde(tag = "t", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Effect<'a> {
    /// Call the model with the session's conversation. Answered with `{ message, usage, stopReason?, refused? }`.
    Model { id: CallId, run: RunKey, turn: u32 },
    /// Validate a call's input by the tool's own validator. Answered with nothing.
    Check { id: CallId, run: RunKey, call: CallId, tool: usize },
    /// Execute a tool on its validated input. Answered with whether the result, which is kept, is an error.
    Tool { id: CallId, run: RunKey, call: CallId, tool: usize, timed: bool },
    /// Run the onion of `wrapToolCall`. Answered like `Tool`; each `next()` of the innermost comes as `Driver` input.
    WrapTool { id: CallId, run: RunKey, call: CallId },
    /// The `next()` numbered `index` of the onion `wrap` has this result.
    WrapNext { run: RunKey, wrap: CallId, index: u32, result: CallId },
    /// Ask the host's policy about a call. Answered with a verdict.
    Policy { id: CallId, run: RunKey, call: CallId },
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
    /// Keep a failed result, made by the core, under `key`.
    FailedResult { run: RunKey, key: CallId, call: CallId, content: &'a str },
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
    },
    /// An operation that the host waits for is over.
    Operation { operation: OperationKey },
}

impl Effect<'_> {
    /// The tags of all variants, in order: what `lib/effects.js` must have a case for.
    pub const TAGS: [&'static str; 20] = [
        "model",
        "check",
        "tool",
        "wrap_tool",
        "wrap_next",
        "policy",
        "approval",
        "middleware",
        "steer",
        "hook",
        "abort",
        "release_handler",
        "calls",
        "failed_result",
        "append",
        "append_results",
        "event",
        "turn_over",
        "done",
        "operation",
    ];
}
