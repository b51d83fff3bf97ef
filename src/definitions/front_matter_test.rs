//! Where front matter begins and ends.

use proptest::prelude::*;

use super::*;

#[test]
fn a_text_is_parted_at_the_first_line_that_is_a_fence_alone() {
    for (text, front_matter, body) in [
        ("---\na: b\n---\nbody", "a: b\n", "body"),
        ("---\na: b\n---", "a: b\n", ""),
        ("---\n---\n", "", ""),
        ("--- \t\na: b\n---\t \n\n  body \n\n", "a: b\n", "body"),
        ("---\r\na: b\r\n---\r\none\r\ntwo\r\n", "a: b\r\n", "one\r\ntwo"),
        ("---\na: |\n  ---\n  b\n---\nbody", "a: |\n  ---\n  b\n", "body"),
        ("---\na: \"x --- y\"\n----\n--- #\n---\nbody", "a: \"x --- y\"\n----\n--- #\n", "body"),
        ("---\na: b\n---\nbody\n---\nmore", "a: b\n", "body\n---\nmore"),
        ("---\na: b\n---\n---\nmore", "a: b\n", "---\nmore"),
    ] {
        assert_eq!(parts(text), Ok(Parts { front_matter, body }), "{text:?}");
    }
}

#[test]
fn a_text_without_both_lines_is_refused() {
    for (text, problem) in [
        ("", "expected a line \"---\", which begins"),
        ("body", "expected a line \"---\", which begins"),
        ("\n---\na: b\n---\n", "expected a line \"---\", which begins"),
        (" ---\na: b\n---\n", "expected a line \"---\", which begins"),
        ("----\na: b\n---\n", "expected a line \"---\", which begins"),
        ("---", "has no end"),
        ("---\n", "has no end"),
        ("---\na: b\n ---\n", "has no end"),
        ("---\na: b\n---x\n", "has no end"),
        ("---\na: b\n...\nbody", "has no end"),
    ] {
        let error = parts(text).unwrap_err();
        assert!(error.starts_with("line 1: ") && error.contains(problem), "{text:?}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_parted_or_refused(text in "(---|\\.\\.\\.|a: b|é|[ \t\r\n]){0,12}") {
        if let Ok(Parts { front_matter, body }) = parts(&text) {
            prop_assert!(!front_matter.lines().any(is_fence));
            prop_assert!(text.contains(front_matter) && text.contains(body));
        }
    }

    #[test]
    fn what_was_put_together_is_parted_alike(
        lines in prop::collection::vec("[a-z: #|]{0,8}", 0..5),
        body in "\\PC{0,30}",
    ) {
        let front_matter: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let text = format!("---\n{front_matter}---\n{body}\n");
        prop_assert_eq!(parts(&text), Ok(Parts { front_matter: &front_matter, body: body.trim() }));
    }
}
