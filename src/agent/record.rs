//! What a run writes into its session's log, before what it stands for is reported: and how a session that was written
//! before is taken up. Where the log is, and how an event is written, is the host's.

use std::time::Duration;

use serde::Deserialize;

use super::run::{Run, Stopped};
use crate::error::CoreError;
use crate::event::{Event, Level};
use crate::host::{Answer, Call, Effect, Recorded};
use crate::session::Session;

/// How long a run that was stopped waits for a store to say that something was written.
const STOPPED_WAIT: Duration = Duration::from_secs(1);
/// What the host says of a session that it has read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Loaded {
    messages: usize,
    last_is_assistant: Option<bool>,
    /// Calls without a result, which got a failed one.
    recovered: Vec<DanglingCall>,
    /// What was cut off a damaged log.
    repairs: Vec<String>,
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
        self.stored(call).await.map(|_nothing| ())
    }

    /// Awaits a call that writes into the session's log. Not given up when the run is stopped, but for a store that does not
    /// answer.
    pub(super) async fn stored(&self, call: Call) -> Result<String, Stopped> {
        let key = call.id();
        // Until it is answered, and for good if it is given up or fails, what the log holds is not known.
        let unknown = LogUnknown { session: &self.session, stores: self.family.options.stores, known: false };
        let patience = async {
            self.stop.cancelled().await;
            tokio::time::sleep(STOPPED_WAIT).await;
        };
        tokio::select! {
            biased;
            Answer { outcome, .. } = call => {
                let answer = outcome.map_err(|error| Stopped::thrown(key, error))?;
                unknown.known();
                Ok(answer)
            }
            () = patience => Err(Stopped::Cancelled),
        }
    }

    /// Takes up what the session's log holds, once. Calls that have no result get a failed one there.
    pub(super) async fn load_session(&self) -> Result<(), Stopped> {
        if self.session.loaded.get() {
            return Ok(());
        }
        let call =
            self.family.host.call(|id| Effect::Load { id, run: self.key, recover: self.family.options.recovers });
        let json = self.answered(call).await?;
        let loaded: Loaded = serde_json::from_str(&json)
            .map_err(|error| CoreError::Internal(format!("a session that was read: {error}")))?;
        self.session.conversation.borrow_mut().restore(loaded.messages, loaded.last_is_assistant);
        self.session.loaded.set(true);
        if loaded.messages > 0 {
            self.session.was_stored.set(true);
        }
        for repair in &loaded.repairs {
            self.family.diagnose(self.key, Level::Warning, "session_repaired", repair, None);
        }
        for DanglingCall { id, name, turn } in &loaded.recovered {
            self.tell(Event::ToolRecovered { id, name, turn: *turn });
        }
        Ok(())
    }
}

/// Unless what it stands for came to a good end, the session is read anew by the next run.
struct LogUnknown<'a> {
    session: &'a Session,
    stores: bool,
    known: bool,
}

impl LogUnknown<'_> {
    fn known(mut self) {
        self.known = true;
    }
}

impl Drop for LogUnknown<'_> {
    fn drop(&mut self) {
        if !self.known && self.stores {
            self.session.loaded.set(false);
        }
    }
}
