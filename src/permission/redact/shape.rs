//! Secrets that are known by their own shape, wherever they stand: provider tokens, bearer tokens, JWTs, PEM keys,
//! passwords in URLs, e-mail addresses. Knows nothing of the names that values are assigned to.
//!
//! Each search reads no further than what it then takes, or than a delimiter: otherwise finding all would be quadratic.

use std::ops::Range;
use std::sync::LazyLock;

use super::{compiled, merged};

/// In front of `sk-`: nothing of a word (`task-…` is none), an escaped control character, or a percent escape.
static TOKEN: LazyLock<regex::Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"(?-u)(?:(?:\b|_|\\[nrtbf]|%[0-9A-Fa-f]{2})(sk-[A-Za-z0-9_-]{6,})",
        r"|sk-(?:(?:ant|proj|svcacct)-[A-Za-z0-9_-]{8,}|[A-Za-z0-9]{41,})",
        r"|gh[pousr]_[A-Za-z0-9]{6,}|github_pat_[A-Za-z0-9_]{6,}",
        r"|gl(?:pat|dt|rt|ptt|cbt|ft|imt|agent|soat)-[A-Za-z0-9_-]{6,}",
        r"|xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{6,}|xapp-[A-Za-z0-9-]{10,}",
        r"|A(?:KIA|SIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{30,}",
        r"|[spr]k_(?:live|test)_[A-Za-z0-9]{8,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}",
        r"|eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3})",
    ))
});

static BEARER: LazyLock<regex::Regex> =
    LazyLock::new(|| compiled(r"(?i-u)bearer(?:[ \t]{1,8}|%20|\+)([a-z0-9._~+/=%:|-]+)"));

/// `Basic` and base64 that is too long for a word of a sentence.
static BASIC: LazyLock<regex::Regex> =
    LazyLock::new(|| compiled(r"(?-u)\b[Bb]asic[ \t]{1,8}([A-Za-z0-9+/]{6,}={1,2}|[A-Za-z0-9+/]{20,})"));

static PEM_BOUNDARY: LazyLock<regex::Regex> = LazyLock::new(|| {
    compiled(r"(?-u)-----(BEGIN|END)(?:[A-Z0-9 +]|%20){1,40}PRIVATE(?: |\+|%20)KEY(?: BLOCK)?(?:-----)?")
});

/// A JWT whose first part goes on behind the cut.
static JWT_CUT: LazyLock<regex::Regex> = LazyLock::new(|| compiled(r"(?-u)eyJ[A-Za-z0-9_.-]*\z"));

/// The shortest bearer token that may be all letters: `authentication` is shorter.
const MIN_LETTERS_OF_TOKEN: usize = 15;

/// What looks like an address and is a file: `icon@2x.png`.
const FILE_ENDINGS: [&str; 7] = ["png", "jpg", "jpeg", "gif", "svg", "webp", "avif"];

/// Adds the span of every secret but the e-mail addresses. `cut`: the text goes on behind its end.
pub(super) fn find(text: &str, cut: bool, spans: &mut Vec<Range<usize>>) {
    for found in TOKEN.captures_iter(text) {
        if let Some(token) = found.get(1).or_else(|| found.get(0)) {
            spans.push(token.range());
        }
    }
    for found in BEARER.captures_iter(text) {
        if let Some(token) = found.get(1).filter(|token| looks_like_token(token.as_str())) {
            spans.push(token.range());
        }
    }
    for found in BASIC.captures_iter(text) {
        if let Some(credentials) = found.get(1) {
            spans.push(credentials.range());
        }
    }
    if cut {
        spans.extend(JWT_CUT.find(text).map(|token| token.range()));
    }
    find_private_keys(text, spans);
    find_url_passwords(text, cut, spans);
}

/// Compiles the patterns that [`find`] only reaches on a text that was cut.
pub(super) fn warm_up() {
    LazyLock::force(&JWT_CUT);
}

/// Whether the word after `Bearer` is more than the next word of a sentence.
fn looks_like_token(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ':', '|']);
    let lower = word.bytes().any(|byte| byte.is_ascii_lowercase());
    let capital_inside = word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    word.len() >= MIN_LETTERS_OF_TOKEN
        || (lower && capital_inside)
        || word.bytes().any(|byte| !byte.is_ascii_alphabetic())
}

/// PEM keys from BEGIN to END; where the END is missing, whatever may be key material; where the BEGIN is missing, the
/// lines of base64 above the END.
fn find_private_keys(text: &str, spans: &mut Vec<Range<usize>>) {
    let mut open: Option<Range<usize>> = None;
    let mut free_from = 0;
    for found in PEM_BOUNDARY.captures_iter(text) {
        let (Some(whole), Some(kind)) = (found.get(0), found.get(1)) else { continue };
        if kind.as_str() == "BEGIN" {
            if let Some(begin) = open.take() {
                spans.push(begin.start..key_material_end(text.get(..whole.start()).unwrap_or(""), begin.end));
            }
            open = Some(whole.range());
            continue;
        }
        let start = match open.take() {
            Some(begin) => begin.start,
            None => key_material_start(text, free_from, whole.start()),
        };
        spans.push(start..whole.end());
        free_from = whole.end();
    }
    if let Some(begin) = open {
        spans.push(begin.start..key_material_end(text, begin.end));
    }
}

/// Behind base64, header lines (`DEK-Info: AES-128-CBC,…`), escaped line ends, and what quotes or numbers lines.
fn key_material_end(text: &str, from: usize) -> usize {
    let material =
        |byte: &u8| byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=\\:,-.%>|#*".contains(byte);
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| material(byte)).count()
}

