//! From a log's events to its conversation: successive tool results join into one message, a summary replaces all before it.
//! Messages stay JSON text, byte for byte. Incremental: an event costs what it is long. Knows no store.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::log::{EventKind, StoredEvent};

/// One message of a conversation, as JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoldedMessage {
    /// As it was stored.
    Message(Box<str>),
    /// The results of successive `tool_result` events, as one message of the user.
    Results(Box<str>),
}

impl FoldedMessage {
    pub fn json(&self) -> &str {
        let (FoldedMessage::Message(json) | FoldedMessage::Results(json)) = self;
        json
    }
}

/// A call that has no result in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredCall {
    pub id: String,
    pub name: String,
    /// The turn in which it was started; none if it never was.
    pub started_in_turn: Option<u32>,
}

/// A user's prompt, which the session can go back to before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The head just before it.
    pub seq: u64,
    pub ts: String,
    /// The `content` of the message, as JSON text: a string or blocks.
    pub content: Box<str>,
}

/// Why an event cannot be folded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} of the session {why}")]
pub struct FoldError {
    pub seq: u64,
    pub why: String,
}

/// A conversation that grows by events.
#[derive(Debug, Default)]
pub struct Fold {
    messages: Vec<FoldedMessage>,
    /// Results that are not yet joined, as JSON text, each with its place among the calls of the last message.
    results: Vec<(usize, Box<str>)>,
    /// The ids of the calls of the last message that made any, in order.
    order: Vec<String>,
    unanswered: Vec<UnansweredCall>,
}

/// What folding reads of an event. Texts are borrowed as they stand.
#[derive(Deserialize)]
struct EventWire<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    turn: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageWire<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BlockWire<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
}

impl Fold {
    /// Takes the next event.
    ///
    /// # Errors
    /// If it is of no kind that this version knows, or lacks what its kind must have. The conversation is as it was.
    pub fn push(&mut self, event: StoredEvent<'_>) -> Result<(), FoldError> {
        self.take(event.json).map_err(|why| FoldError { seq: event.seq, why })
    }

    fn take(&mut self, json: &str) -> Result<(), String> {
        let wire: EventWire<'_> = serde_json::from_str(json).map_err(|error| format!("cannot be read: {error}"))?;
        match EventKind::named(&wire.kind) {
            EventKind::User | EventKind::Assistant => {
                let message = wire.message.ok_or("has no message")?.get();
                let calls = read_calls(message)?;
                self.join_results();
                self.note(calls);
                self.messages.push(FoldedMessage::Message(message.into()));
            }
            EventKind::ToolResult => {
                let result = wire.result.ok_or("has no result")?.get();
                let block: BlockWire<'_> =
                    serde_json::from_str(result).map_err(|error| format!("has a result that is none: {error}"))?;
                let id = text(block.id);
                let place = self.order.iter().position(|call| *call == id).unwrap_or(usize::MAX);
                self.answer(&id);
                self.results.push((place, result.into()));
            }
            EventKind::Summary => {
                let messages: Vec<&RawValue> = serde_json::from_str(wire.messages.ok_or("has no messages")?.get())
                    .map_err(|error| format!("has messages that are no list: {error}"))?;
                let mut summary = Fold::default();
                for message in messages {
                    summary.note(read_calls(message.get())?);
                    summary.messages.push(FoldedMessage::Message(message.get().into()));
                }
                *self = summary;
            }
            EventKind::ToolStarted => {
                let id = text(wire.id);
                let turn = wire.turn.and_then(|turn| turn.get().parse().ok());
                if let Some(call) = self.unanswered.iter_mut().rev().find(|call| call.id == id) {
                    call.started_in_turn = turn.or(Some(0));
                }
            }
            EventKind::FileSnapshot | EventKind::PermissionDecision => {}
            EventKind::Other => {
                return Err(format!("has the type {:?}, which this version does not know", shortened(&wire.kind)));
            }
        }
        Ok(())
    }

