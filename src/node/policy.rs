//! Policies as JS holds them. A function of the host is never called from here: the first check says which rules need
//! one, and the second is told which of them hold.

use std::sync::Arc;

use napi::bindgen_prelude::{Error, External, Result};
use napi_derive::napi;

use super::text::Text;
use crate::permission::{Decision, Policy, Verdict, default_policy};

/// A compiled policy.
pub struct PolicyHandle(Arc<Policy>);

impl PolicyHandle {
    pub fn policy(&self) -> Arc<Policy> {
        self.0.clone()
    }
}

/// Compiles the options of a policy; throws what is wrong with them.
#[napi(catch_unwind)]
pub fn policy_compile(json: String) -> Result<External<PolicyHandle>> {
    let policy = Policy::compile(&json).map_err(Error::from_reason)?;
    Ok(External::new(PolicyHandle(Arc::new(policy))))
}

/// What holds where a host gives no policy.
#[napi(catch_unwind)]
pub fn policy_default() -> External<PolicyHandle> {
    External::new(PolicyHandle(default_policy()))
}

/// The policy of which the strictest verdict of both wins.
#[napi(catch_unwind)]
pub fn policy_compose(first: &External<PolicyHandle>, second: &External<PolicyHandle>) -> External<PolicyHandle> {
    External::new(PolicyHandle(Arc::new(Policy::compose(&[first.policy(), second.policy()]))))
}

/// Whether a verdict on the tool may depend on the input.
#[napi(catch_unwind)]
pub fn policy_reads_input(policy: &External<PolicyHandle>, tool: String) -> bool {
    policy.0.reads_input(&tool)
}

/// The verdict on a call: a bare decision, or `{ decision, ruleId, reason? }` as JSON. Where functions of the host must
/// be asked and `holding` is absent, the indexes of their rules as a JSON array; `holding` are those that hold.
#[napi(catch_unwind)]
pub fn policy_check(
    policy: &External<PolicyHandle>,
    tool: String,
    input: String,
    holding: Option<Vec<u32>>,
) -> Result<Text> {
    let mut asked = Vec::new();
    let verdict = policy.0.check_json(&tool, &input, &mut |rule| match &holding {
        Some(holding) => holding.iter().any(|held| *held as usize == rule),
        None => {
            asked.push(rule);
            false
        }
    });
    if !asked.is_empty() {
        return as_text(&asked);
    }
    match verdict {
        Verdict { decision, rule_id: None, reason: None } => Ok(Text(word(decision).as_bytes().to_vec())),
        verdict => as_text(&verdict),
    }
}

fn as_text(value: &impl serde::Serialize) -> Result<Text> {
    serde_json::to_vec(value).map(Text).map_err(|error| Error::from_reason(error.to_string()))
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Deny => "deny",
        Decision::Ask => "ask",
    }
}
