//! The port of stores: where the logs of sessions live. Its methods block (files, locks, databases): call them where
//! blocking is allowed, never on the thread of a family. Knows nothing of what events mean.

mod error;
mod file;
mod hold;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

pub use error::StoreError;
pub use file::FileStore;
pub use memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};

use super::log::{EventBatch, NewEvent, SessionId};

/// Where logs are kept. One contract for all: `tests/session_stores.rs` runs it over each.
///
/// What an `append` acknowledged is durable, and no later failure takes it away. A store that fails leaves the log as it
/// was before the call.
pub trait Store: Send + Sync {
    /// Appends all events or none, numbered on from the head, and answers the new head. `expected_head`, if given, must be
    /// the head; a session that nobody stored has the head 0.
    ///
    /// # Errors
    /// `Conflict` if it is not: nothing was written.
    fn append(&self, session: &SessionId, events: &[NewEvent], expected_head: Option<u64>) -> Result<u64, StoreError>;

    /// As `append`, where the log must also be the one that `place` was answered of: one that was cut or deleted, and has
    /// grown since, may have that head again. Without events it answers the place of the head.
    ///
    /// # Errors
    /// `Conflict`, `Replaced`: nothing was written.
    fn append_at(&self, session: &SessionId, events: &[NewEvent], place: &Place) -> Result<Place, StoreError>;

    /// The number of the last event; 0 for an unknown session. The work does not grow with the log.
    fn head(&self, session: &SessionId) -> Result<u64, StoreError>;

    /// Opens the log as it is now for reading, from the event after `since_seq` on. An unknown session has no events.
    fn reader(&self, session: &SessionId, since_seq: u64) -> Result<Box<dyn EventReader>, StoreError>;

    /// All sessions, most recent first. Reads no log.
    fn list(&self) -> Result<Vec<SessionInfo>, StoreError>;

    /// Takes the session away. Nothing happens if there is none.
    fn delete(&self, session: &SessionId) -> Result<(), StoreError>;

    /// Takes away the events after `to_seq`. Nothing happens if there are none.
    fn truncate(&self, session: &SessionId, to_seq: u64) -> Result<(), StoreError> {
        self.truncate_from(session, to_seq, None)
    }

    /// The same; `expected_head`, if given, must be the head.
    ///
    /// # Errors
    /// `Conflict` if it is not: nothing was taken away.
    fn truncate_from(&self, session: &SessionId, to_seq: u64, expected_head: Option<u64>) -> Result<(), StoreError>;

    /// Marks the session as in use until the hold is dropped: `cleanup`, also of other processes, leaves it alone.
    fn hold(&self, session: &SessionId) -> Result<Box<dyn Hold>, StoreError>;

    /// Deletes what is old or too much, oldest first, never what is held.
    fn cleanup(&self, request: &CleanupRequest) -> Result<CleanupReport, StoreError>;

    /// What was cut off damaged logs since the last call: each wants a `session_repaired` diagnostic.
    fn take_repairs(&self) -> Vec<Repair>;

    /// Releases what is open. Whatever is asked of the store afterwards fails with `Closed`.
    fn close(&self) -> Result<(), StoreError>;
}

/// Reads one log, forward, as it was when the reader was made.
pub trait EventReader: Send {
    /// The next events: at least one, and no more than fit `max_bytes` (a longer one comes alone). None at the end.
    ///
    /// # Errors
    /// `Damaged`, with the place; `Changed` when the session was deleted or truncated meanwhile.
    fn next_batch(&mut self, max_bytes: usize) -> Result<Option<EventBatch>, StoreError>;
}

/// Keeps a session from being cleaned up while it lives.
pub trait Hold: Send + Sync {}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub head: u64,
    /// Tells the log from another one with the same head. None of an empty one, and where it is not known.
    pub mark: Option<String>,
}

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    pub id: SessionId,
    /// When it last changed, in milliseconds since the epoch.
    pub mtime_ms: u64,
}

/// What a clean-up takes away.
#[derive(Debug, Clone, Default)]
pub struct CleanupRequest {
    /// Sessions that last changed before this moment, in milliseconds since the epoch.
    pub modified_before_ms: Option<u64>,
    /// The oldest, until the rest holds no more than this.
    pub max_bytes: Option<u64>,
}

/// What a clean-up did.
#[derive(Debug, Default)]
pub struct CleanupReport {
    pub deleted: Vec<SessionId>,
    /// Would have been deleted, but somebody holds them, or has just written to them.
    pub held: Vec<SessionId>,
    pub freed_bytes: u64,
    /// Could not be deleted; the others were.
    pub failed: Vec<(SessionId, StoreError)>,
}

/// The end of a log was torn or damaged, and was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    pub session: SessionId,
    /// The last event that is whole.
    pub head: u64,
    /// How many bytes were cut.
    pub cut_bytes: u64,
    /// Where they are kept. None: the folder cannot be written, and they were left where they are, unread.
    pub backup: Option<PathBuf>,
}

impl Repair {
    /// For the diagnostic.
    pub fn message(&self) -> String {
        let Repair { session, head, cut_bytes, backup } = self;
        let what = format!("the log of session {session} ended in {cut_bytes} bytes that are no whole record");
        match backup {
            Some(path) => format!("{what}: it was cut after event {head}, and they are kept in {}", path.display()),
            None => format!("{what}: it was read up to event {head}, and they were left, for it cannot be written"),
        }
    }
}

fn now_ms() -> u64 {
    milliseconds_since_epoch(SystemTime::now())
}

fn milliseconds_since_epoch(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Most recent first; those of one moment by name, so that the order is always the same.
fn sort_by_recency(sessions: &mut [SessionInfo]) {
    sessions.sort_unstable_by(|a, b| b.mtime_ms.cmp(&a.mtime_ms).then_with(|| a.id.cmp(&b.id)));
}
