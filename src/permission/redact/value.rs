//! Where an assigned value begins and ends.
//! Knows nothing of the names that values are assigned to.

use std::ops::Range;

use super::MASK;
use super::plain::{is_plain, is_reference, is_reference_start, is_word};

/// What is known of an assignment when its value is read.
pub(super) struct Context {
    /// The text goes on behind its end.
    pub(super) cut: bool,
    /// White space surrounds the sign of assignment, or is it: code, YAML, prose, options of commands.
    pub(super) spaced: bool,
    /// An option of a command: `--password …`.
    pub(super) option: bool,
    /// The name ended in a quote: JSON, mostly.
    pub(super) quoted_name: bool,
    /// The quote directly in front of the name: `"X-Api-Key: …"`.
    pub(super) enclosing_quote: Option<u8>,
}

pub(super) struct Value<'a> {
    /// The first of the secrets.
    pub(super) text: &'a str,
    /// What to mask.
    pub(super) secrets: Vec<Range<usize>>,
    /// Where to go on.
    pub(super) end: usize,
    pub(super) quoted: bool,
}

impl<'a> Value<'a> {
    fn unquoted(text: &'a str, span: Range<usize>) -> Value<'a> {
        let end = span.end;
        Value { text, secrets: std::iter::once(span).collect(), end, quoted: false }
    }
}

/// Schemes of an Authorization header that a single word follows.
const SINGLE_WORD_SCHEMES: [&str; 7] = ["bearer", "basic", "token", "apikey", "api-key", "negotiate", "bot"];
/// And those that a list of parameters follows.
const LIST_SCHEMES: [&str; 6] = ["digest", "aws4-hmac-sha256", "hmac", "hawk", "oauth", "signature"];

/// How far behind a delimiter the next name's sign of assignment may be.
const LONGEST_NEXT_NAME: usize = 48;

/// Longer references are not looked behind.
const LONGEST_REFERENCE: usize = 128;

/// The value at `from`, or none if there is none or it is plainly no secret. An unquoted one is read for `longest` bytes.
pub(super) fn assigned<'a>(text: &'a str, from: usize, context: &Context, longest: usize) -> Option<Value<'a>> {
    let value = single(text, from, context, longest);
    // What looked like a value was a type: `token: string = "…"`.
    let end = match &value {
        Single::Secret(value) => value.end,
        Single::Plain(end) => *end,
        Single::Nothing => return None,
    };
    let behind = text.get(end..)?.trim_start_matches(' ');
    let second = behind.strip_prefix("= ").filter(|_| context.spaced).map(|behind| text.len() - behind.len());
    let second = second.map(|start| single(text, start, context, longest));
    match (value, second) {
        (Single::Secret(mut value), Some(Single::Secret(second))) => {
            value.secrets.extend(second.secrets);
            value.end = second.end;
            Some(value)
        }
        (Single::Secret(value), _) | (_, Some(Single::Secret(value))) => Some(value),
        _ => None,
    }
}

enum Single<'a> {
    Secret(Value<'a>),
    /// A word that says nothing, up to there.
    Plain(usize),
    Nothing,
}

fn single<'a>(text: &'a str, from: usize, context: &Context, longest: usize) -> Single<'a> {
    let mut at = skip_space(text, from, context);
    let mut rest = text.get(at..).unwrap_or("");
    let in_array = rest.starts_with('[') && !rest.starts_with(MASK) && (context.spaced || context.quoted_name);
    if in_array {
        at = skip_blank(text, at + 1);
        rest = text.get(at..).unwrap_or("");
    }
    if let Some(quote) = Quote::opening(rest) {
        return quoted_values(text, at, quote, in_array, context.cut).map_or(Single::Nothing, Single::Secret);
    }
    if context.spaced
        && let Some(block) = block(text, from, at)
    {
        return block;
    }
    if let Some(behind) = behind_references(rest) {
        let start = at + behind;
        let end = start + unquoted_length(text.get(start..).unwrap_or("").as_bytes(), longest);
        let word = text.get(start..end).unwrap_or("");
        return if word.is_empty() { Single::Nothing } else { Single::Secret(Value::unquoted(word, start..end)) };
    }
    if in_array || rest.starts_with(MASK) || names_no_secret(rest, context) {
        return Single::Nothing;
    }
    let end = at + unquoted_length(rest.as_bytes(), longest);
    let Some(word) = text.get(at..end) else { return Single::Nothing };
    if is_plain(word, context.spaced) || is_reference(word) {
        return Single::Plain(end);
    }
    Single::Secret(Value::unquoted(word, at..end))
}

