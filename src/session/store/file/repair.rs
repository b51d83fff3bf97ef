//! Cuts off the end of a log that a crash left torn, after what is cut was copied beside it. Damage that a crash cannot have
//! left is never cut: it is an error that names the place.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::known::BadEnd;
use super::line::Position;
use super::open::{self, Access};
use super::scan::{is_tail, read_at};
use crate::session::log::SessionId;
use crate::session::store::{Repair, StoreError};

const COPY_BYTES: usize = 256 * 1024;
/// How many backups of one session may pile up before somebody must look.
const MOST_BACKUPS: u32 = 1000;

/// The session's backup numbered so, from 1.
pub(super) fn backup_path(folder: &Path, session: &SessionId, number: u32) -> PathBuf {
    if number == 1 { folder.join(format!("{session}.bak")) } else { folder.join(format!("{session}.{number}.bak")) }
}

/// Removes the session's backups.
pub(super) fn remove_backups(folder: &Path, session: &SessionId) -> Result<(), StoreError> {
    for number in 1..=MOST_BACKUPS {
        let path = backup_path(folder, session, number);
        let removed = open::if_there(fs::remove_file(&path));
        if removed.map_err(|error| StoreError::io("remove", &path, &error))?.is_none() {
            break;
        }
    }
    Ok(())
}

/// Answers the damage as an error unless it is a torn end.
pub(super) fn require_tail(file: &File, path: &Path, session: &SessionId, bad: &BadEnd) -> Result<u64, StoreError> {
    let failed = |error| StoreError::io("read", path, &error);
    let end = file.metadata().map_err(failed)?.len();
    let at = bad.known.end;
    if is_tail(file, at, end).map_err(failed)? {
        return Ok(end - at.offset);
    }
    Err(damaged(session, path, at, bad.why))
}

/// The error for the line after this place.
pub(super) fn damaged(session: &SessionId, path: &Path, at: Position, why: &str) -> StoreError {
    StoreError::Damaged {
        session: session.clone(),
        path: path.to_path_buf(),
        line: at.seq + 1,
        byte: at.offset,
        why: why.to_string(),
    }
}

/// Copies the torn end to a backup and cuts it off. The log is open for writing and locked.
pub(super) fn cut_tail(
    file: &File,
    path: &Path,
    folder: &Path,
    session: &SessionId,
    bad: &BadEnd,
) -> Result<Repair, StoreError> {
    let cut_bytes = require_tail(file, path, session, bad)?;
    let from = bad.known.end.offset;
    let (mut backup, backup_path) = new_backup(folder, session)?;
    copy(file, from, cut_bytes, &mut backup)
        .and_then(|()| backup.sync_all())
        .map_err(|error| StoreError::io("write", &backup_path, &error))
        .and_then(|()| open::sync_folder(folder))
        .inspect_err(|_| {
            // Half a backup would only mislead; the log still holds everything.
            let _ = fs::remove_file(&backup_path);
        })?;
    file.set_len(from).and_then(|()| file.sync_all()).map_err(|error| StoreError::io("cut", path, &error))?;
    Ok(Repair { session: session.clone(), head: bad.known.end.seq, cut_bytes, backup: Some(backup_path) })
}

fn new_backup(folder: &Path, session: &SessionId) -> Result<(File, PathBuf), StoreError> {
    for number in 1..=MOST_BACKUPS {
        let path = backup_path(folder, session, number);
        match open::open(&path, Access::CreateNew) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::io("make", &path, &error)),
        }
    }
    let what = format!("cannot back up the damaged end of session {session} in {}", folder.display());
    Err(StoreError::Io { what, why: format!("there are {MOST_BACKUPS} backups of it; look at them and remove them") })
}

fn copy(file: &File, from: u64, bytes: u64, backup: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut copied = 0;
    while copied < bytes {
        let wanted = usize::try_from(bytes - copied).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        let piece = buffer.get_mut(..wanted).unwrap_or_default();
        let read = read_at(file, piece, from + copied)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        backup.write_all(piece.get(..read).unwrap_or_default())?;
        copied += read as u64;
    }
    Ok(())
}
