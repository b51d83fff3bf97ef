//! Commands that run another: what stands behind `env`, `timeout`, `sh -c` and the like. Each command line is added as
//! it is, and once more without what stands before. Knows nothing of syntax: words come as they are.

use super::word::Word;
use super::wrapper::{FOREIGN_SHELLS, Loose, PREFIXES, Prefix, SHELLS};
use super::{ShellCommand, SimpleCommand, builtin, is_reserved};

/// Words that are looked at in all, in the places where one command line may hold others. Each may begin one.
const MAX_COPIED_WORDS: usize = 20_000;
/// And texts for a shell, in the options of one.
const MAX_TEXTS: usize = 64;
/// So many commands in front of one another are nobody's intention.
const MAX_PREFIXES: usize = 32;

/// What a command line runs besides itself.
pub(super) enum Inner {
    Nothing,
    /// It cannot be known.
    Opaque,
    /// The words of the command; `says_all` where they are all that matters.
    Command {
        words: Vec<Word>,
        says_all: bool,
    },
    /// Any of these, for all that is known.
    Any(Vec<Vec<Word>>),
    /// Texts that a shell runs, for all that is known.
    Texts(Vec<String>),
    /// A text that a shell runs; `says_all` as above.
    Text {
        text: String,
        says_all: bool,
    },
}

/// Adds the command, and all that it is known to run.
pub(super) fn add(command: &mut ShellCommand, words: Vec<Word>, inputs: &[Word], level: usize, must_be_allowed: bool) {
    let mut waiting = vec![(words, must_be_allowed, 0)];
    while let Some((words, must_be_allowed, prefixes)) = waiting.pop() {
        let Some(first) = words.first() else { continue };
        if prefixes > MAX_PREFIXES
            || command.opaque
            || (prefixes > 0 && is_reserved(&first.text) && first.text != "time")
        {
            command.opaque = true;
            return;
        }
        if !is_known_name(first) {
            command.opaque = true;
            return;
        }
        // A name with a blank in it is another program than the pattern says.
        command.unallowable |= must_be_allowed && first.text.contains([' ', '\t', '\n']);
        command.variables.note_command(&words);
        let inner = inner(&words, inputs);
        let says_all = matches!(&inner, Inner::Command { says_all: true, .. } | Inner::Text { says_all: true, .. });
        command.commands.push(SimpleCommand::new(&words, must_be_allowed && !says_all));
        match inner {
            Inner::Nothing => {}
            Inner::Opaque => command.opaque = true,
            Inner::Command { words, .. } => waiting.push((words, must_be_allowed, prefixes + 1)),
            Inner::Any(all) if !command.has_words_left(&all) => command.opaque = true,
            Inner::Any(all) => waiting.extend(all.into_iter().map(|words| (words, false, prefixes + 1))),
            Inner::Text { text, .. } => command.add_text(&text, level + 1, must_be_allowed),
            Inner::Texts(texts) if texts.len() > MAX_TEXTS => command.opaque = true,
            Inner::Texts(texts) => texts.iter().for_each(|text| command.add_text(text, level + 1, false)),
        }
    }
}

impl ShellCommand {
    /// Lines within lines within lines: some orders of words would be looked at for ever.
    fn has_words_left(&mut self, lines: &[Vec<Word>]) -> bool {
        self.copied_words += lines.iter().map(Vec::len).sum::<usize>();
        self.copied_words <= MAX_COPIED_WORDS
    }
}

/// Whether the name of a command is known: it is no pattern, and has no expansion, or one between quotes before its last
/// `/`.
fn is_known_name(word: &Word) -> bool {
    let has_base = word.text.get(word.dynamic_end..).is_some_and(|rest| rest.contains('/') && !rest.ends_with('/'));
    !word.has_glob && (word.is_static() || (!word.splits && has_base))
}

