//! Takes the fields of a call's input. Knows nothing of what they are for.

use serde_json::Value;

use crate::workspace::CanonicalPath;

pub(super) const NO_OBJECT: &str = "the input must be an object";

pub(super) fn missing(field: &str) -> String {
    format!("'{field}' must be given as a string")
}

/// The canonical path that permission saw.
pub(super) fn path(input: &Value) -> Result<CanonicalPath, String> {
    CanonicalPath::parse(text(input, "path")?).map_err(|failure| failure.to_string())
}

pub(super) fn text<'a>(input: &'a Value, field: &str) -> Result<&'a str, String> {
    optional_text(input, field)?.ok_or_else(|| missing(field))
}

pub(super) fn optional_text<'a>(input: &'a Value, field: &str) -> Result<Option<&'a str>, String> {
    match input.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(missing(field)),
    }
}

/// A number of things, or the number of one, from 1.
pub(super) fn count(input: &Value, field: &str) -> Result<Option<usize>, String> {
    let value = match input.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    // JSON Schema takes 3.0 for an integer.
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 1.0 && *number <= 1e15);
    let number = value
        .as_u64()
        .filter(|number| *number >= 1)
        .or_else(|| whole.map(|number| format!("{number:.0}").parse().unwrap_or(u64::MAX)));
    match number {
        Some(number) => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
        None => Err(format!("'{field}' must be a whole number from 1, got {value}")),
    }
}

pub(super) fn flag(input: &Value, field: &str) -> Result<bool, String> {
    match input.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("'{field}' must be true or false")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{count, flag, optional_text, path, text};

    #[test]
    fn fields_are_taken_or_refused_by_name() {
        let input = json!({ "path": "a/b", "n": 3, "whole": 4.0, "zero": 0, "half": 1.5, "yes": true, "none": null });
        assert_eq!(path(&input).unwrap().as_str(), "a/b");
        assert_eq!(count(&input, "n"), Ok(Some(3)));
        assert_eq!(count(&input, "whole"), Ok(Some(4)));
        assert_eq!(count(&input, "none"), Ok(None));
        assert!(count(&input, "zero").unwrap_err().contains("'zero' must be a whole number from 1, got 0"));
        assert!(count(&input, "half").is_err());
        assert!(count(&input, "path").is_err());
        assert_eq!(flag(&input, "yes"), Ok(true));
        assert_eq!(flag(&input, "absent"), Ok(false));
        assert!(flag(&input, "n").is_err());
        assert!(text(&input, "absent").unwrap_err().contains("'absent'"));
        assert!(optional_text(&input, "n").is_err());
        assert!(path(&json!({ "path": "../a" })).unwrap_err().contains("canonical"));
    }
}
