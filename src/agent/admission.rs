//! What must hold before a call is executed: its tool exists, its input is valid, and permission lets it.

use super::gate::{Asked, Gate};
use super::run::Run;
use super::tool_call::Ended;
use crate::host::Effect;
use crate::permission::{Decision, Verdict};
use crate::tools::Tool;
use crate::types::{CallId, ToolCall};

/// A call that may be executed.
pub(super) struct Admitted<'a> {
    pub tool: &'a Tool,
    pub call: &'a ToolCall,
    pub key: CallId,
}

impl Run {
    /// Checks a call in the order of the specification: tool, validation, permission.
    ///
    /// # Errors
    /// The failed result of a call that must not be executed.
    pub(super) async fn admit<'a>(&'a self, call: &'a ToolCall, key: CallId) -> Result<Admitted<'a>, Ended> {
        let Some(tool) = self.family.tools.get(&call.name) else {
            return Err(self.failed(key, &self.family.tools.unknown(&call.name)));
        };
        let invalid =
            |problem: &str| self.failed(key, &format!("Error: invalid input for tool '{}': {problem}", call.name));
        if let Some(problem) = &call.refused {
            return Err(invalid(problem));
        }
        if let Some(schema) = &tool.schema {
            schema.check(&call.input).map_err(|problem| invalid(&problem))?;
        }
        let verdict = self.native_verdict(call);
        let is_plain = verdict.as_ref().is_some_and(|verdict| verdict.decision == Decision::Allow);
        // Where nobody could tell the difference, the host validates in the same step in which it executes.
        if tool.schema.is_none() && (!is_plain || self.is_heard() || self.family.options.middleware.wrap_tool_call) {
            let check = self.family.host.call(|id| Effect::Check { id, run: self.key, call: key, tool: tool.index });
            let id = check.id();
            let answer = check.await;
            if answer.outcome.is_err() {
                return Err(self.judge(answer, id, call, key));
            }
        }
        self.pass(&Asked { call, key }, key, verdict).await?;
        Ok(Admitted { tool, call, key })
    }

    async fn pass(&self, asked: &Asked<'_>, key: CallId, verdict: Option<Verdict>) -> Result<(), Ended> {
        match self.gate(asked, verdict).await {
            Gate::Open => Ok(()),
            Gate::Shut(content) => Err(self.failed(key, &content)),
        }
    }

    /// What the native policy says; `None` where the host is to be asked. Input that cannot be read is denied.
    fn native_verdict(&self, call: &ToolCall) -> Option<Verdict> {
        let policy = self.family.policy.as_ref()?;
        Some(policy.check_json(&call.name, &call.input, &mut |_rule| false))
    }
}
