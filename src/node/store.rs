//! Stores of sessions as JS holds them. Every operation is started and runs on a thread that may block; when it is over,
//! the store's number is woken, and JS takes what came of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use napi::bindgen_prelude::External;
use napi::{Error, Result};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::json;

use super::outcomes::{Outcomes, lock};
use super::text::Text;
use super::waker::Waker;
use crate::session::log::{EventBatch, NewEvent, SessionId};
use crate::session::store::{
    CleanupRequest, EventReader, FileStore, Hold, Place, SqliteOptions, SqliteStore, Store, StoreError,
};

/// How much text one batch of a reading has: to parse it takes JS about a millisecond.
const BATCH_BYTES: usize = 128 * 1024;

/// One store.
pub struct StoreHandle {
    shared: Arc<Shared>,
    outcomes: Arc<Outcomes>,
}

/// One reading of a session.
struct Reading {
    session: SessionId,
    reader: Box<dyn EventReader>,
    bare: bool,
}

struct Shared {
    options: StoreOptions,
    /// Opened by the first operation, on a thread that may block.
    opened: Mutex<Opened>,
    /// Readings that are going on, by their number. One that is being read is not here.
    readers: Mutex<HashMap<i64, Reading>>,
    /// Sessions that are in use, by the number of the operation that took them.
    holds: Mutex<HashMap<i64, Box<dyn Hold>>>,
}

enum Opened {
    NotYet,
    Open(Arc<dyn Store>),
    Closed,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum StoreOptions {
    File { dir: String },
    Sqlite { file: String, busy_timeout_ms: u32, full_sync: bool },
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Operation {
    /// The events come beside it, one a line.
    Append {
        session: String,
        expected_head: Option<u64>,
    },
    /// The same where the log is the one of this place. Answers the new place, `{ head, mark }`.
    AppendAt {
        session: String,
        head: u64,
        mark: Option<String>,
    },
    Head {
        session: String,
    },
    /// Begins a reading, which has the number of this operation. A bare one answers the events without their records.
    Read {
        session: String,
        since_seq: u64,
        bare: bool,
    },
    /// The next batch of a reading; null at its end.
    Next {
        reader: i64,
    },
    List,
    Delete {
        session: String,
    },
    Truncate {
        session: String,
        to_seq: u64,
        expected_head: Option<u64>,
    },
    Hold {
        session: String,
    },
    /// Lets go of the reading or the hold that the operation of this number began.
    Release {
        number: i64,
    },
    Cleanup {
        modified_before_ms: Option<u64>,
        max_bytes: Option<u64>,
    },
    Close,
}

/// Makes a store; `number` is what its wakes carry. Touches no disk yet.
#[napi(catch_unwind)]
pub fn store_new(options: String, number: i64, waker: &External<Waker>) -> Result<External<StoreHandle>> {
    let options = serde_json::from_str(&options).map_err(|error| Error::from_reason(error.to_string()))?;
    let waker: &Waker = waker;
    let shared =
        Shared { options, opened: Mutex::new(Opened::NotYet), readers: Mutex::default(), holds: Mutex::default() };
    Ok(External::new(StoreHandle { shared: Arc::new(shared), outcomes: Outcomes::new(number, waker.clone()) }))
}

/// Starts an operation, given as JSON text. `storeTake` tells what came of it, after a wake.
#[napi(catch_unwind)]
pub fn store_start(
    handle: &External<StoreHandle>,
    number: i64,
    operation: String,
    events: Option<String>,
) -> Result<()> {
    let operation = serde_json::from_str(&operation).map_err(|error| Error::from_reason(error.to_string()))?;
    let shared = handle.shared.clone();
    handle.outcomes.start(number, move || {
        shared.perform(number, operation, events.as_deref()).map_err(|error| error_data(&error))
    });
    Ok(())
}

/// What came of operations since the last call: JSON text of `({ op, ok } | { op, error })[]`.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn store_take(handle: &External<StoreHandle>) -> Text {
    handle.outcomes.take()
}

impl Shared {
    fn store(&self) -> std::result::Result<Arc<dyn Store>, StoreError> {
        let mut opened = lock(&self.opened);
        match &*opened {
            Opened::Open(store) => return Ok(store.clone()),
            Opened::Closed => return Err(StoreError::Closed),
            Opened::NotYet => {}
        }
        let store: Arc<dyn Store> = match &self.options {
            StoreOptions::File { dir } => Arc::new(FileStore::new(dir)),
            StoreOptions::Sqlite { file, busy_timeout_ms, full_sync } => {
                let options = SqliteOptions {
                    busy_timeout_ms: *busy_timeout_ms,
                    full_sync: *full_sync,
                    ..SqliteOptions::default()
                };
                Arc::new(SqliteStore::open(file, &options)?)
            }
        };
        *opened = Opened::Open(store.clone());
        Ok(store)
    }

