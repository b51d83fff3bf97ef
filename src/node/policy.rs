//! Policies as JS holds them. `where` functions are the host's: a check first says which of them it needs, and is asked
//! again with those that hold.

use std::sync::Arc;

use napi::bindgen_prelude::{Error, External};
use napi_derive::napi;
use serde::Serialize;
use serde_json::Value;

use super::text::Text;
use crate::permission::{Decision, Policy};

type Fault = Error<&'static str>;

/// A compiled policy.
pub struct PolicyHandle(Arc<Policy>);

impl PolicyHandle {
    pub fn policy(&self) -> Arc<Policy> {
        self.0.clone()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NamedVerdict {
    decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Wanted {
    r#where: Vec<usize>,
}

fn internal(error: impl std::fmt::Display) -> Fault {
    Error::new("internal", error.to_string())
}

/// Compiles a policy from JSON text.
#[napi(catch_unwind)]
pub fn policy_compile(json: String) -> std::result::Result<External<PolicyHandle>, Fault> {
    let policy = Policy::compile(&json).map_err(|problem| Error::new("config_error", problem))?;
    Ok(External::new(PolicyHandle(Arc::new(policy))))
}

/// The policy whose verdict is the strictest of several.
#[napi(catch_unwind)]
pub fn policy_compose(policies: Vec<&External<PolicyHandle>>) -> External<PolicyHandle> {
    External::new(PolicyHandle(Arc::new(Policy::compose(policies.into_iter().map(|policy| policy.policy()).collect()))))
}

/// A verdict: its bare word, JSON text of `{ decision, ruleId?, reason? }`, or JSON text of `{ where }`, the positions of
/// the rules whose functions are to be asked first. `holding` are those that were asked and hold; without it none was.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn policy_check(
    policy: &External<PolicyHandle>,
    tool: String,
    input: String,
    holding: Option<Vec<u32>>,
) -> std::result::Result<Text, Fault> {
    let input: Value = serde_json::from_str(&input).map_err(internal)?;
    let mut wanted = Vec::new();
    let verdict = policy.0.check(&tool, &input, &mut |rule| match &holding {
        Some(holding) => holding.iter().any(|holds| usize::try_from(*holds) == Ok(rule)),
        None => {
            wanted.push(rule);
            false
        }
    });
    if !wanted.is_empty() {
        return Ok(Text(serde_json::to_vec(&Wanted { r#where: wanted }).map_err(internal)?));
    }
    if verdict.rule_id.is_none() && verdict.reason.is_none() {
        let word: &[u8] = match verdict.decision {
            Decision::Allow => b"allow",
            Decision::Ask => b"ask",
            Decision::Deny => b"deny",
        };
        return Ok(Text(word.to_vec()));
    }
    let named = NamedVerdict { decision: verdict.decision, rule_id: verdict.rule_id, reason: verdict.reason };
    Ok(Text(serde_json::to_vec(&named).map_err(internal)?))
}
