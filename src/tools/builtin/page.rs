//! Some lines of a text, as a model is shown them. Knows nothing of files.

use super::cut::{self, END_BYTES, MAX_RESULT_BYTES, breaks, ended, line_count};

/// Room for the note at the end of a page.
const NOTE_BYTES: usize = 128;

/// The lines from `offset`, at most `limit`. What is left out is said, with the offset at which to go on.
///
/// # Errors
/// There is no line `offset`.
pub(super) fn of(text: &str, offset: usize, limit: usize) -> Result<String, String> {
    let total = line_count(text);
    if text.is_empty() && offset == 1 {
        return Ok("[the file is empty]".to_string());
    }
    if offset > total {
        return Err(format!(
            "there is no line {offset}: the file has {total} line{}",
            if total == 1 { "" } else { "s" }
        ));
    }
    let rest = text.get(start_of_line(text, offset - 1)..).unwrap_or_default();
    let lines = rest.get(..start_of_line(rest, limit)).unwrap_or(rest);
    let last = offset + line_count(lines) - 1;
    let note = if last < total {
        format!("[lines {offset} to {last} of {total}; offset {} goes on]", last + 1)
    } else {
        String::new()
    };
    if lines.len() + note.len() <= MAX_RESULT_BYTES {
        return Ok(if note.is_empty() { lines.to_string() } else { format!("{}{note}", ended(lines)) });
    }
    Ok(without_middle(lines, offset, last, total) + &note)
}

fn without_middle(lines: &str, offset: usize, last: usize, total: usize) -> String {
    let head = cut::head(lines, END_BYTES - NOTE_BYTES);
    let tail = cut::tail(lines, END_BYTES - NOTE_BYTES);
    let left_out = lines.get(head.len()..lines.len() - tail.len()).unwrap_or_default();
    let first = offset + breaks(head);
    let end = (first + line_count(left_out)).saturating_sub(1).min(last);
    let remedy = if first == offset {
        "a line this long cannot be shown whole; grep finds things in it".to_string()
    } else {
        format!("offset {first} goes on")
    };
    let place = if first == end { format!("line {first}") } else { format!("lines {first} to {end}") };
    let marker = format!("[{} bytes of {place} of {total} are left out here; {remedy}]", left_out.len());
    format!("{}{marker}\n{}", ended(head), if last < total { ended(tail) } else { tail.to_string() })
}

/// Where the line after so many begins; the end of the text where there is none.
fn start_of_line(text: &str, lines_before: usize) -> usize {
    match lines_before.checked_sub(1) {
        None => 0,
        Some(index) => text.match_indices('\n').nth(index).map_or(text.len(), |(at, _)| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_RESULT_BYTES, of};

    const ALL: usize = usize::MAX;

    #[test]
    fn lines_are_shown_as_they_are_and_what_follows_is_said() {
        for (text, offset, limit, expected) in [
            ("a\nb\nc\n", 1, ALL, "a\nb\nc\n"),
            ("a\nb\nc", 1, ALL, "a\nb\nc"),
            ("a\nb\nc\n", 2, ALL, "b\nc\n"),
            ("a\nb\nc\n", 2, 1, "b\n[lines 2 to 2 of 3; offset 3 goes on]"),
            ("a\nb\nc", 3, 1, "c"),
            ("a\r\nb\r\n", 1, 1, "a\r\n[lines 1 to 1 of 2; offset 2 goes on]"),
            ("", 1, ALL, "[the file is empty]"),
            ("\n", 1, ALL, "\n"),
        ] {
            assert_eq!(of(text, offset, limit).unwrap(), expected, "{text:?} {offset} {limit}");
        }
        assert_eq!(of("a\nb\n", 3, 1).unwrap_err(), "there is no line 3: the file has 2 lines");
        assert_eq!(of("a", 2, 1).unwrap_err(), "there is no line 2: the file has 1 line");
    }

    #[test]
    fn a_long_text_can_be_read_on_from_where_its_marker_says() {
        let text: String = (1..=4_000).map(|number| format!("this is line {number}\n")).collect();
        let shown = of(&text, 1, ALL).unwrap();
        assert!(shown.len() <= MAX_RESULT_BYTES && shown.ends_with("this is line 4000\n"));
        let marker = shown.lines().find(|line| line.starts_with('[')).unwrap();
        let next: usize = marker.split("offset ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let before = shown.lines().take_while(|line| !line.starts_with('[')).count();
        assert_eq!(next, before + 1, "{marker}");
        assert!(of(&text, next, 1).unwrap().starts_with(&format!("this is line {next}\n")));
    }

    #[test]
    fn a_line_that_is_too_long_is_said_to_be() {
        let shown = of(&"x".repeat(50_000), 1, ALL).unwrap();
        assert!(shown.contains("of line 1 of 1 are left out here; a line this long cannot be shown whole"), "{shown}");
        let shown = of(&format!("a\n{}\nb\n", "x".repeat(50_000)), 1, ALL).unwrap();
        assert!(shown.starts_with("a\nxxx") && shown.ends_with("x\nb\n"));
        assert!(shown.contains("of line 2 of 3 are left out here; offset 2 goes on"), "{shown}");
    }

    proptest! {
        #[test]
        fn a_page_is_never_longer_than_a_result(
            line in "[a€]{0,60}", times in 1usize..3_000, offset in 1usize..50, limit in 1usize..4_000,
        ) {
            let text = format!("{line}\n").repeat(times);
            if let Ok(shown) = of(&text, offset, limit) {
                prop_assert!(shown.len() <= MAX_RESULT_BYTES);
            }
        }
    }
}
