//! What can go wrong with a task list. Knows nothing of who asked.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a task list did not do what it was asked. Unless it is `Io`, nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TaskFailure {
    /// Something that cannot be: an unknown task, a cycle, too much of something.
    #[error("{0}")]
    Refused(String),
    /// A file of the list that holds nothing usable. Nothing is guessed, and nothing written over it.
    #[error("{} cannot be read: {why}; repair or remove that file", path.display())]
    Unreadable { path: PathBuf, why: String },
    /// Somebody holds the lock for too long.
    #[error(
        "the task list {} is locked by somebody else for over {waited_ms} ms; nothing was done, try again",
        path.display()
    )]
    Busy { path: PathBuf, waited_ms: u128 },
    /// The system refused: permissions, a full disk, a link where none may be.
    #[error("{what}: {why}")]
    Io { what: String, why: String },
}

impl TaskFailure {
    /// Stable, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            TaskFailure::Refused(_) => "tasks_refused",
            TaskFailure::Unreadable { .. } => "tasks_unreadable",
            TaskFailure::Busy { .. } => "tasks_busy",
            TaskFailure::Io { .. } => "tasks_io",
        }
    }

    /// A failure of the system, told with what was tried on which file.
    pub(super) fn io(action: &str, path: &Path, error: impl Into<io::Error>) -> TaskFailure {
        TaskFailure::Io { what: format!("cannot {action} {}", path.display()), why: plain(error) }
    }
}

/// The system's words; of a link, which is never followed here, clearer ones.
pub(super) fn plain(error: impl Into<io::Error>) -> String {
    let error = error.into();
    match error.raw_os_error() {
        Some(libc::ELOOP) => "it is a symbolic link, which is not followed".to_string(),
        _ => error.to_string(),
    }
}
