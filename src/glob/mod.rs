//! Globs over names and paths. Pure text; knows nothing of rules, tools or files.
//!
//! A glob becomes a regular expression of linear time. The usual crate matches bytes and lets `**` cross a separator
//! only where it is a whole component; here `**` always crosses, and `?` and classes mean characters.

use regex::bytes::{Regex, RegexBuilder};

/// A glob over names that is longer means no name: compiling many such would take seconds.
const MAX_NAME_GLOB_BYTES: usize = 256;
/// The same of one with more wildcards. Many names can be in braces all the same.
const MAX_NAME_WILDCARDS: usize = 32;

/// One character of a text that is UTF-8: an ASCII one, or a first byte and those that go with it. As bytes, it compiles in a
/// fraction of the time that `.` takes.
const ONE_OF_COMPONENT: &str = r"(?:[\x00-.0-\x7F]|[\xC0-\xFF][\x80-\xBF]*)";

/// A compiled glob, with classes and braces. Dot files match.
#[derive(Debug)]
pub struct Glob {
    matcher: Matcher,
    negated: bool,
}

#[derive(Debug)]
enum Matcher {
    /// Nothing in it has a meaning: the text itself.
    Text(String),
    Path(Regex),
    /// Compiles in a fraction of the time, and names are short.
    Name(regex_lite::Regex),
}

impl Glob {
    /// A glob over paths: `*` and `?` stop at `/`, `**` does not; a leading `!` negates.
    ///
    /// # Errors
    /// Says what is wrong with the glob.
    pub fn new(glob: &str) -> Result<Glob, String> {
        match glob.strip_prefix('!') {
            Some(rest) => Glob::compile(rest, true, true),
            None => Glob::compile(glob, false, true),
        }
    }

    /// A glob over names, which have no components: `*` and `?` match any character, and nothing negates.
    ///
    /// # Errors
    /// Says what is wrong with the glob.
    pub fn of_name(glob: &str) -> Result<Glob, String> {
        if glob.len() > MAX_NAME_GLOB_BYTES {
            return Err(format!("it has {} bytes, and at most {MAX_NAME_GLOB_BYTES} are taken", glob.len()));
        }
        if glob.starts_with('!') {
            return Err("it cannot be negated (write \\! for the character)".to_string());
        }
        Glob::compile(glob, false, false)
    }

    fn compile(glob: &str, negated: bool, components: bool) -> Result<Glob, String> {
        if glob.is_empty() {
            return Err("it is empty".to_string());
        }
        if !glob.contains(['*', '?', '[', ']', '{', '}', ',', '\\']) {
            return Ok(Glob { matcher: Matcher::Text(glob.to_string()), negated });
        }
        let source = Translation::of(glob, components)?;
        let refused = || "it is nested too deeply, or has an empty range".to_string();
        let matcher = if components {
            let built = RegexBuilder::new(&source).unicode(false).dot_matches_new_line(true).build();
            Matcher::Path(built.map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => "it is too long".to_string(),
                _ => refused(),
            })?)
        } else {
            let built = regex_lite::RegexBuilder::new(&source).dot_matches_new_line(true).build();
            Matcher::Name(built.map_err(|_| refused())?)
        };
        Ok(Glob { matcher, negated })
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let matches = match &self.matcher {
            Matcher::Text(own) => own == text,
            Matcher::Path(regex) => regex.is_match(text.as_bytes()),
            Matcher::Name(regex) => regex.is_match(text),
        };
        matches != self.negated
    }
}

/// A glob on its way to a regular expression.
struct Translation<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    /// The character before, if it was an ordinary one.
    before: Option<char>,
    braces: usize,
    /// Whether `/` parts the text into components.
    components: bool,
    /// How many `*`, `?` and classes there were.
    wildcards: usize,
}

impl Translation<'_> {
    fn of(glob: &str, components: bool) -> Result<String, String> {
        let mut translation = Translation {
            rest: glob.chars().peekable(),
            out: "^(?:".into(),
            before: None,
            braces: 0,
            components,
            wildcards: 0,
        };
        while let Some(character) = translation.rest.next() {
            translation.one(character)?;
        }
        if !components && translation.wildcards > MAX_NAME_WILDCARDS {
            let count = translation.wildcards;
            return Err(format!("it has {count} wildcards, and at most {MAX_NAME_WILDCARDS} are taken"));
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
        if let '*' | '?' | '[' = character {
            self.wildcards += 1;
        }
        match character {
            '*' if self.rest.peek() == Some(&'*') => self.stars(starts_component),
            '*' => self.out.push_str(if self.components { "[^/]*" } else { ".*" }),
            '?' => self.out.push_str(if self.components { ONE_OF_COMPONENT } else { "." }),
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
        // Of characters, where all else is of bytes.
        self.out.push_str(if self.components { "(?u:[" } else { "(?:[" });
        if matches!(self.rest.peek(), Some('!' | '^')) {
            self.rest.next();
            self.out.push('^');
            if self.components {
                // What a class leaves out is another character of the same component.
                self.out.push('/');
            }
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
                '[' if self.begins_named_class() => {
                    return Err("[:…:] is not taken; write the characters or a range of them".to_string());
                }
                '-' if !first && self.rest.peek().is_some_and(|next| *next != ']') => self.out.push('-'),
                other => self.class_literal(other),
            }
            first = false;
        }
        self.out.push_str("])");
        Ok(())
    }

    /// Whether the inside of a bracket goes on with what other globs know as `[:alpha:]`.
    fn begins_named_class(&self) -> bool {
        let mut rest = self.rest.clone();
        rest.next() == Some(':')
            && rest.by_ref().find(|next| !next.is_ascii_alphabetic()) == Some(':')
            && rest.next() == Some(']')
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

#[cfg(test)]
#[path = "glob_test.rs"]
mod tests;
