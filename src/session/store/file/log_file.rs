//! A log that is open and locked for one operation, and the look at its end that each begins with.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::known::{self, BadEnd, Known, Look};
use super::line::Position;
use super::open::{self, Access};
use super::{LogState, Shared, locked, repair};
use crate::session::log::SessionId;
use crate::session::store::hold::{self, LockKind};
use crate::session::store::{Repair, StoreError};

/// An open log. Its lock goes with it.
pub(super) struct LogFile<'a> {
    shared: &'a Shared,
    session: &'a SessionId,
    pub file: File,
    pub path: PathBuf,
    made_here: bool,
}

impl<'a> LogFile<'a> {
    /// Opens and locks the log for writing, if there is one.
    pub fn open_to_write(shared: &'a Shared, session: &'a SessionId) -> Result<Option<LogFile<'a>>, StoreError> {
        LogFile::open(shared, session, Access::Write, LockKind::Exclusive)
    }

    /// Opens the log for writing, and makes it first if need be.
    pub fn create(shared: &'a Shared, session: &'a SessionId) -> Result<LogFile<'a>, StoreError> {
        shared.make_folder()?;
        let path = shared.log_path(session);
        loop {
            let (access, made_here) = match open::open(&path, Access::CreateNew) {
                Ok(file) => (Ok(file), true),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    (open::open(&path, Access::CreateOrWrite), false)
                }
                Err(error) => (Err(error), false),
            };
            let file = match access {
                Ok(file) => file,
                Err(error) => {
                    // A folder that vanished is told as such.
                    shared.require_folder()?;
                    return Err(StoreError::io("make", &path, &error));
                }
            };
            hold::lock(&file, LockKind::Exclusive, &path)?;
            if open::is_linked(&file, &path)? {
                return Ok(LogFile { shared, session, file, path, made_here });
            }
        }
    }

    /// Opens and locks the log if there is one.
    fn open(
        shared: &'a Shared,
        session: &'a SessionId,
        access: Access,
        kind: LockKind,
    ) -> Result<Option<LogFile<'a>>, StoreError> {
        let path = shared.log_path(session);
        loop {
            let opened = open::if_there(open::open(&path, access));
            let Some(file) = opened.map_err(|error| StoreError::io("open", &path, &error))? else {
                shared.require_folder()?;
                return Ok(None);
            };
            shared.seen.store(true, Ordering::Release);
            hold::lock(&file, kind, &path)?;
            // Somebody may have deleted it while its lock was waited for.
            if open::is_linked(&file, &path)? {
                return Ok(Some(LogFile { shared, session, file, path, made_here: false }));
            }
        }
    }

    /// Opens the log for reading, if there is one, and answers where it ends. A torn end is cut first; where the log cannot
    /// be written, it is left, and the log ends before it.
    pub fn open_to_read(
        shared: &'a Shared,
        session: &'a SessionId,
        state: &mut LogState,
    ) -> Result<Option<(LogFile<'a>, Known)>, StoreError> {
        let Some(log) = LogFile::open(shared, session, Access::Read, LockKind::Shared)? else { return Ok(None) };
        match log.look(state)? {
            Look::Whole(known) => return Ok(Some((log, known))),
            Look::Bad(bad) => {
                // Damage that is no torn end needs no writing to be told.
                repair::require_tail(&log.file, &log.path, session, &bad)?;
            }
        }
        drop(log);
        let unwritable = match LogFile::open_to_write(shared, session) {
            Ok(None) => return Ok(None),
            Ok(Some(log)) => match log.update(state) {
                Ok(known) => return Ok(Some((log, known.clone()))),
                Err(damaged @ StoreError::Damaged { .. }) => return Err(damaged),
                Err(error) => error,
            },
            Err(error) => error,
        };
        let Some(log) = LogFile::open(shared, session, Access::Read, LockKind::Shared)? else { return Ok(None) };
        match log.look(state)? {
            Look::Whole(known) => Ok(Some((log, known))),
            Look::Bad(bad) => {
                tracing::warn!(%unwritable, "a torn end of a session's log is left");
                let cut_bytes = repair::require_tail(&log.file, &log.path, session, &bad)?;
                log.tell(Repair { session: session.clone(), head: bad.known.end.seq, cut_bytes, backup: None });
                Ok(Some((log, bad.known)))
            }
        }
    }

    /// Looks at what was written since the last time.
    fn look(&self, state: &mut LogState) -> Result<Look, StoreError> {
        let start = Position::start(self.session.as_str());
        let before = state.known.take();
        let held = before.as_ref().map(|known| known.holds(&self.file)).transpose();
        let look = held.and_then(|held| {
            if held == Some(false) {
                state.generation += 1;
            }
            known::look(&self.file, before, start)
        });
        let look = look.map_err(|error| self.failed("read", &error))?;
        state.known = Some(match &look {
            Look::Whole(known) | Look::Bad(BadEnd { known, .. }) => known.clone(),
        });
        Ok(look)
    }

    /// Looks, and cuts off a torn end. The log is locked for writing.
    pub fn update<'s>(&self, state: &'s mut LogState) -> Result<&'s mut Known, StoreError> {
        let known = match self.look(state)? {
            Look::Whole(known) => known,
            Look::Bad(bad) => self.cut(bad)?,
        };
        Ok(state.known.insert(known))
    }

    /// Cuts off what a crash can have left; everything else is an error.
    pub fn cut(&self, bad: BadEnd) -> Result<Known, StoreError> {
        let repair = repair::cut_tail(&self.file, &self.path, &self.shared.folder, self.session, &bad)?;
        self.tell(repair);
        Ok(bad.known)
    }

    fn tell(&self, repair: Repair) {
        let mut repairs = locked(&self.shared.repairs);
        // What cannot be cut is found again by each look.
        if repairs.last() != Some(&repair) {
            repairs.push(repair);
        }
    }

    pub fn sync_folder(&self) -> Result<(), StoreError> {
        open::sync_folder(&self.shared.folder)
    }

    pub fn failed(&self, action: &str, error: &io::Error) -> StoreError {
        StoreError::io(action, &self.path, error)
    }

    pub fn damaged(&self, at: Position, why: &str) -> StoreError {
        repair::damaged(self.session, &self.path, at, why)
    }

    /// After a first append that failed: an empty log is no session.
    pub fn remove_if_made_here(&self) {
        let is_empty = self.file.metadata().is_ok_and(|metadata| metadata.len() == 0);
        if self.made_here && is_empty {
            // It is locked, so nobody has written to it. Left behind it is an empty session, which does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}
