//! One condition on one value of a call's input: its operators, compiled once. Knows nothing of rules and tools.

use regex::Regex;
use serde_json::{Number, Value};

use super::backtracking::Backtracking;
use super::pattern::shortened;
use crate::glob::Glob;
use crate::types::nearest::nearest;

const OPERATORS: [&str; 7] = ["equals", "in", "glob", "regex", "startsWith", "contains", "not"];

/// What a condition says of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    Yes,
    No,
    /// The condition is about strings and the value is none: not satisfied, negated or not.
    Inapplicable,
    /// A regular expression reached its limit before it could say.
    Limit,
}

/// A compiled condition.
#[derive(Debug)]
pub struct Condition {
    operator: Operator,
    negated: bool,
}

#[derive(Debug)]
enum Operator {
    Equals(Value),
    In(Vec<Value>),
    Glob(Glob),
    Regex(Regex),
    Backtracking(Box<Backtracking>),
    StartsWith(String),
    Contains(String),
}

impl Condition {
    /// Compiles `{ <operator>: <operand> }`.
    ///
    /// # Errors
    /// Says what is wrong, beginning with `place`.
    pub fn compile(json: &Value, place: &str) -> Result<Condition, String> {
        let mut place = place.to_string();
        let mut json = json;
        let mut negated = false;
        loop {
            let (name, operand) = single_operator(json, &place)?;
            place = format!("{place}.{name}");
            if name == "not" {
                negated = !negated;
                json = operand;
                continue;
            }
            return Ok(Condition { operator: Operator::compile(name, operand, &place)?, negated });
        }
    }

    /// Whether it may need backtracking, and so reach a limit.
    pub fn backtracks(&self) -> bool {
        matches!(self.operator, Operator::Backtracking(_))
    }

    /// Whether it is about how a text looks, rather than which it is.
    pub fn is_pattern(&self) -> bool {
        !matches!(self.operator, Operator::Equals(_) | Operator::In(_))
    }

    pub fn check(&self, value: &Value) -> Held {
        match self.operator.check(value) {
            Held::Yes if self.negated => Held::No,
            Held::No if self.negated => Held::Yes,
            held => held,
        }
    }
}

fn single_operator<'a>(json: &'a Value, place: &str) -> Result<(&'a str, &'a Value), String> {
    let Value::Object(members) = json else {
        return Err(format!("{place} must be an object with one of {}, got {}", OPERATORS.join(", "), kind_of(json)));
    };
    for name in members.keys() {
        if !OPERATORS.contains(&name.as_str()) {
            let hint = nearest(name, OPERATORS).map_or(String::new(), |near| format!("; did you mean {near}?"));
            return Err(format!("{place}.{name} is no operator of a condition{hint}"));
        }
    }
    let mut operators = members.iter();
    match (operators.next(), operators.next()) {
        (Some((name, operand)), None) => Ok((name, operand)),
        (None, _) => Err(format!("{place} must have exactly one operator of {}, got none", OPERATORS.join(", "))),
        _ => {
            let names: Vec<&str> = members.keys().map(String::as_str).collect();
            Err(format!("{place} must have exactly one operator, got {}", names.join(", ")))
        }
    }
}

impl Operator {
    fn compile(name: &str, operand: &Value, place: &str) -> Result<Operator, String> {
        if name == "equals" {
            return Ok(Operator::Equals(operand.clone()));
        }
        if name == "in" {
            return match operand {
                Value::Array(values) => Ok(Operator::In(values.clone())),
                other => Err(format!("{place} must be an array, got {}", kind_of(other))),
            };
        }
        let Value::String(text) = operand else {
            return Err(format!("{place} must be a string, got {}", kind_of(operand)));
        };
        match name {
            "glob" => Glob::new(text)
                .map(Operator::Glob)
                .map_err(|problem| format!("{place} {} is no glob: {problem}", shortened(text))),
            "regex" => compile_regex(text, place),
            "startsWith" => Ok(Operator::StartsWith(text.clone())),
            _ => Ok(Operator::Contains(text.clone())),
        }
    }

    fn check(&self, value: &Value) -> Held {
        match self {
            Operator::Equals(expected) => return held(equal(expected, value)),
            Operator::In(values) => return held(values.iter().any(|expected| equal(expected, value))),
            _ => {}
        }
        let Value::String(text) = value else { return Held::Inapplicable };
        match self {
            Operator::Glob(glob) => held(glob.matches(text)),
            Operator::Regex(regex) => held(regex.is_match(text)),
            Operator::Backtracking(regex) => regex.is_match(text).map_or(Held::Limit, held),
            Operator::StartsWith(start) => held(text.starts_with(start.as_str())),
            Operator::Contains(part) => held(text.contains(part.as_str())),
            Operator::Equals(_) | Operator::In(_) => Held::No,
        }
    }
}

fn held(holds: bool) -> Held {
    if holds { Held::Yes } else { Held::No }
}

/// Linear where it can be; backtracking for what only that can do.
fn compile_regex(text: &str, place: &str) -> Result<Operator, String> {
    let linear = match Regex::new(text) {
        Ok(regex) => return Ok(Operator::Regex(regex)),
        // The last line of the message says what is wrong; those before draw it.
        Err(error) => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_string(),
    };
    let problem = match Backtracking::new(text) {
        Ok(backtracking) => return Ok(Operator::Backtracking(Box::new(backtracking))),
        Err(problem) => problem,
    };
    let is_of_linear_only = linear.contains("look-around") || linear.contains("backreferences");
    let problem = if is_of_linear_only { problem.as_str() } else { linear.as_str() };
    Err(format!("{place} {} is no regular expression: {}", shortened(text), shortened_problem(problem)))
}

/// A problem in one line, and not with the whole pattern in it.
fn shortened_problem(problem: &str) -> String {
    let line = problem.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let end = line.floor_char_boundary(200);
    if end < line.len() { format!("{}…", line.get(..end).unwrap_or_default()) } else { line }
}

/// Deep equality of JSON: numbers by value, keys in any order. Values come from a reader that bounds their depth.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => equal_numbers(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

fn equal_numbers(left: &Number, right: &Number) -> bool {
    if let (Some(left), Some(right)) = (left.as_i128(), right.as_i128()) {
        return left == right;
    }
    left.as_f64() == right.as_f64()
}

/// The kind of a JSON value, with its article.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
