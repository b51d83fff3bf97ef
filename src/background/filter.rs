//! The filter of a read: a regular expression over lines, from a model. It may be anything, so that what it costs has
//! limits: its length, its compiled size, and the length of what it looks at (a caller keeps to [`MAX_LINE_BYTES`] at once).
//! Pure.

use regex::{Regex, RegexBuilder};

use super::end::one_line;

/// No longer text is looked at in one go. The engine takes time in proportion to the text and to the expression, and the
/// worst expression of [`MAX_COMPILED_BYTES`] some 50 µs a byte; this is where a read can stop.
pub(super) const MAX_LINE_BYTES: usize = 32 * 1024;
const MAX_PATTERN_BYTES: usize = 2 * 1024;
/// Enough for four `\w`, which know all letters of Unicode and are large.
const MAX_COMPILED_BYTES: usize = 256 * 1024;
/// Characters that a message shows of what is wrong.
const MAX_PROBLEM_CHARS: usize = 300;

/// A compiled filter.
#[derive(Debug)]
pub(super) struct Filter(Regex);

impl Filter {
    /// # Errors
    /// Says what is wrong with the expression, and where.
    pub(super) fn new(pattern: &str) -> Result<Filter, String> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(format!(
                "the filter has {} bytes, and at most {MAX_PATTERN_BYTES} are taken: shorten it",
                pattern.len()
            ));
        }
        RegexBuilder::new(pattern)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_COMPILED_BYTES)
            .build()
            .map(Filter)
            .map_err(|error| problem(pattern, &error))
    }

    pub(super) fn matches(&self, line: &str) -> bool {
        self.0.is_match(line)
    }
}

fn problem(pattern: &str, error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => {
            "the filter is too large once its repetitions are written out: repeat less, \
             and write (?-u:\\w) where \\w need not know all letters of Unicode"
                .to_string()
        }
        error => {
            let text = error.to_string();
            let what = text.rsplit_once("error: ").map_or(text.as_str(), |(_, what)| what);
            let place = place(pattern, &text).unwrap_or_default();
            let what = one_line(what, MAX_PROBLEM_CHARS);
            format!("the filter cannot be used: {what}{place}; it is a regular expression in Rust syntax, for one line")
        }
    }
}

/// Where the message points: it repeats the expression, and has a line of carets below the fault. Its columns are
/// characters of the expression behind a margin; the margin is of digits and a colon where the expression has lines.
fn place(pattern: &str, message: &str) -> Option<String> {
    let lines: Vec<&str> = message.lines().collect();
    let is_carets = |line: &&str| line.contains('^') && line.chars().all(|character| matches!(character, ' ' | '^'));
    // The first line is a heading; the second, or the one after a ruler, is the expression's.
    let at = lines.iter().skip(2).position(is_carets)? + 2;
    let caret = lines.get(at)?.chars().position(|character| character == '^')?;
    if !pattern.contains('\n') {
        return Some(format!(", at character {} of it", (caret + 1).checked_sub(4)?));
    }
    let number = lines.get(at - 1)?.split_once(": ")?.0;
    let column = (caret + 1).checked_sub(number.chars().count() + 2)?;
    Some(format!(", at character {column} of its line {}", number.trim()))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_bad_expression_is_told_with_its_place() {
        let table = [
            ("a(b", "unclosed group, at character 2 of it;"),
            ("[z-a]", "invalid character class range, the start must be <= the end, at character 2 of it;"),
            ("é*+{", "at character"),
            ("*", "repetition operator missing expression, at character 1 of it;"),
            ("^^^(", "unclosed group, at character 4 of it;"),
            ("a\nb(", "unclosed group, at character 2 of its line 2;"),
            ("(?=a)", "look-around, including look-ahead and look-behind, is not supported, at character 1 of it;"),
            (r"(a)\1", "backreferences are not supported, at character 4 of it;"),
            (r"\p{Klingon}", "at character 1 of it;"),
            ("(\n\na", "the filter cannot be used: "),
            ("a{5,2}", "at character 2 of it;"),
        ];
        for (pattern, expected) in table {
            let problem = Filter::new(pattern).unwrap_err();
            assert!(problem.contains(expected), "{pattern:?}: {problem}");
            assert!(!problem.contains('\n'), "{problem}");
        }
    }

    #[test]
    fn what_would_cost_too_much_is_refused() {
        let long = "a".repeat(MAX_PATTERN_BYTES + 1);
        let table = [
            (long.as_str(), "the filter has 2049 bytes, and at most 2048 are taken"),
            (r"\w{1000}", "the filter is too large"),
            ("(((a{100}){100}){100}){100}", "the filter is too large"),
        ];
        for (pattern, expected) in table {
            let problem = Filter::new(pattern).unwrap_err();
            assert!(problem.starts_with(expected), "{problem}");
        }
        assert!(Filter::new(&"(".repeat(MAX_PATTERN_BYTES)).is_err());
    }

    #[test]
    fn ordinary_expressions_fit() {
        for pattern in [r"\w+ \w+ \w+ \w+", r"(?i)error|warning|\bfail(ed|ure)?\b", r"^\d{4}-\d{2}-\d{2}T", ""] {
            assert!(Filter::new(pattern).is_ok(), "{pattern}");
        }
        assert!(Filter::new(r"(?i)ÉTAT \d+").unwrap().matches("état 12"));
    }

    /// Each of these costs seconds where an engine backtracks, or builds its automaton whole.
    #[test]
    fn a_hostile_expression_takes_no_time_to_speak_of() {
        let line: String = (0..MAX_LINE_BYTES / 8).map(|at| if (at * at) % 7 < 3 { '1' } else { '0' }).collect();
        let began = Instant::now();
        for pattern in ["(a*)*b", "([01]+)+x", "[01]*1[01]{800}x", "(?:0?){800}0{800}x", "(.*)(.*)(.*)(.*)(.*)x"] {
            assert!(!Filter::new(pattern).unwrap().matches(&line), "{pattern}");
        }
        // Compiled without optimisation, on a machine that has other work.
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    }
}
