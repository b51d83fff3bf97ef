//! Parts JSON text into tokens by RFC 8259, to the letter: no comments, no trailing commas, no other quotes. Knows the
//! form of each token, not which may follow which, and decodes nothing. Linear, without recursion, in constant memory.

use super::quote;
use crate::types::nearest::nearest;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    BeginObject,
    EndObject,
    BeginArray,
    EndArray,
    Colon,
    Comma,
    String,
    Number,
    True,
    False,
    Null,
    /// The text is over.
    End,
}

/// One token: its bytes in the text, quotes included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// What is wrong, and at which byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub offset: usize,
    pub problem: String,
}

impl Fault {
    pub fn new(offset: usize, problem: impl Into<String>) -> Fault {
        Fault { offset, problem: problem.into() }
    }
}

/// Reads one token after the other.
#[derive(Debug, Clone)]
pub struct Tokenizer<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Tokenizer<'a> {
    pub fn new(text: &'a str) -> Tokenizer<'a> {
        Tokenizer { text, offset: 0 }
    }

    /// The next token; `End`, again and again, once there is none.
    ///
    /// # Errors
    /// What is there is no token.
    pub fn next_token(&mut self) -> Result<Token, Fault> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte(0) {
            self.offset += 1;
        }
        let start = self.offset;
        let kind = match self.byte(0) {
            None => Kind::End,
            Some(b'{') => self.single(Kind::BeginObject),
            Some(b'}') => self.single(Kind::EndObject),
            Some(b'[') => self.single(Kind::BeginArray),
            Some(b']') => self.single(Kind::EndArray),
            Some(b':') => self.single(Kind::Colon),
            Some(b',') => self.single(Kind::Comma),
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => self.word()?,
        };
        Ok(Token { kind, start, end: self.offset })
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.offset + ahead).copied()
    }

    fn single(&mut self, kind: Kind) -> Kind {
        self.offset += 1;
        kind
    }

    fn string(&mut self) -> Result<Kind, Fault> {
        let start = self.offset;
        self.offset += 1;
        loop {
            match self.byte(0) {
                Some(b'"') => return Ok(self.single(Kind::String)),
                Some(b'\\') => self.escape()?,
                Some(byte @ 0..=0x1f) => {
                    let problem = match byte {
                        b'\n' | b'\r' => "a string must end on the line on which it begins".to_string(),
                        _ => format!("a string must not hold the control character U+{byte:04X}; write \\u{byte:04x}"),
                    };
                    return Err(Fault::new(self.offset, problem));
                }
                Some(_) => self.offset += 1,
                None => return Err(Fault::new(start, "the string that begins here has no end")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let start = self.offset;
        match self.byte(1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.offset += 2,
            Some(b'u') => {
                if !(2..6).all(|ahead| self.byte(ahead).is_some_and(|byte| byte.is_ascii_hexdigit())) {
                    return Err(Fault::new(start, "\\u must be followed by four hexadecimal digits"));
                }
                self.offset += 6;
            }
            Some(_) => {
                return Err(Fault::new(start, "JSON has no such escape; a backslash itself is written \\\\"));
            }
            None => return Err(Fault::new(start, "the text ends within a string")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Kind, Fault> {
        let start = self.offset;
        if self.byte(0) == Some(b'-') {
            self.offset += 1;
        }
        match self.byte(0) {
            Some(b'0') => {
                self.offset += 1;
                if self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
                    return Err(Fault::new(start, "a number must not begin with a 0 before other digits"));
                }
            }
            _ => self.digits("a number must have a digit after its sign")?,
        }
        if self.byte(0) == Some(b'.') {
            self.offset += 1;
            self.digits("a number must have a digit after its point")?;
        }
        if let Some(b'e' | b'E') = self.byte(0) {
            self.offset += 1;
            if let Some(b'+' | b'-') = self.byte(0) {
                self.offset += 1;
            }
            self.digits("a number must have a digit in its exponent")?;
        }
        Ok(Kind::Number)
    }

    fn digits(&mut self, problem: &str) -> Result<(), Fault> {
        let start = self.offset;
        while self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.offset += 1;
        }
        if self.offset == start { Err(Fault::new(start, problem)) } else { Ok(()) }
    }

    /// `true`, `false`, `null`; or whatever else somebody wrote, and what they may have meant.
    fn word(&mut self) -> Result<Kind, Fault> {
        let rest = self.text.get(self.offset..).unwrap_or_default();
        let length = rest.find(|character: char| !character.is_alphanumeric() && character != '_');
        let word = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
        let kind = match word {
            "true" => Kind::True,
            "false" => Kind::False,
            "null" => Kind::Null,
            _ => return Err(Fault::new(self.offset, stranger(rest, word))),
        };
        self.offset += word.len();
        Ok(kind)
    }
}

fn stranger(rest: &str, word: &str) -> String {
    if !word.is_empty() {
        return match nearest(word, ["true", "false", "null"]) {
            Some(near) => format!("{} is no JSON value; did you mean {near}?", quote(word)),
            None => format!("{} is no JSON value; text needs double quotes", quote(word)),
        };
    }
    if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
        return "JSON has no comments".to_string();
    }
    match rest.chars().next() {
        Some('\'' | '`' | '“' | '”' | '‘' | '’') => "JSON text needs straight double quotes".to_string(),
        Some(character) if character.is_ascii_graphic() => format!("unexpected `{character}`"),
        Some(character) => format!("unexpected character U+{:04X}", u32::from(character)),
        None => "unexpected end".to_string(),
    }
}

/// What a string token means: the text between its quotes, which the tokenizer has found well formed, at `offset`.
///
/// # Errors
/// It holds half of a surrogate pair.
pub fn decode(raw: &str, offset: usize) -> Result<String, Fault> {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(rest.get(..at).unwrap_or_default());
        let escape = rest.get(at..).unwrap_or_default();
        let (character, length) = unescape(escape).ok_or_else(|| {
            Fault::new(offset + raw.len() - escape.len(), "this escape is half of a surrogate pair, and no character")
        })?;
        text.push(character);
        rest = escape.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    Ok(text)
}

/// The character that the text begins with an escape of, and the escape's length in bytes. None for half of a pair.
fn unescape(text: &str) -> Option<(char, usize)> {
    let simple = match text.as_bytes().get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = code_unit(text)?;
            if let Some(character) = char::from_u32(first.into()) {
                return Some((character, 6));
            }
            let second = code_unit(text.get(6..)?)?;
            let character = char::decode_utf16([first, second]).next()?.ok()?;
            return Some((character, 12));
        }
        other => char::from(*other),
    };
    Some((simple, 2))
}

/// The four digits of a `\uXXXX` that the text begins with.
fn code_unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// How long the character is, in bytes, that the inside of a string token begins with: an escape, or both escapes of a
/// surrogate pair, are one. 0 at the end.
pub fn character_length(raw: &str) -> usize {
    match raw.as_bytes().first() {
        None => 0,
        Some(b'\\') => match unescape(raw) {
            Some((_, length)) => length,
            // Half of a pair stands for itself.
            None => 6.min(raw.len()),
        },
        Some(_) => raw.chars().next().map_or(0, char::len_utf8),
    }
}
