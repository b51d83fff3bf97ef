//! What a command gets on standard input: the event as one line of JSON, shortened where it is too long. Works on the
//! text, token by token: no tree, no recursion, in time that grows with the text (and the logarithm of its strings).
//!
//! Knows JSON, and the names of the fields that say which event it is; nothing of what events mean.

use std::sync::Arc;

use super::outline::{Outline, Text};
use crate::json::token::character_length;

/// The longest input of a command, its line break included.
pub const MAX_PAYLOAD_BYTES: usize = 256 * 1024;

/// A string that is cut keeps this much, if that can be had by cutting more strings.
const WANTED_BYTES: usize = 4 * 1024;

/// What comes before and after the paths of what was cut, at the end of the event.
const LIST_START: &str = ",\"truncated\":[";
const LIST_END: &str = "]}\n";

/// The input of the commands of one dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// One line of JSON and a line break.
    pub bytes: Arc<[u8]>,
    /// Paths of the strings that were cut, the longest first: `result.content`. Written as in a JSON string.
    pub truncated: Vec<String>,
}

/// Why there is no payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadError {
    /// Too long, however much is cut.
    TooLong,
    /// What it is to be made of is no JSON object; says what it is.
    NoObject(String),
}

impl Payload {
    /// An event that fits as it is.
    pub fn whole(mut event: String) -> Payload {
        event.push('\n');
        Payload { bytes: event.into_bytes().into(), truncated: Vec::new() }
    }

    /// An event that does not fit, with its longest strings cut between characters: as few as can be, all to the same
    /// length. Their paths are listed at the end of the event, as `truncated`. Keys are never cut, nor are strings that
    /// say which event it is. An event that fits is left as it is.
    ///
    /// # Errors
    /// It cannot be made to fit, or is no JSON object.
    pub fn shortened(event: &str) -> Result<Payload, PayloadError> {
        let outline = Outline::of(event).map_err(PayloadError::NoObject)?;
        if event.len() < MAX_PAYLOAD_BYTES {
            return Ok(Payload::whole(event.to_string()));
        }
        let mut texts: Vec<&Text> = outline.texts.iter().collect();
        texts.sort_by_key(|text| (usize::MAX - text.length(), text.start));
        let cut = Cut::find(event.len(), &texts).ok_or(PayloadError::TooLong)?;
        texts.truncate(cut.count);
        let paths = texts.iter().map(|text| outline.path_of(text)).collect();
        texts.sort_unstable_by_key(|text| text.start);
        Ok(cut.write(event, outline.closing_brace, &texts, paths))
    }
}

/// So many of the longest strings are cut, to at most so many bytes each.
struct Cut {
    count: usize,
    kept_bytes: usize,
}

impl Cut {
    /// `texts` begin with the longest. Each that is cut to nothing makes the event shorter, so there is a first count
    /// with which it fits, if there is one at all.
    fn find(event_bytes: usize, texts: &[&Text]) -> Option<Cut> {
        // The first path needs no comma; the event's own brace is part of the end.
        let around = LIST_START.len() + LIST_END.len() - 2;
        let mut others = event_bytes + around;
        let mut fallback = None;
        for (index, text) in texts.iter().enumerate() {
            others = others + text.listing_cost() - text.length();
            let Some(room) = MAX_PAYLOAD_BYTES.checked_sub(others) else { continue };
            let count = index + 1;
            let cut = Cut { count, kept_bytes: room / count };
            let next = texts.get(count).map_or(WANTED_BYTES, |next| next.length());
            if cut.kept_bytes >= next.min(WANTED_BYTES) {
                return Some(cut);
            }
            fallback.get_or_insert(cut);
        }
        fallback
    }

    /// `texts` are those that are cut, in the order of the event's text.
    fn write(&self, event: &str, closing_brace: usize, texts: &[&Text], paths: Vec<String>) -> Payload {
        let mut out = String::with_capacity(MAX_PAYLOAD_BYTES);
        let mut at = 0;
        for text in texts {
            let inside = event.get(text.start..text.end).unwrap_or_default();
            let kept = text.start + whole_characters(inside, self.kept_bytes);
            out.push_str(event.get(at..kept).unwrap_or_default());
            at = text.end;
        }
        out.push_str(event.get(at..closing_brace).unwrap_or_default());
        out.push_str(LIST_START);
        for (index, path) in paths.iter().enumerate() {
            out.push_str(if index == 0 { "\"" } else { ",\"" });
            out.push_str(path);
            out.push('"');
        }
        out.push_str(LIST_END);
        Payload { bytes: out.into_bytes().into(), truncated: paths }
    }
}

/// The longest start of the inside of a string token that has at most so many bytes and parts no character.
fn whole_characters(raw: &str, max_bytes: usize) -> usize {
    let mut length = 0;
    loop {
        match character_length(raw.get(length..).unwrap_or_default()) {
            0 => return length,
            next if length + next > max_bytes => return length,
            next => length += next,
        }
    }
}
