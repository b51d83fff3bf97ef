//! What is in the database, and the statements that read and change it. Each runs inside a transaction of its caller.

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::Failure;
use crate::session::log::{NewEvent, SessionId};
use crate::session::store::{Place, SessionInfo, StoreError};

/// An event's key is its log's key and its own number in one integer, so that a log lies in one piece, in order. Keys are
/// never used again: a log that was deleted and begun anew is another one. `cuts` counts what was truncated.
pub(super) const SCHEMA: &str = "
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        head INTEGER NOT NULL,
        cuts INTEGER NOT NULL DEFAULT 0,
        mtime_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX sessions_by_mtime ON sessions (mtime_ms, id);
    CREATE TABLE events (
        key INTEGER PRIMARY KEY,
        ts TEXT NOT NULL,
        event TEXT NOT NULL
    ) STRICT;
";

/// How many events a log can have.
const MOST_EVENTS: i64 = 0xFFFF_FFFF;

/// The key of an event, or of the place before the first one.
pub(super) fn event_key(log: i64, seq: u64) -> i64 {
    let seq = i64::try_from(seq).unwrap_or(MOST_EVENTS).min(MOST_EVENTS);
    (log << 32) | seq
}

/// A session's row.
pub(super) struct LogRow {
    pub key: i64,
    pub head: u64,
    pub cuts: u64,
}

pub(super) fn log(transaction: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Option<LogRow>> {
    transaction
        .prepare_cached("SELECT key, head, cuts FROM sessions WHERE id = ?")?
        .query_row([session.as_str()], |row| Ok(LogRow { key: row.get(0)?, head: row.get(1)?, cuts: row.get(2)? }))
        .optional()
}

pub(super) fn head(transaction: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<u64> {
    Ok(log(transaction, session)?.map_or(0, |row| row.head))
}

/// Where a log ends. Cuts are counted, and keys are never used again, so the two tell it from any other.
pub(super) fn place(transaction: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Place> {
    let row = log(transaction, session)?.filter(|row| row.head > 0);
    Ok(row.map_or(Place { head: 0, mark: None }, |LogRow { key, head, cuts }| Place {
        head,
        mark: Some(format!("{key}.{cuts}")),
    }))
}

pub(super) fn append(
    transaction: &Transaction<'_>,
    session: &SessionId,
    head: u64,
    events: &[NewEvent],
    ts: &str,
    mtime_ms: u64,
) -> Result<u64, Failure> {
    if events.is_empty() {
        return Ok(head);
    }
    let new_head = head + events.len() as u64;
    if i64::try_from(new_head).unwrap_or(i64::MAX) > MOST_EVENTS {
        return Err(StoreError::Refused(format!("session {session} is full: it has {head} events")).into());
    }
    let key: i64 = transaction
        .prepare_cached(
            "INSERT INTO sessions (id, head, mtime_ms) VALUES (?1, ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET head = ?2, mtime_ms = ?3 RETURNING key",
        )?
        .query_row(params![session.as_str(), new_head, mtime_ms], |row| row.get(0))?;
    let mut insert = transaction.prepare_cached("INSERT INTO events (key, ts, event) VALUES (?, ?, ?)")?;
    for (event, seq) in events.iter().zip(head + 1..) {
        insert.execute(params![event_key(key, seq), ts, event.json()])?;
    }
    Ok(new_head)
}

pub(super) fn list(transaction: &Transaction<'_>) -> Result<Vec<SessionInfo>, Failure> {
    let mut statement = transaction.prepare_cached("SELECT id, mtime_ms FROM sessions ORDER BY mtime_ms DESC, id")?;
    let mut rows = statement.query([])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.push(SessionInfo { id: id(row.get_ref(0)?)?, mtime_ms: row.get(1)? });
    }
    Ok(sessions)
}

/// All sessions, the oldest first, each with how much it holds, if that is asked for.
pub(super) fn sized(transaction: &Transaction<'_>, with_sizes: bool) -> Result<Vec<(SessionInfo, u64)>, Failure> {
    let mut sessions = list(transaction)?;
    sessions.reverse();
    sessions
        .into_iter()
        .map(|session| {
            let bytes = if with_sizes { size(transaction, &session.id)? } else { 0 };
            Ok((session, bytes))
        })
        .collect()
}

fn size(transaction: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<u64> {
    let Some(row) = log(transaction, session)? else { return Ok(0) };
    let events: u64 = transaction
        .prepare_cached("SELECT coalesce(sum(octet_length(event)), 0) FROM events WHERE key BETWEEN ? AND ?")?
        .query_row([event_key(row.key, 0), event_key(row.key, u64::MAX)], |row| row.get(0))?;
    Ok(events)
}

pub(super) fn delete(transaction: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<()> {
    let Some(row) = log(transaction, session)? else { return Ok(()) };
    delete_after(transaction, &row, 0)?;
    transaction.prepare_cached("DELETE FROM sessions WHERE key = ?")?.execute([row.key])?;
    Ok(())
}

/// Deletes the session if it last changed when it is said to have; answers how much it held.
pub(super) fn delete_unchanged(transaction: &Transaction<'_>, session: &SessionInfo) -> Result<Option<u64>, Failure> {
    let mtime_ms: Option<u64> = transaction
        .prepare_cached("SELECT mtime_ms FROM sessions WHERE id = ?")?
        .query_row([session.id.as_str()], |row| row.get(0))
        .optional()?;
    if mtime_ms != Some(session.mtime_ms) {
        return Ok(None);
    }
    let bytes = size(transaction, &session.id)?;
    delete(transaction, &session.id)?;
    Ok(Some(bytes))
}

pub(super) fn truncate(
    transaction: &Transaction<'_>,
    session: &SessionId,
    to_seq: u64,
    mtime_ms: u64,
) -> rusqlite::Result<()> {
    let Some(row) = log(transaction, session)?.filter(|row| row.head > to_seq) else { return Ok(()) };
    delete_after(transaction, &row, to_seq)?;
    transaction
        .prepare_cached("UPDATE sessions SET head = ?, cuts = cuts + 1, mtime_ms = ? WHERE key = ?")?
        .execute(params![to_seq, mtime_ms, row.key])?;
    Ok(())
}

fn delete_after(transaction: &Transaction<'_>, row: &LogRow, seq: u64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM events WHERE key > ? AND key <= ?")?
        .execute([event_key(row.key, seq), event_key(row.key, u64::MAX)])?;
    Ok(())
}

/// An id as it was stored; one that could not have been stored is damage.
fn id(value: ValueRef<'_>) -> Result<SessionId, Failure> {
    let text = value.as_str().map_err(|error| Failure::Sqlite(error.into()))?;
    Ok(SessionId::new(text)?)
}
