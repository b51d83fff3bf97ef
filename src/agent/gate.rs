//! Permission of one call: what the policy says of it, who is asked, and what is told of the decision. Whether the call
//! then runs is the caller's to do.

use serde::Deserialize;

use super::run::Run;
use crate::event::{DecidedBy, Event};
use crate::host::Effect;
use crate::permission::{Decision, Verdict};
use crate::types::{CallId, ToolCall};

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
}

impl Run {
    /// Acts on the verdict; without one the host's policy is asked, and where it says so the approval handler.
    pub(super) async fn gate(&self, asked: &Asked<'_>, verdict: Option<Verdict>) -> Gate {
        let verdict = match verdict {
            Some(verdict) => verdict,
            None => self.host_verdict(asked).await,
        };
        if self.family.options.dry_run {
            self.tell_decision(asked, &verdict, verdict.decision, DecidedBy::Policy);
            return Gate::Open;
        }
        match verdict.decision {
            Decision::Allow => {
                self.tell_decision(asked, &verdict, Decision::Allow, DecidedBy::Policy);
                Gate::Open
            }
            Decision::Deny => {
                self.tell_decision(asked, &verdict, Decision::Deny, DecidedBy::Policy);
                shut(verdict.reason.as_deref())
            }
            Decision::Ask => self.approve(asked, &verdict).await,
        }
    }

    async fn host_verdict(&self, asked: &Asked<'_>) -> Verdict {
        let call = self.family.host.call(|id| Effect::Policy { id, run: self.key, call: asked.key });
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
    async fn approve(&self, asked: &Asked<'_>, verdict: &Verdict) -> Gate {
        let Ok(_turn) = self.family.approvals.acquire().await else { return shut(None) };
        self.tell(Event::ApprovalRequest { call: asked.key, reason: verdict.reason.as_deref() });
        let pending = PendingApproval { run: self, asked, verdict, settled: false };
        if !self.family.options.has_approval {
            pending.settle(Decision::Deny, DecidedBy::Auto);
            return shut(Some(
                verdict.reason.as_deref().unwrap_or("it needs approval, and there is no onApproval handler"),
            ));
        }
        let call = self.family.host.call(|id| Effect::Approval { id, run: self.key, call: asked.key });
        // Anything but a clear yes is a no.
        let answer = call.await.outcome;
        if answer.as_deref() == Ok("allow") {
            pending.settle(Decision::Allow, DecidedBy::User);
            return Gate::Open;
        }
        pending.settle(Decision::Deny, DecidedBy::User);
        shut(Some(verdict.reason.as_deref().unwrap_or("approval was denied")))
    }

    fn tell_decision(&self, asked: &Asked<'_>, verdict: &Verdict, decision: Decision, by: DecidedBy) {
        self.tell(Event::PermissionDecision {
            call: asked.key,
            decision,
            rule_id: verdict.rule_id.as_deref(),
            reason: verdict.reason.as_deref(),
            simulated: self.family.options.dry_run,
            by,
        });
    }
}

fn shut(reason: Option<&str>) -> Gate {
    Gate::Shut(match reason {
        Some(reason) => format!("Error: blocked by policy: {reason}"),
        None => "Error: blocked by policy".to_string(),
    })
}

/// An approval that was asked for. If its run is cancelled meanwhile, it is settled as a no.
struct PendingApproval<'a> {
    run: &'a Run,
    asked: &'a Asked<'a>,
    verdict: &'a Verdict,
    settled: bool,
}

impl PendingApproval<'_> {
    fn settle(mut self, decision: Decision, by: DecidedBy) {
        self.tell(decision, by);
        self.settled = true;
    }

    fn tell(&self, decision: Decision, by: DecidedBy) {
        self.run.tell(Event::ApprovalResolved { id: &self.asked.call.id, decision, by });
        self.run.tell_decision(self.asked, self.verdict, decision, by);
    }
}

impl Drop for PendingApproval<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.tell(Decision::Deny, DecidedBy::Auto);
        }
    }
}
