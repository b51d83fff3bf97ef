//! What can go wrong in a store. Each has a stable `code()`; nothing was written when one is answered.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::session::log::SessionId;

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else appended, truncated or deleted meanwhile.
    #[error("session {session} is at event {actual}, not {expected}: somebody else has written to it")]
    Conflict { session: SessionId, expected: u64, actual: u64 },
    /// Somebody else cut or deleted the log meanwhile, and it has grown to the same head since.
    #[error("session {session} was taken back by somebody else, and has other events up to its head at {head}")]
    Replaced { session: SessionId, head: u64 },
    /// An id, an event or an option that cannot be used.
    #[error("{0}")]
    Refused(String),
    /// The log is damaged before its end: nothing is guessed.
    #[error("the log of session {session} is damaged at line {line}, byte {byte} of {}: {why}", .path.display())]
    Damaged { session: SessionId, path: PathBuf, line: u64, byte: u64, why: String },
    /// The session was truncated or deleted while it was read: read again.
    #[error("session {session} was truncated or deleted while it was read")]
    Changed { session: SessionId },
    /// No room is left; what was there before is whole.
    #[error("{what}: {why}; make room and try again")]
    Full { what: String, why: String },
    /// Somebody holds a lock for too long.
    #[error("{what} is locked by another process for over {waited_ms} ms")]
    Busy { what: String, waited_ms: u64 },
    /// The folder was there, and is no more.
    #[error("the session folder {} is gone: it was there before; restore it, or make a new agent", .path.display())]
    Gone { path: PathBuf },
    /// The system refused: permissions, a read-only file system, a broken disk.
    #[error("{what}: {why}")]
    Io { what: String, why: String },
    /// The store is closed.
    #[error("the session store is closed")]
    Closed,
}

impl StoreError {
    /// The stable code that the JS half maps to a class.
    pub fn code(&self) -> &'static str {
        match self {
            StoreError::Conflict { .. } => "checkpoint_conflict",
            StoreError::Replaced { .. } => "checkpoint_replaced",
            StoreError::Refused(_) => "store_refused",
            StoreError::Damaged { .. } => "session_damaged",
            StoreError::Changed { .. } => "session_changed",
            StoreError::Full { .. } => "store_full",
            StoreError::Busy { .. } => "store_busy",
            StoreError::Gone { .. } => "store_gone",
            StoreError::Io { .. } => "store_io",
            StoreError::Closed => "store_closed",
        }
    }

    /// A failure of the system, told with what was tried on which file.
    pub(super) fn io(action: &str, path: &Path, error: &io::Error) -> StoreError {
        let what = format!("cannot {action} {}", path.display());
        StoreError::of_system(what, error, is_full(error))
    }

    pub(super) fn of_system(what: String, why: &impl Display, full: bool) -> StoreError {
        let why = why.to_string();
        if full { StoreError::Full { what, why } } else { StoreError::Io { what, why } }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
