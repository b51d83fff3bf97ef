//! Reads a log forward, in pieces, without its lock: what was there when it was opened never changes under append alone,
//! and a log that was cut meanwhile no longer fits the chain of checksums.

use std::fs::File;
use std::sync::{Arc, Mutex};

use super::known::{BadEnd, Known};
use super::line::Position;
use super::log_file::LogFile;
use super::scan::{Scan, ScanError};
use super::{LogState, Shared, locked, repair};
use crate::session::log::{EventBatch, SessionId};
use crate::session::store::{EventReader, StoreError};

pub(super) struct FileReader {
    shared: Arc<Shared>,
    session: SessionId,
    state: Arc<Mutex<LogState>>,
    generation: u64,
    since_seq: u64,
    open: Option<OpenLog>,
}

/// What is still to be read, up to the end that was known when it was opened.
struct OpenLog {
    file: File,
    scan: Scan,
    snapshot: Known,
}

impl FileReader {
    pub fn open(shared: &Arc<Shared>, session: &SessionId, since_seq: u64) -> Result<FileReader, StoreError> {
        let state = shared.state(session);
        let (open, generation) = {
            let mut state = locked(&state);
            let opened = LogFile::open_to_read(shared, session, &mut state)?;
            let open = match opened {
                // The lock goes with the open file: reading needs a file of its own, and the lock must go now.
                Some((log, known)) => {
                    let from = known.mark_before(since_seq, Position::start(session.as_str()));
                    let scan = Scan::new(from, known.end.offset);
                    log.file.unlock().map_err(|error| log.failed("unlock", &error))?;
                    Some(OpenLog { file: log.file, scan, snapshot: known })
                }
                None => None,
            };
            (open, state.generation)
        };
        Ok(FileReader { shared: shared.clone(), session: session.clone(), state, generation, since_seq, open })
    }

    /// Remembers how far the log was read, for later readers.
    fn mark(&self, place: Position) {
        let mut state = locked(&self.state);
        if state.generation == self.generation
            && let Some(known) = state.known.as_mut()
        {
            known.mark(place);
        }
    }

    /// A line did not fit: what is the matter? Answers nothing if it was a torn end after all, which was cut.
    fn examine(&self, open: &OpenLog, at: Position, why: &'static str) -> Result<(), StoreError> {
        let changed = || StoreError::Changed { session: self.session.clone() };
        let mut state = locked(&self.state);
        let Some(log) = LogFile::open_to_write(&self.shared, &self.session).or_else(|_unwritable| {
            // Where nothing can be cut, nothing is: the place is told.
            damage(&self.shared, &self.session, open, at, why).map(|()| None)
        })?
        else {
            return Err(changed());
        };
        let held = open.snapshot.holds(&log.file).map_err(|error| log.failed("read", &error))?;
        if state.generation != self.generation || !held {
            return Err(changed());
        }
        let mut whole = open.snapshot.clone();
        whole.cut(at, open.scan.last_start());
        repair::require_tail(&log.file, &log.path, &self.session, &BadEnd { known: whole.clone(), why })?;
        state.known = None;
        state.generation += 1;
        state.known = Some(log.cut(BadEnd { known: whole, why })?);
        Ok(())
    }
}

fn damage(
    shared: &Shared,
    session: &SessionId,
    open: &OpenLog,
    at: Position,
    why: &'static str,
) -> Result<(), StoreError> {
    let path = shared.log_path(session);
    let held = open.snapshot.holds(&open.file).map_err(|error| StoreError::io("read", &path, &error))?;
    if !held {
        return Ok(());
    }
    Err(StoreError::Damaged { session: session.clone(), path, line: at.seq + 1, byte: at.offset, why: why.to_string() })
}

impl EventReader for FileReader {
    fn next_batch(&mut self, max_bytes: usize) -> Result<Option<EventBatch>, StoreError> {
        self.shared.require_open()?;
        let Some(mut open) = self.open.take() else { return Ok(None) };
        let mut batch = EventBatch::default();
        loop {
            match open.scan.next(&open.file) {
                Ok(Some(line)) => {
                    if line.seq > self.since_seq {
                        batch.push(line.seq, line.ts, line.event);
                    }
                    if batch.bytes() >= max_bytes && !batch.is_empty() {
                        self.mark(open.scan.position());
                        self.open = Some(open);
                        return Ok(Some(batch));
                    }
                }
                Ok(None) => break,
                Err(ScanError::Bad { at, why }) => {
                    self.examine(&open, at, why)?;
                    break;
                }
                Err(ScanError::Io(error)) => {
                    return Err(StoreError::io("read", &self.shared.log_path(&self.session), &error));
                }
            }
        }
        self.mark(open.scan.position());
        Ok((!batch.is_empty()).then_some(batch))
    }
}
