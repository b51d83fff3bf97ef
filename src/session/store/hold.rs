//! Holds on sessions, between processes: a lock file for each session that somebody uses, locked by the system, so that
//! the lock goes with its process however that ends. Knows nothing of logs.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Hold;
use super::error::StoreError;
use super::file::open;
use crate::session::log::SessionId;

/// How long somebody else's lock is waited for.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Which kind of lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockKind {
    Shared,
    Exclusive,
}

/// Waits for a lock on an open file. A lock of the system has no deadline, so it is asked for again and again.
///
/// # Errors
/// `Busy` after `LOCK_WAIT`.
pub(super) fn lock(file: &File, kind: LockKind, path: &Path) -> Result<(), StoreError> {
    let started = Instant::now();
    let mut attempt = 0;
    loop {
        if try_lock(file, kind, path)? {
            return Ok(());
        }
        if started.elapsed() >= LOCK_WAIT {
            let waited_ms = u64::try_from(LOCK_WAIT.as_millis()).unwrap_or(u64::MAX);
            return Err(StoreError::Busy { what: path.display().to_string(), waited_ms });
        }
        wait_before(attempt);
        attempt += 1;
    }
}

/// A pause before a lock is asked for again. Short, for whoever asks seldom gets nothing from those that lock again at once.
pub(super) fn wait_before(attempt: u32) {
    wait(Duration::from_micros(50 << attempt.min(4)));
}

#[expect(clippy::disallowed_methods, reason = "stores block, and are called where blocking is allowed")]
pub(super) fn wait(pause: Duration) {
    std::thread::sleep(pause);
}

fn try_lock(file: &File, kind: LockKind, path: &Path) -> Result<bool, StoreError> {
    let locked = match kind {
        LockKind::Shared => file.try_lock_shared(),
        LockKind::Exclusive => file.try_lock(),
    };
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(StoreError::io("lock", path, &error)),
    }
}

/// The folder of the lock files.
#[derive(Debug)]
pub(super) struct HoldFolder {
    folder: PathBuf,
}

/// A session's lock file, open and locked.
struct HoldFile {
    file: File,
    path: PathBuf,
}

impl HoldFolder {
    pub fn new(folder: PathBuf) -> HoldFolder {
        HoldFolder { folder }
    }

    fn path(&self, session: &SessionId) -> PathBuf {
        self.folder.join(format!("{session}.lock"))
    }

    pub fn make_folder(&self) -> Result<(), StoreError> {
        open::make_folder(&self.folder)
    }

    /// Holds the session, beside whoever else does.
    pub fn hold(&self, session: &SessionId) -> Result<Box<dyn Hold>, StoreError> {
        self.make_folder()?;
        let path = self.path(session);
        loop {
            let file = open_lock_file(&path)?;
            lock(&file, LockKind::Shared, &path)?;
            if open::is_linked(&file, &path)? {
                return Ok(Box::new(HoldFile { file, path }));
            }
        }
    }

    /// Runs `action` while nobody else holds the session, or can begin to. Answers none if somebody does.
    pub fn while_unheld<T>(
        &self,
        session: &SessionId,
        action: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let path = self.path(session);
        loop {
            let file = open_lock_file(&path)?;
            if !try_lock(&file, LockKind::Exclusive, &path)? {
                return Ok(None);
            }
            if !open::is_linked(&file, &path)? {
                continue;
            }
            let done = action();
            let removed = fs::remove_file(&path);
            drop(file);
            let done = done?;
            return match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", &path, &error)),
                _ => Ok(Some(done)),
            };
        }
    }
}

fn open_lock_file(path: &Path) -> Result<File, StoreError> {
    open::open(path, open::Access::CreateOrWrite).map_err(|error| StoreError::io("open", path, &error))
}

impl Hold for HoldFile {}

impl Drop for HoldFile {
    fn drop(&mut self) {
        // The last one to hold it takes the file away. Left behind it does no harm, so failures are no failures.
        if self.file.try_lock().is_ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}
