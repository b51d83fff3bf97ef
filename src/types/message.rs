//! What the core needs to know of a message: its outline. The message itself stays with the host, frozen.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

/// An empty string, as JSON text.
const EMPTY: &str = "\"\"";

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// One call that the model made.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON text, at most 100 levels deep.
    pub input: Box<str>,
    /// Why the input cannot be used at all; the host holds a placeholder in its place.
    pub refused: Option<String>,
}

/// A message without its weight.
#[derive(Debug, Clone)]
pub struct MessageOutline {
    pub role: Role,
    pub calls: Vec<ToolCall>,
    /// Positions of blocks that hold nothing.
    pub empty_blocks: Vec<usize>,
    /// How many blocks there are; a string counts as one.
    pub blocks: usize,
    /// Any of them is text that is not empty.
    pub has_text: bool,
}

impl MessageOutline {
    /// A user message of one string.
    pub fn user_text(empty: bool) -> MessageOutline {
        MessageOutline {
            role: Role::User,
            calls: Vec::new(),
            empty_blocks: if empty { vec![0] } else { Vec::new() },
            blocks: 1,
            has_text: !empty,
        }
    }

    /// Whether a request could send any of it.
    pub fn says_something(&self) -> bool {
        self.blocks > self.empty_blocks.len()
    }
}

#[derive(Deserialize)]
struct MessageWire<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// All fields of all kinds of block: a tagged enum of serde would copy and lose the raw text.
#[derive(Deserialize)]
struct BlockWire<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow, rename = "mediaType")]
    media_type: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    provider: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
}

/// Reads the outline of a message.
///
/// # Errors
/// A sentence that names the place (`content[0].type`) and what was expected there.
pub fn outline(json: &str) -> Result<MessageOutline, String> {
    let wire: MessageWire<'_> = serde_json::from_str(json).map_err(|_| "must be an object".to_string())?;
    let role = match wire.role.as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        Some("system") => Role::System,
        Some(other) => return Err(format!("role must be \"user\", \"assistant\" or \"tool\", got \"{}\"", cut(other))),
        None => return Err("role is missing".to_string()),
    };
    let content = wire.content.ok_or("content is missing")?.get();
    let mut message = MessageOutline { role, calls: Vec::new(), empty_blocks: Vec::new(), blocks: 0, has_text: false };
    if content.starts_with('"') {
        message.blocks = 1;
        if content == EMPTY {
            message.empty_blocks.push(0);
        }
        message.has_text = content != EMPTY;
        return Ok(message);
    }
    let blocks: Vec<&RawValue> =
        serde_json::from_str(content).map_err(|_| "content must be a string or an array of blocks".to_string())?;
    message.blocks = blocks.len();
    for (index, block) in blocks.into_iter().enumerate() {
        read_block(&mut message, index, block.get()).map_err(|problem| format!("content[{index}]{problem}"))?;
    }
    let mut ids = HashSet::with_capacity(message.calls.len());
    if let Some(twice) = message.calls.iter().find(|call| !ids.insert(call.id.as_str())) {
        return Err(format!("content has two calls with the id \"{}\"", cut(&twice.id)));
    }
    Ok(message)
}

fn read_block(message: &mut MessageOutline, index: usize, json: &str) -> Result<(), String> {
    let block: BlockWire<'_> = serde_json::from_str(json).map_err(|_| " must be a block".to_string())?;
    let assistant = message.role == Role::Assistant;
    match block.kind.as_deref() {
        Some("text") => {
            if is_string(block.text, ".text")? == EMPTY {
                message.empty_blocks.push(index);
            } else {
                message.has_text = true;
            }
        }
        Some("reasoning") => {
            // Some providers hide what a model thought, and give its signature alone.
            let signature = block.signature.map(|signature| is_string(Some(signature), ".signature")).transpose()?;
            if is_string(block.text, ".text")? == EMPTY && signature.is_none_or(|signature| signature == EMPTY) {
                message.empty_blocks.push(index);
            }
        }
        Some("image") => {
            let media_type = is_string(block.media_type, ".mediaType")?;
            if is_string(block.data, ".data")? == EMPTY || media_type == EMPTY {
                message.empty_blocks.push(index);
            }
        }
        Some("tool_call") if assistant => {
            let id = non_empty(block.id, ".id")?;
            let name = non_empty(block.name, ".name")?;
            let (input, refused) = match block.input {
                Some(input) => (whole_characters(input.get()).into(), None),
                None => ("null".into(), Some("input is missing".to_string())),
            };
            message.calls.push(ToolCall { id, name, input, refused });
        }
        Some("tool_result") if !assistant => {
            non_empty(block.id, ".id")?;
            if block.content.is_none() {
                return Err(".content is missing".to_string());
            }
        }
        Some("native") => {
            non_empty(block.provider, ".provider")?;
        }
        Some("compaction") => {
            if block.content.is_some_and(|content| content.get() == EMPTY) {
                message.empty_blocks.push(index);
            }
        }
        Some(kind @ ("tool_call" | "tool_result")) => {
            return Err(format!(".type \"{kind}\" cannot be in a message of this role"));
        }
        Some(other) => {
            return Err(format!(
                ".type must be one of text, reasoning, image, tool_call, tool_result, native, compaction, got \"{}\"",
                cut(other)
            ));
        }
        None => return Err(".type is missing".to_string()),
    }
    Ok(())
}

/// The string as JSON text. It is not decoded: text may be long, and hold half a surrogate pair, which Rust cannot.
fn is_string<'a>(value: Option<&'a RawValue>, field: &str) -> Result<&'a str, String> {
    let value = value.ok_or_else(|| format!("{field} is missing"))?.get();
    if value.starts_with('"') { Ok(value) } else { Err(format!("{field} must be a string")) }
}

fn non_empty(value: Option<&RawValue>, field: &str) -> Result<String, String> {
    let text: String = serde_json::from_str(is_string(value, field)?)
        .map_err(|_| format!("{field} must be a string of whole characters"))?;
    if text.is_empty() { Err(format!("{field} must not be empty")) } else { Ok(text) }
}

/// JSON text as Rust can read it: half of a surrogate pair, which JS writes as an escape, becomes U+FFFD.
fn whole_characters(json: &str) -> Cow<'_, str> {
    if !json.contains("\\ud") {
        return Cow::Borrowed(json);
    }
    let mut whole = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, after)) = rest.split_once('\\') {
        whole.push_str(before);
        // `\ud8xx` to `\udfxx`; whole pairs are written as they are.
        let half = after.as_bytes().first_chunk::<5>().is_some_and(|escape| {
            escape.starts_with(b"ud") && matches!(escape.get(2), Some(b'8' | b'9' | b'a'..=b'f'))
        });
        let taken = if half {
            whole.push('\u{fffd}');
            5
        } else {
            whole.push('\\');
            let taken = after.chars().next().map_or(0, char::len_utf8);
            whole.push_str(after.get(..taken).unwrap_or_default());
            taken
        };
        rest = after.get(taken..).unwrap_or_default();
    }
    whole.push_str(rest);
    Cow::Owned(whole)
}

/// The start of foreign text, for an error message.
fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
#[path = "message_test.rs"]
mod tests;
