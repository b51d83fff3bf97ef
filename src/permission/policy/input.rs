//! Reads a call's input. What it cannot read is an error, and never an empty input, which would satisfy no rule.

use serde_json::Value;

/// # Errors
/// Says why the text cannot be read: it is no JSON, or is nested too deeply.
pub fn parse_input(json: &str) -> Result<Value, String> {
    serde_json::from_str(json)
        // Half of a surrogate pair is no text in Rust, and a JS string may hold one.
        .or_else(|error| if error.is_syntax() { serde_json::from_str(&with_whole_pairs(json)) } else { Err(error) })
        .map_err(|error| match error.to_string() {
            text if text.starts_with("recursion limit") => "the input is nested too deeply".to_string(),
            text => format!("the input cannot be read: {text}"),
        })
}

/// Escaped halves of surrogate pairs become the replacement character.
fn with_whole_pairs(json: &str) -> String {
    let mut whole = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let length = match (half(escape), half(escape.get(6..).unwrap_or_default())) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                whole.push('\u{FFFD}');
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            _ => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        whole.push_str(escape.get(..length).unwrap_or_default());
        rest = escape.get(length..).unwrap_or_default();
    }
    whole.push_str(rest);
    whole
}

/// The code unit of the `\uXXXX` that the text begins with.
fn half(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}
