//! Reads JSON text into values with positions. Keeps its own stack, so that no nesting can overflow the thread's.

use std::collections::HashMap;

use super::error::JsonError;
use super::number::Number;
use super::path::{Step, path_of};
use super::position::Position;
use super::quote;
use super::token::{Fault, Kind, Token, Tokenizer, decode};
use super::value::{Data, Member, Value};

/// Containers within containers, the outermost counted.
pub const MAX_DEPTH: usize = 128;

/// What was read, with its text.
#[derive(Debug)]
pub struct Document<'a> {
    pub text: &'a str,
    pub root: Value,
}

/// The bytes as text.
///
/// # Errors
/// They are not UTF-8; the position is that of the first byte which is not.
pub fn decode_text(bytes: &[u8]) -> Result<&str, JsonError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let valid = std::str::from_utf8(valid).unwrap_or_default();
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let problem = if valid.is_empty() && matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            "expected UTF-8, got what looks like UTF-16; save the file as UTF-8".to_string()
        } else {
            format!("expected UTF-8, got the byte 0x{byte:02X}; save the file as UTF-8")
        };
        JsonError { path: path_of([]), position: Position::of(valid, valid.len()), problem }
    })
}

/// Reads a whole text.
///
/// # Errors
/// It is not JSON, is nested deeper than [`MAX_DEPTH`], or has a key twice in one object.
pub fn read(text: &str) -> Result<Document<'_>, JsonError> {
    let mut reader = Reader { text, tokens: Tokenizer::new(text), open: Vec::new() };
    match reader.read() {
        Ok(root) => Ok(Document { text, root }),
        Err(Fault { offset, problem }) => {
            Err(JsonError { path: reader.path(), position: Position::of(text, offset), problem })
        }
    }
}

/// A container that has not ended yet.
enum Open {
    Array { offset: usize, items: Vec<Value>, in_element: bool },
    Object { offset: usize, members: Vec<Member>, known: HashMap<String, usize>, key: Option<(String, usize)> },
}

struct Reader<'a> {
    text: &'a str,
    tokens: Tokenizer<'a>,
    open: Vec<Open>,
}

/// What comes after a value.
enum Next {
    Value(Token),
    Over(Value),
}

