//! Where a heredoc begins and ends for a shell, found by lines alone, so that a tree that has it otherwise is found out.

use super::tree::Item;
use super::word::NoWord;

/// A heredoc as a shell finds it, by lines.
pub(super) struct Heredoc<'a> {
    pub delimiter: &'a str,
    pub expands: bool,
    pub body_start: usize,
    /// Where the line with the delimiter begins.
    pub body_end: usize,
}

impl<'a> Heredoc<'a> {
    pub(super) fn find(text: &'a str, start: Item) -> Result<Heredoc<'a>, NoWord> {
        let written = text.get(start.start..start.end).ok_or(NoWord)?;
        let within = |quote: char| written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        let unquoted = within('\'').or_else(|| within('"')).or_else(|| written.strip_prefix('\\'));
        let delimiter = unquoted.unwrap_or(written);
        let is_simple = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if delimiter.is_empty() || !delimiter.bytes().all(is_simple) {
            return Err(NoWord);
        }
        let after = text.get(start.end..).ok_or(NoWord)?;
        let line = after.split('\n').next().unwrap_or_default();
        // One heredoc a line, and a line whose end is surely the one that a shell sees.
        if line.contains("<<") || line.contains(['\\', '`']) || line.contains("$(") || !has_closed_quotes(line) {
            return Err(NoWord);
        }
        let strips_tabs =
            text.get(..start.start).is_some_and(|before| before.trim_end_matches([' ', '\t']).ends_with("<<-"));
        let body_start = start.end + line.len() + 1;
        let mut at = body_start;
        let mut joined = false;
        for line in text.get(body_start..).ok_or(NoWord)?.split('\n') {
            let stripped = if strips_tabs { line.trim_start_matches('\t') } else { line };
            if stripped == delimiter && !joined {
                return Ok(Heredoc { delimiter, expands: unquoted.is_none(), body_start, body_end: at });
            }
            let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
            joined = unquoted.is_none() && backslashes % 2 == 1;
            at += line.len() + 1;
        }
        Err(NoWord)
    }
}

fn has_closed_quotes(line: &str) -> bool {
    let mut open = None;
    for character in line.chars().filter(|character| matches!(character, '\'' | '"')) {
        match open {
            None => open = Some(character),
            Some(quote) if quote == character => open = None,
            Some(_) => {}
        }
    }
    open.is_none()
}
