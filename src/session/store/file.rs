//! The store in a folder: one log a session, `<id>.jsonl`, one checksummed JSON line an event. Several processes may use it:
//! each append, cut and deletion is under a lock of the system on the log. Nothing is held open between calls.
//!
//! Beside a log may lie `<id>.lock` (while somebody holds the session) and `<id>.bak` (what was cut
//! off a torn end). No id has a dot, so these names never meet.

mod cleanup;
mod known;
mod line;
mod log_file;
pub(super) mod open;
mod reader;
mod repair;
mod scan;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::known::Known;
use self::line::Position;
use self::log_file::LogFile;
use self::scan::{Scan, ScanError};
use super::hold::HoldFolder;
use super::{
    CleanupReport, CleanupRequest, EventReader, Hold, Place, Repair, SessionInfo, Store, StoreError,
    milliseconds_since_epoch, now_ms, sort_by_recency,
};
use crate::session::log::{NewEvent, SessionId, iso_timestamp};

/// Of so many logs it is remembered where they end; what is not remembered is found again from the log's last lines.
const MOST_REMEMBERED: usize = 1024;
const EXTENSION: &str = ".jsonl";

/// Logs in a folder.
pub struct FileStore {
    shared: Arc<Shared>,
    holds: HoldFolder,
}

/// What readers share with the store.
struct Shared {
    folder: PathBuf,
    logs: Mutex<HashMap<SessionId, Arc<Mutex<LogState>>>>,
    repairs: Mutex<Vec<Repair>>,
    /// The folder was there: if it is not, somebody took it away.
    seen: AtomicBool,
    closed: AtomicBool,
}

/// What is remembered of one log.
#[derive(Debug, Default)]
struct LogState {
    known: Option<Known>,
    /// Grows when the log became another one: what a reader learned of the former says nothing of it.
    generation: u64,
}

impl FileStore {
    /// A store in this folder, which is made by the first append. Touches nothing yet.
    pub fn new(folder: impl Into<PathBuf>) -> FileStore {
        let folder = folder.into();
        FileStore {
            holds: HoldFolder::new(folder.clone()),
            shared: Arc::new(Shared {
                folder,
                logs: Mutex::default(),
                repairs: Mutex::default(),
                seen: AtomicBool::new(false),
                closed: AtomicBool::new(false),
            }),
        }
    }

    fn folder(&self) -> &Path {
        &self.shared.folder
    }
}

impl Shared {
    fn log_path(&self, session: &SessionId) -> PathBuf {
        self.folder.join(format!("{session}{EXTENSION}"))
    }

    fn state(&self, session: &SessionId) -> Arc<Mutex<LogState>> {
        let mut logs = locked(&self.logs);
        if logs.len() >= MOST_REMEMBERED && !logs.contains_key(session) {
            logs.retain(|_, state| Arc::strong_count(state) > 1);
        }
        logs.entry(session.clone()).or_default().clone()
    }

