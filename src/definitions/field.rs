//! What a definition says for a key that is known: a text, a name, a list of words. Says what was expected, and where,
//! where something else stands. Knows no file.

use std::collections::HashSet;

use super::yaml::{Entry, Kind, Value};
use crate::json::quote;
use crate::types::nearest::nearest;

const MAX_NAME_CHARS: usize = 64;

/// Keys of other programs that are near one of ours and mean something else.
const FOREIGN: [&str; 1] = ["mode"];

/// The entries of one front matter. Keys that nobody asks for are ignored, as such files are shared between programs; but
/// not one that was most likely meant for a known key, or an agent that was to be narrowed would not be.
pub(super) struct Fields {
    entries: Vec<Entry>,
}

impl Fields {
    /// # Errors
    /// A key is none of the known ones, and near one of them.
    pub(super) fn new(entries: Vec<Entry>, known: &[&str]) -> Result<Fields, String> {
        for Entry { key, line, .. } in &entries {
            if known.contains(&key.as_str()) || FOREIGN.contains(&key.as_str()) {
                continue;
            }
            if let Some(meant) = nearest(key, known.iter().copied()) {
                return Err(format!("line {line}: unknown key {}; did you mean {}?", quote(key), quote(meant)));
            }
        }
        Ok(Fields { entries })
    }

    /// The text of a key that must be there; no blanks around it, and not empty.
    ///
    /// # Errors
    /// The key is missing, or no text stands there.
    pub(super) fn required_text(&self, key: &str) -> Result<&str, String> {
        self.text(key)?.ok_or_else(|| missing(key))
    }

    /// The text of a key that may be left out; no blanks around it, and not empty.
    ///
    /// # Errors
    /// No text stands there.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, String> {
        let Some(entry) = self.find(key) else { return Ok(None) };
        match &entry.value {
            Value::Text(text) if text.trim().is_empty() => Err(wrong(key, entry.line, "a string", "an empty one")),
            Value::Text(text) => Ok(Some(text.trim())),
            other => Err(wrong(key, entry.line, "a string", shown(other))),
        }
    }

    /// A list of words, or one string with commas between them: no blanks around each, none empty, each once.
    ///
    /// # Errors
    /// Something else stands there.
    pub(super) fn words(&self, key: &str) -> Result<Option<Vec<String>>, String> {
        let Some(entry) = self.find(key) else { return Ok(None) };
        let lines_and_words: Vec<(usize, Result<&str, Kind>)> = match &entry.value {
            Value::Text(text) => text.split(',').map(|word| (entry.line, Ok(word))).collect(),
            Value::List(elements) => {
                elements.iter().map(|element| (element.line, element.text.as_deref().map_err(|kind| *kind))).collect()
            }
            other => {
                let expected = "a list of strings ([] for none), or one string with commas between the words";
                return Err(wrong(key, entry.line, expected, shown(other)));
            }
        };
        let mut words: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        for (line, word) in lines_and_words {
            let word = word.map_err(|kind| wrong(key, line, "a string as each element", kind.shown()))?.trim();
            if word.is_empty() {
                return Err(wrong(key, line, "words that are not empty ([] for none)", "an empty one"));
            }
            if seen.insert(word) {
                words.push(word.to_string());
            }
        }
        Ok(Some(words))
    }

    /// The text under `name`, if it is a name.
    ///
    /// # Errors
    /// Something else stands there.
    pub(super) fn name(&self) -> Result<Option<&str>, String> {
        let Some(name) = self.text("name")? else { return Ok(None) };
        if is_name(name) {
            return Ok(Some(name));
        }
        let line = self.find("name").map_or(1, |entry| entry.line);
        Err(wrong("name", line, NAME, &quote(name)))
    }

    /// The name, which must be there.
    ///
    /// # Errors
    /// As those of [`name`](Fields::name) and of [`required_text`](Fields::required_text).
    pub(super) fn required_name(&self) -> Result<&str, String> {
        self.name()?.ok_or_else(|| missing("name"))
    }

    fn find(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// What a name is, as a message says it.
pub(super) const NAME: &str = "a name of 1 to 64 letters (a to z, A to Z), digits, \"_\" and \"-\"";

pub(super) fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_NAME_CHARS).contains(&text.len()) && text.bytes().all(allowed)
}

fn missing(key: &str) -> String {
    format!("expected a key {} in the front matter, which is missing", quote(key))
}

fn wrong(key: &str, line: usize, expected: &str, got: &str) -> String {
    format!("{key} (line {line}): expected {expected}, got {got}")
}

fn shown(value: &Value) -> &'static str {
    match value {
        Value::Text(_) => "a string",
        Value::List(_) => Kind::List.shown(),
        Value::Other(kind) => kind.shown(),
    }
}
