//! The store in memory, the plainest there is: tests compare the others with it. Agents use the one of lib/sessions/memory.js.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    CleanupReport, CleanupRequest, EventReader, Hold, Place, Repair, SessionInfo, Store, StoreError, now_ms,
    sort_by_recency,
};
use crate::session::log::{EventBatch, NewEvent, SessionId, iso_timestamp};

/// Logs in memory.
#[derive(Default)]
pub struct MemoryStore {
    content: Arc<Mutex<Content>>,
    holds: MemoryHolds,
}

/// Holds on sessions that no other process can see. A session is counted once for each hold.
#[derive(Default)]
pub(super) struct MemoryHolds {
    counts: Arc<Mutex<HashMap<SessionId, usize>>>,
}

#[derive(Default)]
struct Content {
    sessions: HashMap<SessionId, Log>,
    /// Logs get numbers that are never used again, also when they are cut.
    next_log: u64,
    closed: bool,
}

/// The log of one session.
struct Log {
    number: u64,
    events: Vec<(Box<str>, Box<str>)>,
    mtime_ms: u64,
}

impl MemoryStore {
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn open(&self) -> Result<MutexGuard<'_, Content>, StoreError> {
        open(&self.content)
    }
}

fn open(content: &Mutex<Content>) -> Result<MutexGuard<'_, Content>, StoreError> {
    let content = content.lock().unwrap_or_else(PoisonError::into_inner);
    if content.closed { Err(StoreError::Closed) } else { Ok(content) }
}

impl Content {
    fn number(&mut self) -> u64 {
        self.next_log += 1;
        self.next_log
    }

    fn bytes(&self, session: &SessionId) -> u64 {
        let events = self.sessions.get(session).into_iter().flat_map(|log| &log.events);
        events.map(|(_, json)| json.len() as u64).sum()
    }

    fn delete(&mut self, session: &SessionId) {
        self.sessions.remove(session);
    }

    fn place(&self, session: &SessionId) -> Place {
        let log = self.sessions.get(session).filter(|log| !log.events.is_empty());
        let mark = log.map(|log| log.number.to_string());
        Place { head: log.map_or(0, |log| log.events.len() as u64), mark }
    }

    fn append(
        &mut self,
        session: &SessionId,
        events: &[NewEvent],
        expected_head: Option<u64>,
        mark: Option<&str>,
    ) -> Result<Place, StoreError> {
        let now = self.place(session);
        if let Some(expected) = expected_head.filter(|expected| *expected != now.head) {
            return Err(StoreError::Conflict { session: session.clone(), expected, actual: now.head });
        }
        if mark.is_some_and(|mark| now.mark.as_deref() != Some(mark)) {
            return Err(StoreError::Replaced { session: session.clone(), head: now.head });
        }
        if events.is_empty() {
            return Ok(now);
        }
        let mtime_ms = now_ms();
        let ts = iso_timestamp(mtime_ms);
        let number = self.number();
        let log = self.sessions.entry(session.clone()).or_insert(Log { number, events: Vec::new(), mtime_ms });
        log.events.extend(events.iter().map(|event| (ts.as_str().into(), event.json().into())));
        log.mtime_ms = mtime_ms;
        Ok(self.place(session))
    }
}

impl Store for MemoryStore {
    fn append(&self, session: &SessionId, events: &[NewEvent], expected_head: Option<u64>) -> Result<u64, StoreError> {
        self.open()?.append(session, events, expected_head, None).map(|place| place.head)
    }

    fn append_at(&self, session: &SessionId, events: &[NewEvent], place: &Place) -> Result<Place, StoreError> {
        self.open()?.append(session, events, Some(place.head), place.mark.as_deref())
    }

    fn head(&self, session: &SessionId) -> Result<u64, StoreError> {
        Ok(self.open()?.sessions.get(session).map_or(0, |log| log.events.len() as u64))
    }

    fn reader(&self, session: &SessionId, since_seq: u64) -> Result<Box<dyn EventReader>, StoreError> {
        let found = self.open()?.sessions.get(session).map(|log| (log.number, log.events.len() as u64));
        let (number, head) = found.unwrap_or((0, 0));
        let content = self.content.clone();
        Ok(Box::new(MemoryReader { content, session: session.clone(), number, read: since_seq, head }))
    }

