//! An event before it is stored: its JSON text, and its kind, which is all that a store's caller must know of it.

use std::borrow::Cow;

use serde::Deserialize;

use crate::session::store::StoreError;

/// What an event records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    User,
    Assistant,
    ToolStarted,
    ToolResult,
    FileSnapshot,
    PermissionDecision,
    Summary,
    /// A kind that this version does not know. Stores take it; folding fails on it.
    Other,
}

impl EventKind {
    /// The kind that a `type` names.
    pub fn named(name: &str) -> EventKind {
        match name {
            "user" => EventKind::User,
            "assistant" => EventKind::Assistant,
            "tool_started" => EventKind::ToolStarted,
            "tool_result" => EventKind::ToolResult,
            "file_snapshot" => EventKind::FileSnapshot,
            "permission_decision" => EventKind::PermissionDecision,
            "summary" => EventKind::Summary,
            _ => EventKind::Other,
        }
    }
}

/// An event that is to be appended.
#[derive(Debug, Clone)]
pub struct NewEvent {
    kind: EventKind,
    json: Box<str>,
}

#[derive(Deserialize)]
struct KindWire<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

impl NewEvent {
    /// Takes JSON text as it is: an object with a `type`, on one line.
    ///
    /// # Errors
    /// `Refused`, with what is wrong with it.
    pub fn new(json: impl Into<Box<str>>) -> Result<NewEvent, StoreError> {
        let json = json.into();
        let refused = |why: &str| StoreError::Refused(format!("a session event must be {why}"));
        if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
            return Err(refused("JSON on one line"));
        }
        if !json.starts_with('{') || !json.ends_with('}') {
            return Err(refused("a JSON object"));
        }
        let wire: KindWire<'_> =
            serde_json::from_str(&json).map_err(|error| refused(&format!("a JSON object: {error}")))?;
        let kind = EventKind::named(wire.kind.as_deref().ok_or_else(|| refused("an object with a type"))?);
        Ok(NewEvent { kind, json })
    }

    pub fn kind(&self) -> EventKind {
        self.kind
    }

    pub fn json(&self) -> &str {
        &self.json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_byte_for_byte() {
        for json in [
            r#"{"type":"user","message":{"role":"user","content":"half \ud800 a pair"}}"#,
            r#"{ "type" : "user" , "message":{"content":1.0e0} }"#,
            r#"{"message":null,"type":"later_kind"}"#,
        ] {
            assert_eq!(NewEvent::new(json).unwrap().json(), json);
        }
        assert_eq!(NewEvent::new(r#"{"type":"summary"}"#).unwrap().kind(), EventKind::Summary);
        assert_eq!(NewEvent::new(r#"{"type":"later_kind"}"#).unwrap().kind(), EventKind::Other);
    }

    #[test]
    fn what_would_break_the_log_is_refused() {
        for json in
            ["", "{", "3", "[\"user\"]", "{}", r#"{"type":3}"#, "{\"type\":\n\"user\"}", " {\"type\":\"user\"}", "{}{}"]
        {
            assert_eq!(NewEvent::new(json).unwrap_err().code(), "store_refused", "{json}");
        }
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = format!("{{\"type\":\"user\",\"x\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(NewEvent::new(deep).unwrap().kind(), EventKind::User);
    }
}