fn inner(words: &[Word], inputs: &[Word]) -> Inner {
    let Some((first, arguments)) = words.split_first() else { return Inner::Nothing };
    let base = first.text.rsplit('/').next().unwrap_or_default();
    // Another program of the same name may be anything.
    let is_plain = base == first.text;
    if let Some(prefix) = PREFIXES.iter().find(|prefix| prefix.name == base) {
        return match behind(prefix, arguments) {
            Inner::Command { words, says_all } => Inner::Command { words, says_all: says_all && is_plain },
            other => other,
        };
    }
    let is_foreign = FOREIGN_SHELLS.contains(&base);
    if is_foreign || SHELLS.contains(&base) {
        return match shell(arguments, inputs) {
            Inner::Text { text, says_all } => Inner::Text { text, says_all: says_all && is_plain && !is_foreign },
            other => other,
        };
    }
    if let Some(inner) = builtin::inner(base, arguments, inputs) {
        return inner;
    }
    match base {
        "eval" => {
            let is_static = arguments.iter().all(Word::is_static);
            let text = arguments.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
            text_of(is_static.then_some(text))
        }
        "trap" => match arguments.iter().find(|word| !word.text.starts_with('-') || !word.is_static()) {
            Some(word) if arguments.len() > 1 => text_of(word.is_static().then(|| word.text.clone())),
            _ => Inner::Nothing,
        },
        "alias" => alias(arguments),
        "find" | "fd" | "fdfind" => find(arguments),
        _ => Loose::of(base).map_or(Inner::Nothing, |known| loose(&known, arguments)),
    }
}

pub(super) fn text_of(text: Option<String>) -> Inner {
    match text {
        None => Inner::Opaque,
        Some(text) if text.trim().is_empty() => Inner::Nothing,
        Some(text) => Inner::Text { text, says_all: false },
    }
}

/// The command behind a known prefix.
fn behind(prefix: &Prefix, arguments: &[Word]) -> Inner {
    let mut at = 0;
    let mut says_all = prefix.name != "xargs" && prefix.name != "coproc";
    let mut replaced: Option<String> = None;
    while let Some(word) = arguments.get(at) {
        if !word.is_static() {
            return Inner::Opaque;
        }
        let text = word.text.as_str();
        if text == "--" {
            at += 1;
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let takes_next = prefix.long_with_argument.contains(&name);
            if !takes_next && !prefix.long_flags.contains(&name) {
                // One that is not known, or is shortened: where the command begins cannot be said.
                return Inner::Opaque;
            }
            if name == "split-string" {
                return split_string(attached, arguments, at);
            }
            if name == "replace" {
                replaced = Some(attached.unwrap_or("{}").to_string());
            }
            says_all &= !prefix.significant.contains('-');
            at += if takes_next && attached.is_none() { 2 } else { 1 };
            continue;
        }
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            if text == "-" && prefix.name == "env" {
                says_all = false;
                at += 1;
                continue;
            }
            break;
        };
        let mut takes_next = false;
        for (index, letter) in letters.char_indices() {
            let rest = letters.get(index + letter.len_utf8()..).unwrap_or_default();
            says_all &= !prefix.significant.contains(letter);
            if prefix.name == "command" && matches!(letter, 'v' | 'V') {
                return Inner::Nothing;
            }
            if prefix.attached.contains(letter) {
                if letter == 'i' {
                    replaced = Some(if rest.is_empty() { "{}" } else { rest }.to_string());
                }
                break;
            }
            if prefix.with_argument.contains(letter) {
                let value = Some(rest).filter(|rest| !rest.is_empty());
                if prefix.name == "env" && letter == 'S' {
                    return split_string(value, arguments, at);
                }
                if matches!(letter, 'I' | 'J') {
                    let next = arguments.get(at + 1).filter(|next| next.is_static()).map(|next| next.text.as_str());
                    let Some(value) = value.or(next) else { return Inner::Opaque };
                    replaced = Some(value.to_string());
                }
                takes_next = value.is_none();
                break;
            }
            if !prefix.flags.contains(letter) {
                return Inner::Opaque;
            }
        }
        at += if takes_next { 2 } else { 1 };
    }
    // `time` and `coproc` are words of the shell itself, which takes assignments after them.
    if matches!(prefix.name, "env" | "time" | "coproc") {
        while let Some(word) = arguments.get(at).filter(|word| word.text.contains('=')) {
            if word.splits {
                return Inner::Opaque;
            }
            says_all = false;
            at += 1;
        }
    }
    for _ in 0..prefix.operands {
        if arguments.get(at).is_some_and(|word| word.splits) {
            return Inner::Opaque;
        }
        at += 1;
    }
    let mut words = arguments.get(at..).unwrap_or_default().to_vec();
    if words.is_empty() {
        return Inner::Nothing;
    }
    if prefix.name == "xargs" {
        match replaced {
            None => words.push(Word::unknown()),
            Some(text) => {
                for word in words.iter_mut().filter(|word| text.is_empty() || word.text.contains(&text)) {
                    word.dynamic_from = Some(0);
                    word.splits = true;
                }
            }
        }
    }
    Inner::Command { words, says_all }
}

