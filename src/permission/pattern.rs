//! Globs, regular expressions and command patterns of rules, compiled once.

use globset::{GlobBuilder, GlobMatcher};

/// Steps that a regular expression with look-around or back-references may take. Reaching it denies.
const BACKTRACK_LIMIT: usize = 10_000;

/// A glob over text: `*` stops at `/`, `**` does not, a leading `!` negates.
pub(super) struct Glob {
    matcher: GlobMatcher,
    negated: bool,
}

impl Glob {
    pub fn new(text: &str) -> Result<Glob, String> {
        let (pattern, negated) = text.strip_prefix('!').map_or((text, false), |rest| (rest, true));
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| format!("the glob \"{text}\" does not compile: {}", error.kind()))?;
        Ok(Glob { matcher: glob.compile_matcher(), negated })
    }

    pub fn matches(&self, text: &str) -> bool {
        self.matcher.is_match(text) != self.negated
    }
}

/// A regular expression: linear where it can be, else with a limit.
pub(super) enum Expression {
    Linear(regex::Regex),
    Limited(fancy_regex::Regex),
}

/// The expression took more steps than it may.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LimitReached;

impl Expression {
    pub fn new(text: &str) -> Result<Expression, String> {
        if let Ok(expression) = regex::Regex::new(text) {
            return Ok(Expression::Linear(expression));
        }
        fancy_regex::RegexBuilder::new(text)
            .backtrack_limit(BACKTRACK_LIMIT)
            .build()
            .map(Expression::Limited)
            .map_err(|error| format!("the regular expression \"{text}\" does not compile: {error}"))
    }

    pub fn matches(&self, text: &str) -> Result<bool, LimitReached> {
        match self {
            Expression::Linear(expression) => Ok(expression.is_match(text)),
            Expression::Limited(expression) => expression.is_match(text).map_err(|_error| LimitReached),
        }
    }
}

/// A pattern over one command: `*` matches any text, a trailing `:*` any arguments.
pub(super) struct CommandPattern {
    /// Literal parts between the `*`s.
    parts: Vec<String>,
    /// `prefix:*`: the prefix, at a word boundary.
    is_prefix: bool,
}

impl CommandPattern {
    pub fn new(text: &str) -> Result<CommandPattern, String> {
        let (pattern, is_prefix) = text.strip_suffix(":*").map_or((text, false), |prefix| (prefix, true));
        if pattern.trim().is_empty() {
            return Err(format!("the command pattern \"{text}\" names no command"));
        }
        Ok(CommandPattern { parts: pattern.split('*').map(str::to_string).collect(), is_prefix })
    }

    pub fn matches(&self, command: &str) -> bool {
        if !self.is_prefix {
            return wild_match(&self.parts, command);
        }
        // The prefix alone, or followed by a blank and anything: tried at each blank, longest text first.
        if wild_match(&self.parts, command) {
            return true;
        }
        match self.parts.as_slice() {
            [prefix] => command.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.starts_with([' ', '\t', '\n'])),
            parts => command
                .match_indices([' ', '\t', '\n'])
                .any(|(at, _)| command.get(..at).is_some_and(|head| wild_match(parts, head))),
        }
    }
}

/// Whether the text is the parts with any text between them. Linear: each part is taken where it is first found.
fn wild_match(parts: &[String], text: &str) -> bool {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    if parts.len() == 1 {
        return text == first;
    }
    let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
    let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
    for part in parts.get(1..parts.len() - 1).unwrap_or_default() {
        match rest.find(part.as_str()) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_keep_to_their_folder_and_negate() {
        for (glob, text, expected) in [
            ("src/*", "src/a", true),
            ("src/*", "src/a/b", false),
            ("src/**", "src/a/b", true),
            ("**/*.rs", "a/b.rs", true),
            ("*", ".hidden", true),
            ("!src/*", "src/a", false),
            ("!src/*", "doc/a", true),
            ("{a,b}?.[ch]", "bx.c", true),
        ] {
            assert_eq!(Glob::new(glob).map(|glob| glob.matches(text)), Ok(expected), "{glob} {text}");
        }
        assert!(Glob::new("[a").is_err());
    }

    #[test]
    fn an_expression_that_backtracks_for_ever_reaches_its_limit() {
        let Ok(expression) = Expression::new(r"^(?=(a+)+$)(a|aa)+b\1$") else { panic!("it compiles") };
        assert_eq!(expression.matches(&"a".repeat(5_000)), Err(LimitReached));
        let Ok(linear) = Expression::new("^(a+)+$") else { panic!("it compiles") };
        assert_eq!(linear.matches(&format!("{}b", "a".repeat(50_000))), Ok(false));
    }

    #[test]
    fn command_patterns() {
        for (pattern, command, expected) in [
            ("rm *", "rm x", true),
            ("rm *", "rm", false),
            ("rm *", "rmdir x", false),
            ("rm:*", "rm", true),
            ("rm:*", "rm -rf /", true),
            ("rm:*", "rmdir x", false),
            ("git * push:*", "git -C x push origin", true),
            ("git * push:*", "git -C x pushy", false),
            ("*--force*", "git push --force x", true),
            ("a*b*c", "a-b\n/c", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(CommandPattern::new(pattern).map(|it| it.matches(command)), Ok(expected), "{pattern} {command}");
        }
        assert!(CommandPattern::new(":*").is_err());
    }
}
