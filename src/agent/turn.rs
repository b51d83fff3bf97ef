//! The turns of a run: one model call each, and the calls that it made.

use futures_util::StreamExt;
use futures_util::stream;
use tokio::time::Instant;

use super::run::{Run, Stopped};
use crate::event::{Event, Level};
use crate::host::{Effect, MiddlewarePoint, Recorded};
use crate::model::{ModelAnswer, read_answer};
use crate::types::{CallId, RunStopReason, StopReason, ToolCall};

impl Run {
    /// Turns until the model makes no more calls, or a limit is reached. The calls of the last turn are always run, so
    /// that the conversation stays well formed.
    pub(super) async fn turns(&self) -> Result<RunStopReason, Stopped> {
        // Others had the tokens that a child, or a completion run, was to begin with.
        if let Some((used, limit)) = self.budget.exceeded() {
            self.diagnose_budget(&format!("did not begin, for {used} tokens were used before it"), limit);
            return Ok(RunStopReason::MaxTurns);
        }
        let mut turn = 0;
        loop {
            turn += 1;
            let called = self.turn(turn).await?;
            self.family.host.emit(&Effect::TurnOver { run: self.key });
            if self.answer.get().is_some() {
                return Ok(RunStopReason::Stop);
            }
            let over_budget = self.budget.exceeded();
            let last = turn >= self.max_turns || over_budget.is_some();
            if !called {
                let goes_on = if last { self.steering_waits().await? } else { self.take_follow_ups().await? };
                if !goes_on {
                    return Ok(RunStopReason::Stop);
                }
            }
            if last {
                if let Some((used, limit)) = over_budget {
                    self.diagnose_budget(&format!("stopped after {used} tokens"), limit);
                }
                return Ok(RunStopReason::MaxTurns);
            }
        }
    }

    /// One turn; returns whether the model made calls.
    async fn turn(&self, turn: u32) -> Result<bool, Stopped> {
        self.ready().await?;
        self.turn.set(turn);
        self.tell(Event::TurnStart { turn });
        self.take_steered().await?;
        if self.family.options.middleware.before_model {
            self.ask_middleware(MiddlewarePoint::BeforeModel, turn).await?;
        }
        self.compact_if_due().await?;
        let (message, answer) = self.answer_of_model(turn).await?;
        self.record(&[Recorded::Assistant { key: message }]).await?;
        self.append(&answer.message, Some(message), None);
        self.has_text.set(answer.message.has_text);
        self.tell(Event::Message { message });
        let calls = answer.message.calls;
        if !calls.is_empty() {
            self.run_calls(&calls, message, turn).await?;
        }
        self.tell(Event::TurnEnd { turn, stop_reason: answer.stop_reason });
        // While its message was stored, nobody looked.
        self.stopped().map_or(Ok(!calls.is_empty()), Err)
    }

    /// Calls the model, and once more if the request was too long and could be made shorter.
    async fn answer_of_model(&self, turn: u32) -> Result<(CallId, ModelAnswer), Stopped> {
        match self.call_model(turn).await {
            Err((call, Stopped::Failed(failure))) => {
                if !self.compact_after_overflow(call).await? {
                    return Err(Stopped::Failed(failure));
                }
                self.call_model(turn).await.map_err(|(_call, stopped)| stopped)
            }
            answered => answered.map_err(|(_call, stopped)| stopped),
        }
    }

    async fn call_model(&self, turn: u32) -> Result<(CallId, ModelAnswer), (CallId, Stopped)> {
        let model = self.profile.model_name.as_str();
        let reminder = self.reminder().await;
        self.tell(Event::ModelCallStart { turn, model });
        let started = Instant::now();
        let reminder = reminder.as_deref();
        let call = self.family.host.call(|id| Effect::Model { id, run: self.key, turn, reminder });
        let message = call.id();
        let answer = match self.answered(call).await {
            Ok(json) => read_answer(&json).map_err(Stopped::from),
            Err(stopped) => Err(stopped),
        };
        let duration_ms = milliseconds(started);
        let (usage, error) = match &answer {
            Ok(answer) => {
                self.spend(answer.usage);
                (Some(answer.usage), None)
            }
            Err(Stopped::Cancelled) => (None, Some("aborted")),
            Err(Stopped::Failed(failure)) => (None, Some(failure.thrown.message.as_str())),
        };
        self.tell(Event::ModelCallEnd { turn, model, duration_ms, usage, error });
        answer.map(|answer| (message, answer)).map_err(|stopped| (message, stopped))
    }

    /// Runs the calls of one message, so many at a time, and appends their results in call order.
    async fn run_calls(&self, calls: &[ToolCall], message: CallId, turn: u32) -> Result<(), Stopped> {
        let host = &self.family.host;
        let first = host.reserve(calls.len() as u64);
        host.emit(&Effect::Calls { run: self.key, message, first });
        let keyed = || calls.iter().zip(first.0..).map(|(call, key)| (call, CallId(key)));
        for (_, key) in keyed() {
            self.tell(Event::ToolUse { call: key });
        }
        let mut results: Vec<(CallId, CallId)> = stream::iter(keyed())
            .map(|(call, key)| async move { (key, self.tool_call(call, key, turn).await) })
            .buffer_unordered(self.family.options.max_parallel_tools)
            .collect()
            .await;
        results.sort_unstable_by_key(|(call, _)| *call);
        let keys: Vec<CallId> = results.into_iter().map(|(_, result)| result).collect();
        let place = self.session.conversation.borrow_mut().append_results();
        host.emit(&Effect::AppendResults { run: self.key, keys: &keys, place });
        if let Some(stopped) = self.stopped() {
            self.tell(Event::TurnEnd { turn, stop_reason: StopReason::ToolUse });
            return Err(stopped);
        }
        Ok(())
    }

    fn diagnose_budget(&self, what: &str, limit: f64) {
        let message = format!("the run {what}, over its maxTotalTokens of {limit}");
        self.family.diagnose(self.key, Level::Warning, "token_budget", &message, None);
    }
}

pub(super) fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_micros() as f64 / 1000.0
}
