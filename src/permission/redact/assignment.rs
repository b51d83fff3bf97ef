//! Finds names like `apiKey` or `--password` that something is assigned to, in shell, JSON, header, query and code form,
//! and says which of their values are secrets. How a value is delimited is `value`'s business.

use std::ops::Range;
use std::sync::LazyLock;

use super::compiled;
use super::value::{self, Value};

/// The last word of a name, what may follow it in the name, a closing quote or bracket, and the sign of assignment (for
/// an option of a command: white space alone).
static ASSIGNED: LazyLock<regex::Regex> = LazyLock::new(|| {
    compiled(concat!(
        r#"(?i-u)(authorization|set-cookie|cookie|credentials?|password|passwd|passphrase|passwort|pass|pwd|secret|token"#,
        r#"|key|auth)(?:[_-]?(?:base64|base|b64|hex|value|hash|prod|dev|test|live|old|new|\d{1,3}))?"#,
        r#"(?:\\{0,7}["'`])?\]?\*{0,2}(?:[ \t]{0,8}([=!]==?|=>|:=|=|:|%3D)|[ \t])"#,
    ))
});

/// How far a value is read that may turn out to be none.
const LONGEST_UNSURE_BYTES: usize = 256;

/// How sure a name makes that its value is a secret.
#[derive(Clone, Copy, PartialEq)]
enum Suspicion {
    /// Whatever the value is.
    Certain,
    /// If the value looks random: `key` alone names many things.
    IfOpaque,
    /// An HTTP header whose value may be several words.
    Header,
}

/// In front of `key`: these make it a secret.
const SECRET_KEYS: [&str; 30] = [
    "api",
    "secret",
    "private",
    "access",
    "auth",
    "encryption",
    "encrypt",
    "decryption",
    "signing",
    "sign",
    "master",
    "ssh",
    "service",
    "client",
    "deploy",
    "license",
    "admin",
    "root",
    "account",
    "storage",
    "shared",
    "subscription",
    "webhook",
    "hmac",
    "aes",
    "rsa",
    "jwt",
    "session",
    "app",
    "functions",
];
/// And these make it none.
const OPEN_KEYS: [&str; 14] = [
    "public",
    "primary",
    "foreign",
    "cache",
    "sort",
    "partition",
    "idempotency",
    "group",
    "row",
    "object",
    "index",
    "hot",
    "map",
    "unique",
];

/// Adds the span of every value that is assigned to a name like a secret's.
pub(super) fn find(text: &str, cut: bool, spans: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(found) = ASSIGNED.captures_at(text, at) {
        let (Some(whole), Some(word)) = (found.get(0), found.get(1)) else { break };
        at = whole.end();
        let name = Name::around(text, word.range());
        let sign = found.get(2).map(|sign| sign.as_str());
        let Some(suspicion) = name.suspicion(sign) else { continue };
        let behind = text.get(at..).unwrap_or("");
        // `token::new()` and `secret://vault` are paths.
        if sign == Some(":") && behind.starts_with([':', '/']) && !whole.as_str().contains(['"', '\'']) {
            continue;
        }
        let quoted_name = whole.as_str().contains(['"', '\'', '`']);
        let context = value::Context {
            cut,
            spaced: sign.is_none_or(|sign| spaced(text, whole.range(), sign)),
            quoted_name,
            option: sign.is_none(),
            enclosing_quote: name.enclosing_quote,
        };
        // `token == other` and `token => other` assign nothing, unless a literal stands there.
        let literal_only = sign.is_some_and(|sign| sign.contains("==") || sign == "!=" || sign == "=>");
        let unsure = literal_only || suspicion == Suspicion::IfOpaque;
        let read = |longest| match suspicion {
            Suspicion::Header => value::header(text, at, &context),
            _ => value::assigned(text, at, &context, longest),
        };
        // What is refused is read again for names within it: so only so far, or all of it would be quadratic.
        let Some(value) = read(if unsure { LONGEST_UNSURE_BYTES } else { usize::MAX }) else { continue };
        // Without blanks around it, `==` may be a slip of who assigns: a word with a digit is no name of a variable then.
        let is_slip = !context.spaced && value.text.bytes().any(|byte| byte.is_ascii_digit());
        let refused = (literal_only && !value.quoted && !is_slip)
            || (suspicion == Suspicion::IfOpaque && !name.is_opaque(&value, context.spaced))
            || (name.word == "pwd" && value.text.starts_with(['/', '~']));
        if refused {
            continue;
        }
        let value = if unsure { read(usize::MAX).unwrap_or(value) } else { value };
        at = at.max(value.end);
        spans.extend(value.secrets);
    }
}

