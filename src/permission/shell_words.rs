//! Words of a shell command as the shell would see them: quotes and backslashes removed. What only running it could tell
//! is marked.

use tree_sitter::Node;

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    /// The shell would put something else in its place: an expansion, a substitution, a pattern.
    pub is_dynamic: bool,
}

/// Reads the word that a node stands for.
pub(super) fn word(node: Node<'_>, source: &str) -> Word {
    let mut word = Word { text: String::new(), is_dynamic: false };
    append(&mut word, node, source);
    if node.kind() == "concatenation" {
        let mut cursor = node.walk();
        word.text.clear();
        for part in node.children(&mut cursor) {
            append(&mut word, part, source);
        }
    }
    word
}

fn append(word: &mut Word, node: Node<'_>, source: &str) {
    let raw = source.get(node.byte_range()).unwrap_or_default();
    match node.kind() {
        "word" | "number" | "command_name" | "variable_name" | "special_variable_name" => unquoted(word, raw),
        "raw_string" => word.text.push_str(raw.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')).unwrap_or(raw)),
        "string" => double_quoted(word, raw),
        "ansi_c_string" => ansi_c(word, raw),
        "concatenation" => {}
        _ => {
            word.is_dynamic = true;
            word.text.push_str(raw);
        }
    }
}

/// Outside quotes: a backslash stands for the character behind it, and patterns are expanded.
fn unquoted(word: &mut Word, raw: &str) {
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('\n') | None => {}
                Some(escaped) => word.text.push(escaped),
            },
            '*' | '?' | '[' | '{' | '~' | '$' | '`' | '\'' | '"' => {
                word.is_dynamic = true;
                word.text.push(character);
            }
            other => word.text.push(other),
        }
    }
}

fn double_quoted(word: &mut Word, raw: &str) {
    let inner = raw.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(raw);
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('\n') => {}
                Some(escaped @ ('"' | '\\' | '$' | '`')) => word.text.push(escaped),
                Some(other) => word.text.extend(['\\', other]),
                None => word.text.push('\\'),
            },
            '$' | '`' => {
                word.is_dynamic = true;
                word.text.push(character);
            }
            other => word.text.push(other),
        }
    }
}

/// `$'…'`: the escapes that stand for one plain character are read; others make the word unknown.
fn ansi_c(word: &mut Word, raw: &str) {
    let inner = raw.strip_prefix("$'").and_then(|it| it.strip_suffix('\'')).unwrap_or(raw);
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            word.text.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => word.text.push('\n'),
            Some('t') => word.text.push('\t'),
            Some(escaped @ ('\\' | '\'' | '"' | '?')) => word.text.push(escaped),
            Some('x') => numbered(word, &mut characters, 16, 2, None),
            Some('u') => numbered(word, &mut characters, 16, 4, None),
            Some('U') => numbered(word, &mut characters, 16, 8, None),
            Some(digit @ '0'..='7') => numbered(word, &mut characters, 8, 2, Some(digit)),
            _ => word.is_dynamic = true,
        }
    }
}

fn numbered(
    word: &mut Word,
    characters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
    first: Option<char>,
) {
    let mut digits: String = first.into_iter().collect();
    let most = digits.len() + most;
    while digits.len() < most
        && let Some(digit) = characters.next_if(|it| it.is_digit(radix))
    {
        digits.push(digit);
    }
    match u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32) {
        Some(character) => word.text.push(character),
        None => word.is_dynamic = true,
    }
}
