//! Command hooks of a run: permission is asked for each, always enforced, then it runs in the sandbox. What a failure is
//! and how it is told is the business of `hooks`.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde_json::json;

use super::command::{CommandLine, NotStarted};
use super::gate::{Asked, Gate};
use super::kept_output::{Keep, KeptOutput};
use super::run::{Run, Stopped};
use crate::event::{HookError, HookFailureReason};
use crate::hooks::{
    CommandFailure, CommandPort, CommandReport, CommandRequest, EventRequest, MAX_OUTPUT_BYTES,
    MAX_REPORTED_OUTPUT_BYTES,
};
use crate::host::{Effect, MadeCall};
use crate::process::End;
use crate::types::ToolCall;

const SHELL: &str = "/bin/sh";
/// A diagnostic shows the end.
const KEEP: Keep = Keep { head_bytes: 0, tail_bytes: 2 * MAX_REPORTED_OUTPUT_BYTES };
/// The name under which rules know command hooks.
const HOOK: &str = "hook";

impl CommandPort for Run {
    fn event<'a>(&'a self, request: EventRequest<'a>) -> LocalBoxFuture<'a, Result<String, HookError>> {
        let EventRequest { key, make, keep } = request;
        let call = self.family.host.call(|id| Effect::HookEvent { id, run: self.key, key, make, keep });
        async move { call.await.outcome.map_err(|error| HookError { name: error.name, message: error.message }) }
            .boxed_local()
    }

    fn run(&self, request: CommandRequest) -> LocalBoxFuture<'_, CommandReport> {
        async move {
            match self.permit(&request).await {
                Ok(Gate::Open) => self.run_hook_command(request).await,
                Ok(Gate::Shut(content)) => CommandReport::Denied(denial(&content)),
                Err(message) => CommandReport::Failed(CommandFailure {
                    reason: HookFailureReason::Error,
                    exit_code: None,
                    output: String::new(),
                    duration: Duration::ZERO,
                    message,
                }),
            }
        }
        .boxed_local()
    }
}

/// The reason alone, of what a denied call would answer.
fn denial(content: &str) -> String {
    content.strip_prefix("Error: ").unwrap_or(content).to_string()
}

impl Run {
    /// Asks permission for a command, as for a call of the tool `hook`.
    ///
    /// # Errors
    /// The decision could not be stored, so that nothing may run.
    async fn permit(&self, request: &CommandRequest) -> Result<Gate, String> {
        let input = json!({
            "command": &*request.command,
            "event": request.event.as_str(),
            "source": request.source.as_str(),
            "configFile": &*request.config_file,
        });
        let key = self.family.host.reserve(1);
        // Unlike those of all other agents: audits are read together.
        let id = self.family.new_hook_id();
        self.family.host.emit(&Effect::KeepCall {
            run: self.key,
            key,
            call: MadeCall { id: &id, name: HOOK, input: &input },
        });
        let verdict = self.family.root.policy.as_ref().map(|policy| policy.check(HOOK, &input, &mut |_rule| false));
        let call = ToolCall { id, name: HOOK.to_string(), input: input.to_string().into(), refused: None };
        let asked = Asked { call: &call, key, turn: self.turn.get(), enforced: true };
        // A run that was stopped waits no longer for a decision than for a command.
        let patience = async {
            self.stop.cancelled().await;
            tokio::time::sleep(request.timeout).await;
        };
        let decided = tokio::select! {
            biased;
            decided = self.gate(&asked, verdict) => decided,
            () = patience => {
                let limit = request.timeout.as_millis();
                return Ok(Gate::Shut(format!("it was not decided within {limit} ms of the run's cancellation")));
            }
        };
        decided.map_err(|stopped| match stopped {
            Stopped::Cancelled => "the run was cancelled before the decision was stored".to_string(),
            Stopped::Failed(failure) => format!("the decision could not be stored: {}", failure.thrown.message),
        })
    }

    async fn run_hook_command(&self, request: CommandRequest) -> CommandReport {
        let began = Instant::now();
        let line = CommandLine {
            shell: SHELL,
            text: &request.command,
            stdin: request.input.to_vec(),
            timeout: Some(request.timeout),
        };
        let kept = KeptOutput::new(KEEP, MAX_OUTPUT_BYTES as u64);
        let running = self.run_command(line, kept.clone());
        // The sandbox's own time counts as well; the runner's deadline comes first where there is a command.
        let ended = tokio::time::timeout(request.timeout + RUNNER_SETTLES, running).await;
        let failed = |reason, exit_code, message| {
            CommandReport::Failed(CommandFailure {
                reason,
                exit_code,
                output: kept.text(),
                duration: began.elapsed(),
                message,
            })
        };
        let ended = match ended {
            Ok(Ok(ended)) => ended,
            Ok(Err(NotStarted::SandboxTimeout)) => {
                let message = "the sandbox did not answer in time, and nothing was started".to_string();
                return failed(HookFailureReason::Timeout, None, message);
            }
            Ok(Err(NotStarted::Sandbox(message))) => return failed(HookFailureReason::Sandbox, None, message),
            Ok(Err(NotStarted::Spawn(message))) => return failed(HookFailureReason::Spawn, None, message),
            Err(_elapsed) => return failed(HookFailureReason::Timeout, None, String::new()),
        };
        let (reason, exit_code, message) = match ended.end {
            End::Exit(0) => return CommandReport::Ran,
            End::Exit(code) => (HookFailureReason::Exit, Some(code), String::new()),
            End::Signal(signal) => (HookFailureReason::Signal, None, format!("killed by signal {signal}")),
            End::Timeout => (HookFailureReason::Timeout, None, String::new()),
            End::Cancelled => (HookFailureReason::Error, None, "it was cancelled".to_string()),
            End::OutputLimit => (HookFailureReason::OutputLimit, None, String::new()),
            End::MemoryLimit => (HookFailureReason::MemoryLimit, None, String::new()),
            End::CpuLimit => (HookFailureReason::Error, None, "it used more processor time than it may".to_string()),
            End::ProcessLimit => (HookFailureReason::Error, None, "it had more processes than it may".to_string()),
            End::Spawn(message) => (HookFailureReason::Spawn, None, message),
            End::SupervisorLost => (HookFailureReason::Error, None, "it killed or stopped its supervisor".to_string()),
        };
        failed(reason, exit_code, message)
    }
}

/// How long the runner may take from its deadline to its word.
const RUNNER_SETTLES: Duration = Duration::from_millis(450);
