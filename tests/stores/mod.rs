//! What tests of stores share: events, reading a whole log, and running this test program as another process.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

pub mod conformance;

use std::path::Path;

use lite_agent::session::log::{NewEvent, SessionId};
use lite_agent::session::store::{Store, StoreError};

/// Whether the long proofs run in full.
#[expect(clippy::disallowed_methods, reason = "a test reads its own switch; no host is there to race with")]
pub fn long() -> bool {
    std::env::var("LITE_AGENT_LONG").is_ok_and(|value| value == "1")
}

pub fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// A user message of this text.
pub fn user(text: &str) -> NewEvent {
    event(&format!(r#"{{"type":"user","message":{{"role":"user","content":{text:?}}}}}"#))
}

pub fn event(json: &str) -> NewEvent {
    NewEvent::new(json).unwrap()
}

/// Number, time and text of the events after `since`, read in batches of so many bytes.
pub fn read_in(
    store: &dyn Store,
    session: &SessionId,
    since: u64,
    batch_bytes: usize,
) -> Result<Vec<(u64, String, String)>, StoreError> {
    let mut reader = store.reader(session, since)?;
    let mut events = Vec::new();
    while let Some(batch) = reader.next_batch(batch_bytes)? {
        assert!(!batch.is_empty());
        for stored in batch.iter() {
            events.push((stored.seq, stored.ts.to_string(), stored.json.to_string()));
        }
    }
    Ok(events)
}

/// The texts of all events, which must be numbered from 1 without gaps.
pub fn read(store: &dyn Store, session: &SessionId) -> Result<Vec<String>, StoreError> {
    let events = read_in(store, session, 0, 64 * 1024)?;
    for ((seq, _, _), expected) in events.iter().zip(1..) {
        assert_eq!(*seq, expected);
    }
    Ok(events.into_iter().map(|(_, _, json)| json).collect())
}

/// A temporary folder in memory, where there is one: for tests that are not about the disk, and write much.
pub fn quick_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Events as a run makes them: a user, an assistant with a call, its result, an answer.
pub fn conversation(events: u64) -> Vec<NewEvent> {
    let text = "It is what a model says about a file that it has read. ".repeat(8);
    (0..events)
        .map(|n| match n % 5 {
            0 => user(&format!("{n} {text}")),
            1 => event(&format!(
                r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"tool_call","id":"c{n}","name":"read_file","input":{{"path":"src/{n}.rs"}}}}]}}}}"#
            )),
            2 => event(&format!(r#"{{"type":"tool_started","id":"c{}","name":"read_file","turn":1}}"#, n - 1)),
            3 => event(&format!(
                r#"{{"type":"tool_result","turn":1,"result":{{"type":"tool_result","id":"c{}","content":"{text}{text}"}}}}"#,
                n - 2
            )),
            _ => event(&format!(
                r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            )),
        })
        .collect()
}
