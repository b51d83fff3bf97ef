//! One call that the model made: its hooks, its validation, its execution, its result. Whatever happens, it has exactly
//! one result, and its end hooks run once for each time that its start hooks did.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::admission::{Admitted, Refusal};
use super::run::{Run, Stopped};
use super::turn::milliseconds;
use crate::event::{Event, HookError};
use crate::host::{Answer, Effect, HookSubject, HostError, HostErrorKind, Recorded, Timed};
use crate::tools::Executor;
use crate::types::{CallId, HookName, HookStatus, ToolCall};

/// The result of a call that was open when its run was cancelled.
const INTERRUPTED: &str = "interrupted";

/// How the execution of a call ended.
pub(super) struct Ended {
    /// Key of the result.
    pub result: CallId,
    pub is_error: bool,
    /// What was thrown, if anything was.
    pub thrown: Option<HookError>,
}

impl Run {
    /// Runs one call and returns the key of its result. If the session's log cannot be written, the run fails.
    pub(super) async fn tool_call(&self, call: &ToolCall, key: CallId, turn: u32) -> CallId {
        if self.ready().await.is_err() {
            // It never began: it has a result, because every call must have one, and nothing else.
            let result = self.failed_result(key, INTERRUPTED);
            self.store_result(result, turn).await;
            return result;
        }
        self.tell(Event::ToolCallStart { call: key, turn });
        let started = Instant::now();
        let ended = self.begin_and_execute(call, key, turn).await;
        let duration_ms = milliseconds(started);
        let status = match &ended {
            Err(Stopped::Cancelled) => HookStatus::Cancelled,
            Ok(ended) if !ended.is_error => HookStatus::Completed,
            _ => HookStatus::Failed,
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(Stopped::Cancelled) => self.failed(key, INTERRUPTED),
            Err(Stopped::Failed(failure)) => {
                let ended = self.failed(key, &format!("Error: {}", failure.thrown.message));
                self.fail(failure);
                ended
            }
        };
        let mut subject = HookSubject::of(HookName::ToolEnd);
        subject.call = Some(key);
        subject.status = Some(status);
        subject.result = Some(ended.result);
        subject.error = ended.thrown;
        subject.duration_ms = Some(duration_ms);
        // End hooks are never abandoned.
        let _ = self.dispatch(subject, Some(&call.name), false).await;
        self.tell(Event::ToolCallEnd { id: &call.id, name: &call.name, turn, duration_ms, is_error: ended.is_error });
        self.store_result(ended.result, turn).await;
        ended.result
    }

    /// Stores a result, and tells of it then.
    async fn store_result(&self, result: CallId, turn: u32) {
        if self.failure.borrow().is_some() {
            return;
        }
        match self.record(&[Recorded::ToolResult { key: result, turn }]).await {
            Ok(()) => self.tell(Event::ToolResult { result }),
            Err(Stopped::Failed(failure)) => self.fail(failure),
            Err(Stopped::Cancelled) => {}
        }
    }

    async fn begin_and_execute(&self, call: &ToolCall, key: CallId, turn: u32) -> Result<Ended, Stopped> {
        let mut subject = HookSubject::of(HookName::ToolStart);
        subject.call = Some(key);
        self.dispatch(subject, Some(&call.name), true).await?;
        self.cancellable(self.execute(call, key, turn)).await?
    }

    async fn execute(&self, call: &ToolCall, key: CallId, turn: u32) -> Result<Ended, Stopped> {
        let admitted = match self.admit(call, key, turn).await {
            Err(Refusal::Result(ended)) => return Ok(ended),
            Err(Refusal::Stopped(stopped)) => return Err(stopped),
            Ok(admitted) => admitted,
        };
        self.record(&[Recorded::ToolStarted { id: &call.id, name: &call.name, turn }]).await?;
        let ended = if self.family.options.middleware.wrap_tool_call {
            self.wrapped(&admitted).await?
        } else {
            self.call_tool(&admitted).await?
        };
        Ok(self.take_answer(&admitted, ended))
    }

    /// A valid call of the tool that ends the run does so, unless middleware made an error of it. The first counts.
    fn take_answer(&self, Admitted { tool, key, .. }: &Admitted<'_>, ended: Ended) -> Ended {
        if !tool.is_final || ended.is_error || !self.valid_answers.borrow().contains(key) {
            return ended;
        }
        if self.answer.get().is_some() {
            return self.failed(*key, "Error: the final answer was given before, and cannot be changed");
        }
        self.answer.set(Some(*key));
        ended
    }

