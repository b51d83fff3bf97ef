//! What a run writes into its session's log, before what it stands for is reported: and how a session that was written
//! before is taken up. Where the log is, and how an event is written, is the host's.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::run::{Run, Stopped};
use crate::error::CoreError;
use crate::event::Event;
use crate::host::{Answer, Effect, MadeCall, Recorded};

/// How long a cancelled run waits for a store to say that something was written.
const CANCELLED_WAIT: Duration = Duration::from_secs(1);
/// The result of a call that a process took with it.
const LOST: &str = "Error: interrupted: the process ended before this call had a result";

/// What the host says of a session that it has read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Loaded {
    messages: usize,
    last_is_assistant: Option<bool>,
    /// Calls without a result, which are the last of the conversation, in order.
    dangling: Vec<DanglingCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DanglingCall {
    id: String,
    name: String,
    turn: u32,
}

impl Run {
    /// Writes events into the session's log; returns when they are durable. Not given up when the run is cancelled: what
    /// happened is told. A store that does not answer then is not waited for, and the session is read anew by the next run.
    pub(super) async fn record(&self, events: &[Recorded<'_>]) -> Result<(), Stopped> {
        if !self.family.options.stores || events.is_empty() {
            return Ok(());
        }
        let call = self.family.host.call(|id| Effect::Record { id, run: self.key, events });
        let key = call.id();
        let patience = async {
            self.handle.cancel.cancelled().await;
            tokio::time::sleep(CANCELLED_WAIT).await;
        };
        let answered = tokio::select! {
            biased;
            Answer { outcome, .. } = call => outcome.map(|_nothing| ()).map_err(|error| Stopped::thrown(key, error)),
            () = patience => Err(Stopped::Cancelled),
        };
        if answered.is_err() {
            // What the log holds is no longer known.
            self.session.loaded.set(false);
        }
        answered
    }

    /// Takes up what the session's log holds, once; calls that have no result get a failed one.
    pub(super) async fn load_session(&self) -> Result<(), Stopped> {
        if self.session.loaded.get() {
            return Ok(());
        }
        let call = self.family.host.call(|id| Effect::Load { id, run: self.key });
        let json = self.answered(call).await?;
        let loaded: Loaded = serde_json::from_str(&json)
            .map_err(|error| CoreError::Internal(format!("a session that was read: {error}")))?;
        self.session.conversation.borrow_mut().restore(loaded.messages, loaded.last_is_assistant);
        self.session.loaded.set(true);
        if !loaded.dangling.is_empty() && self.family.options.recovers {
            self.recover(&loaded.dangling).await?;
        }
        Ok(())
    }

    async fn recover(&self, dangling: &[DanglingCall]) -> Result<(), Stopped> {
        let mut keys = Vec::with_capacity(dangling.len());
        let mut events = Vec::with_capacity(dangling.len());
        for call in dangling {
            let kept = self.family.host.reserve(1);
            let made = MadeCall { id: &call.id, name: &call.name, input: &Value::Null };
            self.family.host.emit(&Effect::KeepCall { run: self.key, key: kept, call: made });
            let key = self.keep_result(kept, LOST, true);
            keys.push(key);
            events.push(Recorded::ToolResult { key, turn: call.turn });
        }
        self.record(&events).await?;
        for call in dangling {
            self.tell(Event::ToolRecovered { id: &call.id, name: &call.name, turn: call.turn });
        }
        let place = self.session.conversation.borrow_mut().append_results();
        self.family.host.emit(&Effect::AppendResults { run: self.key, keys: &keys, place });
        Ok(())
    }
}
