//! Shell commands as rules see them: every simple command that a text would run, as far as that can be known without
//! running it. In doubt a command is opaque: what denies or asks applies to it, and nothing allows it.

mod builtin;
mod character;
mod decode;
mod expansion;
mod heredoc;
mod plain;
mod prefix;
mod statement;
mod tree;
mod variable;
mod word;
mod wrapper;

use std::cell::RefCell;
use std::rc::Rc;

use super::pattern::ShellPattern;
use crate::types::Decision;
use variable::Variables;
use word::Word;

/// More commands than that in one text are not looked at.
const MAX_COMMANDS: usize = 20_000;
/// Texts within texts (`sh -c '…'`) are parsed up to this many bytes in all.
const MAX_NESTED_BYTES: usize = 2 * tree::MAX_BYTES;

/// A command of the shell tool, parsed once.
#[derive(Debug)]
pub struct ShellCommand {
    /// The texts themselves: the command, and those within it that a shell would run.
    texts: Vec<String>,
    commands: Vec<SimpleCommand>,
    /// It could not be parsed, or runs something that cannot be known beforehand.
    opaque: bool,
    /// Something in it must not be allowed by any pattern: a redirection into a file, for one.
    unallowable: bool,
    variables: Variables,
    nested_bytes: usize,
    copied_words: usize,
}

#[derive(Debug)]
struct SimpleCommand {
    /// Words without quotes, joined by one space.
    text: String,
    /// The same with the command word's base name, where that is another.
    by_base_name: Option<String>,
    /// From which byte of `text` on it is known only when it runs.
    dynamic_from: Option<usize>,
    /// Whether a pattern that allows must match it. It need not where what it wraps says it all.
    must_be_allowed: bool,
}

impl ShellCommand {
    /// The same as [`ShellCommand::parse`], which a check may need twice: the last one of each thread is kept.
    pub fn parse_once(text: &str) -> Rc<ShellCommand> {
        thread_local! {
            static LAST: RefCell<Option<(String, Rc<ShellCommand>)>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| match last {
            Some((known, command)) if known == text => command.clone(),
            _ => {
                let command = Rc::new(ShellCommand::parse(text));
                let is_small = text.len() <= tree::MAX_BYTES;
                *last = is_small.then(|| (text.to_string(), command.clone()));
                command
            }
        })
    }

    pub fn parse(text: &str) -> ShellCommand {
        let mut command = ShellCommand {
            texts: Vec::new(),
            commands: Vec::new(),
            opaque: false,
            unallowable: false,
            variables: Variables::default(),
            nested_bytes: 0,
            copied_words: 0,
        };
        command.add_text(text, 0, true);
        command.opaque |= command.variables.may_run_anything();
        command.unallowable |= command.variables.evaluate_anything();
        command
    }

    /// Whether a rule with this pattern and effect applies.
    pub fn satisfies(&self, pattern: &ShellPattern, effect: Decision) -> bool {
        if effect == Decision::Allow {
            let mut needed = self.commands.iter().filter(|command| command.must_be_allowed).peekable();
            return !self.opaque
                && !self.unallowable
                && needed.peek().is_some()
                && needed.all(|command| pattern.matches(&command.text));
        }
        self.opaque
            || self.texts.iter().any(|text| pattern.matches(text) || pattern.matches(text.trim()))
            || self.commands.iter().any(|command| command.may_match(pattern))
    }

    fn add_text(&mut self, text: &str, level: usize, must_be_allowed: bool) {
        self.texts.push(text.to_string());
        self.nested_bytes += if level > 0 { text.len() } else { 0 };
        if text.len() > tree::MAX_BYTES || level > tree::MAX_LEVELS || self.nested_bytes > MAX_NESTED_BYTES {
            self.opaque = true;
        } else if let Some(commands) = plain::commands(text) {
            for words in commands {
                self.add_command(&[], words, &[], level, must_be_allowed);
            }
        } else if statement::read(self, text, level, must_be_allowed).is_err() {
            self.opaque = true;
        }
    }

    /// Adds a simple command and everything that it is known to run: assignments before it, its words, and the texts
    /// that it gets as its input.
    fn add_command(
        &mut self,
        assignments: &[Word],
        words: Vec<Word>,
        inputs: &[Word],
        level: usize,
        must_be_allowed: bool,
    ) {
        if self.commands.len() >= MAX_COMMANDS {
            self.opaque = true;
        }
        if self.opaque {
            return;
        }
        if !assignments.is_empty() {
            assignments.iter().for_each(|word| self.variables.assign(word));
            // Assignments decide what a command does (`PATH`, `LD_PRELOAD`): a pattern must name them to allow it.
            let all: Vec<Word> = assignments.iter().chain(&words).cloned().collect();
            self.commands.push(SimpleCommand::new(&all, must_be_allowed));
        }
        if !words.is_empty() {
            prefix::add(self, words, inputs, level, must_be_allowed);
        }
    }
}

impl SimpleCommand {
    fn new(words: &[Word], must_be_allowed: bool) -> SimpleCommand {
        let mut text = String::new();
        let mut dynamic_from = None;
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                text.push(' ');
            }
            if let Some(from) = word.dynamic_from {
                dynamic_from.get_or_insert(text.len() + from);
            }
            text.push_str(&word.text);
        }
        let by_base_name = words.first().and_then(|first| first.text.rsplit_once('/')).map(|(folder, base)| {
            let rest = text.get(folder.len() + 1 + base.len()..).unwrap_or_default();
            format!("{base}{rest}")
        });
        SimpleCommand { text, by_base_name, dynamic_from, must_be_allowed }
    }

    /// Whether the pattern matches it, or may when what is not known yet is.
    fn may_match(&self, pattern: &ShellPattern) -> bool {
        if pattern.matches(&self.text) || self.by_base_name.as_ref().is_some_and(|text| pattern.matches(text)) {
            return true;
        }
        let Some(from) = self.dynamic_from else { return false };
        let known = self.text.get(..from).unwrap_or_default();
        let shortened = self.by_base_name.as_ref().map(|text| {
            let cut = (self.text.len() - text.len()).min(from);
            text.get(..from - cut).unwrap_or_default()
        });
        [Some(known), shortened].into_iter().flatten().any(|known| pattern.head().starts_with(known))
    }
}

/// Words of a shell that begin something else than a simple command where a command is expected.
fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "else"
            | "elif"
            | "fi"
            | "do"
            | "done"
            | "case"
            | "esac"
            | "while"
            | "until"
            | "for"
            | "select"
            | "function"
            | "in"
            | "{"
            | "}"
            | "!"
            | "[["
            | "]]"
            | "coproc"
            | "time"
    )
}

#[cfg(test)]
#[path = "shell_test.rs"]
mod tests;

#[cfg(test)]
#[path = "shell_ways_test.rs"]
mod ways_tests;
