//! Events of a run's stream as the core emits them. Values that live in the host are named by their key; the host puts
//! them in and makes the public event. Deltas and `done` are made by the host alone.

use serde::Serialize;

use crate::types::{CallId, CompactionKind, Decision, HookName, StopReason, Usage};

/// How serious a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// What was thrown, as hooks and diagnostics see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookError {
    pub name: String,
    pub message: String,
}

/// Who decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    Policy,
    User,
    Auto,
}

/// Where a registration came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HookOrigin {
    Global,
    Project,
    Programmatic,
}

impl HookOrigin {
    pub fn as_str(self) -> &'static str {
        match self {
            HookOrigin::Global => "global",
            HookOrigin::Project => "project",
            HookOrigin::Programmatic => "programmatic",
        }
    }
}

/// Why a handler or a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HookFailureReason {
    /// A handler threw; or a fault that is not the command's.
    Error,
    Timeout,
    /// Permission did not allow the command.
    Denied,
    /// The command could not be started.
    Spawn,
    /// Its exit code was not 0.
    Exit,
    /// A signal killed it.
    Signal,
    /// Its event could not be shortened to fit.
    InputLimit,
    OutputLimit,
    MemoryLimit,
    /// The sandbox could not be set up.
    Sandbox,
}

impl HookFailureReason {
    pub fn as_str(self) -> &'static str {
        match self {
            HookFailureReason::Error => "error",
            HookFailureReason::Timeout => "timeout",
            HookFailureReason::Denied => "denied",
            HookFailureReason::Spawn => "spawn",
            HookFailureReason::Exit => "exit",
            HookFailureReason::Signal => "signal",
            HookFailureReason::InputLimit => "input_limit",
            HookFailureReason::OutputLimit => "output_limit",
            HookFailureReason::MemoryLimit => "memory_limit",
            HookFailureReason::Sandbox => "sandbox",
        }
    }
}

/// What a diagnostic of code `hook_failed` carries.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookFailure {
    pub event: HookName,
    pub source: HookOrigin,
    /// The hooks.json file, for a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_file: Option<String>,
    /// Position within that event's registrations at dispatch, from 0: commands of the global file, of the project file,
    /// handlers. Commands whose `match` is for other tools count as well, so that a registration keeps its place.
    pub index: usize,
    pub reason: HookFailureReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub duration_ms: f64,
    /// The end of what the command wrote, secrets masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// What was thrown: an error object that the host kept, or one of the core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ErrorReference {
    /// The host threw it while it performed this call, and kept it.
    Host { key: CallId },
    /// Made by the core: the host builds the class of that code.
    Core { code: &'static str, message: String },
}

/// How far a compaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionPhase {
    Start,
    Done,
    Error,
    Cancelled,
}

/// One event of a run.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Event<'a> {
    TurnStart {
        turn: u32,
    },
    Diagnostic {
        level: Level,
        code: &'a str,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        hook: Option<&'a HookFailure>,
    },
    ModelCallStart {
        turn: u32,
        model: &'a str,
    },
    ModelCallEnd {
        turn: u32,
        model: &'a str,
        duration_ms: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
    },
    Message {
        message: CallId,
    },
    ToolUse {
        call: CallId,
    },
    ToolCallStart {
        call: CallId,
        turn: u32,
    },
    Compaction {
        kind: CompactionKind,
        before: f64,
        after: f64,
        phase: CompactionPhase,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
    },
    /// A call of which the session had no result got a failed one.
    ToolRecovered {
        id: &'a str,
        name: &'a str,
        turn: u32,
    },
    ToolCallEnd {
        id: &'a str,
        name: &'a str,
        turn: u32,
        duration_ms: f64,
        is_error: bool,
    },
    ToolResult {
        result: CallId,
    },
    Steer {
        messages: CallId,
    },
    TurnEnd {
        turn: u32,
        stop_reason: StopReason,
    },
    ApprovalRequest {
        call: CallId,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    ApprovalResolved {
        id: &'a str,
        decision: Decision,
        by: DecidedBy,
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
    },
    Error {
        error: ErrorReference,
        fatal: bool,
    },
}
