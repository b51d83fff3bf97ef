//! Commands that a run leaves running: starts them, reads what they wrote, ends them, and tells when one is over. What is
//! kept of them is the business of `background`.

use std::time::Duration;

use serde_json::Value;

use super::command::{CommandLine, NotStarted};
use super::run::Run;
use crate::background::{JobStatus, Kill};
use crate::host::{CommandReport, CompletionStatus, Effect};
use crate::process::{End, Ended};
use crate::tools::builtin::ToolOutcome;

/// What reads and ends commands that were left running: without these nobody could.
const BACKGROUND_TOOLS: [&str; 2] = ["BashOutput", "KillBackground"];

impl Run {
    /// Starts the command of a `bash` call that does not wait for its end.
    pub(super) async fn leave_running(&self, text: &str, timeout_ms: Option<u64>) -> ToolOutcome {
        match self.begin_command(text, timeout_ms).await {
            Ok(id) => ToolOutcome {
                content: format!(
                    "Started in the background: {id}\nBashOutput reads what it writes, KillBackground ends it."
                ),
                is_error: false,
            },
            Err(problem) => failed(&problem),
        }
    }

    async fn begin_command(&self, text: &str, timeout_ms: Option<u64>) -> Result<String, String> {
        let family = &self.family;
        let has = |name| self.profile.tools.has_builtin(name);
        if !family.options.background || !BACKGROUND_TOOLS.into_iter().all(has) {
            return Err(format!(
                "commands cannot be left running here, where {} are not both there: run it without run_in_background",
                BACKGROUND_TOOLS.join(" and ")
            ));
        }
        let place = family.jobs.admit(family.groups.borrow().len())?;
        let limits = &family.options.background_limits;
        let wanted = timeout_ms.or(limits.command_timeout_ms);
        let timeout_ms = match (wanted, limits.max_task_ms) {
            (Some(wanted), Some(most)) => Some(wanted.min(most)),
            (wanted, most) => wanted.or(most),
        };
        let line = CommandLine {
            shell: family.shell(),
            text,
            stdin: Vec::new(),
            timeout: timeout_ms.map(Duration::from_millis),
        };
        let (runner, command) = self.prepared_command(line).await.map_err(|problem| match problem {
            NotStarted::Spawn(message) => format!("the command could not be started: {message}"),
            NotStarted::SandboxTimeout => "the sandbox did not answer in time, so the command was not run".to_string(),
            NotStarted::Sandbox(message) => {
                format!("the sandbox could not be set up, so the command was not run: {message}")
            }
        })?;
        let id = family.new_command_id();
        let (sink, kill) = family.jobs.begin(place, id.clone(), self.owner.to_string(), text.to_string());
        family.host.emit(&Effect::CommandBegan { run: self.key, command: &id });
        let running = family.work.spawn(async move { runner.start(command, &kill, sink).wait().await });
        let (family, name) = (family.clone(), id.clone());
        self.family.spawner.spawn(async move {
            let ended = running.await;
            let ended = ended.unwrap_or_else(|error| {
                tracing::error!(%error, "the runner of a background command panicked");
                Ended {
                    end: End::SupervisorLost,
                    clean: false,
                    output_held: false,
                    stdin_written: 0,
                    duration: Duration::ZERO,
                    spawn_held: Duration::ZERO,
                }
            });
            let report = family.jobs.end(&name, &ended, timeout_ms);
            let told = !family.closing.get();
            let completion = report.as_ref().filter(|_| told).map(|end| CommandReport {
                label: &end.label,
                content: &end.content,
                status: match end.status {
                    JobStatus::Completed => CompletionStatus::Completed,
                    JobStatus::Failed => CompletionStatus::Failed,
                    JobStatus::Cancelled => CompletionStatus::Cancelled,
                },
            });
            family.host.emit(&Effect::CommandOver { command: &name, completion });
        });
        Ok(id)
    }

    pub(super) async fn read_background(&self, input: &Value) -> ToolOutcome {
        let filter = input.get("filter").and_then(Value::as_str).map(str::to_string);
        let reading = match self.family.jobs.reading(&self.owner, id_of(input)) {
            Ok(reading) => reading,
            Err(problem) => return failed(&problem),
        };
        match self.blocking(move || reading.read(filter.as_deref())).await {
            Ok(Ok(content)) => ToolOutcome { content, is_error: false },
            Ok(Err(problem)) => failed(&problem),
            Err(content) => ToolOutcome { content, is_error: true },
        }
    }

    pub(super) async fn kill_background(&self, input: &Value) -> ToolOutcome {
        let id = id_of(input);
        match self.family.jobs.kill(&self.owner, id) {
            Ok(Kill::Over(content)) => ToolOutcome { content, is_error: false },
            Ok(Kill::Asked(killing)) => ToolOutcome { content: killing.over().await, is_error: false },
            Err(problem) => failed(&problem),
        }
    }
}

fn id_of(input: &Value) -> &str {
    input.get("id").and_then(Value::as_str).unwrap_or_default()
}

fn failed(problem: &str) -> ToolOutcome {
    ToolOutcome { content: format!("Error: {problem}"), is_error: true }
}