impl Reader<'_> {
    fn read(&mut self) -> Result<Value, Fault> {
        let mut token = self.tokens.next_token()?;
        loop {
            let data = match token.kind {
                Kind::BeginObject | Kind::BeginArray => match self.begin(token)? {
                    Some(first) => {
                        token = first;
                        continue;
                    }
                    None if token.kind == Kind::BeginArray => Data::Array(Vec::new()),
                    None => Data::Object(Vec::new()),
                },
                Kind::Null => Data::Null,
                Kind::True => Data::Boolean(true),
                Kind::False => Data::Boolean(false),
                Kind::Number => Data::Number(Number(self.raw(token).into())),
                Kind::String => Data::String(self.string(token)?),
                _ => return Err(self.unexpected(token, "a value")),
            };
            match self.end(Value { offset: token.start, data })? {
                Next::Value(first) => token = first,
                Next::Over(root) => return Ok(root),
            }
        }
    }

    /// Opens a container, and returns the first token of its first value; none where it is empty, and closed again.
    fn begin(&mut self, token: Token) -> Result<Option<Token>, Fault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Fault::new(token.start, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if token.kind == Kind::BeginArray {
            self.open.push(Open::Array { offset: token.start, items: Vec::new(), in_element: true });
            let first = self.tokens.next_token()?;
            if first.kind == Kind::EndArray {
                self.open.pop();
                return Ok(None);
            }
            return Ok(Some(first));
        }
        let first = self.tokens.next_token()?;
        if first.kind == Kind::EndObject {
            return Ok(None);
        }
        self.open.push(Open::Object { offset: token.start, members: Vec::new(), known: HashMap::new(), key: None });
        self.key(first, "a key in double quotes, or }").map(Some)
    }

    /// Reads a key and its colon, and returns the first token of its value.
    fn key(&mut self, token: Token, expected: &str) -> Result<Token, Fault> {
        if token.kind != Kind::String {
            return Err(self.unexpected(token, expected));
        }
        let name = self.string(token)?;
        let text = self.text;
        if let Some(Open::Object { known, key, .. }) = self.open.last_mut() {
            let before = known.insert(name.clone(), token.start);
            let problem = before.map(|first| {
                let quoted = quote(&name);
                format!("duplicate key {quoted}; the first is at {}", Position::of(text, first))
            });
            *key = Some((name, token.start));
            if let Some(problem) = problem {
                return Err(Fault::new(token.start, problem));
            }
        }
        let colon = self.tokens.next_token()?;
        if colon.kind != Kind::Colon {
            return Err(self.unexpected(colon, "a colon after the key"));
        }
        self.tokens.next_token()
    }

    /// Puts a value where it belongs, and closes what ends after it.
    fn end(&mut self, mut value: Value) -> Result<Next, Fault> {
        loop {
            let token = self.tokens.next_token();
            let Some(open) = self.open.last_mut() else {
                let token = token?;
                return match token.kind {
                    Kind::End => Ok(Next::Over(value)),
                    _ => Err(self.unexpected(token, "the end of the text")),
                };
            };
            match open {
                Open::Array { items, in_element, .. } => {
                    items.push(value);
                    *in_element = false;
                }
                Open::Object { members, key, .. } => {
                    if let Some((key, key_offset)) = key.take() {
                        members.push(Member { key, key_offset, value });
                    }
                }
            }
            let token = token?;
            let in_array = matches!(open, Open::Array { .. });
            match token.kind {
                Kind::Comma => {
                    self.stand_in_element(true);
                    let following = self.tokens.next_token()?;
                    if matches!(following.kind, Kind::EndArray | Kind::EndObject) {
                        self.stand_in_element(false);
                        return Err(Fault::new(token.start, "a trailing comma: nothing follows it"));
                    }
                    if in_array {
                        return Ok(Next::Value(following));
                    }
                    return self.key(following, "a key in double quotes").map(Next::Value);
                }
                Kind::EndArray if in_array => {}
                Kind::EndObject if !in_array => {}
                _ => return Err(self.unexpected(token, if in_array { "a comma or ]" } else { "a comma or }" })),
            }
            value = match self.open.pop() {
                Some(Open::Array { offset, items, .. }) => Value { offset, data: Data::Array(items) },
                Some(Open::Object { offset, members, .. }) => Value { offset, data: Data::Object(members) },
                None => return Err(self.unexpected(token, "the end of the text")),
            };
        }
    }

    /// Whether what is read next belongs to an element of the innermost array, or to the array itself.
    fn stand_in_element(&mut self, inside: bool) {
        if let Some(Open::Array { in_element, .. }) = self.open.last_mut() {
            *in_element = inside;
        }
    }

    fn raw(&self, token: Token) -> &str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    fn string(&self, token: Token) -> Result<String, Fault> {
        decode(self.text.get(token.start + 1..token.end - 1).unwrap_or_default(), token.start + 1)
    }

    fn unexpected(&self, token: Token, expected: &str) -> Fault {
        let found = match token.kind {
            Kind::End => "the end of the text".to_string(),
            Kind::String => {
                let inside = self.raw(token).trim_matches('"');
                quote(inside)
            }
            _ => format!("`{}`", self.raw(token).chars().take(40).collect::<String>()),
        };
        Fault::new(token.start, format!("expected {expected}, got {found}"))
    }

    /// The path of what is being read.
    fn path(&self) -> String {
        path_of(self.open.iter().filter_map(|open| match open {
            Open::Array { items, in_element, .. } => in_element.then_some(Step::Index(items.len())),
            Open::Object { key, .. } => key.as_ref().map(|(key, _)| Step::Key(key)),
        }))
    }
}

#[cfg(test)]
#[path = "reader_test.rs"]
mod tests;
