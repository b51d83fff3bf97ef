//! From the JSON of a policy to its compiled rules. Every mistake is an error that says where it is.

use serde_json::{Map, Value};

use super::{Layer, Path, Rule, ToolGlobs, strictness};
use crate::glob::Glob;
use crate::permission::condition::{Condition, kind_of};
use crate::permission::path_glob::file_glob;
use crate::permission::pattern::{ShellPattern, shortened};
use crate::types::Decision;
use crate::types::nearest::nearest;

const OPTIONS: [&str; 5] = ["allow", "ask", "deny", "rules", "default"];
const MEMBERS: [&str; 8] = ["id", "description", "tool", "when", "where", "effect", "shell", "file"];
const DECISIONS: [(&str, Decision); 3] = [("allow", Decision::Allow), ("deny", Decision::Deny), ("ask", Decision::Ask)];

pub(super) fn layer(options: &Value) -> Result<Layer, String> {
    let Value::Object(options) = options else {
        return Err(format!("the options must be an object, got {}", kind_of(options)));
    };
    only_known(options, &OPTIONS, |name| format!("{name} is no option"))?;
    let mut names = Vec::new();
    for (name, decision) in DECISIONS {
        if let Some(value) = options.get(name) {
            let globs = globs(array(value, name)?, name)?;
            names.push((decision, ToolGlobs(globs)));
        }
    }
    let rules = match options.get("rules") {
        Some(rules) => array(rules, "rules")?.iter().enumerate().map(rule).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let default = options.get("default").map_or(Ok(Decision::Allow), |value| decision(value, "default"))?;
    names.sort_by_key(|(decision, _)| strictness(*decision));
    Ok(Layer { names, rules, default, remembered: Default::default() })
}

fn rule((index, json): (usize, &Value)) -> Result<Rule, String> {
    let Value::Object(members) = json else {
        return Err(format!("rules[{index}] must be an object, got {}", kind_of(json)));
    };
    let id = match optional_text(members, "id").map_err(|problem| format!("rules[{index}]: {problem}"))? {
        Some("") => return Err(format!("rules[{index}]: id must not be empty")),
        Some(id) => id.to_string(),
        None => format!("rule-{index}"),
    };
    compile_rule(members, &id).map_err(|problem| format!("rule {id}: {problem}"))
}

fn compile_rule(members: &Map<String, Value>, id: &str) -> Result<Rule, String> {
    only_known(members, &MEMBERS, |name| format!("{name} is no property of a rule"))?;
    let effect = match members.get("effect") {
        Some(value) => decision(value, "effect")?,
        None => return Err("effect is required: allow, deny or ask".to_string()),
    };
    let tool = match members.get("tool") {
        None => None,
        Some(value @ Value::String(_)) => Some(ToolGlobs(globs(std::slice::from_ref(value), "tool")?)),
        Some(Value::Array(values)) if values.is_empty() => return Err("tool must not be an empty array".to_string()),
        Some(Value::Array(values)) => Some(ToolGlobs(globs(values, "tool")?)),
        Some(other) => return Err(format!("tool must be a string or an array of strings, got {}", kind_of(other))),
    };
    let when = match members.get("when") {
        None => Vec::new(),
        Some(Value::Object(conditions)) => conditions.iter().map(condition).collect::<Result<_, _>>()?,
        Some(other) => return Err(format!("when must be an object, got {}", kind_of(other))),
    };
    let asks_host = match members.get("where") {
        None => false,
        Some(Value::Bool(true)) => true,
        Some(other) => return Err(format!("where must be a function, got {}", kind_of(other))),
    };
    let shell = optional_text(members, "shell")?
        .map(|text| {
            ShellPattern::new(text)
                .map_err(|problem| format!("{} is no pattern of a command: {problem}", shortened(text)))
        })
        .transpose()?;
    let file = optional_text(members, "file")?
        .map(|text| file_glob(text).map_err(|problem| format!("{} is no glob: {problem}", shortened(text))))
        .transpose()?;
    Ok(Rule {
        id: id.to_string(),
        description: optional_text(members, "description")?.map(str::to_string),
        tool,
        when,
        asks_host,
        effect,
        shell,
        file,
    })
}

fn condition((path, json): (&String, &Value)) -> Result<(Path, Condition), String> {
    let segments: Path = path.split('.').map(str::to_string).collect();
    if segments.iter().any(String::is_empty) {
        return Err(format!("when: {path:?} must be a path of names and indexes with dots between them"));
    }
    Ok((segments, Condition::compile(json, &format!("when[{path:?}]"))?))
}

fn globs(values: &[Value], place: &str) -> Result<Vec<Glob>, String> {
    values
        .iter()
        .map(|value| match value {
            Value::String(text) => {
                Glob::new(text).map_err(|problem| format!("{place} {} is no glob: {problem}", shortened(text)))
            }
            other => Err(format!("{place} must hold strings alone, got {}", kind_of(other))),
        })
        .collect()
}

fn decision(value: &Value, place: &str) -> Result<Decision, String> {
    let word = value.as_str();
    if let Some((_, decision)) = DECISIONS.iter().find(|(name, _)| Some(*name) == word) {
        return Ok(*decision);
    }
    let got = word.map_or_else(|| kind_of(value).to_string(), |word| format!("{word:?}"));
    let hint = did_you_mean(word.unwrap_or_default(), DECISIONS.map(|(name, _)| name));
    Err(format!("{place} must be allow, deny or ask, got {got}{hint}"))
}

fn array<'a>(value: &'a Value, place: &str) -> Result<&'a [Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("{place} must be an array, got {}", kind_of(value)))
}

fn optional_text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!("{name} must be a string, got {}", kind_of(other))),
    }
}

fn only_known(
    members: &Map<String, Value>,
    known: &[&'static str],
    problem: impl Fn(&str) -> String,
) -> Result<(), String> {
    match members.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(format!("{}{}", problem(name), did_you_mean(name, known.iter().copied()))),
    }
}

fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or(String::new(), |near| format!("; did you mean {near}?"))
}