    fn require_open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// After a file was not found: an error if that is because the whole folder went.
    fn require_folder(&self) -> Result<(), StoreError> {
        // Before it is looked for: another thread may make it meanwhile, for the first time.
        let seen = self.seen.load(Ordering::Acquire);
        match fs::metadata(&self.folder) {
            Ok(found) if found.is_dir() => {
                self.seen.store(true, Ordering::Release);
                Ok(())
            }
            Ok(_) => Err(self.folder_error(&io::ErrorKind::NotADirectory.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if seen {
                    return Err(StoreError::Gone { path: self.folder.clone() });
                }
                Ok(())
            }
            Err(error) => Err(self.folder_error(&error)),
        }
    }

    fn folder_error(&self, error: &io::Error) -> StoreError {
        StoreError::io("use the session folder", &self.folder, error)
    }

    /// Makes the folder, once: if it goes later, that is an error and no new folder.
    fn make_folder(&self) -> Result<(), StoreError> {
        self.require_folder()?;
        if !self.seen.load(Ordering::Acquire) {
            open::make_folder(&self.folder)?;
            self.seen.store(true, Ordering::Release);
        }
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic left is looked at again under the file's lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileStore {
    /// Appends where the log ends as `expected` says, and answers its new end.
    fn append_checked(
        &self,
        session: &SessionId,
        events: &[NewEvent],
        expected_head: Option<u64>,
        mark: Option<&str>,
    ) -> Result<Position, StoreError> {
        self.shared.require_open()?;
        let state = self.shared.state(session);
        let mut state = locked(&state);
        let conflict = |expected, actual| StoreError::Conflict { session: session.clone(), expected, actual };
        let log = match LogFile::open_to_write(&self.shared, session)? {
            Some(log) => log,
            None => {
                if let Some(expected) = expected_head.filter(|head| *head > 0) {
                    return Err(conflict(expected, 0));
                }
                if events.is_empty() {
                    return Ok(Position::start(session.as_str()));
                }
                LogFile::create(&self.shared, session)?
            }
        };
        let end = log.update(&mut state)?.end;
        let is_other = mark.is_some_and(|mark| Some(mark) != mark_of(end).as_deref());
        let outcome = match expected_head {
            Some(expected) if expected != end.seq => Err(conflict(expected, end.seq)),
            _ if is_other => Err(StoreError::Replaced { session: session.clone(), head: end.seq }),
            _ if events.is_empty() => Ok(end),
            _ => append_lines(&log, &mut state, end, events),
        };
        if outcome.is_err() {
            log.remove_if_made_here();
        }
        outcome
    }
}

/// The chain of checksums vouches for all before it.
fn mark_of(end: Position) -> Option<String> {
    (end.seq > 0).then(|| format!("{:08x}", end.crc))
}

impl Store for FileStore {
    fn append(&self, session: &SessionId, events: &[NewEvent], expected_head: Option<u64>) -> Result<u64, StoreError> {
        self.append_checked(session, events, expected_head, None).map(|end| end.seq)
    }

    fn append_at(&self, session: &SessionId, events: &[NewEvent], place: &Place) -> Result<Place, StoreError> {
        let end = self.append_checked(session, events, Some(place.head), place.mark.as_deref())?;
        Ok(Place { head: end.seq, mark: mark_of(end) })
    }

    fn head(&self, session: &SessionId) -> Result<u64, StoreError> {
        self.shared.require_open()?;
        let state = self.shared.state(session);
        let mut state = locked(&state);
        let log = LogFile::open_to_read(&self.shared, session, &mut state)?;
        Ok(log.map_or(0, |(_, known)| known.end.seq))
    }

    fn reader(&self, session: &SessionId, since_seq: u64) -> Result<Box<dyn EventReader>, StoreError> {
        self.shared.require_open()?;
        Ok(Box::new(reader::FileReader::open(&self.shared, session, since_seq)?))
    }

    fn list(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.shared.require_open()?;
        self.shared.require_folder()?;
        let failed = |error: io::Error| StoreError::io("list", self.folder(), &error);
        let Some(entries) = open::if_there(fs::read_dir(self.folder())).map_err(failed)? else { return Ok(Vec::new()) };
        let mut sessions = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)) else { continue };
            let Ok(id) = SessionId::new(id) else { continue };
            // It may have been deleted meanwhile.
            let Some(metadata) = open::if_there(entry.metadata()).map_err(failed)? else { continue };
            if metadata.is_file() {
                let mtime_ms = metadata.modified().map_err(failed).map(milliseconds_since_epoch)?;
                sessions.push(SessionInfo { id, mtime_ms });
            }
        }
        sort_by_recency(&mut sessions);
        Ok(sessions)
    }

    fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.shared.require_open()?;
        self.shared.require_folder()?;
        cleanup::delete(&self.shared, session)?;
        // Its lock file goes too, unless somebody still holds it.
        if self.shared.seen.load(Ordering::Acquire) {
            self.holds.while_unheld(session, || Ok(()))?;
        }
        Ok(())
    }

    fn truncate_from(&self, session: &SessionId, to_seq: u64, expected_head: Option<u64>) -> Result<(), StoreError> {
        self.shared.require_open()?;
        let state = self.shared.state(session);
        let mut state = locked(&state);
        let unless_expected = |actual| match expected_head {
            Some(expected) if expected != actual => {
                Err(StoreError::Conflict { session: session.clone(), expected, actual })
            }
            _ => Ok(()),
        };
        let Some(log) = LogFile::open_to_write(&self.shared, session)? else { return unless_expected(0) };
        let known = match log.update(&mut state) {
            Ok(known) if expected_head.is_some_and(|expected| expected != known.end.seq) => {
                return unless_expected(known.end.seq);
            }
            Ok(known) if to_seq >= known.end.seq => return Ok(()),
            // Going back to before the damage is how to get rid of it; what is whole before it is known.
            Err(StoreError::Damaged { line, .. }) if line > to_seq => state.known.clone(),
            updated => Some(updated?.clone()),
        };
        let Some(known) = known else { return Err(StoreError::Changed { session: session.clone() }) };
        let from = known.mark_before(to_seq, Position::start(session.as_str()));
        let mut scan = Scan::new(from, known.end.offset);
        while scan.position().seq < to_seq {
            match scan.next(&log.file) {
                Ok(Some(_)) => {}
                Ok(None) => return Err(StoreError::Changed { session: session.clone() }),
                Err(ScanError::Io(error)) => return Err(log.failed("read", &error)),
                Err(ScanError::Bad { at, why }) => return Err(log.damaged(at, why)),
            }
        }
        // Where the line before a mark begins is not remembered: then the log's end is looked up anew next time.
        let (end, last_start) = (scan.position(), scan.last_start());
        log.file.set_len(end.offset).and_then(|()| log.file.sync_all()).map_err(|error| {
            state.known = None;
            log.failed("cut", &error)
        })?;
        state.generation += 1;
        match state.known.as_mut() {
            Some(known) if last_start < end.offset || end.seq == 0 => known.cut(end, last_start),
            _ => state.known = None,
        }
        Ok(())
    }

    fn hold(&self, session: &SessionId) -> Result<Box<dyn Hold>, StoreError> {
        self.shared.require_open()?;
        self.shared.make_folder()?;
        self.holds.hold(session)
    }

    fn cleanup(&self, request: &CleanupRequest) -> Result<CleanupReport, StoreError> {
        cleanup::run(&self.shared, &self.holds, request, self.list()?)
    }

    fn take_repairs(&self) -> Vec<Repair> {
        std::mem::take(&mut *locked(&self.shared.repairs))
    }

    fn close(&self) -> Result<(), StoreError> {
        self.shared.closed.store(true, Ordering::Release);
        locked(&self.shared.logs).clear();
        Ok(())
    }
}