/// `env -S 'text'`: its words, then the arguments after it, go to `env` again.
fn split_string(attached: Option<&str>, arguments: &[Word], at: usize) -> Inner {
    let next = arguments.get(at + 1).filter(|word| word.is_static()).map(|word| word.text.as_str());
    let Some(text) = attached.or(next) else { return Inner::Opaque };
    if text.contains(['\\', '$', '\'', '"', '#']) {
        return Inner::Opaque;
    }
    let rest = arguments.get(at + if attached.is_some() { 1 } else { 2 }..).unwrap_or_default();
    let mut words = vec![Word::literal("env")];
    words.extend(text.split_whitespace().map(Word::literal));
    words.extend(rest.iter().cloned());
    Inner::Command { words, says_all: false }
}

/// `sh -c 'text'`, options of any kind before it; a shell that reads its commands from its input.
fn shell(arguments: &[Word], inputs: &[Word]) -> Inner {
    let mut at = 0;
    let mut has_text = false;
    let mut reads_input = false;
    let mut says_all = true;
    while let Some(word) = arguments.get(at) {
        if !word.is_static() {
            return if has_text {
                Inner::Opaque
            } else {
                builtin::script(arguments.get(at..).unwrap_or_default(), inputs)
            };
        }
        let text = word.text.as_str();
        if matches!(text, "--" | "-") {
            at += 1;
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            if matches!(long, "version" | "help") {
                return Inner::Nothing;
            }
            says_all = false;
            let takes_file = matches!(long, "rcfile" | "init-file");
            if takes_file && arguments.get(at + 1).is_some_and(|file| !builtin::is_file(file)) {
                return Inner::Opaque;
            }
            at += if takes_file { 2 } else { 1 };
            continue;
        }
        let Some(letters) = text.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else { break };
        has_text |= text.starts_with('-') && letters.contains('c');
        reads_input |= letters.contains('s');
        says_all &= letters.chars().all(|letter| matches!(letter, 'c' | 'l' | 'e' | 'u' | 'x' | 'o'));
        at += 1 + letters.matches(['o', 'O']).count();
    }
    match arguments.get(at) {
        Some(word) if has_text && word.is_static() => Inner::Text { text: word.text.clone(), says_all },
        Some(_) if has_text => Inner::Opaque,
        Some(_) if !reads_input => builtin::script(arguments.get(at..).unwrap_or_default(), inputs),
        None if has_text => Inner::Nothing,
        _ => builtin::input(inputs),
    }
}

