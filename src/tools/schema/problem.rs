//! Words a validation error: which field, what is wrong with it, cut to a length that a model can read.
//!
//! Knows the error kinds of the validator and nothing of how an input or a schema came to be.

use std::io::{self, Write};

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

/// Characters of a value, a field name or a field's path that a message shows.
const MAX_SHOWN_CHARS: usize = 80;
/// Characters of one problem's text: an `enum` or a `pattern` may be long.
const MAX_TEXT_CHARS: usize = 240;
/// Allowed values that are listed.
const MAX_LISTED_VALUES: usize = 12;
/// Alternatives within alternatives that are followed to the closest: what a readable input can hold.
const MAX_ALTERNATIVE_DEPTH: usize = 128;
/// Unknown fields of one object that are named.
const MAX_UNKNOWN_FIELDS: usize = 8;

/// The first problems of an input, `; ` between them.
pub(super) fn list<'a>(errors: impl Iterator<Item = ValidationError<'a>>, limit: usize) -> String {
    let mut problems = Vec::new();
    for error in errors {
        explain(&error, MAX_ALTERNATIVE_DEPTH, &mut problems);
        // One more than is shown, to know that there are more.
        if problems.len() > limit {
            break;
        }
    }
    if problems.is_empty() {
        return "input: does not match the schema".to_owned();
    }
    let more = problems.len() > limit;
    problems.truncate(limit);
    let mut text = problems.join("; ");
    if more {
        text.push_str("; and more");
    }
    text
}

/// What makes a schema unusable, with its place in the schema.
pub(super) fn in_schema(error: &ValidationError<'_>) -> String {
    let place = field(error.instance_path().as_str());
    match error.kind() {
        Kind::Referencing(reference) => {
            format!("the schema cannot be used: {}", cut(&reference.to_string(), MAX_TEXT_CHARS))
        }
        Kind::Format { format } if format == "regex" => {
            format!("{place}: {} is no regular expression, or too large a one", show(error.instance()))
        }
        _ if place.ends_with("type") && error.instance().is_string() => {
            format!("{place}: {} is not a JSON type", show(error.instance()))
        }
        _ => {
            let mut problems = Vec::new();
            explain(error, MAX_ALTERNATIVE_DEPTH, &mut problems);
            problems.into_iter().next().unwrap_or_else(|| format!("{place}: cannot be used"))
        }
    }
}

/// A name as one segment of a JSON pointer in a URI fragment.
pub(super) fn pointer_segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'~' => segment.push_str("~0"),
            b'/' => segment.push_str("~1"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => segment.push(char::from(byte)),
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}

/// At most 80 characters of a text.
pub(super) fn shorten(text: &str) -> String {
    cut(text, MAX_SHOWN_CHARS)
}

fn explain(error: &ValidationError<'_>, alternative_depth: usize, problems: &mut Vec<String>) {
    let path = error.instance_path().as_str();
    let value = || show(error.instance());
    let mut add = |path: String, text: String| problems.push(format!("{path}: {}", cut(&text, MAX_TEXT_CHARS)));
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            add(member(path, name), "is required".to_owned());
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            for name in unexpected.iter().take(MAX_UNKNOWN_FIELDS) {
                add(member(path, name), "is not a field of the schema".to_owned());
            }
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            match closest(path, context).filter(|_| alternative_depth > 0) {
                Some(branch) => branch.iter().for_each(|error| explain(error, alternative_depth - 1, problems)),
                None => match allowed_values(path, context) {
                    Some(allowed) => problems.push(none_of(path, &value(), allowed.into_iter())),
                    None => add(field(path), format!("{} matches none of {} alternatives", value(), context.len())),
                },
            }
        }
        Kind::OneOfMultipleValid { .. } => add(field(path), format!("{} matches more than one alternative", value())),
        Kind::FalseSchema => add(field(path), "is not allowed".to_owned()),
        Kind::Not { .. } => add(field(path), format!("{} is not allowed", value())),
        Kind::Constant { expected_value } => add(field(path), format!("must be {}", show(expected_value))),
        Kind::Enum { options } => {
            problems.push(none_of(path, &value(), options.as_array().into_iter().flatten()));
        }
        Kind::AdditionalItems { limit } => add(field(path), format!("has more than {limit} items")),
        Kind::UnevaluatedItems { .. } => add(field(path), "has items that the schema does not allow".to_owned()),
        Kind::Contains => add(field(path), "holds no item, or not as many, that the schema asks for".to_owned()),
        Kind::PropertyNames { error } => {
            add(field(path), format!("the field name {}", error.masked_with(show(error.instance()))))
        }
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            add(field(path), format!("{} takes too long to match against the pattern", value()));
        }
        _ => add(field(path), error.masked_with(value()).to_string()),
    }
}

