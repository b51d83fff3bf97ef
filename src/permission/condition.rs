//! Conditions of a rule over one value of a call's input.

use serde_json::{Map, Value};

use super::pattern::{Expression, Glob, LimitReached};

/// Conditions within `not` that a rule may have.
const MAX_NESTING: usize = 16;
const OPERATORS: &str = "equals, in, glob, regex, startsWith, contains or not";

/// A test of one value.
pub(super) enum Condition {
    Equals(Value),
    In(Vec<Value>),
    Glob(Glob),
    Regex(Expression),
    StartsWith(String),
    Contains(String),
    Not(Box<Condition>),
}

impl Condition {
    /// # Errors
    /// What is wrong, without the rule and the path that it stands at.
    pub fn compile(value: &Value) -> Result<Condition, String> {
        compile(value, 0)
    }

    /// `None` where the condition says nothing of such a value: it is not satisfied then, nor is its `not`.
    pub fn test(&self, value: &Value) -> Result<Option<bool>, LimitReached> {
        let text = value.as_str();
        Ok(match self {
            Condition::Equals(expected) => Some(same(expected, value)),
            Condition::In(values) => Some(values.iter().any(|expected| same(expected, value))),
            Condition::Glob(glob) => text.map(|text| glob.matches(text)),
            Condition::Regex(expression) => match text {
                Some(text) => Some(expression.matches(text)?),
                None => None,
            },
            Condition::StartsWith(start) => text.map(|text| text.starts_with(start.as_str())),
            Condition::Contains(part) => text.map(|text| text.contains(part.as_str())),
            Condition::Not(condition) => condition.test(value)?.map(|holds| !holds),
        })
    }
}

fn compile(value: &Value, depth: usize) -> Result<Condition, String> {
    let Some(members) = value.as_object() else { return Err("a condition must be an object".to_string()) };
    let mut entries = members.iter();
    let (Some((operator, operand)), None) = (entries.next(), entries.next()) else {
        return Err(format!("a condition must have exactly one of {OPERATORS}, got {}", names(members)));
    };
    let text = || operand.as_str().ok_or_else(|| format!("{operator} must be a string"));
    match operator.as_str() {
        "equals" => Ok(Condition::Equals(operand.clone())),
        "in" => {
            let values = operand.as_array().ok_or("in must be an array")?;
            Ok(Condition::In(values.clone()))
        }
        "glob" => Glob::new(text()?).map(Condition::Glob),
        "regex" => Expression::new(text()?).map(Condition::Regex),
        "startsWith" => Ok(Condition::StartsWith(text()?.to_string())),
        "contains" => Ok(Condition::Contains(text()?.to_string())),
        "not" if depth < MAX_NESTING => compile(operand, depth + 1).map(|inner| Condition::Not(Box::new(inner))),
        "not" => Err(format!("not is nested over {MAX_NESTING} times")),
        _ => Err(format!("a condition must have exactly one of {OPERATORS}, got {}", names(members))),
    }
}

fn names(members: &Map<String, Value>) -> String {
    if members.is_empty() {
        return "none".to_string();
    }
    members.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Deep equality of JSON: numbers by value, keys in any order.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

/// The value at a dot path, array indexes included.
pub(super) fn at_path<'a>(input: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(input, |value, step| match value {
        Value::Object(members) => members.get(step),
        Value::Array(elements) => elements.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_compared_by_value_and_keys_in_any_order() {
        assert!(same(&json!({ "a": 1, "b": [1.0] }), &json!({ "b": [1], "a": 1.0 })));
        assert!(!same(&json!({ "a": 1 }), &json!({ "a": 1, "b": 2 })));
        assert!(!same(&json!("1"), &json!(1)));
    }

    #[test]
    fn a_string_condition_says_nothing_of_what_is_no_string() {
        let Ok(condition) = Condition::compile(&json!({ "not": { "startsWith": "a" } })) else { panic!("it compiles") };
        assert_eq!(condition.test(&json!(3)), Ok(None));
        assert_eq!(condition.test(&json!("b")), Ok(Some(true)));
    }

    #[test]
    fn exactly_one_operator_is_allowed() {
        for bad in [
            json!({}),
            json!({ "equals": 1, "in": [] }),
            json!({ "eq": 1 }),
            json!(3),
            json!({ "in": 3 }),
            json!({ "regex": "(" }),
        ] {
            assert!(Condition::compile(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_reach_into_objects_and_arrays() {
        let path: Vec<String> = ["args", "1", "x"].map(str::to_string).to_vec();
        assert_eq!(at_path(&json!({ "args": [0, { "x": 5 }] }), &path), Some(&json!(5)));
        assert_eq!(at_path(&json!({ "args": "text" }), &path), None);
    }
}
