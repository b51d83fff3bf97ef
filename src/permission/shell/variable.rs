//! What a text does with variables, as far as rules must know: whose contents a shell would evaluate (arithmetic, indexes
//! of arrays, indirection), and which of them may hold anything. Contents like `a[$(rm x)]` run when they are evaluated.
//! Knows nothing of syntax trees and of patterns.

use std::collections::HashSet;

use super::word::Word;

/// Variables that evaluate what they are given.
const INTEGERS: [&str; 12] = [
    "OPTIND",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "HISTCMD",
    "LINENO",
    "BASHPID",
    "BASH_SUBSHELL",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "PPID",
    "UID",
];
/// Variables that a shell expands, or whose content it runs.
const EXPANDED: [&str; 8] = ["PS0", "PS1", "PS2", "PS3", "PS4", "ENV", "BASH_ENV", "PROMPT_COMMAND"];
/// Variables that say what a command's name means.
const COMMANDS: [&str; 2] = ["BASH_CMDS", "BASH_ALIASES"];
/// Names in small letters that mean something to a shell all the same.
const SMALL_SPECIAL: [&str; 12] = [
    "path",
    "cdpath",
    "fpath",
    "manpath",
    "mailpath",
    "histchars",
    "home",
    "prompt",
    "psvar",
    "status",
    "argv",
    "watch",
];

/// What was found in all texts of one command.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// Their contents are evaluated.
    evaluated: HashSet<String>,
    /// They were given something that is not surely a number.
    bound: HashSet<String>,
    evaluates_unknown: bool,
    binds_unknown: bool,
    /// A variable decides what is run, in a way that is not followed.
    decides: bool,
}

impl Variables {
    /// Whether something is run, for all that is known, that no text shows.
    pub(super) fn may_run_anything(&self) -> bool {
        self.decides
            || self.evaluates_unknown
            || (self.binds_unknown && !self.evaluated.is_empty())
            || self.evaluated.iter().any(|name| self.bound.contains(name))
    }

    /// Whether contents are evaluated at all. What they are is known to nobody before.
    pub(super) fn evaluate_anything(&self) -> bool {
        self.evaluates_unknown || !self.evaluated.is_empty()
    }

    /// Takes the source of something that a shell evaluates as arithmetic, or as a name with an index.
    pub(super) fn evaluate(&mut self, source: &str) {
        let mut rest = source;
        while let Some(first) = rest.chars().next() {
            if let Some(length) = number_length(rest) {
                rest = rest.get(length..).unwrap_or_default();
                continue;
            }
            let word: usize = rest.chars().take_while(|next| is_name_part(*next)).map(char::len_utf8).sum();
            let (taken, behind) = rest.split_at(if word == 0 { first.len_utf8() } else { word });
            match first {
                '`' => self.evaluates_unknown = true,
                '$' if behind.starts_with('(') && !behind.starts_with("((") => self.evaluates_unknown = true,
                '$' => {
                    let name = behind.trim_start_matches('{');
                    self.evaluates_unknown |=
                        name.starts_with(|next: char| next.is_ascii_digit() || "@*!".contains(next));
                }
                _ if first.is_alphabetic() || first == '_' => {
                    self.evaluated.insert(taken.to_string());
                }
                _ => {}
            }
            rest = behind;
        }
    }

    /// A word of the form `name=value`, `name+=value` or `name[index]=value`, wherever it stands.
    pub(super) fn assign(&mut self, word: &Word) {
        let Some(equals) = word.text.find('=') else { return };
        let (target, value) = word.text.split_at(equals);
        let target = target.strip_suffix('+').unwrap_or(target);
        let (name, index) = target.split_once('[').map_or((target, None), |(name, index)| (name, Some(index)));
        if word.dynamic_from.is_some_and(|from| from < name.len()) {
            self.binds_unknown = true;
            return;
        }
        if !is_name(name) {
            return;
        }
        if let Some(index) = index.map(|index| index.trim_end_matches(']')).filter(|index| !is_plain_index(index)) {
            self.evaluate(index);
            self.evaluates_unknown |= word.literal_dollar;
        }
        let value = value.get(1..).unwrap_or_default();
        self.decides |= COMMANDS.contains(&name) && !value.is_empty();
        if EXPANDED.contains(&name) {
            let base = value.rsplit('/').next().unwrap_or_default();
            let is_stream = base == "stdin" || (!base.is_empty() && base.bytes().all(|byte| byte.is_ascii_digit()));
            self.decides |= !word.is_static() || word.literal_dollar || value.contains(['$', '`', '\\']) || is_stream;
            self.decides |= name == "PROMPT_COMMAND" && !value.is_empty();
        }
        if !is_number(value) {
            self.bind_name(name);
        }
    }

    /// A name that a command gives a value which is not known.
    pub(super) fn bind(&mut self, word: &Word) {
        if !word.is_static() {
            self.binds_unknown = true;
            return;
        }
        let (name, index) =
            word.text.split_once('[').map_or((word.text.as_str(), None), |(name, index)| (name, Some(index)));
        if let Some(index) = index {
            self.evaluate(index);
        }
        if is_name(name) {
            self.bind_name(name);
        }
    }