/// Whether white space surrounds the sign of an assignment.
fn spaced(text: &str, whole: Range<usize>, sign: &str) -> bool {
    let before = text.get(whole.start..whole.end.saturating_sub(sign.len())).unwrap_or("");
    let after = text.get(whole.end..).unwrap_or("");
    before.ends_with([' ', '\t']) || after.starts_with([' ', '\t', '\r', '\n'])
}

/// A name, as far as it goes to the left of its last word.
struct Name<'a> {
    /// The last word, in lower case.
    word: String,
    /// What stands in front of it in the name: `X-Api-` of `X-Api-Key`.
    before: &'a str,
    /// Whether all letters of the last word are capitals.
    capitals: bool,
    /// The last word stands by itself: `my_key`, `myKey`, and no `monkey`.
    is_whole_word: bool,
    /// In a query: behind `?` or `&`.
    in_query: bool,
    /// The quote directly in front of the name.
    enclosing_quote: Option<u8>,
}

impl<'a> Name<'a> {
    fn around(text: &'a str, word: Range<usize>) -> Name<'a> {
        const LONGEST_NAME: usize = 64;
        let left = text.as_bytes().get(..word.start).unwrap_or_default();
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let length = left.iter().rev().take(LONGEST_NAME).take_while(|byte| part(byte)).count();
        let start = word.start - length;
        let edge = start.checked_sub(1).and_then(|edge| left.get(edge)).copied();
        let written = text.get(word.clone()).unwrap_or("");
        Name {
            word: written.to_ascii_lowercase(),
            before: text.get(start..word.start).unwrap_or(""),
            capitals: !written.bytes().any(|byte| byte.is_ascii_lowercase()),
            is_whole_word: text.get(start..word.start).and_then(|before| before.chars().next_back()).is_none_or(
                |last| "_-".contains(last) || (last.is_lowercase() && written.starts_with(char::is_uppercase)),
            ),
            in_query: matches!(edge, Some(b'?' | b'&')),
            enclosing_quote: edge.filter(|edge| matches!(edge, b'"' | b'\'' | b'`')),
        }
    }

    fn suspicion(&self, sign: Option<&str>) -> Option<Suspicion> {
        if sign.is_none() && !self.before.starts_with('-') {
            return None;
        }
        let before = self.before.trim_end_matches(['_', '-']).to_ascii_lowercase();
        match self.word.as_str() {
            "authorization" | "cookie" | "set-cookie" if sign == Some(":") => Some(Suspicion::Header),
            "key" if OPEN_KEYS.iter().any(|open| before.ends_with(open)) => None,
            "key" if SECRET_KEYS.iter().any(|secret| before.ends_with(secret)) => Some(Suspicion::Certain),
            // `--pass`, `DB_PASS`: alone it is a word like any other.
            "pass" if self.before.ends_with(['_', '-']) => Some(Suspicion::Certain),
            "pass" => None,
            "key" | "auth" | "credential" | "credentials" | "cookie" => Some(Suspicion::IfOpaque),
            _ => Some(Suspicion::Certain),
        }
    }

    /// Whether a value looks random enough for a name that says little.
    fn is_opaque(&self, value: &Value<'_>, spaced: bool) -> bool {
        let text = value.text;
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+/=~.-%:".contains(&byte)) {
            return false;
        }
        let digit = text.bytes().any(|byte| byte.is_ascii_digit());
        let letter = text.bytes().any(|byte| byte.is_ascii_alphabetic());
        let path = text.contains(['.', '/', ':']);
        let assigned_plainly = !spaced && (self.in_query || self.capitals);
        match text.len() {
            0..6 => false,
            6..8 => self.is_whole_word && !path && digit && letter,
            8..16 if !self.is_whole_word => false,
            8..16 => !path && ((digit && letter) || assigned_plainly),
            _ => (digit && letter && !text.starts_with(['.', '/'])) || (assigned_plainly && !path),
        }
    }
}