    fn list(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let content = self.open()?;
        let info = |(id, log): (&SessionId, &Log)| SessionInfo { id: id.clone(), mtime_ms: log.mtime_ms };
        let mut sessions: Vec<_> = content.sessions.iter().map(info).collect();
        sort_by_recency(&mut sessions);
        Ok(sessions)
    }

    fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.open()?.delete(session);
        Ok(())
    }

    fn truncate_from(&self, session: &SessionId, to_seq: u64, expected_head: Option<u64>) -> Result<(), StoreError> {
        let mut content = self.open()?;
        let actual = content.place(session).head;
        if let Some(expected) = expected_head.filter(|expected| *expected != actual) {
            return Err(StoreError::Conflict { session: session.clone(), expected, actual });
        }
        let number = content.number();
        let to = usize::try_from(to_seq).unwrap_or(usize::MAX);
        if let Some(log) = content.sessions.get_mut(session)
            && log.events.len() > to
        {
            log.events.truncate(to);
            log.mtime_ms = now_ms();
            log.number = number;
        }
        Ok(())
    }

    fn hold(&self, session: &SessionId) -> Result<Box<dyn Hold>, StoreError> {
        let _open = self.open()?;
        Ok(self.holds.hold(session))
    }

    fn cleanup(&self, request: &CleanupRequest) -> Result<CleanupReport, StoreError> {
        let sessions = self.list()?;
        let mut content = self.open()?;
        let mut total: u64 = sessions.iter().map(|session| content.bytes(&session.id)).sum();
        let mut report = CleanupReport::default();
        for SessionInfo { id, mtime_ms } in sessions.into_iter().rev() {
            let is_old = request.modified_before_ms.is_some_and(|before| mtime_ms < before);
            let is_too_much = request.max_bytes.is_some_and(|most| total > most);
            if !is_old && !is_too_much {
                continue;
            }
            if self.holds.is_held(&id) {
                report.held.push(id);
                continue;
            }
            let bytes = content.bytes(&id);
            content.delete(&id);
            total -= bytes;
            report.freed_bytes += bytes;
            report.deleted.push(id);
        }
        Ok(report)
    }

    fn take_repairs(&self) -> Vec<Repair> {
        Vec::new()
    }

    fn close(&self) -> Result<(), StoreError> {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        *content = Content { closed: true, ..Content::default() };
        Ok(())
    }
}

impl MemoryHolds {
    pub fn hold(&self, session: &SessionId) -> Box<dyn Hold> {
        *counts(&self.counts).entry(session.clone()).or_default() += 1;
        Box::new(MemoryHold { counts: self.counts.clone(), session: session.clone() })
    }

    pub fn is_held(&self, session: &SessionId) -> bool {
        counts(&self.counts).contains_key(session)
    }
}

fn counts(mutex: &Mutex<HashMap<SessionId, usize>>) -> MutexGuard<'_, HashMap<SessionId, usize>> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a session while it lives.
struct MemoryHold {
    counts: Arc<Mutex<HashMap<SessionId, usize>>>,
    session: SessionId,
}

impl Hold for MemoryHold {}

impl Drop for MemoryHold {
    fn drop(&mut self) {
        let mut counts = counts(&self.counts);
        if let Some(count) = counts.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.session);
            }
        }
    }
}

struct MemoryReader {
    content: Arc<Mutex<Content>>,
    session: SessionId,
    number: u64,
    /// The last event that was given out, or is not wanted.
    read: u64,
    head: u64,
}

impl EventReader for MemoryReader {
    fn next_batch(&mut self, max_bytes: usize) -> Result<Option<EventBatch>, StoreError> {
        let content = open(&self.content)?;
        if self.read >= self.head {
            return Ok(None);
        }
        let log = content.sessions.get(&self.session).filter(|log| log.number == self.number);
        let Some(log) = log else { return Err(StoreError::Changed { session: self.session.clone() }) };
        let mut batch = EventBatch::default();
        let from = usize::try_from(self.read).unwrap_or(usize::MAX);
        for ((ts, json), seq) in log.events.iter().skip(from).zip(self.read + 1..=self.head) {
            batch.push(seq, ts, json);
            self.read = seq;
            if batch.bytes() >= max_bytes {
                break;
            }
        }
        Ok(Some(batch))
    }
}
