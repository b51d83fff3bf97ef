//! Policies: rules that are compiled once, and what they say of a call. The strictest rule that matches wins, in
//! whatever order they are written. Knows nothing of agents, of who asks, and of who is asked for approval.

mod compile;
mod input;
mod matching;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use serde::Serialize;
use serde_json::Value;

use super::condition::Condition;
use super::pattern::ShellPattern;
use crate::glob::Glob;
use crate::types::Decision;
pub use input::parse_input;
use matching::{Matched, View};

/// Names of tools are few; names that a model makes up are not worth remembering.
const MAX_REMEMBERED_TOOLS: usize = 256;

/// What a policy says of a call. One that only a name array or the default gave has neither rule nor reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Verdict {
    fn bare(decision: Decision) -> Verdict {
        Verdict { decision, rule_id: None, reason: None }
    }

    /// The verdict of a policy that cannot say: it denies.
    pub fn policy_error(problem: &str) -> Verdict {
        Verdict { decision: Decision::Deny, rule_id: None, reason: Some(format!("policy error: {problem}")) }
    }
}

/// Some policies of which the strictest verdict wins. Most often there is one.
#[derive(Debug)]
pub struct Policy {
    layers: Vec<Arc<Layer>>,
}

/// One policy as it was written.
#[derive(Debug)]
struct Layer {
    names: Vec<(Decision, ToolGlobs)>,
    rules: Vec<Rule>,
    default: Decision,
    remembered: RwLock<HashMap<String, Arc<Relevant>>>,
}

#[derive(Debug)]
struct Rule {
    /// As given, or `rule-<index>`.
    id: String,
    description: Option<String>,
    /// Absent: every tool.
    tool: Option<ToolGlobs>,
    when: Vec<(Path, Condition)>,
    asks_host: bool,
    effect: Decision,
    shell: Option<ShellPattern>,
    file: Option<Glob>,
}

/// The segments of a dot path.
type Path = Vec<String>;

#[derive(Debug)]
struct ToolGlobs(Vec<Glob>);

impl ToolGlobs {
    fn matches(&self, tool: &str) -> bool {
        self.0.iter().any(|glob| glob.matches(tool))
    }
}

/// What of a policy concerns one tool.
#[derive(Debug)]
struct Relevant {
    /// The strictest that a name array gives.
    name: Option<Decision>,
    rules: Vec<usize>,
    reads_input: bool,
}

impl Policy {
    /// Compiles `{ allow?, ask?, deny?, rules?, default? }`. A rule is `{ id?, description?, tool?, when?, where?,
    /// effect, shell?, file? }`: `where: true` where the host has a function, `shell` the pattern of a bash command,
    /// `file` the glob of a file tool's path.
    ///
    /// # Errors
    /// Says what is wrong and where; in a rule, with its id.
    pub fn compile(json: &str) -> Result<Policy, String> {
        let options = serde_json::from_str(json).map_err(|error| format!("the options cannot be read: {error}"))?;
        Ok(Policy { layers: vec![Arc::new(compile::layer(&options)?)] })
    }

    /// The policy of which the strictest verdict of all these wins. Without any, it denies.
    pub fn compose(policies: &[Arc<Policy>]) -> Policy {
        Policy { layers: policies.iter().flat_map(|policy| policy.layers.iter().cloned()).collect() }
    }

    /// Whether any rule needs a function of the host.
    pub fn needs_host(&self) -> bool {
        self.layers.iter().any(|layer| layer.rules.iter().any(|rule| rule.asks_host))
    }

    /// Whether a verdict on this tool may depend on the input.
    pub fn reads_input(&self, tool: &str) -> bool {
        self.layers.iter().any(|layer| layer.relevant(tool).reads_input)
    }

    /// The verdict on a call. `where_holds` is asked, by the rule's index in the order of all rules, only of rules with a
    /// `where` whose tool and conditions match.
    pub fn check(&self, tool: &str, input: &Value, where_holds: &mut dyn FnMut(usize) -> bool) -> Verdict {
        let mut view = View::new(input);
        let mut strictest: Option<Verdict> = None;
        let mut first_rule = 0;
        for layer in &self.layers {
            let verdict = layer.check(tool, &mut view, &mut |rule| where_holds(first_rule + rule));
            first_rule += layer.rules.len();
            if strictest.as_ref().is_none_or(|so_far| strictness(verdict.decision) > strictness(so_far.decision)) {
                strictest = Some(verdict);
            }
        }
        strictest.unwrap_or_else(|| Verdict::bare(Decision::Deny))
    }

    /// The verdict on a call whose input is JSON text. Input that cannot be read is denied.
    pub fn check_json(&self, tool: &str, input: &str, where_holds: &mut dyn FnMut(usize) -> bool) -> Verdict {
        if !self.reads_input(tool) {
            return self.check(tool, &Value::Null, where_holds);
        }
        match parse_input(input) {
            Ok(input) => self.check(tool, &input, where_holds),
            Err(problem) => Verdict::policy_error(&problem),
        }
    }
}

