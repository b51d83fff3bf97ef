//! Commands of a run: the host's sandbox is asked, then the one runner starts the command. Whoever wants one has asked
//! permission before.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::family::Family;
use super::run::Run;
use crate::host::Effect;
use crate::process::{Command, Ended, Runner, Sink, Streams, locate_supervisor};

/// Where a command's shell is looked for when `PATH` does not have it.
const USUAL_FOLDERS: &str = "/bin:/usr/bin:/usr/local/bin";

/// Processes of one command at once. No build needs so many, and a storm of forks is ended while it still can be.
const MAX_PROCESSES: u64 = 1_024;
/// How long the sandbox may take for a command that has no deadline.
const SANDBOX_PATIENCE: Duration = Duration::from_secs(120);

/// A command line that may run.
pub(super) struct CommandLine<'a> {
    pub shell: &'a str,
    pub text: &'a str,
    pub stdin: Vec<u8>,
    /// Absent: it may run for ever.
    pub timeout: Option<Duration>,
}

/// Why a command was not started.
#[derive(Debug)]
pub(super) enum NotStarted {
    /// The sandbox could not be set up: the message says why.
    Sandbox(String),
    /// The sandbox did not answer in time.
    SandboxTimeout,
    /// There is nothing to start it with.
    Spawn(String),
}

impl Run {
    /// Runs a command to its end. A future that is dropped kills its whole tree.
    ///
    /// # Errors
    /// It was not started.
    pub(super) async fn run_command(&self, line: CommandLine<'_>, sink: impl Sink) -> Result<Ended, NotStarted> {
        let (runner, command) = self.prepared_command(line).await?;
        let cancel = CancellationToken::new();
        let _kill = cancel.clone().drop_guard();
        // A task of its own, so that closing can wait for the end of one that was dropped.
        let running = self.family.work.spawn(async move { runner.start(command, &cancel, sink).wait().await });
        running.await.map_err(|error| NotStarted::Spawn(format!("an internal error of the runner: {error}")))
    }

    /// All that is needed to start a command.
    ///
    /// # Errors
    /// It must not be started.
    pub(super) async fn prepared_command(&self, line: CommandLine<'_>) -> Result<(Runner, Command), NotStarted> {
        let began = Instant::now();
        let runner = self.family.runner().map_err(NotStarted::Spawn)?;
        let text = if self.family.options.commands.sandboxed {
            let patience = line.timeout.unwrap_or(SANDBOX_PATIENCE);
            match tokio::time::timeout(patience, self.wrapped_command(line.text)).await {
                Ok(wrapped) => wrapped?,
                Err(_elapsed) => return Err(NotStarted::SandboxTimeout),
            }
        } else {
            line.text.to_string()
        };
        let argv = vec![line.shell.to_string(), "-c".to_string(), text];
        let settings = &self.family.options.commands;
        let mut command = Command::new(argv, self.family.options.workdir.clone());
        command.env.clone_from(&settings.environment);
        command.stdin = line.stdin;
        // What the sandbox took is part of it.
        command.timeout = line.timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
        command.streams = Streams::Joined;
        command.limits.memory_bytes = settings.memory_bytes;
        command.limits.max_processes = Some(MAX_PROCESSES);
        Ok((runner, command))
    }

    async fn wrapped_command(&self, command: &str) -> Result<String, NotStarted> {
        let call = self.family.host.call(|id| Effect::WrapCommand { id, run: self.key, command });
        call.await.outcome.map_err(|error| NotStarted::Sandbox(error.message))
    }
}

impl Family {
    /// The runner of this family's commands.
    ///
    /// # Errors
    /// There is no supervisor; says where it was looked for.
    fn runner(&self) -> Result<Runner, String> {
        if let Some(runner) = self.command_runner.get() {
            return Ok(runner.clone());
        }
        let supervisor = locate_supervisor(&self.options.commands.addon_folder)?;
        let runner = Runner::new(supervisor, tokio::runtime::Handle::current());
        Ok(self.command_runner.get_or_init(|| runner).clone())
    }

    /// The shell of the `bash` tool: bash where the command's own `PATH` or the usual folders have it, else the system's.
    pub(super) fn shell(&self) -> &str {
        self.shell_path.get_or_init(|| {
            let variables = &self.options.commands.environment;
            let path = variables.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value.as_str());
            path.split(':')
                .chain(USUAL_FOLDERS.split(':'))
                .filter(|folder| folder.starts_with('/'))
                .map(|folder| PathBuf::from(folder).join("bash"))
                .find(|bash| bash.is_file())
                .map_or_else(|| "/bin/sh".to_string(), |bash| bash.to_string_lossy().into_owned())
        })
    }
}
