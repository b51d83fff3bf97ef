//! Masks secrets in text: finds where they are, and writes `[redacted]` there. Linear in the length of the text, and
//! errs on the side of masking. Knows text alone: keys of objects, cycles and the like are the host's half.
//!
//! Every finder looks at the original text and only reports spans, so that no mask can hide a secret from the next
//! finder; the union of the spans is what gets masked.

mod assignment;
mod plain;
mod shape;
mod value;

use std::borrow::Cow;
use std::ops::Range;

/// What stands in the place of a secret.
pub const MASK: &str = "[redacted]";

/// Longer texts are cut before anything looks at them.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Ends a text that was cut.
pub const CUT_MARKER: &str = " [cut at 16 KiB]";

/// How much of the looked-at text may be held back at a cut, so that what straddles it is recognised or left out.
const MAX_HELD_BACK_BYTES: usize = 1024;

/// The text with `[redacted]` in the place of each secret, at most 16 KiB of it and [`CUT_MARKER`] then.
///
/// Borrowed when there was nothing to do. Names of keys stay: `API_KEY=[redacted]`.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    let cut = text.len() > MAX_TEXT_BYTES;
    let seen = if cut { head(text, MAX_TEXT_BYTES) } else { text };
    let mut spans = Vec::new();
    shape::find(seen, cut, &mut spans);
    assignment::find(seen, cut, &mut spans);
    let spans = shape::add_addresses(seen, merged(spans));
    if spans.is_empty() && !cut {
        return Cow::Borrowed(text);
    }
    let shown_bytes = if cut { shown_bytes(seen) } else { seen.len() };
    Cow::Owned(write_masked(seen, shown_bytes, cut, &spans))
}

/// Compiles the regular expressions, which takes more than a millisecond: for a thread that nobody waits for.
pub fn warm_up() {
    let _ = redact_text("Bearer a1.b2 token=abc");
    shape::warm_up();
}

fn write_masked(seen: &str, shown_bytes: usize, cut: bool, spans: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(shown_bytes + 64);
    let mut at = 0;
    for span in spans.iter().take_while(|span| span.start < shown_bytes) {
        out.push_str(seen.get(at..span.start).unwrap_or(""));
        out.push_str(MASK);
        at = span.end;
    }
    out.push_str(seen.get(at..shown_bytes).unwrap_or(""));
    if cut {
        out.push_str(CUT_MARKER);
    }
    out
}

/// How much of a cut text may be shown. A secret that goes on behind the cut may be too short before it to look like
/// one. Secrets hold no white space, mostly: so the last word is left out whole, and where the text has no white space
/// near its end, the last stretch is looked at but not shown.
fn shown_bytes(seen: &str) -> usize {
    let tail_start = head(seen, seen.len().saturating_sub(MAX_HELD_BACK_BYTES)).len();
    let tail = seen.get(tail_start..).unwrap_or("");
    tail.rfind(|character: char| character.is_ascii_whitespace()).map_or(tail_start, |space| tail_start + space)
}

/// The longest start of `text` that fits into `max_bytes` and ends between characters.
fn head(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or(text)
}

/// Spans in order, where those that touch or overlap have become one.
fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.retain(|span| span.start < span.end);
    spans.sort_unstable_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// A constant pattern of this module, compiled.
#[expect(clippy::expect_used, reason = "the patterns are constants, and the tests compile every one")]
fn compiled(pattern: &str) -> regex::Regex {
    regex::Regex::new(pattern).expect("a valid pattern")
}

#[cfg(test)]
#[path = "redact_test.rs"]
mod tests;
