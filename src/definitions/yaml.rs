//! Reads the YAML of a front matter: keys with their values, each with its line. What is kept is a text or a list of
//! texts; of anything else only what it is. Nothing is expanded (an alias is a kind of its own, and no text), nothing
//! recurses, and what is nested deeper than [`MAX_DEPTH`] is refused as soon as it is seen, so that hostile files cost
//! no more than their length. Knows none of the keys.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use crate::json::{Position, quote};

/// Lists and mappings within one another, the outermost among them.
pub(super) const MAX_DEPTH: usize = 64;

/// The front matter begins on the second line of its file.
const LINES_BEFORE: usize = 1;

/// A key of the outermost mapping, with its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub key: String,
    /// In the file, from 1.
    pub line: usize,
    pub value: Value,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Element>),
    Other(Kind),
}

/// An element of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Element {
    /// In the file, from 1.
    pub line: usize,
    /// The text, or what is there instead.
    pub text: Result<String, Kind>,
}

/// What a value is that is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    Boolean,
    Number,
    List,
    Mapping,
    Alias,
    Tagged,
}

impl Kind {
    /// As a message says it, behind "got".
    pub(super) fn shown(self) -> &'static str {
        match self {
            Kind::Nothing => "nothing",
            Kind::Boolean => "a boolean (put it in quotes to make it a string)",
            Kind::Number => "a number (put it in quotes to make it a string)",
            Kind::List => "a list",
            Kind::Mapping => "a mapping",
            Kind::Alias => "an alias, which is not accepted here",
            Kind::Tagged => "a value with a tag, which is not accepted here",
        }
    }
}

/// The entries, in order. No text at all has none.
///
/// # Errors
/// It is not YAML, holds something else than one mapping, has a key twice, or is nested too deeply. Says the line.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, String> {
    refuse_control_characters(text)?;
    let mut reader = Reader { parser: Parser::new_from_str(text), depth: 0 };
    let mut entries = Vec::new();
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) => {}
            Event::StreamEnd => return Ok(entries),
            Event::MappingStart(..) => {
                entries = reader.entries()?;
                break;
            }
            Event::Scalar(text, ScalarStyle::Plain, _, None) if text.is_empty() => break,
            _ => return Err(format!("line {}: expected keys with their values, as in \"name: …\"", line_of(span))),
        }
    }
    // The end of this document; any other event begins one more.
    reader.next()?;
    match reader.next()? {
        (Event::StreamEnd, _) => Ok(entries),
        (_, span) => Err(format!("line {}: expected the end of the front matter, got another document", line_of(span))),
    }
}

/// YAML has no place for them. The parser takes U+0000 for the end of its input, and would leave out what follows.
fn refuse_control_characters(text: &str) -> Result<(), String> {
    let allowed = |character: char| !character.is_control() || matches!(character, '\t' | '\n' | '\r' | '\u{85}');
    let Some((offset, character)) = text.char_indices().find(|(_, character)| !allowed(*character)) else {
        return Ok(());
    };
    let Position { line, column } = Position::of(text, offset);
    let (line, code) = (line + LINES_BEFORE, u32::from(character));
    Err(format!("line {line}, column {column}: the character U+{code:04X} is not accepted in front matter"))
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), String> {
        let (event, span) = match self.parser.next_event() {
            Some(Ok(next)) => next,
            Some(Err(error)) => return Err(syntax_error(&error)),
            None => return Err("the front matter ends too early".to_string()),
        };
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) if self.depth == MAX_DEPTH => {
                return Err(format!("line {}: nested too deeply: at most {MAX_DEPTH} levels", line_of(span)));
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => self.depth += 1,
            Event::MappingEnd | Event::SequenceEnd => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        Ok((event, span))
    }

    /// The rest of the outermost mapping, whose start was read.
    fn entries(&mut self) -> Result<Vec<Entry>, String> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(entries),
                Event::Scalar(text, ..) => Some(text.into_owned()),
                // A key that is no text cannot be one of ours.
                other => {
                    self.skip_rest(&other)?;
                    None
                }
            };
            let value = self.value()?;
            let Some(key) = key else { continue };
            let line = line_of(span);
            if !seen.insert(key.clone()) {
                return Err(format!("line {line}: the key {} is there twice; remove one", quote(&key)));
            }
            entries.push(Entry { key, line, value });
        }
    }

    fn value(&mut self) -> Result<Value, String> {
        let (event, _) = self.next()?;
        if !matches!(event, Event::SequenceStart(..)) {
            return Ok(match self.text(event)? {
                Ok(text) => Value::Text(text),
                Err(kind) => Value::Other(kind),
            });
        }
        let mut elements = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(Value::List(elements));
            }
            elements.push(Element { line: line_of(span), text: self.text(event)? });
        }
    }

    /// The text that begins with the event, or what it is instead, read to its end.
    fn text(&mut self, event: Event<'a>) -> Result<Result<String, Kind>, String> {
        self.skip_rest(&event)?;
        Ok(match event {
            Event::Scalar(text, style, _, tag) => match kind_of(&text, style, tag.as_deref()) {
                None => Ok(text.into_owned()),
                Some(kind) => Err(kind),
            },
            Event::SequenceStart(..) => Err(Kind::List),
            Event::MappingStart(..) => Err(Kind::Mapping),
            _ => Err(Kind::Alias),
        })
    }

    /// Goes to the end of what begins with the event.
    fn skip_rest(&mut self, event: &Event<'a>) -> Result<(), String> {
        if matches!(event, Event::SequenceStart(..) | Event::MappingStart(..)) {
            let outside = self.depth.saturating_sub(1);
            while self.depth > outside {
                self.next()?;
            }
        }
        Ok(())
    }
}

fn line_of(span: Span) -> usize {
    span.start.line() + LINES_BEFORE
}

fn syntax_error(error: &ScanError) -> String {
    let (line, column) = (error.marker().line() + LINES_BEFORE, error.marker().col() + 1);
    // What most often goes wrong, and what the parser says of it helps nobody.
    let hint = if error.info().contains("mapping values are not allowed") {
        "; put a text that holds \": \" in quotes, or behind \"key: >-\" on lines of its own"
    } else {
        ""
    };
    format!("line {line}, column {column}: expected YAML, but: {}{hint}", error.info())
}

/// The numbers of YAML's core schema.
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x) \A (?:
            0o[0-7]+ | 0x[0-9a-fA-F]+
            | [-+]? (?: \.[0-9]+ | [0-9]+ (?: \.[0-9]* )? ) (?: [eE][-+]?[0-9]+ )?
            | [-+]? \.(?: inf | Inf | INF ) | \.(?: nan | NaN | NAN )
        ) \z",
    )
    .ok()
});

/// What a scalar is, by YAML's core schema, if it is no text.
fn kind_of(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Option<Kind> {
    match tag {
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => return None,
        Some(_) => return Some(Kind::Tagged),
        None if style != ScalarStyle::Plain => return None,
        None => {}
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Kind::Nothing),
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => Some(Kind::Boolean),
        _ => NUMBER.as_ref().is_some_and(|number| number.is_match(text)).then_some(Kind::Number),
    }
}

#[cfg(test)]
#[path = "yaml_test.rs"]
mod tests;
