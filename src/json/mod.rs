//! The one JSON reader that knows line, column, path, duplicate keys and depth: for files that people write. RFC 8259 to
//! the letter; a byte-order mark is the caller's to take off. Reading needs no recursion, and what it makes is never
//! nested deeper than [`MAX_DEPTH`]. [`Place`], [`Field`] and [`Record`] turn what was read into types, and describe the
//! same types as a JSON Schema.
//!
//! Knows no file, and none of the formats that are written in JSON.

mod error;
mod number;
mod path;
mod place;
mod position;
mod reader;
mod record;
pub mod token;
mod value;

pub use error::JsonError;
pub use number::Number;
pub use place::Place;
pub use position::Position;
pub use reader::{Document, MAX_DEPTH, decode_text, read};
pub use record::{Described, Field, Readable, Record, record_schema};
pub use value::{Data, Member, Value};

/// Characters of a quoted text that a message shows.
const MAX_QUOTED_CHARS: usize = 60;

/// The text in double quotes, escaped as JSON would, and cut where it is long.
pub fn quote(text: &str) -> String {
    let end = text.char_indices().nth(MAX_QUOTED_CHARS).map_or(text.len(), |(at, _)| at);
    let start = text.get(..end).unwrap_or(text);
    let cut = if end < text.len() { "…" } else { "" };
    escape_invisible(&serde_json::Value::from(format!("{start}{cut}")).to_string())
}

/// Characters that show as nothing, or turn the text around them about, as JSON escapes them.
pub fn escape_invisible(text: &str) -> String {
    let is_invisible = |character: char| {
        matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
    };
    if !text.contains(is_invisible) {
        return text.to_string();
    }
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, character| {
        if is_invisible(character) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            escaped.push(character);
        }
        escaped
    })
}
