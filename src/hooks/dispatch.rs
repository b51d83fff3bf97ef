//! One event, one snapshot of registrations: each is awaited in order, within its own deadline. A failure is reported
//! and changes nothing else.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::registry::Snapshot;
use crate::event::{HookError, HookFailure, HookFailureReason, HookOrigin};
use crate::host::{Effect, HookSubject, Host, Timed};
use crate::types::RunKey;

/// The run was cancelled while a start hook was going: what had not begun was skipped.
#[derive(Debug, PartialEq, Eq)]
pub struct Abandoned;

/// What one dispatch needs.
pub struct Dispatch<'a> {
    pub host: &'a Host,
    pub run: RunKey,
    pub subject: HookSubject,
    /// For start events: abandons the handler in flight and skips the rest. End events have none.
    pub cancel: Option<&'a CancellationToken>,
    /// Told of each failure as it happens, with what was thrown.
    pub report: &'a dyn Fn(HookFailure, Option<HookError>),
}

impl Dispatch<'_> {
    /// Awaits every registration of the snapshot.
    ///
    /// # Errors
    /// `Abandoned` when `cancel` fired first.
    pub async fn run(self, registrations: Snapshot) -> Result<(), Abandoned> {
        let key = self.host.reserve(1);
        let last = registrations.len().saturating_sub(1);
        for (index, registration) in registrations.iter().enumerate() {
            if self.cancel.is_some_and(CancellationToken::is_cancelled) {
                return Err(Abandoned);
            }
            let call = self
                .host
                .call(|id| Effect::Hook {
                    id,
                    run: self.run,
                    handler: registration.handler,
                    key,
                    make: (index == 0).then_some(&self.subject),
                    last: index == last,
                })
                .within(Some(registration.timeout));
            let ended = match self.cancel {
                None => call.await,
                Some(cancel) => tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Err(Abandoned),
                    ended = call => ended,
                },
            };
            self.judge(index, registration.timeout, ended);
        }
        Ok(())
    }

    fn judge(&self, index: usize, timeout: Duration, ended: Timed) {
        let (reason, elapsed, thrown) = match ended {
            Timed::Answered(answer) => match answer.outcome {
                Ok(_) => return,
                Err(error) => (
                    HookFailureReason::Error,
                    answer.elapsed,
                    Some(HookError { name: error.name, message: error.message }),
                ),
            },
            Timed::TimedOut { elapsed } => (HookFailureReason::Timeout, elapsed.max(timeout), None),
        };
        let failure = HookFailure {
            event: self.subject.event,
            source: HookOrigin::Programmatic,
            index,
            reason,
            duration_ms: elapsed.as_secs_f64() * 1000.0,
        };
        (self.report)(failure, thrown);
    }
}

/// What a `hook_failed` diagnostic says. `thrown` has been redacted by whoever asks.
pub fn failure_message(failure: &HookFailure, thrown: Option<&str>) -> String {
    let event = failure.event.as_str();
    let position = failure.index;
    match (failure.reason, thrown) {
        (HookFailureReason::Timeout, _) => format!(
            "{event} hook #{position} (programmatic) failed: timeout, it had not settled after {:.0} ms; its signal was \
             aborted and the run went on",
            failure.duration_ms
        ),
        (HookFailureReason::Error, thrown) => {
            format!("{event} hook #{position} (programmatic) failed: error, it threw {}", thrown.unwrap_or("nothing"))
        }
    }
}