    /// Executes the tool itself. The host validates the input first where the tool has a validator of its own.
    async fn call_tool(&self, admitted: &Admitted<'_>) -> Result<Ended, Stopped> {
        let Admitted { tool, call, key, turn, input } = admitted;
        let index = match tool.executor {
            Executor::Host(index) => index,
            Executor::Builtin(name) => return self.run_builtin(name, input, *key, *turn).await,
        };
        let timed = tool.timeout.is_some();
        let pending = self.family.host.call(|id| Effect::Tool { id, run: self.key, call: *key, tool: index, timed });
        let result = pending.id();
        Ok(match pending.within(tool.timeout).await {
            Timed::Answered(answer) => {
                let ended = self.judge(answer, result, call, *key);
                if tool.is_final && !ended.is_error {
                    self.valid_answers.borrow_mut().push(*key);
                }
                ended
            }
            Timed::TimedOut { .. } => {
                let limit = tool.timeout.unwrap_or_default().as_millis();
                self.failed(*key, &format!("timed out after {limit} ms"))
            }
        })
    }

    /// Runs the onion of `wrapToolCall`, whose innermost `next()` executes the tool, as often as it is called.
    async fn wrapped(&self, admitted: &Admitted<'_>) -> Result<Ended, Stopped> {
        let Admitted { call, key, .. } = *admitted;
        let host = &self.family.host;
        let onion = host.call(|id| Effect::WrapTool { id, run: self.key, call: key });
        let wrap = onion.id();
        let (sender, mut calls) = tokio::sync::mpsc::unbounded_channel();
        self.family.wraps.borrow_mut().insert(wrap, sender);
        let _registered = WrapRegistration { run: self, wrap };
        let mut executions = FuturesUnordered::new();
        let mut thrown = None;
        tokio::pin!(onion);
        let mut ended = loop {
            tokio::select! {
                biased;
                answer = &mut onion => break self.judge(answer, wrap, call, key),
                Some((index, execution)) = executions.next(), if !executions.is_empty() => {
                    let Ended { result, is_error: _, thrown: threw } = execution?;
                    thrown = threw;
                    host.emit(&Effect::WrapNext { run: self.key, wrap, index, result });
                }
                Some(index) = calls.recv() => {
                    executions.push(async move { (index, self.call_tool(admitted).await) });
                }
            }
        };
        // What the tool threw is what was thrown, though the middleware passed its failed result on.
        if ended.is_error && ended.thrown.is_none() {
            ended.thrown = thrown;
        }
        Ok(ended)
    }

    pub(super) fn judge(&self, answer: Answer, result: CallId, call: &ToolCall, key: CallId) -> Ended {
        match answer.outcome {
            Ok(is_error) => Ended { result, is_error: is_error == "true", thrown: None },
            Err(HostError { kind: HostErrorKind::Invalid, message, .. }) => {
                self.failed(key, &format!("Error: invalid input for tool '{}': {message}", call.name))
            }
            Err(HostError { kind: HostErrorKind::Thrown, name, message }) => Ended {
                result: self.failed_result(key, &format!("Error: {message}")),
                is_error: true,
                thrown: Some(HookError { name, message }),
            },
        }
    }

    pub(super) fn failed(&self, key: CallId, content: &str) -> Ended {
        Ended { result: self.failed_result(key, content), is_error: true, thrown: None }
    }

    fn failed_result(&self, call: CallId, content: &str) -> CallId {
        self.keep_result(call, content, true)
    }

    /// Has the host keep a result that the core made, and returns its key.
    pub(super) fn keep_result(&self, call: CallId, content: &str, is_error: bool) -> CallId {
        let key = self.family.host.reserve(1);
        self.family.host.emit(&Effect::Result { run: self.key, key, call, content, is_error });
        key
    }
}

/// Forgets an onion, however its call ends.
struct WrapRegistration<'a> {
    run: &'a Run,
    wrap: CallId,
}

impl Drop for WrapRegistration<'_> {
    fn drop(&mut self) {
        self.run.family.wraps.borrow_mut().remove(&self.wrap);
    }
}
