//! Where something is in a text, as an editor would say it. Knows nothing of JSON.

use std::fmt;

/// A place in a text. Both count from 1; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// The position of a byte; an offset behind the end counts as the end. Lines end with `\n`, `\r\n` or `\r`.
    pub fn of(text: &str, offset: usize) -> Position {
        let before = text.get(..text.floor_char_boundary(offset)).unwrap_or(text);
        let bytes = text.as_bytes();
        let mut line = 1;
        let mut line_start = 0;
        for (at, byte) in before.bytes().enumerate() {
            if byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                line += 1;
                line_start = at + 1;
            }
        }
        let column = before.get(line_start..).map_or(0, |line| line.chars().count()) + 1;
        Position { line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::Position;

    fn at(text: &str, offset: usize) -> (usize, usize) {
        let Position { line, column } = Position::of(text, offset);
        (line, column)
    }

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        assert_eq!(at("", 0), (1, 1));
        assert_eq!(at("añb", 3), (1, 3));
        assert_eq!(at("😀b", 4), (1, 2));
        assert_eq!(at("a\nb", 2), (2, 1));
        assert_eq!(at("a\r\nbc", 4), (2, 2));
        assert_eq!(at("a\rb\r\rc", 5), (4, 1));
        assert_eq!(at("a\n", 2), (2, 1));
    }

    #[test]
    fn offsets_that_are_no_boundary_or_behind_the_end_are_brought_in() {
        assert_eq!(at("é", 1), (1, 1));
        assert_eq!(at("ab", 99), (1, 3));
    }
}
