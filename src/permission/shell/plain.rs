//! Commands that need no parser: words and plain quotes, separated by `;`, `|`, `&&`, `||`. Most commands are such, and
//! this is many times faster. Whatever could mean anything else is left to the parser.

use super::is_reserved;
use super::word::Word;

/// Redirections that write no file.
const HARMLESS: [&str; 3] = ["2>&1", "2>/dev/null", ">/dev/null"];

/// The commands of a text, if it is plain.
pub(super) fn commands(text: &str) -> Option<Vec<Vec<Word>>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<Word> = None;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if word.is_none()
            && let Some(redirection) = HARMLESS.iter().find(|redirection| is_word(rest, redirection))
        {
            rest = rest.get(redirection.len()..)?;
            continue;
        }
        let length = match character {
            ' ' => {
                commands.last_mut()?.extend(word.take());
                1
            }
            ';' | '|' | '&' => {
                commands.last_mut()?.extend(word.take());
                commands.push(Vec::new());
                match rest.get(..2) {
                    Some("&&" | "||") => 2,
                    Some("|&" | ";;" | ";&") => return None,
                    _ if character == '&' => return None,
                    _ => 1,
                }
            }
            '\'' | '"' => {
                let quoted = rest.get(1..)?.split(character).next()?;
                let is_plain = |inner: char| !inner.is_control() && !matches!(inner, '$' | '`' | '\\' | '\u{FEFF}');
                if rest.len() < quoted.len() + 2 || !quoted.chars().all(is_plain) {
                    return None;
                }
                word.get_or_insert_default().quote(quoted);
                quoted.len() + 2
            }
            plain if plain.is_ascii_alphanumeric() || "_-./=:,@%+".contains(plain) => {
                word.get_or_insert_default().text.push(plain);
                1
            }
            _ => return None,
        };
        rest = rest.get(length..)?;
    }
    commands.last_mut()?.extend(word);
    commands.iter().all(|words| is_plain_command(words)).then_some(commands)
}

fn is_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ';', '|']))
}

/// Not empty, no assignment before it, and nothing else than a simple command.
fn is_plain_command(words: &[Word]) -> bool {
    words.first().is_some_and(|first| !first.text.is_empty() && !first.text.contains('=') && !is_reserved(&first.text))
}
