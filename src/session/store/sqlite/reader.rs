//! Reads a log from the database in pieces, each in a transaction of its own, so that a reader that rests holds nothing up.

use std::sync::Arc;

use super::content::{self, event_key};
use super::{Failure, Shared};
use crate::session::log::{EventBatch, SessionId};
use crate::session::store::{EventReader, StoreError};

pub(super) struct SqliteReader {
    shared: Arc<Shared>,
    session: SessionId,
    key: i64,
    cuts: u64,
    head: u64,
    /// The last event that was given out, or is not wanted.
    read: u64,
}

impl SqliteReader {
    pub fn open(shared: &Arc<Shared>, session: &SessionId, since_seq: u64) -> Result<SqliteReader, StoreError> {
        let row = shared.read(|transaction| Ok(content::log(transaction, session)?))?;
        let (key, cuts, head) = row.map_or((0, 0, 0), |row| (row.key, row.cuts, row.head));
        Ok(SqliteReader { shared: shared.clone(), session: session.clone(), key, cuts, head, read: since_seq })
    }
}

impl EventReader for SqliteReader {
    fn next_batch(&mut self, max_bytes: usize) -> Result<Option<EventBatch>, StoreError> {
        if self.read >= self.head {
            return Ok(None);
        }
        let (key, read, head) = (self.key, self.read, self.head);
        let batch = self.shared.read(|transaction| {
            let row = content::log(transaction, &self.session)?;
            if row.is_none_or(|row| row.key != self.key || row.cuts != self.cuts) {
                return Err(StoreError::Changed { session: self.session.clone() }.into());
            }
            let mut statement = transaction
                .prepare_cached("SELECT key, ts, event FROM events WHERE key > ? AND key <= ? ORDER BY key")?;
            let mut rows = statement.query([event_key(key, read), event_key(key, head)])?;
            let mut batch = EventBatch::default();
            let mut seq = read;
            while let Some(row) = rows.next()? {
                seq += 1;
                let text = |column| -> Result<&str, Failure> {
                    row.get_ref(column)?.as_str().map_err(|error| Failure::Sqlite(error.into()))
                };
                if row.get::<_, i64>(0)? != event_key(key, seq) {
                    return Err(missing(&self.session, seq).into());
                }
                batch.push(seq, text(1)?, text(2)?);
                if batch.bytes() >= max_bytes {
                    break;
                }
            }
            if batch.is_empty() {
                return Err(missing(&self.session, seq + 1).into());
            }
            Ok(batch)
        })?;
        self.read = batch.last_seq().unwrap_or(self.head);
        Ok(Some(batch))
    }
}

fn missing(session: &SessionId, seq: u64) -> StoreError {
    StoreError::Io {
        what: format!("cannot read session {session}"),
        why: format!("event {seq} is missing from the database: it was damaged"),
    }
}
