//! Commands that run a text or a file that they are given: `source`, callbacks of builtins, options that take a command
//! for a shell. Knows nothing of syntax: words come as they are.

use super::prefix::{Inner, text_of};
use super::word::Word;

/// Options whose value is a command for a shell: the program, its long names, its letters.
const TEXT_OPTIONS: [(&str, &[&str], &str); 8] = [
    (
        "tar",
        &[
            "checkpoint-action",
            "to-command",
            "use-compress-program",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
        ],
        "IF",
    ),
    ("split", &["filter"], ""),
    ("rsync", &["rsh", "rsync-path"], "e"),
    ("sort", &["compress-program"], ""),
    ("man", &["pager"], "PH"),
    ("zip", &["unzip-command"], "T"),
    ("nix-shell", &["run", "command"], ""),
    ("make", &["eval"], "E"),
];

/// What the command runs, if it is one of these.
pub(super) fn inner(base: &str, arguments: &[Word], inputs: &[Word]) -> Option<Inner> {
    Some(match base {
        "." | "source" => {
            let start = arguments.iter().position(|word| word.text != "--" && !word.text.starts_with("-p"));
            start.and_then(|start| arguments.get(start..)).map_or(Inner::Nothing, |words| script(words, inputs))
        }
        "at" | "batch" => input(inputs),
        "mapfile" | "readarray" => callback(arguments, "C", "dnOsuc"),
        "compgen" | "complete" => completion(arguments),
        "bind" | "enable" if arguments.iter().any(|word| is_cluster_with(word, ['x', 'f'])) => Inner::Opaque,
        "hash" if arguments.iter().any(|word| is_cluster_with(word, ['p', 'p'])) => hashed(arguments),
        "gtar" | "bsdtar" => texts("tar", arguments)?,
        _ => texts(base, arguments)?,
    })
}

/// A file whose commands a shell reads, and its arguments. A stream is no file; a file of a name that is known is as much
/// as the program of that name.
pub(super) fn script(words: &[Word], inputs: &[Word]) -> Inner {
    match words.first() {
        None => Inner::Nothing,
        Some(file) if is_file(file) => {
            let base = file.text.rsplit('/').next().unwrap_or_default();
            let rest = words.iter().skip(1).cloned();
            Inner::Any(vec![[Word::literal(base)].into_iter().chain(rest).collect()])
        }
        Some(file) if file.is_static() => input(inputs),
        Some(_) => Inner::Opaque,
    }
}

/// Whether it names a file, and no stream like `/dev/stdin`, `/dev/fd/3` or `<(…)`.
pub(super) fn is_file(word: &Word) -> bool {
    let behind = word.text.get(word.dynamic_end..).unwrap_or_default();
    let is_known = !word.has_glob && (word.is_static() || (!word.splits && behind.contains('/')));
    let base = word.text.rsplit('/').next().unwrap_or_default();
    let is_stream = base == "-" || base == "stdin" || base.bytes().all(|byte| byte.is_ascii_digit());
    is_known && !is_stream
}

/// The commands that a shell reads from its input, if they are known.
pub(super) fn input(inputs: &[Word]) -> Inner {
    match inputs {
        [input] if input.is_static() => Inner::Text { text: input.text.clone(), says_all: false },
        _ => Inner::Opaque,
    }
}

fn is_cluster_with(word: &Word, letters: [char; 2]) -> bool {
    !word.is_static() || (word.text.starts_with('-') && word.text.contains(letters))
}

/// The values of single-letter options, attached or in the next word.
fn values<'a>(arguments: &'a [Word], wanted: &str, others: &str) -> Vec<Option<&'a Word>> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let Some(letters) = word.text.strip_prefix('-') else { continue };
        let Some(letter) = letters.find(|letter| wanted.contains(letter) || others.contains(letter)) else { continue };
        let is_wanted = letters.get(letter..).is_some_and(|rest| rest.starts_with(|first| wanted.contains(first)));
        if is_wanted {
            let is_attached = letter + 1 < letters.len();
            // Attached ones are cut off by who reads them.
            found.push(if is_attached { Some(word) } else { arguments.get(at + 1) });
        }
    }
    found
}

/// `mapfile -C callback`: the callback gets words that are not known.
fn callback(arguments: &[Word], wanted: &str, others: &str) -> Inner {
    let mut texts = Vec::new();
    for value in values(arguments, wanted, others).into_iter().flatten() {
        if !value.is_static() {
            return Inner::Opaque;
        }
        let text = value
            .text
            .strip_prefix('-')
            .and_then(|word| word.split_once('C'))
            .map_or(value.text.as_str(), |(_, text)| text);
        texts.push(text.to_string());
    }
    if texts.is_empty() { Inner::Nothing } else { Inner::Texts(texts) }
}

/// `compgen -C command`, and `-W words`, which are expanded.
fn completion(arguments: &[Word]) -> Inner {
    let expands = arguments.iter().any(|word| word.text.contains(['$', '`']) || !word.is_static());
    if expands { Inner::Opaque } else { callback(arguments, "C", "FGWXPSAo") }
}

/// `hash -p path name`: the name then means that path.
fn hashed(arguments: &[Word]) -> Inner {
    if arguments.iter().any(|word| !word.is_static()) {
        return Inner::Opaque;
    }
    let path = values(arguments, "p", "").into_iter().flatten().next();
    path.map_or(Inner::Opaque, |path| {
        let path = path.text.strip_prefix("-p").unwrap_or(&path.text);
        Inner::Any(vec![vec![Word::literal(path), Word::unknown()]])
    })
}

/// The texts that options of a program give to a shell.
fn texts(base: &str, arguments: &[Word]) -> Option<Inner> {
    let (_, long_names, letters) = TEXT_OPTIONS.iter().find(|(name, _, _)| *name == base)?;
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let (name, attached) = match word.text.strip_prefix("--") {
            Some(long) => long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value))),
            None => {
                let cluster = word.text.strip_prefix('-').unwrap_or_default();
                match cluster.find(|letter| letters.contains(letter)) {
                    Some(at) => ("", cluster.get(at + 1..).filter(|rest| !rest.is_empty())),
                    None => continue,
                }
            }
        };
        // A long name may be shortened.
        if !long_names.iter().any(|long| long.starts_with(name)) {
            continue;
        }
        let next = if attached.is_none() { arguments.get(at + 1) } else { None };
        if !word.is_static() || next.is_some_and(|next| !next.is_static()) {
            return Some(Inner::Opaque);
        }
        let Some(text) = attached.or(next.map(|next| next.text.as_str())) else { continue };
        found.push(text.strip_prefix("exec=").unwrap_or(text).to_string());
    }
    Some(match found.as_slice() {
        [] => Inner::Nothing,
        [text] => text_of(Some(text.clone())),
        _ => Inner::Texts(found),
    })
}
