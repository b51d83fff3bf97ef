//! Commands that run another: which words behind them are that command. Options that are not known make it unknown.

use super::Word;

/// What stands behind a command word.
pub(super) enum Behind<'a> {
    /// It runs no other command.
    Nothing,
    Command(&'a [Word]),
    /// Text that a shell runs.
    Script(Word),
    Unknown,
}

/// The options of a wrapper: letters that stand alone, letters that take a value, long words likewise.
struct Options {
    flags: &'static str,
    valued: &'static str,
    long_flags: &'static [&'static str],
    long_valued: &'static [&'static str],
    /// Words that come before the command: the duration of `timeout`.
    operands: usize,
    /// `NAME=value` words come before the command.
    assignments: bool,
}

const NONE: Options =
    Options { flags: "", valued: "", long_flags: &[], long_valued: &[], operands: 0, assignments: false };

/// What `name` runs, given the words behind it.
pub(super) fn look_behind<'a>(name: &str, arguments: &'a [Word]) -> Behind<'a> {
    let options = match name {
        "env" => Options {
            flags: "i0v",
            valued: "uC",
            long_flags: &["--ignore-environment", "--null", "--debug"],
            long_valued: &["--unset", "--chdir"],
            assignments: true,
            ..NONE
        },
        // `command -v` runs nothing, but what it names may as well be matched.
        "command" => Options { flags: "pvV", ..NONE },
        "exec" => Options { flags: "cl", valued: "a", ..NONE },
        "nice" => Options { valued: "n", long_valued: &["--adjustment"], ..NONE },
        "nohup" => NONE,
        "time" => Options {
            flags: "apqv",
            valued: "fo",
            long_flags: &["--append", "--portability", "--quiet", "--verbose"],
            long_valued: &["--format", "--output"],
            ..NONE
        },
        "timeout" => Options {
            flags: "v",
            valued: "ks",
            long_flags: &["--foreground", "--preserve-status", "--verbose"],
            long_valued: &["--kill-after", "--signal"],
            operands: 1,
            ..NONE
        },
        "xargs" => Options {
            flags: "0rtpxo",
            valued: "IEdnPLsa",
            long_flags: &["--null", "--no-run-if-empty", "--verbose", "--interactive", "--exit", "--open-tty"],
            long_valued: &[
                "--arg-file",
                "--delimiter",
                "--max-args",
                "--max-procs",
                "--max-lines",
                "--max-chars",
                "--replace",
            ],
            ..NONE
        },
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => return behind_shell(arguments),
        "eval" if arguments.is_empty() => return Behind::Nothing,
        "eval" => return Behind::Script(joined(arguments)),
        _ => return Behind::Nothing,
    };
    behind_wrapper(name, &options, arguments)
}

fn behind_wrapper<'a>(name: &str, options: &Options, arguments: &'a [Word]) -> Behind<'a> {
    let mut rest = arguments;
    let mut operands = options.operands;
    while let Some((first, after)) = rest.split_first() {
        let text = first.text.as_str();
        if first.is_dynamic {
            return Behind::Unknown;
        }
        if text == "--" {
            rest = after;
            break;
        }
        if text.len() > 1 && text.starts_with('-') {
            match option_length(name, options, text) {
                Some(words) if words <= rest.len() => rest = rest.get(words..).unwrap_or_default(),
                _ => return Behind::Unknown,
            }
        } else if options.assignments && (text == "-" || text.contains('=')) {
            rest = after;
        } else {
            break;
        }
    }
    while operands > 0 && !rest.is_empty() {
        rest = rest.get(1..).unwrap_or_default();
        operands -= 1;
    }
    while options.assignments && rest.first().is_some_and(|word| word.text.contains('=')) {
        rest = rest.get(1..).unwrap_or_default();
    }
    if rest.is_empty() { Behind::Nothing } else { Behind::Command(rest) }
}

/// How many words an option takes, itself included; `None` for one that is not known.
fn option_length(name: &str, options: &Options, text: &str) -> Option<usize> {
    if text.starts_with("--") {
        let (word, has_value) = text.split_once('=').map_or((text, false), |(word, _)| (word, true));
        if options.long_flags.contains(&word) {
            return Some(1);
        }
        return options.long_valued.contains(&word).then_some(if has_value { 1 } else { 2 });
    }
    let letters = text.get(1..)?;
    // `nice -5`
    if name == "nice" && letters.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(1);
    }
    for (at, letter) in letters.char_indices() {
        if options.flags.contains(letter) {
            continue;
        }
        if options.valued.contains(letter) {
            // The value follows in the same word, or is the next one.
            return Some(if at + letter.len_utf8() < letters.len() { 1 } else { 2 });
        }
        return None;
    }
    Some(1)
}

/// `sh -c text`, `bash -lc text`; without `-c` a shell reads a script that nobody sees here.
fn behind_shell(arguments: &[Word]) -> Behind<'_> {
    let mut runs_text = false;
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        let text = first.text.as_str();
        if first.is_dynamic {
            if runs_text {
                break;
            }
            return Behind::Unknown;
        }
        if !(text.starts_with('-') || text.starts_with('+')) || text == "-" {
            break;
        }
        rest = after;
        if text == "--" {
            break;
        }
        if !text.starts_with("--") {
            runs_text |= text.starts_with('-') && text.contains('c');
            // `-o option`, `-O option`
            if text.ends_with(['o', 'O']) {
                rest = rest.get(1..).unwrap_or_default();
            }
        } else if matches!(text, "--rcfile" | "--init-file") {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    match rest.first() {
        Some(script) if runs_text => Behind::Script(script.clone()),
        _ => Behind::Nothing,
    }
}

fn joined(words: &[Word]) -> Word {
    Word {
        text: words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "),
        is_dynamic: words.iter().any(|word| word.is_dynamic),
    }
}