/// The lines of a block of YAML, `|` or `>` behind the name: those that are further in than the line of the name.
fn block<'a>(text: &'a str, from: usize, at: usize) -> Option<Single<'a>> {
    let rest = text.get(at..)?;
    let mark = rest.strip_prefix(['|', '>'])?;
    let line_end = mark.find('\n')?;
    if !mark.get(..line_end)?.bytes().all(|byte| byte.is_ascii_digit() || b"+- \t\r".contains(&byte)) {
        return None;
    }
    let before = text.get(..from)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let own = indent(before.get(line_start..)?);
    let first = at + 1 + line_end + 1;
    let mut end = first;
    for line in text.get(first..)?.split_inclusive('\n') {
        if !line.trim().is_empty() && indent(line) <= own {
            break;
        }
        end += line.len();
    }
    let lines = text.get(first..end)?;
    let start = first + lines.len() - lines.trim_start().len();
    let end = first + lines.trim_end().len();
    let secret = text.get(start..end)?;
    if secret.is_empty() || secret.starts_with(MASK) {
        return Some(Single::Nothing);
    }
    Some(Single::Secret(Value { text: secret, secrets: std::iter::once(start..end).collect(), end, quoted: true }))
}

/// Where what follows references goes on, if anything but a path does: `$(cat x)abc`, `${A}abc`.
fn behind_references(rest: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(length) = reference_length(rest.get(at..)?) {
        at += length;
    }
    let next = rest.get(at..)?.chars().next()?;
    let goes_on = next.is_alphanumeric() || "_-+=!#@%^*~.".contains(next);
    (at > 0 && goes_on).then_some(at)
}

/// How long the `$(…)` or `${…}` is that the text begins with.
fn reference_length(text: &str) -> Option<usize> {
    let (opening, closing) = match text.get(..2)? {
        "$(" => (b'(', b')'),
        "${" => (b'{', b'}'),
        _ => return None,
    };
    let mut open = 0_usize;
    for (at, byte) in text.bytes().enumerate().take(LONGEST_REFERENCE) {
        open += usize::from(byte == opening);
        if byte == closing {
            open = open.saturating_sub(1);
            if open == 0 {
                return Some(at + 1);
            }
        }
        if byte == b'\n' {
            return None;
        }
    }
    None
}

/// The value of a header at `from`. The scheme stays, and everything behind it goes.
pub(super) fn header<'a>(text: &'a str, from: usize, context: &Context) -> Option<Value<'a>> {
    let at = skip_space(text, from, context);
    let rest = text.get(at..)?;
    let whole = || assigned(text, from, context, usize::MAX);
    if Quote::opening(rest).is_some() || context.quoted_name {
        return whole();
    }
    let scheme = rest.get(..rest.bytes().take_while(|byte| is_word(*byte) || *byte == b'-').count())?;
    let scheme_is = |known: &[&str]| known.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let credentials = rest.get(scheme.len()..)?;
    let start = at + scheme.len() + credentials.len() - credentials.trim_start_matches(' ').len();
    if credentials.starts_with(' ') && scheme_is(&SINGLE_WORD_SCHEMES) {
        return assigned(text, start, context, usize::MAX);
    }
    let is_list = credentials.starts_with(' ') && scheme_is(&LIST_SCHEMES);
    let beginning = rest.as_bytes().get(..rest.len().min(LONGEST_NEXT_NAME)).unwrap_or_default();
    let is_pairs = beginning.iter().take_while(|byte| !matches!(byte, b'\n' | b'\r' | b'"')).any(|byte| *byte == b'=');
    if !is_list && !is_pairs {
        return whole();
    }
    let start = if is_list { start } else { at };
    let end = at + line_length(rest.as_bytes(), context.enclosing_quote);
    let line = text.get(start..end).filter(|line| !line.starts_with(MASK))?;
    Some(Value::unquoted(line, start..end))
}

/// A quoted value, or in an array all that follow one another.
fn quoted_values<'a>(text: &'a str, at: usize, quote: Quote, in_array: bool, cut: bool) -> Option<Value<'a>> {
    let mut quote = quote;
    let mut start = at + quote.bytes();
    let mut secrets = Vec::new();
    let mut first = None;
    loop {
        let rest = text.get(start..)?;
        let (length, closed) = quote.length(rest, cut);
        let content = rest.get(..length)?;
        if !(content.is_empty() || content == MASK || is_plain(content, false) || is_reference(content)) {
            first = first.or(Some(content));
            secrets.push(start..start + length);
        }
        let end = start + length;
        let next = skip_blank(text, end + if closed { quote.backslashes + 1 } else { 0 });
        let behind_comma = text.get(next..).and_then(|rest| rest.strip_prefix(',')).map(|_| skip_blank(text, next + 1));
        let next_quote = behind_comma.and_then(|next| Some((next, Quote::opening(text.get(next..)?)?)));
        match next_quote.filter(|_| in_array && closed) {
            Some((next, opening)) => {
                start = next + opening.bytes();
                quote = opening;
            }
            None => return Some(Value { text: first?, secrets, end, quoted: true }),
        }
    }
}

