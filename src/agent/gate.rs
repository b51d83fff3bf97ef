//! Permission of one call: what the policy says of it, who is asked, and what is told of the decision. Whether the call
//! then runs is the caller's to do.

use std::cell::Cell;

use serde::Deserialize;

use super::run::{Run, Stopped};
use crate::event::{DecidedBy, Event};
use crate::host::{Effect, Recorded};
use crate::permission::{Decision, Verdict};
use crate::types::{CallId, ToolCall};

/// Why what waits for approval is not approved.
const CANCELLED: &str = "the run was cancelled before it was approved";
/// Why an approval is denied that the handler could not be asked for: it waits for the run that wants it.
const NESTED: &str = "it was asked for inside another approval";

/// Whether a call may run.
pub(super) enum Gate {
    Open,
    /// Content of the failed result.
    Shut(String),
}

/// A verdict as the host answers it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HostVerdict {
    decision: Decision,
    rule_id: Option<String>,
    reason: Option<String>,
}

/// A call as permission sees it.
pub(super) struct Asked<'a> {
    pub call: &'a ToolCall,
    /// Key of the call with the input that permission sees.
    pub key: CallId,
    pub turn: u32,
    /// Also in a dry run.
    pub enforced: bool,
}

/// What was decided in the end, and by whom.
#[derive(Clone, Copy)]
struct Decided {
    decision: Decision,
    by: DecidedBy,
}

impl Run {
    /// Acts on the verdict; without one the host's policy is asked, and where it says so the approval handler. The decision
    /// is stored and told before this returns.
    ///
    /// # Errors
    /// The decision was to be stored, and could not be.
    pub(super) async fn gate(&self, asked: &Asked<'_>, verdict: Option<Verdict>) -> Result<Gate, Stopped> {
        let verdict = match verdict {
            Some(verdict) => verdict,
            None => self.host_verdict(asked).await,
        };
        if self.simulates(asked) {
            let decided = Decided { decision: verdict.decision, by: DecidedBy::Policy };
            self.tell_decision(asked, &verdict, decided).await?;
            return Ok(Gate::Open);
        }
        match verdict.decision {
            Decision::Ask => self.approve(asked, &verdict).await,
            decision => {
                self.tell_decision(asked, &verdict, Decided { decision, by: DecidedBy::Policy }).await?;
                Ok(if decision == Decision::Allow { Gate::Open } else { shut(verdict.reason.as_deref()) })
            }
        }
    }

    /// Whether the call runs whatever is decided.
    fn simulates(&self, asked: &Asked<'_>) -> bool {
        self.family.options.dry_run && !asked.enforced
    }

    async fn host_verdict(&self, asked: &Asked<'_>) -> Verdict {
        let call =
            self.family.host.call(|id| Effect::Policy { id, run: self.key, call: asked.key, enforced: asked.enforced });
        let answered = match call.await.outcome {
            Ok(json) => serde_json::from_str::<HostVerdict>(&json).map_err(|error| error.to_string()),
            Err(error) => Err(error.message),
        };
        match answered {
            Ok(HostVerdict { decision, rule_id, reason }) => Verdict { decision, rule_id, reason },
            // A policy that cannot say denies.
            Err(problem) => {
                Verdict { decision: Decision::Deny, rule_id: None, reason: Some(format!("policy error: {problem}")) }
            }
        }
    }

    /// Approvals of one family are asked one at a time, in the order in which they were wanted.
    async fn approve(&self, asked: &Asked<'_>, verdict: &Verdict) -> Result<Gate, Stopped> {
        if self.inside_approval.is_some() && self.inside_approval == self.family.asking.get() {
            return self.deny_nested(asked, verdict).await;
        }
        let turn = self.cancellable(self.family.approvals.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            self.tell_decision(asked, verdict, Decided { decision: Decision::Deny, by: DecidedBy::Auto }).await?;
            return Ok(shut(Some(CANCELLED)));
        };
        self.tell(Event::ApprovalRequest { call: asked.key, reason: verdict.reason.as_deref() });
        let mut pending = PendingApproval { run: self, asked, verdict, settled: false };
        let reason = verdict.reason.as_deref();
        if !self.family.options.has_approval {
            pending.settle(Decided { decision: Decision::Deny, by: DecidedBy::Auto }).await?;
            return Ok(shut(Some(reason.unwrap_or("it needs approval, and there is no onApproval handler"))));
        }
        let call = self.family.host.call(|id| Effect::Approval { id, run: self.key, call: asked.key });
        let asking = Asking::begin(&self.family.asking, call.id());
        let answered = self.cancellable(call).await;
        drop(asking);
        let Ok(answer) = answered else {
            pending.settle(Decided { decision: Decision::Deny, by: DecidedBy::Auto }).await?;
            return Ok(shut(Some(CANCELLED)));
        };
        // Anything but a clear yes is a no.
        let allowed = answer.outcome.as_deref() == Ok("allow");
        let decision = if allowed { Decision::Allow } else { Decision::Deny };
        pending.settle(Decided { decision, by: DecidedBy::User }).await?;
        Ok(match answer.outcome {
            _ if allowed => Gate::Open,
            Ok(_) => shut(Some(reason.unwrap_or("approval was denied"))),
            // Nobody has decided: whoever reads this must not look for a person who said no.
            Err(error) => shut(Some(&format!("approval was denied, for onApproval failed: {}", error.message))),
        })
    }

