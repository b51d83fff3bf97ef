//! Events as they are read from a store: many in one piece of text, so that reading a long log allocates little.

use std::fmt::Write as _;

use super::SessionId;

/// One event as it was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredEvent<'a> {
    pub seq: u64,
    /// When it was stored: ISO 8601, UTC.
    pub ts: &'a str,
    /// The event's own JSON text, byte for byte as it was appended.
    pub json: &'a str,
}

impl StoredEvent<'_> {
    /// `seq` − 1; none for the first.
    pub fn parent_seq(&self) -> Option<u64> {
        self.seq.checked_sub(1).filter(|parent| *parent > 0)
    }

    /// Appends the whole record as JSON: `{ seq, sessionId, parentSeq, ts, event }`.
    pub fn write_json(&self, session: &SessionId, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = write!(out, "{{\"seq\":{},\"sessionId\":\"{session}\",\"parentSeq\":", self.seq);
        let _ = match self.parent_seq() {
            Some(parent) => write!(out, "{parent}"),
            None => write!(out, "null"),
        };
        out.push_str(",\"ts\":\"");
        out.push_str(self.ts);
        out.push_str("\",\"event\":");
        out.push_str(self.json);
        out.push('}');
    }
}

/// Successive events of one session.
#[derive(Debug, Default)]
pub struct EventBatch {
    text: String,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    seq: u64,
    start: usize,
    json_start: usize,
}

impl EventBatch {
    pub fn push(&mut self, seq: u64, ts: &str, json: &str) {
        let start = self.text.len();
        self.text.push_str(ts);
        self.entries.push(Entry { seq, start, json_start: self.text.len() });
        self.text.push_str(json);
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How much text it holds.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The number of the last event.
    pub fn last_seq(&self) -> Option<u64> {
        self.entries.last().map(|entry| entry.seq)
    }

    pub fn iter(&self) -> impl Iterator<Item = StoredEvent<'_>> {
        let ends = self.entries.iter().skip(1).map(|next| next.start).chain([self.text.len()]);
        self.entries.iter().zip(ends).filter_map(|(entry, end)| {
            let ts = self.text.get(entry.start..entry.json_start)?;
            let json = self.text.get(entry.json_start..end)?;
            Some(StoredEvent { seq: entry.seq, ts, json })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gives_back_what_was_pushed() {
        let mut batch = EventBatch::default();
        batch.push(4, "t4", "{\"a\":\"é\"}");
        batch.push(5, "t5", "{}");
        let events: Vec<_> = batch.iter().collect();
        assert_eq!(events[0], StoredEvent { seq: 4, ts: "t4", json: "{\"a\":\"é\"}" });
        assert_eq!(events[1], StoredEvent { seq: 5, ts: "t5", json: "{}" });
        assert_eq!((batch.len(), batch.last_seq()), (2, Some(5)));
    }

    #[test]
    fn the_first_event_has_no_parent() {
        let session = SessionId::new("s").unwrap();
        let mut json = String::new();
        StoredEvent { seq: 1, ts: "t", json: "{}" }.write_json(&session, &mut json);
        assert_eq!(json, r#"{"seq":1,"sessionId":"s","parentSeq":null,"ts":"t","event":{}}"#);
        json.clear();
        StoredEvent { seq: 3, ts: "t", json: "{}" }.write_json(&session, &mut json);
        assert!(json.contains(r#""parentSeq":2,"#));
    }
}