/// `alias name=text`: what the name will run, with arguments that are not known.
fn alias(arguments: &[Word]) -> Inner {
    let mut all = Vec::new();
    for word in arguments {
        if !word.is_static() {
            return Inner::Opaque;
        }
        let Some((_, text)) = word.text.split_once('=') else { continue };
        if text.contains(['$', '`', ';', '&', '|', '(', '\n', '\'', '"', '\\']) {
            return Inner::Opaque;
        }
        let words: Vec<Word> = text.split_whitespace().map(Word::literal).chain([Word::unknown()]).collect();
        all.push(words);
    }
    Inner::Any(all)
}

/// `find … -exec command … ;`
fn find(arguments: &[Word]) -> Inner {
    const RUNNING: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let starts = arguments.iter().enumerate().filter(|(_, word)| RUNNING.contains(&word.text.as_str()));
    let all = starts.map(|(index, _)| {
        let rest = arguments.get(index + 1..).unwrap_or_default();
        rest.iter().take_while(|word| word.text != ";").cloned().map(found_name).collect()
    });
    Inner::Any(all.collect())
}

/// `{}` stands for a name that is found.
fn found_name(word: Word) -> Word {
    if word.text.contains("{}") { Word { dynamic_from: Some(0), splits: true, ..word } } else { word }
}

/// Every command line that the arguments may hold: behind options, behind what may be arguments of options, behind words
/// of the wrapper's own, and behind assignments. A text after `-c` is one for a shell.
fn loose(known: &Loose, arguments: &[Word]) -> Inner {
    let mut all = Vec::new();
    let mut after_option = false;
    let mut own = known.operands;
    let mut copied = 0;
    let mut is_input = false;
    let mut has_command = !known.reads_commands;
    let shell = |text: Word| vec![Word::literal("sh"), Word::literal("-c"), text];
    for (index, word) in arguments.iter().enumerate() {
        if !word.is_static() {
            return Inner::Opaque;
        }
        let rest = arguments.get(index..).unwrap_or_default();
        copied += rest.len();
        if copied > MAX_COPIED_WORDS {
            return Inner::Opaque;
        }
        if known.joins && (is_input || word.text.starts_with(":::")) {
            // What `parallel` takes in place of its input may be whole commands.
            all.push(shell(word.clone()));
            is_input = true;
            continue;
        }
        if word.text.starts_with('-') || word.text.contains('=') {
            after_option = true;
            let (attached, takes_next) = text_option(&word.text);
            all.extend(attached.map(|text| shell(Word::literal(text))));
            all.extend(rest.get(1).filter(|_| takes_next).map(|text| shell(text.clone())));
            continue;
        }
        all.push(rest.to_vec());
        if word.text.contains([' ', ';', '&', '|', '\n', '<', '>', '(']) {
            all.push(shell(word.clone()));
        }
        if known.joins {
            all.push(joined(rest));
        }
        if !after_option {
            if own == 0 && !known.joins {
                break;
            }
            has_command |= own == 0;
            own = own.saturating_sub(1);
        }
        after_option = false;
    }
    if has_command || is_input { Inner::Any(all) } else { Inner::Opaque }
}

/// The text for a shell that is attached to an option, and whether the next word may be one: `-c`, `-qc`, `--command=…`.
fn text_option(option: &str) -> (Option<&str>, bool) {
    if let Some(long) = option.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let takes_text =
            !name.is_empty() && ["command", "session-command", "run"].iter().any(|full| full.starts_with(name));
        return (value.filter(|_| takes_text), takes_text && value.is_none());
    }
    let letters = option.strip_prefix('-').unwrap_or_default();
    let attached = letters.split_once('c').map(|(_, text)| text);
    (attached.filter(|text| !text.is_empty()), attached.is_some())
}

/// The words as a shell gets them that is given all of them as one text.
fn joined(words: &[Word]) -> Vec<Word> {
    let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let is_static = words.iter().all(Word::is_static);
    let text = if is_static { Word::literal(&text) } else { Word::unknown() };
    vec![Word::literal("sh"), Word::literal("-c"), text]
}
