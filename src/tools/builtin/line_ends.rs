//! Line ends: what a model writes as `\n` is what the file has. Pure.

use std::borrow::Cow;

/// Whether every line of the text ends in `\r\n`.
pub(super) fn are_all_crlf(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut is_any = false;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'\n' {
            is_any = true;
            if at == 0 || bytes.get(at - 1) != Some(&b'\r') {
                return false;
            }
        }
    }
    is_any
}

/// The text with `\r\n` wherever it has `\n`.
pub(super) fn to_crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::{are_all_crlf, to_crlf};

    #[test]
    fn a_text_is_crlf_if_each_of_its_lines_is() {
        for (text, expected) in [
            ("a\r\nb\r\n", true),
            ("a\r\nb", true),
            ("\r\n", true),
            ("a\r\nb\n", false),
            ("\n", false),
            ("a\rb", false),
            ("a", false),
            ("", false),
        ] {
            assert_eq!(are_all_crlf(text), expected, "{text:?}");
        }
    }

    #[test]
    fn line_ends_are_changed_once() {
        assert_eq!(to_crlf("a\nb\r\nc"), "a\r\nb\r\nc");
        assert_eq!(to_crlf("a"), "a");
    }
}
