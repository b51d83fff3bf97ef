//! What must hold before a call is executed: its tool exists, its input is valid, and permission lets it.

use serde_json::Value;

use super::gate::{Asked, Gate};
use super::run::{Run, Stopped};
use super::tool_call::Ended;
use crate::host::Effect;
use crate::permission::{Decision, Verdict};
use crate::tools::{Executor, Tool};
use crate::types::{CallId, ToolCall};

/// Why a call is not executed.
pub(super) enum Refusal {
    /// It has this failed result.
    Result(Ended),
    /// The run cannot go on.
    Stopped(Stopped),
}

impl From<Ended> for Refusal {
    fn from(ended: Ended) -> Refusal {
        Refusal::Result(ended)
    }
}

impl From<Stopped> for Refusal {
    fn from(stopped: Stopped) -> Refusal {
        Refusal::Stopped(stopped)
    }
}

/// A call that may be executed.
pub(super) struct Admitted<'a> {
    pub tool: &'a Tool,
    pub call: &'a ToolCall,
    pub key: CallId,
    pub turn: u32,
    /// What permission saw of a built-in tool's input; the host has its own tools'.
    pub input: Value,
}

impl Run {
    /// Checks a call in the order of the specification: tool, validation, permission.
    ///
    /// # Errors
    /// The failed result of a call that must not be executed, or why the run cannot go on.
    pub(super) async fn admit<'a>(
        &'a self,
        call: &'a ToolCall,
        key: CallId,
        turn: u32,
    ) -> Result<Admitted<'a>, Refusal> {
        let Some(tool) = self.profile.tools.get(&call.name) else {
            return Err(self.failed(key, &self.profile.tools.unknown(&call.name)).into());
        };
        if let Some(problem) = &call.refused {
            return Err(self.invalid(call, key, problem).into());
        }
        if let Some(schema) = &tool.schema {
            schema.check(&call.input).map_err(|problem| self.invalid(call, key, &problem))?;
        }
        let input = match tool.executor {
            Executor::Builtin(name) => self.admit_builtin(name, call, key, turn).await?,
            Executor::Host(index) => {
                self.admit_host_tool(tool, index, call, key, turn).await?;
                Value::Null
            }
        };
        Ok(Admitted { tool, call, key, turn, input })
    }

    /// Permission sees what the tool will act on, and the tool gets exactly that.
    async fn admit_builtin(
        &self,
        name: &'static str,
        call: &ToolCall,
        key: CallId,
        turn: u32,
    ) -> Result<Value, Refusal> {
        let given: Value =
            serde_json::from_str(&call.input).map_err(|error| self.invalid(call, key, &error.to_string()))?;
        let model_path = given.get("path").and_then(Value::as_str).map(str::to_string);
        let input = self.canonical_input(name, given).await.map_err(|content| self.failed(key, &content))?;
        let mut asked = key;
        if let Some(path) = input.get("path").and_then(Value::as_str)
            && model_path.as_deref() != Some(path)
        {
            asked = self.family.host.reserve(1);
            self.family.host.emit(&Effect::AskedCall { run: self.key, key: asked, call: key, path });
        }
        let policy = self.profile.policy.as_ref();
        let verdict = policy.map(|policy| policy.check(&call.name, &input, &mut |_rule| false));
        self.pass(&Asked { call, key: asked, turn, enforced: false }, key, verdict).await?;
        Ok(input)
    }

    async fn admit_host_tool(
        &self,
        tool: &Tool,
        index: usize,
        call: &ToolCall,
        key: CallId,
        turn: u32,
    ) -> Result<(), Refusal> {
        // It does nothing: there is nothing to permit.
        if tool.is_final {
            return Ok(());
        }
        let verdict = self.native_verdict(call);
        let is_plain = verdict.as_ref().is_some_and(|verdict| verdict.decision == Decision::Allow);
        // Where nobody could tell the difference, the host validates in the same step in which it executes.
        if tool.schema.is_none() && (!is_plain || self.is_heard() || self.family.options.middleware.wrap_tool_call) {
            let check = self.family.host.call(|id| Effect::Check { id, run: self.key, call: key, tool: index });
            let id = check.id();
            let answer = check.await;
            if answer.outcome.is_err() {
                return Err(self.judge(answer, id, call, key).into());
            }
        }
        self.pass(&Asked { call, key, turn, enforced: false }, key, verdict).await
    }

    async fn pass(&self, asked: &Asked<'_>, key: CallId, verdict: Option<Verdict>) -> Result<(), Refusal> {
        match self.gate(asked, verdict).await? {
            Gate::Open => Ok(()),
            Gate::Shut(content) => Err(self.failed(key, &content).into()),
        }
    }

    /// What the native policy says; `None` where the host is to be asked. Input that cannot be read is denied.
    fn native_verdict(&self, call: &ToolCall) -> Option<Verdict> {
        let policy = self.profile.policy.as_ref()?;
        Some(policy.check_json(&call.name, &call.input, &mut |_rule| false))
    }

    fn invalid(&self, call: &ToolCall, key: CallId, problem: &str) -> Ended {
        self.failed(key, &format!("Error: invalid input for tool '{}': {problem}", call.name))
    }
}