    pub(super) fn bind_name(&mut self, name: &str) {
        if INTEGERS.contains(&name) {
            self.evaluated.insert(name.to_string());
        }
        self.decides |= EXPANDED.contains(&name) || COMMANDS.contains(&name);
        self.bound.insert(name.to_string());
    }

    /// What a simple command does with variables by its words.
    pub(super) fn note_command(&mut self, words: &[Word]) {
        let Some((first, arguments)) = words.split_first() else { return };
        match first.text.as_str() {
            "let" => return arguments.iter().for_each(|word| self.evaluate(&word.text)),
            "read" | "mapfile" | "readarray" | "getopts" => {
                arguments.iter().filter(|word| !word.text.starts_with('-')).for_each(|word| self.bind(word));
                self.bind_name("REPLY");
                self.bind_name("MAPFILE");
            }
            "printf" => {
                for (index, word) in arguments.iter().enumerate().filter(|(_, word)| word.text.starts_with("-v")) {
                    match word.text.get(2..).filter(|name| !name.is_empty()) {
                        Some(name) => self.bind(&Word { text: name.to_string(), ..word.clone() }),
                        None => arguments.get(index + 1).into_iter().for_each(|word| self.bind(word)),
                    }
                }
            }
            "declare" | "typeset" | "local" | "export" | "readonly" => self.declare(arguments),
            "test" | "[" if arguments.iter().any(|word| matches!(word.text.as_str(), "-v" | "-R")) => {
                arguments.iter().for_each(|word| self.evaluate(&word.text));
            }
            "unset" => {
                let evaluated = arguments.iter().filter(|word| !word.is_static() || word.text.contains('['));
                evaluated.for_each(|word| self.evaluate(&word.text));
            }
            _ => {}
        }
        arguments.iter().filter(|word| word.text.contains('=')).for_each(|word| self.assign(word));
    }

    /// `-i` and `-n` make a variable evaluate what it is given.
    fn declare(&mut self, arguments: &[Word]) {
        let evaluates = arguments.iter().any(|word| word.text.starts_with('-') && word.text.contains(['i', 'n']));
        for word in arguments {
            let name_end = word.text.find(['=', '+', '[']).unwrap_or(word.text.len());
            self.binds_unknown |= word.dynamic_from.is_some_and(|from| from < name_end);
            if evaluates && !word.text.starts_with('-') {
                self.evaluate(&word.text);
            }
        }
    }

    /// The source of `[[ … ]]`: what stands at the sides of its arithmetic operators.
    pub(super) fn test(&mut self, source: &str) {
        let tokens: Vec<&str> = source.split_whitespace().collect();
        let is_arithmetic =
            |token: &&str| matches!(*token, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R");
        let is_whole =
            |token: &&str| !token.contains(['(', ')', '`']) && token.matches(['\'', '"']).count().is_multiple_of(2);
        for at in (0..tokens.len()).filter(|at| tokens.get(*at).is_some_and(is_arithmetic)) {
            let sides = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|side| tokens.get(side));
            for side in sides {
                self.evaluate(if is_whole(side) { side } else { source });
            }
        }
    }
}

/// Whether a loop may give the variable a value without anybody's leave: it means nothing to a shell or a program, by
/// the custom that what does is written in capitals or has a `_` in it (`PATH`, `http_proxy`, `npm_config_x`).
pub(super) fn is_plain_variable(name: &str) -> bool {
    let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(is_small)
        && !SMALL_SPECIAL.contains(&name)
}

/// An index that is no expression.
pub(super) fn is_plain_index(index: &str) -> bool {
    matches!(index, "@" | "*") || is_digits(index)
}

fn is_digits(text: &str) -> bool {
    let digits = text.trim_matches([' ', '\t']);
    let digits = digits.strip_prefix('-').unwrap_or(digits);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A value that is a number whatever it is: digits, ranges and lists of them, a length, the outcome of arithmetic.
pub(super) fn is_number(value: &str) -> bool {
    let arithmetic = value.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))"));
    value.bytes().all(|byte| byte.is_ascii_digit() || b"-+., {}()\t\n".contains(&byte))
        || matches!(value, "$#" | "$?" | "$$" | "$!")
        || arithmetic.is_some_and(|inner| !inner.contains("$(") && !inner.contains("))"))
        || number_length(value).is_some_and(|length| length == value.len())
}

/// How long the number is that the text begins with: a literal, `${#name}` or `$#` and the like.
fn number_length(text: &str) -> Option<usize> {
    if ["$#", "$?", "$$", "$!"].iter().any(|special| text.starts_with(special)) {
        return Some(2);
    }
    if let Some(inner) = text.strip_prefix("${#") {
        let end = inner.find('}')?;
        let name = inner.get(..end)?;
        let bare = name.strip_suffix("[@]").or_else(|| name.strip_suffix("[*]")).unwrap_or(name);
        return (bare.is_empty() || bare.chars().all(is_name_part) || matches!(bare, "@" | "*")).then_some(end + 4);
    }
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    // `0x1f` has letters; behind `2#` a new value begins.
    Some(text.bytes().take_while(u8::is_ascii_alphanumeric).count())
}

pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && text.chars().all(is_name_part)
}

fn is_name_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
