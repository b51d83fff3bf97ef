//! Keeps results within what a model is to read: their head and their tail, and a line between them that says what is left
//! out. Knows nothing of what the text is.

/// Longer results lose their middle.
pub(super) const MAX_RESULT_BYTES: usize = 16 * 1024;
/// Left for the line between head and tail, and for notes.
const MARKER_BYTES: usize = 768;
/// Of a longer result this much is kept at either end.
pub(super) const END_BYTES: usize = (MAX_RESULT_BYTES - MARKER_BYTES) / 2;

/// The text, its middle left out where it is too long. `remedy`: how to get at the rest.
pub(super) fn middle(text: String, remedy: &str) -> String {
    if text.len() <= MAX_RESULT_BYTES {
        return text;
    }
    let (head, tail) = (head(&text, END_BYTES), tail(&text, END_BYTES));
    let left_out = text.get(head.len()..text.len() - tail.len()).unwrap_or_default();
    let lines = line_count(left_out);
    format!("{}[{} bytes, {lines} lines, are left out here; {remedy}]\n{tail}", ended(head), left_out.len())
}

/// The longest beginning of so many bytes: whole lines, unless the line at its end is most of it.
pub(super) fn head(text: &str, max_bytes: usize) -> &str {
    let head = text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default();
    match head.rfind('\n') {
        Some(end) if end >= max_bytes / 2 => head.get(..=end).unwrap_or(head),
        _ => head,
    }
}

/// The longest end of so many bytes, likewise.
pub(super) fn tail(text: &str, max_bytes: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(max_bytes));
    let tail = text.get(start..).unwrap_or_default();
    match tail.find('\n') {
        Some(end) if end < max_bytes / 2 => tail.get(end + 1..).unwrap_or(tail),
        _ => tail,
    }
}

/// The text with a line break at its end.
pub(super) fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_string() } else { format!("{text}\n") }
}

/// How many lines begin in the text.
pub(super) fn line_count(text: &str) -> usize {
    breaks(text) + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

pub(super) fn breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_RESULT_BYTES, head, line_count, middle, tail};

    #[test]
    fn what_fits_stays_as_it_is() {
        let text = "a".repeat(MAX_RESULT_BYTES);
        assert_eq!(middle(text.clone(), "x"), text);
    }

    #[test]
    fn whole_lines_are_kept_and_what_is_left_out_is_counted() {
        let text: String = (1..=5_000).map(|number| format!("line {number}\n")).collect();
        let cut = middle(text.clone(), "narrow it");
        assert!(cut.len() <= MAX_RESULT_BYTES);
        let lines: Vec<&str> = cut.lines().collect();
        let marker = lines.iter().position(|line| line.starts_with('[')).unwrap();
        assert!(lines[marker].ends_with("lines, are left out here; narrow it]"), "{}", lines[marker]);
        assert_eq!(lines[marker - 1], format!("line {marker}"));
        let rest = lines.len() - marker - 1;
        assert_eq!(lines[marker + 1], format!("line {}", 5_000 - rest + 1));
        let left: usize = lines[marker].split(' ').nth(2).unwrap().parse().unwrap();
        assert_eq!(marker + rest + left, 5_000);
    }

    proptest! {
        #[test]
        fn ends_are_parts_of_the_text(text in "[a€\n]{0,200}", bytes in 0usize..250) {
            prop_assert!(text.starts_with(head(&text, bytes)) && head(&text, bytes).len() <= bytes);
            prop_assert!(text.ends_with(tail(&text, bytes)) && tail(&text, bytes).len() <= bytes);
            prop_assert_eq!(line_count(&text), text.lines().count());
        }

        #[test]
        fn a_result_is_never_longer_than_it_may_be(text in "[a-c€\n]{1,40}", times in 1usize..3_000) {
            prop_assert!(middle(text.repeat(times), "do something").len() <= MAX_RESULT_BYTES);
        }
    }
}