/// A quote, with the backslashes that escape it in a text within a text.
#[derive(Clone, Copy)]
struct Quote {
    mark: u8,
    backslashes: usize,
    /// `$'…'`, `b"…"`, `f'…'`: the letter in front.
    prefix: usize,
}

impl Quote {
    fn opening(rest: &str) -> Option<Quote> {
        let bytes = rest.as_bytes();
        let prefix = usize::from(matches!(bytes.first(), Some(b'$' | b'b' | b'f' | b'r' | b'u')));
        let backslashes = bytes.iter().skip(prefix).take_while(|byte| **byte == b'\\').take(16).count();
        let mark = *bytes.get(prefix + backslashes)?;
        matches!(mark, b'"' | b'\'' | b'`').then_some(Quote { mark, backslashes, prefix })
    }

    fn bytes(self) -> usize {
        self.prefix + self.backslashes + 1
    }

    /// How long the content is, and whether it is closed. What is not ends with its line, or with a text that was cut.
    fn length(self, rest: &str, cut: bool) -> (usize, bool) {
        let mut escapes = 0;
        for (at, byte) in rest.bytes().enumerate() {
            if byte == b'\\' {
                escapes += 1;
                continue;
            }
            let closes = escapes <= self.backslashes || (self.backslashes == 0 && escapes % 2 == 0);
            if byte == self.mark && closes {
                return (at - escapes.min(self.backslashes), true);
            }
            escapes = 0;
        }
        let line = if cut { None } else { rest.find(['\n', '\r']) };
        (line.unwrap_or(rest.len()), false)
    }
}

fn skip_space(text: &str, from: usize, context: &Context) -> usize {
    let rest = text.get(from..).unwrap_or("");
    let line = rest.trim_start_matches([' ', '\t']);
    let below = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    // On the next line: only what cannot be a name of its own.
    let skipped = if context.spaced && Quote::opening(below).is_some() { below } else { line };
    from + rest.len() - skipped.len()
}

fn skip_blank(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or("");
    from + rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

/// Whether an unquoted value begins like something that holds no secret itself.
fn names_no_secret(rest: &str, context: &Context) -> bool {
    let code = context.spaced || context.quoted_name;
    (rest.starts_with(['{', '[', '(']) && code) || (rest.starts_with('-') && context.option) || is_reference_start(rest)
}

/// An unquoted value: to white space, or to a delimiter with which the value is really over. A delimiter inside a
/// password is more likely than it seems, and masking too much costs less than half a password.
fn unquoted_length(rest: &[u8], longest: usize) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at).filter(|_| at < longest) {
        let over = match byte {
            b' ' | b'\t' | b'\r' | b'\n' => true,
            b'&' | b',' | b';' | b'|' | b')' | b']' | b'}' | b'"' | b'\'' | b'`' | b'<' | b'>' => {
                ends_value(rest.get(at + 1..).unwrap_or_default())
            }
            b'\\' => match rest.get(at + 1) {
                Some(b'n' | b'r' | b't') => ends_value(rest.get(at + 2..).unwrap_or_default()),
                Some(b'"' | b'\'' | b'\\') | None => true,
                // Escaped for a shell, a blank is part of the word.
                Some(b' ') => {
                    at += 1;
                    false
                }
                Some(_) => false,
            },
            _ => false,
        };
        if over {
            break;
        }
        at += 1;
    }
    at
}

/// Whether what follows a delimiter is the end, another delimiter, or the next name.
fn ends_value(behind: &[u8]) -> bool {
    let Some(first) = behind.first() else { return true };
    if first.is_ascii_whitespace() || b"\"'`,;:)]}>&|\\.<".contains(first) {
        return true;
    }
    let name =
        behind.iter().take(LONGEST_NEXT_NAME).take_while(|byte| is_word(**byte) || b".- %".contains(byte)).count();
    name > 0 && matches!(behind.get(name), Some(b'=' | b':'))
}

/// A header's line: to the line's end, written out or escaped, or to the quote that encloses the header.
fn line_length(rest: &[u8], enclosing_quote: Option<u8>) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        let escaped_end = *byte == b'\\' && matches!(rest.get(at + 1), Some(b'n' | b'r'));
        if matches!(byte, b'\n' | b'\r') || escaped_end || enclosing_quote == Some(*byte) {
            break;
        }
        at += 1;
    }
    // The backslashes of an escaped quote stay with it.
    let line = rest.get(..at).unwrap_or_default();
    at - line.iter().rev().take_while(|byte| **byte == b'\\').count()
}
