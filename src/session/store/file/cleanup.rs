//! Deletes sessions: one that is asked for, or those that are old or too much. Never one that somebody holds.

use std::fs;
use std::io;
use std::path::Path;

use super::line::Position;
use super::open::{self, Access};
use super::scan::{FOREIGN, Scan, ScanError};
use super::{Shared, locked, repair};
use crate::session::log::SessionId;
use crate::session::store::hold::{self, HoldFolder, LockKind};
use crate::session::store::{CleanupReport, CleanupRequest, SessionInfo, StoreError, milliseconds_since_epoch};

/// Deletes the session's log, then what lies beside it.
pub(super) fn delete(shared: &Shared, session: &SessionId) -> Result<(), StoreError> {
    let state = shared.state(session);
    let mut state = locked(&state);
    let path = shared.log_path(session);
    // Under the lock, so that nobody's append is acknowledged and gone. What cannot be opened as a log cannot be locked
    // as one either: its name goes all the same.
    let opened = open::open(&path, Access::Read).ok();
    if let Some(file) = &opened {
        hold::lock(file, LockKind::Exclusive, &path)?;
        let mut scan = Scan::new(Position::start(session.as_str()), u64::MAX);
        if let Err(ScanError::Bad { at, why: why @ FOREIGN }) = scan.next(file) {
            return Err(repair::damaged(session, &path, at, why));
        }
    }
    remove(&path)?;
    state.known = None;
    state.generation += 1;
    drop(opened);
    repair::remove_backups(&shared.folder, session)?;
    match open::if_there(fs::metadata(&shared.folder)) {
        Ok(None) => Ok(()),
        _ => open::sync_folder(&shared.folder),
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    open::if_there(fs::remove_file(path)).map(drop).map_err(|error| StoreError::io("remove", path, &error))
}

/// Goes through the sessions, the oldest first.
pub(super) fn run(
    shared: &Shared,
    holds: &HoldFolder,
    request: &CleanupRequest,
    sessions: Vec<SessionInfo>,
) -> Result<CleanupReport, StoreError> {
    let mut report = CleanupReport::default();
    let mut sized = Vec::with_capacity(sessions.len());
    for session in sessions.into_iter().rev() {
        // Sizes are only looked at where they are asked for, or for what goes.
        let bytes = if request.max_bytes.is_some() { size(shared, &session.id)? } else { 0 };
        sized.push((session, bytes));
    }
    let mut total: u64 = sized.iter().map(|(_, bytes)| bytes).sum();
    for (session, bytes) in sized {
        let is_old = request.modified_before_ms.is_some_and(|before| session.mtime_ms < before);
        let is_too_much = request.max_bytes.is_some_and(|most| total > most);
        if !is_old && !is_too_much {
            continue;
        }
        match delete_unheld(shared, holds, &session) {
            Ok(Some(freed)) => {
                report.freed_bytes += freed;
                total = total.saturating_sub(bytes);
                report.deleted.push(session.id);
            }
            Ok(None) => report.held.push(session.id),
            Err(error) => report.failed.push((session.id, error)),
        }
    }
    Ok(report)
}

/// Deletes the session unless somebody holds it or has written to it meanwhile.
fn delete_unheld(shared: &Shared, holds: &HoldFolder, session: &SessionInfo) -> Result<Option<u64>, StoreError> {
    let deleted = holds.while_unheld(&session.id, || {
        let path = shared.log_path(&session.id);
        let found = open::if_there(fs::symlink_metadata(&path)).map_err(|error| looking(&path, &error))?;
        let Some(found) = found else { return Ok(Some(0)) };
        let modified = found.modified().map_err(|error| looking(&path, &error))?;
        if milliseconds_since_epoch(modified) != session.mtime_ms {
            return Ok(None);
        }
        let bytes = size(shared, &session.id)?;
        delete(shared, &session.id)?;
        Ok(Some(bytes))
    })?;
    Ok(deleted.flatten())
}

fn looking(path: &Path, error: &io::Error) -> StoreError {
    StoreError::io("look at", path, error)
}

/// What the log holds.
fn size(shared: &Shared, session: &SessionId) -> Result<u64, StoreError> {
    let path = shared.log_path(session);
    let log = open::if_there(fs::symlink_metadata(&path)).map_err(|error| looking(&path, &error))?;
    Ok(log.map_or(0, |metadata| metadata.len()))
}
