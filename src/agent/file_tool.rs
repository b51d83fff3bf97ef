//! A call of a built-in file tool: its path made canonical, and its execution on a blocking thread. What the thread must
//! ask (may a path be shown, is what a file held stored) comes back to the family over a channel.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::run::{Run, Stopped};
use super::snapshot::Snapshot;
use crate::host::Effect;
use crate::permission::{Decision, Policy};
use crate::tools::builtin::{Before, FileTools, RunPorts, ToolOutcome};
use crate::types::CallId;

/// What a blocking thread asks, and waits for. Where nobody answers any more, it is a no.
enum Question {
    /// May this path be shown?
    Visible { path: String, answer: SyncSender<bool> },
    /// The file is about to change: is what it held stored?
    Changing { snapshot: Snapshot, answer: SyncSender<bool> },
}

impl Run {
    /// The input of a file tool with its path canonical.
    ///
    /// # Errors
    /// Content of the failed result.
    pub(super) async fn canonical_file_input(&self, tool: &'static str, input: Value) -> Result<Value, String> {
        let files = self.files()?;
        self.blocking(move || files.permission_input(tool, &input))
            .await?
            .map_err(|problem| format!("Error: {problem}"))
    }

    /// Runs a file tool on the input that permission saw.
    ///
    /// # Errors
    /// The session's log could not be written.
    pub(super) async fn run_file_tool(
        &self,
        tool: &'static str,
        input: Value,
        call: CallId,
        turn: u32,
    ) -> Result<ToolOutcome, Stopped> {
        let files = match self.files() {
            Ok(files) => files,
            Err(content) => return Ok(ToolOutcome { content, is_error: true }),
        };
        let (sender, mut questions) = unbounded_channel();
        let visible = self.visibility(sender.clone());
        let changing = self.family.options.stores.then_some(sender);
        let cancel = CancellationToken::new();
        // Dropped with this future: the thread stops at its next look.
        let _stop = cancel.clone().drop_guard();
        let run = self.blocking(move || {
            let before_change = |path: &str, before: Before<'_>, after: Option<&[u8]>| match &changing {
                Some(sender) => keep(sender, Snapshot::of(path, before, after)),
                None => Ok(()),
            };
            files.run(
                tool,
                &input,
                &RunPorts { visible: &visible, cancel: &cancel, before_change: Some(&before_change) },
            )
        });
        tokio::pin!(run);
        loop {
            tokio::select! {
                biased;
                outcome = &mut run => {
                    return Ok(outcome.unwrap_or_else(|content| ToolOutcome { content, is_error: true }));
                }
                Some(question) = questions.recv() => self.answer_thread(question, call, turn).await?,
            }
        }
    }

    async fn answer_thread(&self, question: Question, call: CallId, turn: u32) -> Result<(), Stopped> {
        // A thread may have stopped waiting: then nobody takes the answer.
        match question {
            Question::Visible { path, answer } => {
                let _ = answer.send(self.host_shows(&path, call).await);
            }
            Question::Changing { snapshot, answer } => {
                self.record(&[snapshot.recorded(turn)]).await?;
                let _ = answer.send(true);
            }
        }
        Ok(())
    }

    fn files(&self) -> Result<FileTools, String> {
        self.family.files.borrow().clone().ok_or_else(|| "Error: the agent is closed".to_string())
    }

    /// Paths that the policy denies to `read_file` are left out of searches and hints. A dry run hides nothing.
    fn visibility(&self, sender: UnboundedSender<Question>) -> Box<dyn Fn(&str) -> bool + Send + Sync> {
        if self.family.options.dry_run {
            return Box::new(|_path| true);
        }
        if let Some(policy) = self.profile.policy.clone() {
            return Box::new(move |path| shows(&policy, path));
        }
        Box::new(move |path: &str| {
            let (answer, answered) = sync_channel(1);
            sender.send(Question::Visible { path: path.to_string(), answer }).is_ok()
                && answered.recv().unwrap_or(false)
        })
    }

    async fn host_shows(&self, path: &str, call: CallId) -> bool {
        let answer = self.family.host.call(|id| Effect::Visible { id, run: self.key, call, path }).await;
        answer.outcome.as_deref() == Ok("true")
    }

    /// Runs what may touch the disk off this thread. What is begun is waited for when the family closes.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        self.family.work.spawn_blocking(work).await.map_err(|error| {
            tracing::error!(%error, "a built-in tool panicked");
            "Error: an internal error of the tool".to_string()
        })
    }
}

fn shows(policy: &Arc<Policy>, path: &str) -> bool {
    policy.check("read_file", &json!({ "path": path }), &mut |_rule| false).decision != Decision::Deny
}

/// Waits until what the file held is stored.
fn keep(sender: &UnboundedSender<Question>, snapshot: Snapshot) -> Result<(), String> {
    let (answer, answered) = sync_channel(1);
    if sender.send(Question::Changing { snapshot, answer }).is_ok() && answered.recv().unwrap_or(false) {
        return Ok(());
    }
    Err("what the file held could not be stored, so it was not changed".to_string())
}