/// Writes the events as one piece, durably. What could not be written whole is taken back.
fn append_lines(
    log: &LogFile,
    state: &mut LogState,
    end: Position,
    events: &[NewEvent],
) -> Result<Position, StoreError> {
    let ts = iso_timestamp(now_ms());
    let mut text = Vec::with_capacity(events.iter().map(|event| event.json().len() + 128).sum());
    let (mut position, mut last_start) = (end, end.offset);
    for event in events {
        last_start = end.offset + text.len() as u64;
        let seq = position.seq + 1;
        let crc = line::write(&mut text, position.crc, seq, end.seq + 1, &ts, event.json());
        position = Position { seq, offset: end.offset + text.len() as u64, crc };
    }
    let written = log.file.write_all_at(&text, end.offset).and_then(|()| log.file.sync_data());
    if let Err(error) = written {
        return Err(take_back(log, state, end, &error));
    }
    if end.offset == 0 {
        // The log is new: its name must last as well.
        log.sync_folder().inspect_err(|_| {
            let _ = log.file.set_len(0);
        })?;
    }
    if let Some(known) = state.known.as_mut() {
        known.extend(position, last_start);
    }
    Ok(position)
}

fn take_back(log: &LogFile, state: &mut LogState, end: Position, error: &io::Error) -> StoreError {
    let failed = log.failed("append to", error);
    let taken_back = log.file.set_len(end.offset).and_then(|()| log.file.sync_all());
    if taken_back.is_err() {
        // The next look finds out what is there, and cuts off what is torn.
        state.known = None;
    }
    failed
}
