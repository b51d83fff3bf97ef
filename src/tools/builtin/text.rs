//! Tells text from what is none. Knows nothing of files.

use crate::workspace::shown;

/// The bytes as text, as they are: a byte-order mark is part of it.
///
/// # Errors
/// Says what the bytes are instead, and where.
pub(super) fn of<'a>(bytes: &'a [u8], path: &str) -> Result<&'a str, String> {
    let problem = match bytes {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            "is UTF-16 text, not UTF-8; convert it first (iconv -f UTF-16)".to_string()
        }
        _ if bytes.contains(&0) => {
            format!("is a binary file of {} bytes, which has no text to show or to edit", bytes.len())
        }
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => not_utf8(bytes, error.valid_up_to()),
        },
    };
    Err(format!("{} {problem}", shown(path)))
}

fn not_utf8(bytes: &[u8], at: usize) -> String {
    let before = bytes.get(..at).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let byte = bytes.get(at).copied().unwrap_or_default();
    format!(
        "is not UTF-8 text: line {line} has the byte 0x{byte:02X}, at offset {at}; to show or edit it would mangle it, so \
         convert it first (iconv)"
    )
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn text_stays_as_it_is_and_everything_else_is_named() {
        assert_eq!(of("\u{FEFF}é\r\n".as_bytes(), "a"), Ok("\u{FEFF}é\r\n"));
        assert_eq!(of(b"", "a"), Ok(""));
        assert!(of(b"a\0b", "a").unwrap_err().contains("'a' is a binary file of 3 bytes"));
        assert!(of(b"\xFF\xFEa\0", "a").unwrap_err().contains("UTF-16"));
        let problem = of(b"one\ncaf\xE9\n", "a").unwrap_err();
        assert!(problem.contains("line 2 has the byte 0xE9, at offset 7"), "{problem}");
    }
}
