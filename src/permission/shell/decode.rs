//! How the parser reads the characters of a command. Its scanner hands some of them to C functions that are defined for
//! those of one byte alone, and reads memory that is not its own for others: it is shown none of those. What stands in a
//! word is taken from the text itself.

use tree_sitter::Decode;

/// The last character that the scanner may see.
const LAST_SAFE: u32 = 0xff;
/// What it sees in the place of a later one: a letter, for to a shell they are all parts of words.
const LETTER: u32 = 0xe9;
/// What the parser takes for bytes that are no character.
const NO_CHARACTER: i32 = -1;

/// The characters of UTF-8, those after U+00FF as one letter.
pub(super) struct Characters;

impl Decode for Characters {
    fn decode(bytes: &[u8]) -> (i32, u32) {
        let Some(first) = bytes.first() else { return (NO_CHARACTER, 1) };
        let length = match first {
            0..=0x7f => return (i32::from(*first), 1),
            0..=0xdf => 2,
            0..=0xef => 3,
            _ => 4,
        };
        let character = bytes.get(..length).and_then(|bytes| str::from_utf8(bytes).ok()?.chars().next());
        let Some(character) = character.map(u32::from) else { return (NO_CHARACTER, 1) };
        let seen = if character > LAST_SAFE { LETTER } else { character };
        (i32::try_from(seen).unwrap_or(NO_CHARACTER), u32::try_from(length).unwrap_or(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_keep_their_length_and_none_is_beyond_one_byte() {
        for (text, expected) in [
            ("a", (97, 1)),
            ("é", (0xe9, 2)),
            ("ÿ", (0xff, 2)),
            ("Ā", (0xe9, 2)),
            ("日", (0xe9, 3)),
            ("\u{2028}", (0xe9, 3)),
            ("\u{10ffff}", (0xe9, 4)),
        ] {
            assert_eq!(Characters::decode(text.as_bytes()), expected, "{text:?}");
            assert_eq!(Characters::decode(format!("{text}rest").as_bytes()), expected, "{text:?}");
        }
        for bytes in [&b""[..], b"\xff", b"\xe6\x97", b"\x80", b"\xf4\x90\x80\x80"] {
            assert_eq!(Characters::decode(bytes), (NO_CHARACTER, 1), "{bytes:?}");
        }
    }
}