/// What an input must be one of: a model can only repair it when it is told all of them.
fn none_of<'v>(path: &str, shown: &str, allowed: impl Iterator<Item = &'v Value>) -> String {
    let mut values: Vec<String> = Vec::new();
    let mut others = 0_usize;
    for value in allowed {
        if values.len() < MAX_LISTED_VALUES {
            values.push(show(value));
        } else {
            others += 1;
        }
    }
    match others {
        0 => {}
        1 => values.push("1 other value".to_owned()),
        more => values.push(format!("{more} other values")),
    }
    let last = values.pop().unwrap_or_default();
    let list = if values.is_empty() { last } else { format!("{} or {last}", values.join(", ")) };
    format!("{}: {shown} is not one of {list}", field(path))
}

/// The values that the input may be, where each alternative is a value, or some.
fn allowed_values<'e>(path: &str, alternatives: &'e [Vec<ValidationError<'static>>]) -> Option<Vec<&'e Value>> {
    let mut allowed = Vec::new();
    for errors in alternatives {
        let mut here = errors.iter().filter(|error| error.instance_path().as_str() == path);
        match here.find_map(|error| match error.kind() {
            Kind::Constant { expected_value } => Some(std::slice::from_ref(&**expected_value)),
            Kind::Enum { options } => options.as_array().map(Vec::as_slice),
            _ => None,
        }) {
            Some(values) => allowed.extend(values),
            None => return None,
        }
    }
    Some(allowed)
}

/// The alternative that the input most likely means: of its kind, and with the fewest problems.
fn closest<'e>(
    path: &str,
    alternatives: &'e [Vec<ValidationError<'static>>],
) -> Option<&'e Vec<ValidationError<'static>>> {
    alternatives
        .iter()
        .filter(|errors| !errors.is_empty())
        .filter(|errors| {
            !errors.iter().any(|error| error.instance_path().as_str() == path && tells_kinds_apart(error.kind()))
        })
        .min_by_key(|errors| errors.len())
}

fn tells_kinds_apart(kind: &Kind) -> bool {
    matches!(kind, Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. } | Kind::FalseSchema)
}

/// `/options/0/count` as `options.0.count`; `input` for the whole of it.
fn field(pointer: &str) -> String {
    if pointer.is_empty() {
        return "input".to_owned();
    }
    let segments: Vec<String> =
        pointer.split('/').skip(1).map(|segment| shorten(&segment.replace("~1", "/").replace("~0", "~"))).collect();
    let path = segments.join(".");
    let length = path.chars().count();
    if length <= 2 * MAX_SHOWN_CHARS {
        return path;
    }
    // Both ends say more than the beginning alone.
    let end: String = path.chars().skip(length - MAX_SHOWN_CHARS).collect();
    format!("{}{end}", shorten(&path))
}

fn member(pointer: &str, name: &str) -> String {
    let name = shorten(name);
    if pointer.is_empty() { name } else { format!("{}.{name}", field(pointer)) }
}

fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The beginning of a value's JSON, without writing the rest of it.
fn show(value: &Value) -> String {
    // A character takes at most four bytes, so that this many bytes always hold the characters shown.
    let mut beginning = Beginning { bytes: Vec::new(), max_bytes: 4 * MAX_SHOWN_CHARS + 4 };
    // The error says that the beginning is full.
    let _ = serde_json::to_writer(&mut beginning, value);
    shorten(&String::from_utf8_lossy(&beginning.bytes))
}

struct Beginning {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl Write for Beginning {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let room = self.max_bytes - self.bytes.len();
        if room == 0 {
            return Err(io::Error::other("full"));
        }
        let taken = part.get(..room).unwrap_or(part);
        self.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
