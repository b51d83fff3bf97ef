//! What hooks ask of whoever runs their commands, and what they are told. `hooks` knows no permission, sandbox or
//! process: the agent brings them together behind [`CommandPort`].

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

use crate::event::{HookError, HookFailureReason, HookOrigin};
use crate::host::HookSubject;
use crate::types::{CallId, HookName};

/// What a dispatch needs to run commands.
#[derive(Clone, Copy)]
pub struct Commands<'a> {
    pub port: &'a dyn CommandPort,
    /// The name of the tool that the event is about; none for events of no tool.
    pub tool: Option<&'a str>,
}

/// Runs commands under permission, in the sandbox; and gives the event as text.
pub trait CommandPort {
    /// The event as one JSON object in one line, without a line break. Asked once a dispatch at most, before everything
    /// else of it, and only if a command matches.
    fn event<'a>(&'a self, request: EventRequest<'a>) -> LocalBoxFuture<'a, Result<String, HookError>>;

    /// Asks permission for one command, and runs it. Resolves when the command is over, or was killed. A future that is
    /// dropped withdraws the question, or kills the command.
    fn run(&self, request: CommandRequest) -> LocalBoxFuture<'_, CommandReport>;
}

/// Which event is to be written.
pub struct EventRequest<'a> {
    /// The key under which the host makes the event.
    pub key: CallId,
    /// What to make it of.
    pub make: &'a HookSubject,
    /// Whether handlers follow, which will be given the event of this key; if not, the host keeps nothing.
    pub keep: bool,
}

/// One command that is to run.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    pub event: HookName,
    /// Global or project.
    pub source: HookOrigin,
    /// Absolute path of the hooks.json.
    pub config_file: Rc<str>,
    /// Handed to the shell as it is. Never holds event data.
    pub command: Rc<str>,
    /// For everything after the permission decision: starting, writing, running, draining.
    pub timeout: Duration,
    /// For standard input: one line of JSON and a line break, the same bytes for all commands of a dispatch.
    pub input: Arc<[u8]>,
    /// For start events: fired when the run is cancelled.
    pub cancel: Option<CancellationToken>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandReport {
    /// Exit code 0 within every limit.
    Ran,
    /// Permission said no, for this reason; nothing was started.
    Denied(String),
    Failed(CommandFailure),
}

/// What went wrong with a command.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandFailure {
    pub reason: HookFailureReason,
    /// The exit code, where the command exited.
    pub exit_code: Option<i32>,
    /// What it wrote, as text: all of it, or its last [`super::MAX_REPORTED_OUTPUT_BYTES`] and more before them. Secrets
    /// are still in it.
    pub output: String,
    /// From the permission decision on.
    pub duration: Duration,
    /// What happened, in words that go on from the reason: `the folder /work does not exist`. May be empty where the
    /// reason and the exit code say it all. Secrets are still in it.
    pub message: String,
}