    /// Answers JSON text.
    fn perform(
        &self,
        number: i64,
        operation: Operation,
        events: Option<&str>,
    ) -> std::result::Result<String, StoreError> {
        match operation {
            Operation::Append { session, expected_head } => {
                let session = SessionId::new(&session)?;
                let events = new_events(events)?;
                self.store()?.append(&session, &events, expected_head).map(|head| head.to_string())
            }
            Operation::AppendAt { session, head, mark } => {
                let session = SessionId::new(&session)?;
                let events = new_events(events)?;
                let Place { head, mark } = self.store()?.append_at(&session, &events, &Place { head, mark })?;
                Ok(json!({ "head": head, "mark": mark }).to_string())
            }
            Operation::Head { session } => self.store()?.head(&SessionId::new(&session)?).map(|head| head.to_string()),
            Operation::Read { session, since_seq, bare } => {
                let session = SessionId::new(&session)?;
                let reader = self.store()?.reader(&session, since_seq)?;
                self.read(number, Reading { session, reader, bare })
            }
            Operation::Next { reader: number } => {
                let reading = lock(&self.readers).remove(&number);
                // A closed store has let go of them all: that is no end of the log.
                let _open = self.store()?;
                reading.map_or_else(|| Ok(null()), |reading| self.read(number, reading))
            }
            Operation::List => {
                let sessions = self.store()?.list()?;
                let listed: Vec<_> = sessions
                    .iter()
                    .map(|session| json!({ "id": session.id.as_str(), "mtime": session.mtime_ms }))
                    .collect();
                Ok(json!(listed).to_string())
            }
            Operation::Delete { session } => self.store()?.delete(&SessionId::new(&session)?).map(|()| null()),
            Operation::Truncate { session, to_seq, expected_head } => {
                let session = SessionId::new(&session)?;
                self.store()?.truncate_from(&session, to_seq, expected_head).map(|()| null())
            }
            Operation::Hold { session } => {
                let hold = self.store()?.hold(&SessionId::new(&session)?)?;
                lock(&self.holds).insert(number, hold);
                Ok(null())
            }
            Operation::Release { number } => {
                drop(lock(&self.readers).remove(&number));
                drop(lock(&self.holds).remove(&number));
                Ok(null())
            }
            Operation::Cleanup { modified_before_ms, max_bytes } => {
                let report = self.store()?.cleanup(&CleanupRequest { modified_before_ms, max_bytes })?;
                let failed: Vec<_> =
                    report.failed.iter().map(|(session, error)| format!("{session}: {error}")).collect();
                Ok(json!({ "deleted": report.deleted.len(), "freedBytes": report.freed_bytes, "failed": failed })
                    .to_string())
            }
            Operation::Close => {
                lock(&self.readers).clear();
                lock(&self.holds).clear();
                match std::mem::replace(&mut *lock(&self.opened), Opened::Closed) {
                    Opened::Open(store) => store.close().map(|()| null()),
                    Opened::NotYet | Opened::Closed => Ok(null()),
                }
            }
        }
    }

    /// Reads one batch: JSON text of `{ first, events, repairs }`, or null at the end. `first` is the number of the first
    /// event; the others follow it without a gap.
    fn read(&self, number: i64, mut reading: Reading) -> std::result::Result<String, StoreError> {
        let batch = reading.reader.next_batch(BATCH_BYTES)?;
        let store = self.store()?;
        let repairs: Vec<_> = store.take_repairs().iter().map(crate::session::store::Repair::message).collect();
        let Some(batch) = batch else {
            return Ok(if repairs.is_empty() {
                null()
            } else {
                json!({ "events": [], "repairs": repairs }).to_string()
            });
        };
        let text = batch_text(&batch, &reading, &repairs);
        lock(&self.readers).insert(number, reading);
        Ok(text)
    }
}

fn null() -> String {
    "null".to_string()
}

fn batch_text(batch: &EventBatch, reading: &Reading, repairs: &[String]) -> String {
    let of_record = if reading.bare { 1 } else { 120 };
    let mut text = String::with_capacity(batch.bytes() + batch.len() * of_record);
    text.push_str("{\"events\":[");
    for (index, event) in batch.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        if reading.bare {
            text.push_str(event.json);
        } else {
            event.write_json(&reading.session, &mut text);
        }
    }
    text.push_str("],\"first\":");
    text.push_str(&json!(batch.iter().next().map(|event| event.seq)).to_string());
    text.push_str(",\"repairs\":");
    text.push_str(&json!(repairs).to_string());
    text.push('}');
    text
}

/// The events, one a line.
fn new_events(lines: Option<&str>) -> std::result::Result<Vec<NewEvent>, StoreError> {
    lines.unwrap_or_default().lines().map(NewEvent::new).collect()
}

fn error_data(error: &StoreError) -> serde_json::Value {
    let mut data = json!({ "code": error.code(), "message": error.to_string() });
    let conflict = match error {
        StoreError::Conflict { session, expected, actual } => Some((session, *expected, *actual)),
        StoreError::Replaced { session, head } => Some((session, *head, *head)),
        _ => None,
    };
    if let (Some((session, expected, actual)), Some(fields)) = (conflict, data.as_object_mut()) {
        fields.insert("sessionId".to_string(), json!(session.as_str()));
        fields.insert("expected".to_string(), json!(expected));
        fields.insert("actual".to_string(), json!(actual));
    }
    data
}