/// The start of the lines in front of `end` that are one word of base64 each, the last of any length.
fn key_material_start(text: &str, from: usize, end: usize) -> usize {
    const SHORTEST_FULL_LINE: usize = 40;
    let above = text.get(from..end).unwrap_or("");
    let bytes = above.as_bytes();
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let mut start = above.len();
    let mut first = true;
    loop {
        // A line end is white space, or written as `\n` or `\r\n`.
        let mut line_end = bytes.get(..start).unwrap_or_default();
        loop {
            line_end = match line_end {
                [rest @ .., byte] if byte.is_ascii_whitespace() => rest,
                [rest @ .., b'\\', b'n' | b'r'] => rest,
                _ => break,
            };
        }
        let mut line_bytes = line_end.iter().rev().take_while(|byte| base64(byte)).count();
        let line_start = line_end.len() - line_bytes;
        // The `n` of an escaped line end belongs to the line end.
        if line_start > 0 && bytes.get(line_start - 1) == Some(&b'\\') {
            line_bytes = line_bytes.saturating_sub(1);
        }
        if line_bytes == 0 || (line_bytes < SHORTEST_FULL_LINE && !first) {
            return from + start;
        }
        first = false;
        start = line_end.len() - line_bytes;
    }
}

/// `user:password` between `://` and `@`; also a token that stands there alone (`https://<token>@host`).
fn find_url_passwords(text: &str, cut: bool, spans: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(start) = text.get(at..).and_then(|rest| rest.find("://")).map(|offset| at + offset + 3) {
        let rest = text.get(start..).unwrap_or("");
        let length = url_length(rest.as_bytes());
        let url = rest.get(..length).unwrap_or("");
        let web = text.get(..start).is_some_and(|before| before.ends_with("http://") || before.ends_with("https://"));
        if let Some(user_info_bytes) = user_info_length(url, web, cut && length == rest.len()) {
            spans.push(start..start + user_info_bytes);
        }
        at = start + length;
    }
}

/// Up to what cannot be in a URL, or to the next one, so that each byte is looked at once.
fn url_length(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        let escape = *byte == b'\\' && rest.get(at + 1).is_some_and(|next| b"nrt\"'".contains(next));
        if escape || byte.is_ascii_whitespace() || b"\"'`<>".contains(byte) {
            break;
        }
        if *byte == b':' && rest.get(at + 1) == Some(&b'/') && rest.get(at + 2) == Some(&b'/') {
            break;
        }
        at += 1;
    }
    at
}

/// How much of a URL, from behind its scheme, is `user:password`.
fn user_info_length(url: &str, web: bool, cut: bool) -> Option<usize> {
    let authority = url.get(..url.find(['/', '?', '#']).unwrap_or(url.len())).unwrap_or("");
    if let Some(length) = authority.rfind('@') {
        let user_info = authority.get(..length).unwrap_or("");
        let secret = user_info.contains(':') || user_info.contains("%3A") || (web && user_info != "git");
        return secret.then_some(length).filter(|length| *length > 0);
    }
    // No `@` before the first slash: a password may hold that slash, but what may be a port is none.
    let (user, password) = authority.split_once(':')?;
    if user.contains('[') || password.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    url.rfind('@').or_else(|| cut.then_some(url.len()))
}

/// The spans, and those of e-mail addresses. An address that another span has taken the user's name from stays as it
/// is: of `user:password@host` the host is no secret.
pub(super) fn add_addresses(text: &str, spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut addresses = Vec::new();
    let mut taken = spans.iter().peekable();
    let mut free_from = 0;
    for (at, _) in text.match_indices('@') {
        let Some(address) = address_around(text, free_from, at) else { continue };
        while taken.next_if(|span| span.end < at).is_some() {}
        if taken.peek().is_some_and(|span| span.start <= address.start && span.end >= at) {
            continue;
        }
        free_from = address.end;
        addresses.push(address);
    }
    if addresses.is_empty() {
        return spans;
    }
    addresses.extend(spans);
    merged(addresses)
}

fn address_around(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let local = text.get(from..at)?;
    let host = text.get(at + 1..)?;
    let local_part = |character: char| character.is_alphanumeric() || "._%+-".contains(character);
    let mut start = local.char_indices().rev().take_while(|(_, character)| local_part(*character)).last()?.0;
    // The letter of an escaped line end belongs to the escape.
    if local.get(..start)?.ends_with('\\') && local.get(start..)?.starts_with(['n', 'r', 't']) {
        start += 1;
    }
    let name = local.get(start..)?;
    let host_end = host.find(|character: char| !(character.is_alphanumeric() || ".-".contains(character)));
    let host = host.get(..host_end.unwrap_or(host.len()))?;
    // The ending is the last label that begins with two letters: of `x.com-old` and `x.com.` that is `com`.
    let letters = |label: &str| label.find(|character: char| !character.is_alphabetic()).unwrap_or(label.len());
    let (domain, ending) = host.rmatch_indices('.').find_map(|(dot, _)| {
        let label = host.get(dot + 1..)?;
        let label = label.get(..letters(label))?;
        (label.chars().count() >= 2).then_some((host.get(..dot)?, label))
    })?;
    let behind_number = domain.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let is_version = behind_number.len() < domain.len() && behind_number.starts_with('.');
    let is_file = FILE_ENDINGS.iter().any(|file| ending.eq_ignore_ascii_case(file));
    if name.is_empty() || domain.is_empty() || is_version || is_file || name == "git" {
        return None;
    }
    Some(from + start..at + 1 + domain.len() + 1 + ending.len())
}
