//! A policy: rules compiled once, and the verdict that they come to over one call. Every rule that matches counts, the
//! strictest wins, and the order of rules never matters but for which of them is named.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::Value;

use super::condition::{Condition, at_path};
use super::pattern::{CommandPattern, Glob};
use super::shell::ShellCommand;
use crate::types::Decision;

/// How many tool names a policy remembers the matching rules of.
const REMEMBERED_TOOLS: usize = 128;

/// What a policy says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    pub rule_id: Option<String>,
    pub reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyWire {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    rules: Vec<RuleWire>,
    default: Option<Decision>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleWire {
    id: Option<String>,
    description: Option<String>,
    tool: Option<OneOrMany>,
    when: Option<serde_json::Map<String, Value>>,
    /// The host has a function for this rule.
    #[serde(default, rename = "where")]
    has_where: bool,
    effect: Decision,
    /// A pattern of `bashCommand`.
    shell: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

struct Rule {
    /// Position among the rules as written; absent for one of a name array.
    index: Option<usize>,
    id: Option<String>,
    reason: Option<String>,
    /// Absent: every tool.
    tools: Option<Vec<Glob>>,
    when: Vec<(Vec<String>, Condition)>,
    shell: Option<CommandPattern>,
    has_where: bool,
    effect: Decision,
}

/// Rules compiled once. Pure: the same call gets the same verdict.
pub struct Policy {
    /// Policies whose strictest verdict wins; a policy has rules of its own or layers.
    layers: Vec<Arc<Policy>>,
    rules: Vec<Rule>,
    default: Decision,
    by_tool: Mutex<HashMap<String, Arc<[usize]>>>,
}

impl Policy {
    /// Compiles a policy from JSON text.
    ///
    /// # Errors
    /// A sentence that names the rule and what is wrong with it.
    pub fn compile(json: &str) -> Result<Policy, String> {
        let wire: PolicyWire = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let mut rules = Vec::new();
        for (names, effect) in
            [(&wire.allow, Decision::Allow), (&wire.ask, Decision::Ask), (&wire.deny, Decision::Deny)]
        {
            if names.is_empty() {
                continue;
            }
            let tools = names.iter().map(|name| Glob::new(name)).collect::<Result<Vec<_>, _>>()?;
            rules.push(Rule {
                index: None,
                id: None,
                reason: None,
                tools: Some(tools),
                when: Vec::new(),
                shell: None,
                has_where: false,
                effect,
            });
        }
        for (index, rule) in wire.rules.into_iter().enumerate() {
            let id = rule.id.clone().unwrap_or_else(|| format!("rule-{index}"));
            rules.push(compile_rule(index, rule).map_err(|problem| format!("{id}: {problem}"))?);
        }
        Ok(Policy {
            layers: Vec::new(),
            rules,
            default: wire.default.unwrap_or(Decision::Allow),
            by_tool: Mutex::default(),
        })
    }

    /// The policy whose verdict is the strictest of several; without any it denies. `where` functions of layers are not
    /// asked: a policy that has any is not composed here.
    pub fn compose(layers: Vec<Arc<Policy>>) -> Policy {
        Policy { layers, rules: Vec::new(), default: Decision::Deny, by_tool: Mutex::default() }
    }

    /// The verdict over one call. `where_holds` is asked, by the rule's position, where a rule has a function and all else
    /// of it holds.
    pub fn check(&self, tool: &str, input: &Value, where_holds: &mut dyn FnMut(usize) -> bool) -> Verdict {
        let mut strictest: Option<Verdict> = None;
        for layer in &self.layers {
            let verdict = layer.check(tool, input, where_holds);
            if strictest.as_ref().is_none_or(|best| strictness(verdict.decision) > strictness(best.decision)) {
                strictest = Some(verdict);
            }
        }
        if let Some(verdict) = strictest {
            return verdict;
        }
        let mut shell = None;
        let mut winner: Option<&Rule> = None;
        for index in self.rules_for(tool).iter() {
            let Some(rule) = self.rules.get(*index) else { continue };
            match rule.matches(input, &mut shell, where_holds) {
                Ok(false) => {}
                Ok(true) => {
                    // A rule that can be named is named, though a name array says the same.
                    let better = winner.is_none_or(|best| {
                        strictness(rule.effect) > strictness(best.effect)
                            || (rule.effect == best.effect && best.index.is_none())
                    });
                    if better {
                        winner = Some(rule);
                    }
                }
                Err(problem) => {
                    return Verdict { decision: Decision::Deny, rule_id: rule.name(), reason: Some(problem) };
                }
            }
        }
        match winner {
            Some(rule) => Verdict { decision: rule.effect, rule_id: rule.name(), reason: rule.reason.clone() },
            None => Verdict { decision: self.default, rule_id: None, reason: None },
        }
    }

    /// Whether a verdict over this tool can depend on the call's input.
    pub fn reads_input(&self, tool: &str) -> bool {
        if self.layers.iter().any(|layer| layer.reads_input(tool)) {
            return true;
        }
        self.rules_for(tool)
            .iter()
            .filter_map(|index| self.rules.get(*index))
            .any(|rule| !rule.when.is_empty() || rule.shell.is_some())
    }

    fn rules_for(&self, tool: &str) -> Arc<[usize]> {
        let mut by_tool = self.by_tool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = by_tool.get(tool) {
            return rules.clone();
        }
        let matching: Arc<[usize]> = self
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.tools.as_ref().is_none_or(|tools| tools.iter().any(|glob| glob.matches(tool))))
            .map(|(index, _)| index)
            .collect();
        // Names come from a model: they must not fill the memory.
        if by_tool.len() < REMEMBERED_TOOLS {
            by_tool.insert(tool.to_string(), matching.clone());
        }
        matching
    }
}

impl Rule {
    fn name(&self) -> Option<String> {
        let index = self.index?;
        Some(self.id.clone().unwrap_or_else(|| format!("rule-{index}")))
    }

    /// # Errors
    /// Why the rule denies whatever it would have said.
    fn matches(
        &self,
        input: &Value,
        shell: &mut Option<ShellCommand>,
        where_holds: &mut dyn FnMut(usize) -> bool,
    ) -> Result<bool, String> {
        for (path, condition) in &self.when {
            let Some(value) = at_path(input, path) else { return Ok(false) };
            let holds = condition.test(value).map_err(|_limit| {
                format!("policy error: a regular expression took too many steps over {}", path.join("."))
            })?;
            if holds != Some(true) {
                return Ok(false);
            }
        }
        if let Some(pattern) = &self.shell {
            let Some(command) = input.get("command").and_then(Value::as_str) else { return Ok(false) };
            let parsed = shell.get_or_insert_with(|| ShellCommand::parse(command));
            let satisfied = match self.effect {
                Decision::Allow => parsed.all_match(pattern),
                Decision::Ask | Decision::Deny => parsed.any_matches(pattern),
            };
            if !satisfied {
                return Ok(false);
            }
        }
        match self.index {
            Some(index) if self.has_where => Ok(where_holds(index)),
            _ => Ok(true),
        }
    }
}

fn strictness(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny => 2,
    }
}

