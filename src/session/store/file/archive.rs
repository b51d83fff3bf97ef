//! Texts that are archived with a session: one file each, written whole and then given its name, read in pieces.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::open::{self, Access};
use super::scan::read_at;
use crate::session::log::{ArchiveId, SessionId};
use crate::session::store::{ArchivePage, CHARACTER_MARGIN_BYTES, StoreError, whole_characters};

/// Numbers the temporary files of this process.
static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The folder of a session's archives.
pub(super) fn folder(store: &Path, session: &SessionId) -> PathBuf {
    store.join(format!("{session}.archive"))
}

pub(super) fn put(store: &Path, session: &SessionId, archive: &ArchiveId, text: &str) -> Result<(), StoreError> {
    let folder = folder(store, session);
    open::make_folder(&folder)?;
    let number = TEMPORARY.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!("{archive}.{}.{number}.tmp", std::process::id()));
    let path = folder.join(archive.as_str());
    // One that a process of the same number left behind.
    let cleared = open::if_there(fs::remove_file(&temporary));
    cleared.map_err(|error| StoreError::io("remove", &temporary, &error))?;
    let written = open::open(&temporary, Access::CreateNew)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, &path));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        StoreError::io("write", &path, &error)
    })?;
    open::sync_folder(&folder)
}

pub(super) fn read(
    store: &Path,
    session: &SessionId,
    archive: &ArchiveId,
    offset: u64,
    max_bytes: usize,
) -> Result<Option<ArchivePage>, StoreError> {
    let path = folder(store, session).join(archive.as_str());
    let failed = |error: io::Error| StoreError::io("read", &path, &error);
    let Some(file) = open::if_there(open::open(&path, Access::Read)).map_err(failed)? else { return Ok(None) };
    let total_bytes = file.metadata().map_err(failed)?.len();
    let offset = offset.min(total_bytes);
    let window_offset = offset.saturating_sub(CHARACTER_MARGIN_BYTES);
    let wanted = (max_bytes as u64).saturating_add(offset - window_offset + CHARACTER_MARGIN_BYTES);
    let wanted = usize::try_from(wanted.min(total_bytes - window_offset)).unwrap_or(usize::MAX);
    let mut window = vec![0; wanted];
    let read = read_at(&file, &mut window, window_offset).map_err(failed)?;
    window.truncate(read);
    let (text, offset) = whole_characters(&window, window_offset, offset, max_bytes)
        .ok_or_else(|| failed(io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8: it was damaged")))?;
    Ok(Some(ArchivePage { text, offset, total_bytes }))
}
