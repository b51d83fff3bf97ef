//! What a read of a background command's output answers: a line that says how much was dropped, the output or the lines
//! of it that match, and a line with the command's status. Pure.

use std::time::{Duration, Instant};

use super::filter::{Filter, MAX_LINE_BYTES};
use super::kept::Unread;
use crate::process::Utf8Decoder;

/// No answer has more bytes.
pub(super) const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// At most so many bytes are looked at for one answer.
pub(super) const MAX_READ_BYTES: usize = 1024 * 1024;
/// After so long the rest waits for the next read.
const MAX_FILTER_TIME: Duration = Duration::from_millis(500);

/// An answer, and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub text: String,
    /// All before this position is told.
    pub read_to: u64,
    /// Not all that could be told is.
    pub is_cut: bool,
}

/// `status`: `running`, or how the command ended. A character whose rest may come is held back, and with a filter a line
/// whose end may come.
pub(super) fn answer(unread: &Unread, status: &str, filter: Option<&Filter>) -> Answer {
    let mut text = match unread.dropped {
        0 => String::new(),
        dropped => format!("[… {dropped} bytes dropped …]\n"),
    };
    let cut_status = format!("[{status}; more output waits]");
    // And a newline before the status.
    let room = MAX_ANSWER_BYTES.saturating_sub(text.len() + 1 + cut_status.len());
    let told = match filter {
        Some(filter) => matching_lines(unread, filter, room, &mut text),
        None => all(unread, room, &mut text),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match told.is_cut {
        true => text.push_str(&cut_status),
        false => text.push_str(&format!("[{status}]")),
    }
    Answer { text, read_to: unread.from + told.bytes as u64, is_cut: told.is_cut }
}

/// How much of the unread was told.
struct Told {
    bytes: usize,
    is_cut: bool,
}

fn all(unread: &Unread, room: usize, text: &mut String) -> Told {
    let full = text.len() + room;
    let mut decoder = Utf8Decoder::default();
    let mut rest = unread.bytes.as_slice();
    while !rest.is_empty() {
        // A byte becomes three at the most, and what is pending from before as well.
        let fits = (full - text.len()) / 3;
        let Some((piece, after)) = rest.split_at_checked(rest.len().min(fits.saturating_sub(1))) else { break };
        if piece.is_empty() {
            break;
        }
        decoder.push(piece, text);
        rest = after;
    }
    let is_cut = !rest.is_empty() || !unread.is_all;
    let bytes = unread.bytes.len() - rest.len();
    if unread.is_closed && !is_cut {
        decoder.finish(false, text);
        return Told { bytes, is_cut };
    }
    let open = unread.bytes.get(..bytes).map_or(0, open_bytes);
    Told { bytes: bytes - open, is_cut }
}

fn matching_lines(unread: &Unread, filter: &Filter, room: usize, text: &mut String) -> Told {
    let full = text.len() + room;
    let began = Instant::now();
    let mut rest = unread.bytes.as_slice();
    let told = |rest: &[u8], is_cut| Told { bytes: unread.bytes.len() - rest.len(), is_cut };
    while !rest.is_empty() {
        if began.elapsed() > MAX_FILTER_TIME && rest.len() < unread.bytes.len() {
            return told(rest, true);
        }
        let is_last = unread.is_all && unread.is_closed;
        let Some((line, after)) = split_line(rest, is_last) else { return told(rest, !unread.is_all) };
        let mut decoded = String::with_capacity(line.len());
        let mut decoder = Utf8Decoder::default();
        decoder.push(line, &mut decoded);
        decoder.finish(false, &mut decoded);
        let content = decoded.strip_suffix('\n').unwrap_or(&decoded);
        let content = content.strip_suffix('\r').unwrap_or(content);
        if filter.matches(content) {
            if text.len() + content.len() + 1 > full {
                return told(rest, true);
            }
            text.push_str(content);
            text.push('\n');
        }
        rest = after;
    }
    told(rest, !unread.is_all)
}

/// The first line with its newline, and what comes after. A line that is too long is taken in pieces. None when the line
/// has no end yet, unless it is the last.
fn split_line(bytes: &[u8], is_last: bool) -> Option<(&[u8], &[u8])> {
    let start = bytes.get(..=MAX_LINE_BYTES).unwrap_or(bytes);
    let length = match memchr::memchr(b'\n', start) {
        Some(at) => at + 1,
        None if bytes.len() > MAX_LINE_BYTES => {
            let piece = bytes.get(..MAX_LINE_BYTES).unwrap_or(bytes);
            piece.len() - open_bytes(piece)
        }
        None if is_last => bytes.len(),
        None => return None,
    };
    bytes.split_at_checked(length)
}

/// How many bytes at the end are the beginning of a character whose rest is not there.
fn open_bytes(bytes: &[u8]) -> usize {
    let is_open = |end: &[u8]| matches!(str::from_utf8(end), Err(e) if e.valid_up_to() == 0 && e.error_len().is_none());
    (1..=3)
        .find(|count| bytes.len().checked_sub(*count).and_then(|at| bytes.get(at..)).is_some_and(is_open))
        .unwrap_or(0)
}
