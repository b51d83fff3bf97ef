//! Globs over names and paths, and the simpler patterns over shell commands. Pure text; knows nothing of rules.
//!
//! A glob becomes a regular expression of linear time. The usual crate matches bytes and lets `**` cross a separator
//! only where it is a whole component; here `**` always crosses, and `?` and classes mean characters.

use regex::{Regex, RegexBuilder};

/// A compiled glob: `*` and `?` stop at `/`, `**` does not; classes, braces, a leading `!`; dot files match.
#[derive(Debug)]
pub struct Glob {
    regex: Regex,
    negated: bool,
}

impl Glob {
    /// # Errors
    /// Says what is wrong with the glob.
    pub fn new(glob: &str) -> Result<Glob, String> {
        let (negated, positive) = match glob.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, glob),
        };
        if positive.is_empty() {
            return Err("it is empty".to_string());
        }
        let source = Translation::of(positive)?;
        let regex = RegexBuilder::new(&source).dot_matches_new_line(true).build().map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "it is too long".to_string(),
            _ => "it is nested too deeply, or has an empty range".to_string(),
        })?;
        Ok(Glob { regex, negated })
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text) != self.negated
    }
}

/// A glob on its way to a regular expression.
struct Translation<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    /// The character before, if it was an ordinary one.
    before: Option<char>,
    braces: usize,
}

impl Translation<'_> {
    fn of(glob: &str) -> Result<String, String> {
        let mut translation =
            Translation { rest: glob.chars().peekable(), out: "^(?:".into(), before: None, braces: 0 };
        while let Some(character) = translation.rest.next() {
            translation.one(character)?;
        }
        if translation.braces > 0 {
            return Err("a { has no }".to_string());
        }
        translation.out.push_str(r")\z");
        Ok(translation.out)
    }

    fn one(&mut self, character: char) -> Result<(), String> {
        // At the start of the glob, of an alternative, or of a component.
        let starts_component = self.before.is_none_or(|before| before == '/');
        self.before = Some(character);
        match character {
            '*' if self.rest.peek() == Some(&'*') => self.stars(starts_component),
            '*' => self.out.push_str("[^/]*"),
            '?' => self.out.push_str("[^/]"),
            '[' => self.class()?,
            '{' => {
                self.braces += 1;
                self.before = None;
                self.out.push_str("(?:");
            }
            ',' if self.braces > 0 => {
                self.before = None;
                self.out.push('|');
            }
            '}' if self.braces > 0 => {
                self.braces -= 1;
                self.out.push(')');
            }
            '}' => return Err("a } has no { (write \\} for the character)".to_string()),
            '\\' => {
                let escaped = self.rest.next().ok_or("it ends in a lone \\")?;
                self.literal(escaped);
            }
            other => self.literal(other),
        }
        Ok(())
    }

    /// `**/` at the start of a component stands for no component as well.
    fn stars(&mut self, starts_component: bool) {
        while self.rest.peek() == Some(&'*') {
            self.rest.next();
        }
        if starts_component && self.rest.peek() == Some(&'/') {
            self.rest.next();
            self.before = Some('/');
            self.out.push_str("(?:.*/)?");
        } else {
            self.out.push_str(".*");
        }
    }

    fn class(&mut self) -> Result<(), String> {
        let unclosed = || "a [ has no ] (write \\[ for the character)".to_string();
        self.out.push('[');
        if matches!(self.rest.peek(), Some('!' | '^')) {
            self.rest.next();
            self.out.push('^');
            // What a class leaves out is another character of the same component.
            self.out.push('/');
        }
        let mut first = true;
        loop {
            let character = self.rest.next().ok_or_else(unclosed)?;
            match character {
                ']' if !first => break,
                '\\' => {
                    let escaped = self.rest.next().ok_or_else(unclosed)?;
                    self.class_literal(escaped);
                }
                '-' if !first && self.rest.peek().is_some_and(|next| *next != ']') => self.out.push('-'),
                other => self.class_literal(other),
            }
            first = false;
        }
        self.out.push(']');
        Ok(())
    }

    fn literal(&mut self, character: char) {
        let mut buffer = [0; 4];
        self.out.push_str(&regex::escape(character.encode_utf8(&mut buffer)));
    }

    fn class_literal(&mut self, character: char) {
        if character.is_ascii_punctuation() {
            self.out.push('\\');
        }
        self.out.push(character);
    }
}

/// A pattern of `bashCommand`: `*` matches any text; `:*` at the end means a prefix at a word boundary.
#[derive(Debug)]
pub struct ShellPattern {
    alternatives: Vec<Stars>,
    head: String,
}

impl ShellPattern {
    /// # Errors
    /// Says what is wrong with the pattern.
    pub fn new(pattern: &str) -> Result<ShellPattern, String> {
        let prefix = pattern.strip_suffix(":*");
        if prefix.unwrap_or(pattern).trim().is_empty() {
            return Err(if prefix.is_some() { "it has nothing before :*" } else { "it is empty" }.to_string());
        }
        let alternatives = match prefix {
            Some(prefix) => vec![Stars::new(prefix), Stars::new(&format!("{prefix} *"))],
            None => vec![Stars::new(pattern)],
        };
        let head = prefix.unwrap_or(pattern).split('*').next().unwrap_or_default().to_string();
        Ok(ShellPattern { alternatives, head })
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.alternatives.iter().any(|stars| stars.matches(text))
    }

    /// The text before the first `*`.
    pub fn head(&self) -> &str {
        &self.head
    }
}

/// A pattern as messages show it: in quotes, and not at any length.
pub fn shortened(pattern: &str) -> String {
    const MOST_BYTES: usize = 80;
    let shown = pattern.get(..pattern.floor_char_boundary(MOST_BYTES)).unwrap_or_default();
    if shown.len() < pattern.len() { format!("{shown:?}… ({} bytes)", pattern.len()) } else { format!("{pattern:?}") }
}

/// Text with `*`, parted at them.
#[derive(Debug)]
struct Stars {
    first: String,
    /// What must follow, in order; the last of them at the end. Without any there was no `*`.
    others: Vec<String>,
}

impl Stars {
    fn new(pattern: &str) -> Stars {
        let mut parts = pattern.split('*').map(str::to_string);
        Stars { first: parts.next().unwrap_or_default(), others: parts.collect() }
    }

    fn matches(&self, text: &str) -> bool {
        let Some(mut rest) = text.strip_prefix(self.first.as_str()) else { return false };
        let Some((last, middle)) = self.others.split_last() else { return rest.is_empty() };
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else { return false };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
#[path = "pattern_test.rs"]
mod tests;