    /// The handler that is being waited for started the run: to ask it again when it has answered would be never.
    async fn deny_nested(&self, asked: &Asked<'_>, verdict: &Verdict) -> Result<Gate, Stopped> {
        let verdict = Verdict { reason: Some(NESTED.to_string()), rule_id: verdict.rule_id.clone(), ..*verdict };
        self.tell(Event::ApprovalRequest { call: asked.key, reason: verdict.reason.as_deref() });
        let mut pending = PendingApproval { run: self, asked, verdict: &verdict, settled: false };
        pending.settle(Decided { decision: Decision::Deny, by: DecidedBy::Auto }).await?;
        Ok(shut(Some(NESTED)))
    }

    async fn tell_decision(&self, asked: &Asked<'_>, verdict: &Verdict, decided: Decided) -> Result<(), Stopped> {
        if self.family.options.audits {
            self.record(&[self.audit(asked, verdict, decided)]).await?;
        }
        self.tell_of(asked, verdict, decided);
        Ok(())
    }

    fn tell_of(&self, asked: &Asked<'_>, verdict: &Verdict, Decided { decision, by }: Decided) {
        self.tell(Event::PermissionDecision {
            call: asked.key,
            decision,
            rule_id: verdict.rule_id.as_deref(),
            reason: verdict.reason.as_deref(),
            simulated: self.simulates(asked),
            by,
        });
    }

    fn audit<'a>(&self, asked: &Asked<'_>, verdict: &'a Verdict, Decided { decision, by }: Decided) -> Recorded<'a> {
        Recorded::PermissionDecision {
            call: asked.key,
            decision,
            rule_id: verdict.rule_id.as_deref(),
            reason: verdict.reason.as_deref(),
            simulated: self.simulates(asked),
            by,
            turn: asked.turn,
        }
    }
}

fn shut(reason: Option<&str>) -> Gate {
    Gate::Shut(match reason {
        Some(reason) => format!("Error: blocked by policy: {reason}"),
        None => "Error: blocked by policy".to_string(),
    })
}

/// The approval handler is being asked; over when this is dropped.
struct Asking<'a>(&'a Cell<Option<CallId>>);

impl Asking<'_> {
    fn begin(asking: &Cell<Option<CallId>>, call: CallId) -> Asking<'_> {
        asking.set(Some(call));
        Asking(asking)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// An approval that was asked for. If its run is cancelled meanwhile, it is settled as a no.
struct PendingApproval<'a> {
    run: &'a Run,
    asked: &'a Asked<'a>,
    verdict: &'a Verdict,
    settled: bool,
}

impl PendingApproval<'_> {
    async fn settle(&mut self, decided: Decided) -> Result<(), Stopped> {
        self.settled = true;
        self.resolve(decided);
        self.run.tell_decision(self.asked, self.verdict, decided).await
    }

    fn resolve(&self, Decided { decision, by }: Decided) {
        self.run.tell(Event::ApprovalResolved { id: &self.asked.call.id, decision, by });
    }
}

impl Drop for PendingApproval<'_> {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let decided = Decided { decision: Decision::Deny, by: DecidedBy::Auto };
        self.resolve(decided);
        if self.run.family.options.audits {
            // Nobody can wait for it here; the log keeps the order in which it was told.
            let host = &self.run.family.host;
            let events = [self.run.audit(self.asked, self.verdict, decided)];
            host.emit(&Effect::Record { id: host.reserve(1), run: self.run.key, events: &events });
        }
        self.run.tell_of(self.asked, self.verdict, decided);
    }
}