    /// The calls that have no result, in the order in which they were made.
    pub fn unanswered(&self) -> &[UnansweredCall] {
        &self.unanswered
    }

    /// The conversation.
    pub fn finish(mut self) -> Vec<FoldedMessage> {
        self.join_results();
        self.messages
    }

    fn note(&mut self, blocks: Vec<Noted>) {
        if blocks.iter().any(|noted| matches!(noted, Noted::Call(..))) {
            self.order.clear();
        }
        for noted in blocks {
            match noted {
                Noted::Call(id, name) => {
                    self.order.push(id.clone());
                    self.unanswered.push(UnansweredCall { id, name, started_in_turn: None });
                }
                Noted::Result(id) => self.answer(&id),
            }
        }
    }

    fn answer(&mut self, id: &str) {
        // Most often the first one.
        if let Some(index) = self.unanswered.iter().position(|call| call.id == id) {
            self.unanswered.remove(index);
        }
    }

    /// Results were stored as they came; a model gets them in the order of its calls.
    fn join_results(&mut self) {
        if self.results.is_empty() {
            return;
        }
        self.results.sort_by_key(|(place, _)| *place);
        let mut json =
            String::with_capacity(self.results.iter().map(|(_, result)| result.len() + 1).sum::<usize>() + 32);
        json.push_str("{\"role\":\"user\",\"content\":[");
        for (index, (_, result)) in self.results.drain(..).enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&result);
        }
        json.push_str("]}");
        self.messages.push(FoldedMessage::Results(json.into()));
    }
}

/// The prompt, if the event is one.
///
/// # Errors
/// If it is an event of the user without a message.
pub fn prompt(event: StoredEvent<'_>) -> Result<Option<Prompt>, FoldError> {
    let failed = |why: String| FoldError { seq: event.seq, why };
    let wire: EventWire<'_> =
        serde_json::from_str(event.json).map_err(|error| failed(format!("cannot be read: {error}")))?;
    if EventKind::named(&wire.kind) != EventKind::User {
        return Ok(None);
    }
    let message = wire.message.ok_or_else(|| failed("has no message".to_string()))?;
    let message: MessageWire<'_> =
        serde_json::from_str(message.get()).map_err(|error| failed(format!("has a message that is none: {error}")))?;
    let content = message.content.map_or("\"\"", RawValue::get).into();
    Ok(Some(Prompt { seq: event.seq.saturating_sub(1), ts: event.ts.to_string(), content }))
}

/// What matters of a message's blocks.
enum Noted {
    Call(String, String),
    Result(String),
}

fn read_calls(message: &str) -> Result<Vec<Noted>, String> {
    let wire: MessageWire<'_> =
        serde_json::from_str(message).map_err(|error| format!("has a message that is none: {error}"))?;
    let content = wire.content.map_or("\"\"", RawValue::get);
    // Most messages have neither, and their text may be long.
    if content.starts_with('"') || memchr::memmem::find(content.as_bytes(), b"\"tool_").is_none() {
        return Ok(Vec::new());
    }
    let blocks: Vec<BlockWire<'_>> =
        serde_json::from_str(content).map_err(|error| format!("has a message whose blocks are none: {error}"))?;
    Ok(blocks
        .into_iter()
        .filter_map(|block| match block.kind.as_deref() {
            Some("tool_call") => Some(Noted::Call(text(block.id), text(block.name))),
            Some("tool_result") => Some(Noted::Result(text(block.id))),
            _ => None,
        })
        .collect())
}

/// A string's text. One that holds half a surrogate pair stays as JSON wrote it: it is only compared.
fn text(value: Option<&RawValue>) -> String {
    let json = value.map_or("\"\"", RawValue::get);
    serde_json::from_str(json).unwrap_or_else(|_| json.to_string())
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
#[path = "fold_test.rs"]
mod tests;