fn compile_rule(index: usize, rule: RuleWire) -> Result<Rule, String> {
    let tools = match rule.tool {
        None => None,
        Some(OneOrMany::One(name)) => Some(vec![Glob::new(&name)?]),
        Some(OneOrMany::Many(names)) => Some(names.iter().map(|name| Glob::new(name)).collect::<Result<Vec<_>, _>>()?),
    };
    let mut when = Vec::new();
    for (path, condition) in rule.when.unwrap_or_default() {
        let compiled = Condition::compile(&condition).map_err(|problem| format!("when.{path}: {problem}"))?;
        when.push((path.split('.').map(str::to_string).collect(), compiled));
    }
    Ok(Rule {
        index: Some(index),
        id: rule.id,
        reason: rule.description,
        tools,
        when,
        shell: rule.shell.as_deref().map(CommandPattern::new).transpose()?,
        has_where: rule.has_where,
        effect: rule.effect,
    })
}

static DEFAULT: LazyLock<Arc<Policy>> = LazyLock::new(|| {
    let text = r#"{ "ask": ["bash", "write_file", "edit_file", "delete_file", "hook", "mcp_connect", "mcp__*"] }"#;
    Arc::new(Policy::compile(text).unwrap_or_else(|_| Policy {
        layers: Vec::new(),
        rules: Vec::new(),
        default: Decision::Deny,
        by_tool: Mutex::default(),
    }))
});

/// What holds where an agent has no policy of its own: what changes something is asked for.
pub fn default_policy() -> Arc<Policy> {
    DEFAULT.clone()
}

#[cfg(test)]
#[path = "policy_test.rs"]
mod tests;
