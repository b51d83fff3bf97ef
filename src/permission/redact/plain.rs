//! Values that are plainly no secrets: `null`, `string`, `${TOKEN}`, `getToken()`. Knows nothing of the names that they
//! are assigned to, or of how they are delimited.

/// Values that say nothing, types, and (behind white space) words that go on in a sentence.
const PLAIN: [&str; 34] = [
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "string",
    "str",
    "&str",
    "number",
    "int",
    "integer",
    "bool",
    "boolean",
    "any",
    "unknown",
    "void",
    "required",
    "optional",
    "empty",
    "missing",
    "invalid",
    "expired",
    "include",
    "omit",
    "same-origin",
    "inherit",
    "bytes",
    "object",
    "never",
    "symbol",
    "option",
    "some",
    "default",
];
const PLAIN_BEHIND_SPACE: [&str; 26] = [
    "to", "is", "are", "and", "or", "for", "flag", "the", "a", "an", "with", "in", "from", "if", "when", "as", "on",
    "by", "was", "not", "must", "can", "will", "should", "has", "of",
];
/// `$TOKEN`, `${TOKEN}`, `$(cat token)`, `{{ token }}`, `process.env.TOKEN`: where the secret is, not what it is.
pub(super) fn is_reference_start(rest: &str) -> bool {
    let variable = rest.strip_prefix('$').is_some_and(|name| {
        let word: &str = name.get(..name.bytes().take_while(|byte| is_word(*byte)).count()).unwrap_or("");
        let behind = name.as_bytes().get(word.len());
        let ends = behind.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        name.starts_with(['{', '('])
            || (ends && !word.is_empty() && !word.bytes().any(|byte| byte.is_ascii_lowercase()))
    });
    let environment =
        ["process.env.", "os.environ", "os.getenv", "std::env", "env::var", "import.meta.env", "Deno.env"];
    variable || rest.starts_with("{{") || environment.iter().any(|start| rest.starts_with(start))
}

/// Whether a quoted value is nothing but a reference.
pub(super) fn is_reference(content: &str) -> bool {
    let name = |inner: &str| inner.bytes().all(|byte| is_word(byte) || b". -".contains(&byte));
    let braces = content.strip_prefix("${").and_then(|inner| inner.strip_suffix('}'));
    let doubled = content.trim_start_matches('$').strip_prefix("{{").and_then(|inner| inner.strip_suffix("}}"));
    let variable = content.strip_prefix('$').is_some_and(|word| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    });
    let pointed = content.strip_prefix('<').and_then(|inner| inner.strip_suffix('>'));
    variable || braces.is_some_and(name) || doubled.is_some_and(name) || pointed.is_some_and(name)
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether an unquoted value is a word that says nothing; `spaced`: white space surrounds the sign of assignment.
pub(super) fn is_plain(word: &str, spaced: bool) -> bool {
    let bare = word.trim_end_matches(['.', ';', ',', ')', '?', '|', '!']);
    let known = |words: &[&str]| words.iter().any(|plain| bare.eq_ignore_ascii_case(plain));
    bare.is_empty() || known(&PLAIN) || (spaced && (known(&PLAIN_BEHIND_SPACE) || is_call(bare)))
}

/// `getToken(`, `tokens[0]`, `this.next(`: code that makes the value.
fn is_call(word: &str) -> bool {
    let name = word.bytes().take_while(|byte| is_word(*byte) || b".:$?".contains(byte)).count();
    let starts_a_name = word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts_a_name && matches!(word.as_bytes().get(name), Some(b'(' | b'['))
}