impl Layer {
    fn relevant(&self, tool: &str) -> Arc<Relevant> {
        if let Some(relevant) = self.remembered.read().unwrap_or_else(PoisonError::into_inner).get(tool) {
            return relevant.clone();
        }
        let rules: Vec<usize> = self
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.tool.as_ref().is_none_or(|globs| globs.matches(tool)))
            .map(|(index, _)| index)
            .collect();
        let relevant = Arc::new(Relevant {
            name: self
                .names
                .iter()
                .filter(|(_, globs)| globs.matches(tool))
                .map(|(decision, _)| *decision)
                .max_by_key(|decision| strictness(*decision)),
            reads_input: rules.iter().filter_map(|index| self.rules.get(*index)).any(Rule::reads_input),
            rules,
        });
        let mut remembered = self.remembered.write().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() < MAX_REMEMBERED_TOOLS && tool.len() <= MAX_REMEMBERED_TOOLS {
            remembered.insert(tool.to_string(), relevant.clone());
        }
        relevant
    }

    fn check(&self, tool: &str, view: &mut View<'_>, where_holds: &mut dyn FnMut(usize) -> bool) -> Verdict {
        let relevant = self.relevant(tool);
        let mut winner = Winner { rule: None, limit: false, decision: None };
        // Rules that ask the host come last, so that it is asked only for what can still change the verdict.
        for asks_host in [false, true] {
            for index in &relevant.rules {
                let Some(rule) = self.rules.get(*index).filter(|rule| rule.asks_host == asks_host) else { continue };
                if !winner.could_change(*index, rule) {
                    continue;
                }
                match rule.matches(view) {
                    Matched::Yes if !asks_host || where_holds(*index) => winner.take(*index, rule.effect, false),
                    Matched::Limit => winner.take(*index, Decision::Deny, true),
                    _ => {}
                }
            }
        }
        self.verdict(&winner, relevant.name)
    }

    fn verdict(&self, winner: &Winner, name: Option<Decision>) -> Verdict {
        let Some(decision) = [winner.decision, name].into_iter().flatten().max_by_key(|each| strictness(*each)) else {
            return Verdict::bare(self.default);
        };
        let named = winner.rule.filter(|_| winner.decision == Some(decision)).and_then(|index| self.rules.get(index));
        match named {
            None => Verdict::bare(decision),
            Some(rule) => Verdict {
                decision,
                rule_id: Some(rule.id.clone()),
                reason: if winner.limit {
                    Some(format!("a regular expression of {} reached its backtrack limit", rule.id))
                } else {
                    rule.description.clone()
                },
            },
        }
    }
}

/// The first rule, as written, of the strictest effect so far.
struct Winner {
    rule: Option<usize>,
    limit: bool,
    decision: Option<Decision>,
}

impl Winner {
    fn could_change(&self, index: usize, rule: &Rule) -> bool {
        let Some(decision) = self.decision else { return true };
        // A regular expression that reaches its limit denies, whatever the effect of its rule.
        let most = if rule.may_reach_limit() { Decision::Deny } else { rule.effect };
        let is_earlier = self.rule.is_some_and(|winner| index < winner);
        // A function of the host may throw, which denies: not asking it would make order matter.
        strictness(most) > strictness(decision)
            || (most == decision && is_earlier)
            || (rule.asks_host && decision != Decision::Deny)
    }

    fn take(&mut self, index: usize, effect: Decision, limit: bool) {
        let stricter = self.decision.is_none_or(|decision| strictness(effect) > strictness(decision));
        let earlier = self.decision == Some(effect) && self.rule.is_some_and(|winner| index < winner);
        if stricter || earlier {
            *self = Winner { rule: Some(index), limit, decision: Some(effect) };
        }
    }
}

/// Deny over ask over allow.
pub fn strictness(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny => 2,
    }
}

/// What applies where no policy was given: it asks for what changes something, and lets the rest through.
pub fn default_policy() -> Arc<Policy> {
    static DEFAULT: LazyLock<Arc<Policy>> = LazyLock::new(|| {
        let options = serde_json::json!({
            "ask": ["bash", "write_file", "edit_file", "delete_file", "hook", "mcp_connect", "mcp__*"],
        });
        // Options that could not be compiled would leave no layer, and a policy without one denies.
        Arc::new(Policy { layers: compile::layer(&options).into_iter().map(Arc::new).collect() })
    });
    DEFAULT.clone()
}

/// A path as file rules compare it, whoever wrote it: without `.`, `..` and empty components where they can be had away.
fn plain_path(path: &str) -> Cow<'_, str> {
    let is_plain = |component: &str| !matches!(component, "" | "." | "..");
    let relative = path.strip_prefix('/').unwrap_or(path);
    if relative.split('/').all(is_plain) {
        return Cow::Borrowed(path);
    }
    let mut kept: Vec<&str> = Vec::new();
    for component in relative.split('/') {
        match component {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    Cow::Owned(format!("{root}{}", kept.join("/")))
}

#[cfg(test)]
#[path = "policy_test.rs"]
mod tests;
