//! `edit_file`: one exact occurrence replaced by another text, or every one. Fails, changing nothing, where it is not clear
//! which is meant.

use std::borrow::Cow;

use serde_json::Value;

use super::{FileTools, MAX_FILE_BYTES, RunPorts, edit_hint, input, line_ends, text};
use crate::workspace::{Failure, shown};

/// Line numbers that a message lists at most.
const MAX_LISTED_LINES: usize = 5;
/// Occurrences are counted so far.
const MAX_COUNTED: usize = 1_000;

pub(super) fn run(tools: &FileTools, input: &Value, ports: &RunPorts<'_>) -> Result<String, String> {
    let path = input::path(input)?;
    let edit = Edit {
        old: input::text(input, "old_text")?,
        new: input::text(input, "new_text")?,
        is_all: input::flag(input, "replace_all")?,
    };
    let root = tools.open()?;
    let explain = |failure: Failure| match failure {
        Failure::Folder { .. } => format!("{failure}, and only files are edited"),
        _ => tools.explain(&root, &path, &failure, ports),
    };
    let read = root.read(&path, MAX_FILE_BYTES).map_err(explain)?;
    let name = shown(path.as_str());
    let text = text::of(&read.bytes, path.as_str())?;
    // What the file holds is told only to whom may read it.
    let may_tell = || (ports.visible)(path.as_str());
    let edited = edit.apply(text, &may_tell).map_err(|problem| format!("{name} was not changed: {problem}"))?;
    tools
        .keeping(&path, ports, |keeper| root.rewrite(&path, &read, edited.text.as_bytes(), keeper))
        .map_err(explain)?;
    Ok(match edited.count {
        1 => format!("replaced 1 occurrence in {name}, at line {}", edited.line),
        count => format!("replaced {count} occurrences in {name}, the first at line {}", edited.line),
    })
}

struct Edit<'a> {
    old: &'a str,
    new: &'a str,
    is_all: bool,
}

#[derive(Debug)]
struct Edited {
    text: String,
    count: usize,
    /// The line of the first.
    line: usize,
}

impl Edit<'_> {
    fn apply(&self, text: &str, may_tell: &dyn Fn() -> bool) -> Result<Edited, String> {
        if self.old.is_empty() {
            return Err("old_text is empty; write_file writes whole files".to_string());
        }
        let (old, new) = if line_ends::are_all_crlf(text) {
            (line_ends::to_crlf(self.old), line_ends::to_crlf(self.new))
        } else {
            (Cow::Borrowed(self.old), Cow::Borrowed(self.new))
        };
        if old == new {
            return Err("old_text and new_text are the same".to_string());
        }
        let Some(first) = text.find(old.as_ref()) else {
            let hint = may_tell().then(|| edit_hint::of(text, &old)).flatten();
            return Err(match hint {
                Some(hint) => format!("it does not hold old_text; {hint}"),
                None => "it does not hold old_text; read the file and take the exact text from it".to_string(),
            });
        };
        if !self.is_all {
            must_be_only(text, &old, first)?;
        }
        let count = if self.is_all { text.matches(old.as_ref()).count() } else { 1 };
        let grown = new.len().saturating_sub(old.len()).saturating_mul(count).saturating_add(text.len());
        if u64::try_from(grown).unwrap_or(u64::MAX) > MAX_FILE_BYTES {
            return Err(format!("it would have {grown} bytes, and at most {MAX_FILE_BYTES} can be written"));
        }
        let replaced =
            if self.is_all { text.replace(old.as_ref(), &new) } else { text.replacen(old.as_ref(), &new, 1) };
        Ok(Edited { text: replaced, count, line: line_of(text, first) })
    }
}

fn must_be_only(text: &str, old: &str, first: usize) -> Result<(), String> {
    let mut places = vec![first];
    let step = old.chars().next().map_or(1, char::len_utf8);
    // Occurrences that overlap are as unclear as others.
    let mut from = first + step;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(old)) {
        places.push(from + at);
        if places.len() >= MAX_COUNTED {
            break;
        }
        // One step for the second, whole texts after it: enough to tell, and never slow.
        from += at + old.len();
    }
    if places.len() == 1 {
        return Ok(());
    }
    let lines: Vec<String> = places.iter().take(MAX_LISTED_LINES).map(|at| line_of(text, *at).to_string()).collect();
    let more = if places.len() > MAX_LISTED_LINES { ", …" } else { "" };
    let count = if places.len() >= MAX_COUNTED {
        format!("{MAX_COUNTED} times or more")
    } else {
        format!("{} times", places.len())
    };
    Err(format!(
        "old_text occurs {count} (lines {}{more}); take in lines around the one that is meant, or set replace_all",
        lines.join(", ")
    ))
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::{Edit, Edited};

    fn apply(text: &str, old: &str, new: &str, is_all: bool) -> Result<Edited, String> {
        Edit { old, new, is_all }.apply(text, &|| true)
    }

    #[test]
    fn one_occurrence_is_replaced_and_every_one_on_demand() {
        for (text, old, new, is_all, expected, count, line) in [
            ("a b c", "b", "x", false, "a x c", 1, 1),
            ("a\nb\nc\n", "b\n", "", false, "a\nc\n", 1, 2),
            ("a a a", "a", "bb", true, "bb bb bb", 3, 1),
            ("aaa", "aa", "b", true, "ba", 1, 1),
            ("\u{FEFF}a", "a", "b", false, "\u{FEFF}b", 1, 1),
            ("a\r\nb\r\nc", "a\nb", "x\ny", false, "x\r\ny\r\nc", 1, 1),
            ("a\r\nb\r\n", "a\r\nb", "x\ny", false, "x\r\ny\r\n", 1, 1),
            ("a\r\nb\nc", "b\nc", "x", false, "a\r\nx", 1, 2),
            ("$1", "$1", "$0\\1", false, "$0\\1", 1, 1),
        ] {
            let edited = apply(text, old, new, is_all).unwrap();
            assert_eq!((edited.text.as_str(), edited.count, edited.line), (expected, count, line), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        for (text, old, new, problem) in [
            ("a\nb\na\n", "a", "x", "occurs 2 times (lines 1, 3)"),
            ("aaa", "aa", "b", "occurs 2 times (lines 1, 1)"),
            ("éé é", "é", "b", "occurs 3 times"),
            ("a", "b", "x", "does not hold old_text"),
            ("a", "", "x", "old_text is empty"),
            ("a", "a", "a", "are the same"),
        ] {
            let refused = apply(text, old, new, false).unwrap_err();
            assert!(refused.contains(problem), "{refused}");
        }
        assert!(
            apply(&"a".repeat(5_000), "a", "b", false)
                .unwrap_err()
                .contains("1000 times or more (lines 1, 1, 1, 1, 1, …)")
        );
        assert!(apply(&"a".repeat(6_000_000), "a", "bb", true).unwrap_err().contains("would have 12000000 bytes"));
    }
}
