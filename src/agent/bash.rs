//! The `bash` tool: one command, its output as it came, and how it ended; or left running.

use std::time::Duration;

use serde_json::Value;

use super::command::{CommandLine, NotStarted};
use super::kept_output::{Keep, KeptOutput};
use super::run::Run;
use crate::process::{End, Ended};
use crate::tools::builtin::ToolOutcome;

/// Of longer output the beginning and the end are kept: a model reads no more, and no more than this crosses.
const KEEP: Keep = Keep { head_bytes: 64 * 1024, tail_bytes: 192 * 1024 };

impl Run {
    /// Runs the command of a call on the input that permission saw.
    pub(super) async fn run_bash(&self, input: &Value) -> ToolOutcome {
        let Some(text) = input.get("command").and_then(Value::as_str) else {
            return failed("the input has no command");
        };
        let given_ms = input.get("timeoutMs").and_then(Value::as_u64);
        if input.get("run_in_background").and_then(Value::as_bool) == Some(true) {
            return self.leave_running(text, given_ms).await;
        }
        let settings = &self.family.options.commands;
        let timeout_ms = given_ms.unwrap_or(settings.timeout_ms);
        let line = CommandLine {
            shell: self.family.shell(),
            text,
            stdin: Vec::new(),
            timeout: Some(Duration::from_millis(timeout_ms)),
        };
        let kept = KeptOutput::new(KEEP, settings.max_output_bytes);
        match self.run_command(line, kept.clone()).await {
            Ok(ended) => outcome(&kept.text(), &ended, timeout_ms, settings.max_output_bytes),
            Err(NotStarted::Spawn(message)) => failed(&format!("the command could not be started: {message}")),
            Err(NotStarted::SandboxTimeout) => failed(&format!(
                "timed out after {timeout_ms} ms: the sandbox did not answer, so the command was not run"
            )),
            Err(NotStarted::Sandbox(message)) => {
                failed(&format!("the sandbox could not be set up, so the command was not run: {message}"))
            }
        }
    }
}

fn failed(problem: &str) -> ToolOutcome {
    ToolOutcome { content: format!("Error: {problem}"), is_error: true }
}

/// The output, then a line that says how it ended.
fn outcome(output: &str, ended: &Ended, timeout_ms: u64, max_output_bytes: u64) -> ToolOutcome {
    let killed = "the command and all that it started were killed";
    let how = match &ended.end {
        End::Exit(code) => format!("exit code: {code}"),
        End::Signal(signal) => format!("killed by signal {signal}"),
        End::Timeout => format!("Error: timed out after {timeout_ms} ms; {killed}"),
        End::Cancelled => "interrupted".to_string(),
        End::OutputLimit => format!("Error: it wrote more than {max_output_bytes} bytes; {killed}"),
        End::MemoryLimit => format!("Error: it used more memory than bash.memoryBytes allows; {killed}"),
        End::CpuLimit => format!("Error: it used more processor time than it may; {killed}"),
        End::ProcessLimit => format!("Error: it had more processes than it may; {killed}"),
        End::Spawn(message) => format!("Error: the command could not be started: {message}"),
        End::SupervisorLost => format!("Error: the command killed or stopped its supervisor; {killed}"),
    };
    let separator = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
    ToolOutcome { content: format!("{output}{separator}{how}"), is_error: ended.end != End::Exit(0) }
}
