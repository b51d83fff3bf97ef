//! Reads a log forward, in pieces, without its lock: what was there when it was opened never changes under append alone,
//! and a log that was cut meanwhile no longer fits the chain of checksums.

use std::fs::File;
use std::sync::{Arc, Mutex};

use super::known::Known;
use super::line::Position;
use super::log_file::LogFile;
use super::repair::damaged;
use super::scan::{Scan, ScanError};
use super::{LogState, Shared, locked};
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

    /// A line did not fit. The last append was found whole when the log was opened, so this is no torn end: either the
    /// log was cut meanwhile, or it is damaged.
    fn examine(&self, open: &OpenLog, at: Position, why: &str) -> StoreError {
        let path = self.shared.log_path(&self.session);
        match open.snapshot.holds(&open.file) {
            Ok(true) => damaged(&self.session, &path, at, why),
            Ok(false) => StoreError::Changed { session: self.session.clone() },
            Err(error) => StoreError::io("read", &path, &error),
        }
    }
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
                    return Err(self.examine(&open, at, why));
                }
                Err(ScanError::Io(error)) => {
                    return Err(StoreError::io("read", &self.shared.log_path(&self.session), &error));
                }
            }
        }
        if open.scan.position() != open.snapshot.end {
            // The file became shorter.
            return Err(StoreError::Changed { session: self.session.clone() });
        }
        self.mark(open.scan.position());
        Ok((!batch.is_empty()).then_some(batch))
    }
}
