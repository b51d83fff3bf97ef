//! JSON values that know where they stand in their text. Data only.

use super::number::Number;
use super::quote;

/// A value, and the byte at which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    pub offset: usize,
    pub data: Data,
}

/// What a value is. Nothing here is nested deeper than the reader allows, so that recursion is safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    Null,
    Boolean(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    /// In the order of the text; no key twice.
    Object(Vec<Member>),
}

/// A key of an object with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub key: String,
    pub key_offset: usize,
    pub value: Value,
}

impl Data {
    /// The value as a message shows it: whole if it is short.
    pub fn shown(&self) -> String {
        match self {
            Data::Null => "null".to_string(),
            Data::Boolean(value) => value.to_string(),
            Data::Number(number) => shortened(number.as_str()),
            Data::String(text) => quote(text),
            Data::Array(_) => "an array".to_string(),
            Data::Object(_) => "an object".to_string(),
        }
    }
}

fn shortened(number: &str) -> String {
    match number.get(..40) {
        Some(start) if number.len() > 40 => format!("{start}…"),
        _ => number.to_string(),
    }
}
