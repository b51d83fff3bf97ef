//! The store in an SQLite database, which is compiled in. WAL, so that readers and one writer of several processes get along;
//! synchronous, so that what was acknowledged outlasts the power.

mod content;
mod reader;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::file::open::{self, Access};
use super::hold::{HoldFolder, wait, wait_before};
use super::memory::MemoryHolds;
use super::{CleanupReport, CleanupRequest, EventReader, Hold, Place, Repair, SessionInfo, Store, StoreError, now_ms};
use crate::session::log::{NewEvent, SessionId, iso_timestamp};

/// Where a database is in memory alone.
const IN_MEMORY: &str = ":memory:";
/// "lite", in the database's header: whose database this is.
const APPLICATION_ID: i32 = 0x6c69_7465;
const SCHEMA_VERSION: i32 = 1;

/// How a database is used.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// How long another process's lock is waited for.
    pub busy_timeout_ms: u32,
    /// Whether each append is on the disk when it is acknowledged. If not, a power cut may take the last ones back; a
    /// killed process takes nothing.
    pub full_sync: bool,
    /// Whether opening reads all of the database to see if it is whole.
    pub integrity_check: bool,
}

impl Default for SqliteOptions {
    fn default() -> SqliteOptions {
        SqliteOptions { busy_timeout_ms: 5000, full_sync: true, integrity_check: false }
    }
}

/// Logs in a database.
pub struct SqliteStore {
    shared: Arc<Shared>,
    holds: Holds,
}

/// What readers share with the store.
struct Shared {
    path: PathBuf,
    busy_timeout: Duration,
    /// None once it is closed.
    connection: Mutex<Option<Connection>>,
}

enum Holds {
    Files(HoldFolder),
    Memory(MemoryHolds),
}

impl SqliteStore {
    /// Opens the database, and makes it first if need be; `:memory:` is one of its own that goes with the store.
    ///
    /// # Errors
    /// If it cannot be opened, is no database, or belongs to another program or to a newer version.
    pub fn open(file: impl Into<PathBuf>, options: &SqliteOptions) -> Result<SqliteStore, StoreError> {
        let path = file.into();
        let in_memory = path.as_os_str() == IN_MEMORY;
        let busy_timeout = Duration::from_millis(options.busy_timeout_ms.into());
        let mut connection = if in_memory {
            Connection::open_in_memory()
        } else {
            make_file(&path)?;
            Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        }
        .map_err(|error| failed("open", &path, &error))?;
        connection.busy_handler(Some(wait_for_lock)).map_err(|error| failed("open", &path, &error))?;
        let _deadline = Deadline::after(busy_timeout);
        prepare(&mut connection, &path, in_memory, busy_timeout, options)?;
        let holds = if in_memory {
            Holds::Memory(MemoryHolds::default())
        } else {
            let mut folder = path.clone().into_os_string();
            folder.push("-locks");
            Holds::Files(HoldFolder::new(folder.into()))
        };
        let connection = Mutex::new(Some(connection));
        Ok(SqliteStore { shared: Arc::new(Shared { path, busy_timeout, connection }), holds })
    }
}

thread_local! {
    /// Until when this thread waits for a lock.
    static WAIT_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// How long what follows on this thread waits for locks, all together.
struct Deadline;

impl Deadline {
    fn after(timeout: Duration) -> Deadline {
        WAIT_UNTIL.set(Instant::now().checked_add(timeout));
        Deadline
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        WAIT_UNTIL.set(None);
    }
}

/// SQLite's own pauses grow to 100 ms, in which those that write again at once starve the others.
fn wait_for_lock(attempt: i32) -> bool {
    let goes_on = WAIT_UNTIL.get().is_some_and(|until| Instant::now() < until);
    if goes_on {
        wait_before(u32::try_from(attempt).unwrap_or_default());
    }
    goes_on
}

/// SQLite would make it readable for all; its companions get the mode that it has.
fn make_file(path: &Path) -> Result<(), StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        open::make_folder(folder)?;
    }
    open::open(path, Access::CreateOrWrite).map(drop).map_err(|error| StoreError::io("open", path, &error))
}

fn prepare(
    connection: &mut Connection,
    path: &Path,
    in_memory: bool,
    busy_timeout: Duration,
    options: &SqliteOptions,
) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| failed("open", path, &error);
    connection.pragma_update(None, "synchronous", if options.full_sync { "FULL" } else { "NORMAL" }).map_err(failed)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(failed)?;
    if !in_memory {
        let mode = patiently(busy_timeout, || {
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        })
        .map_err(failed)?;
        if mode != "wal" {
            let what = format!("cannot use {}", path.display());
            let why = format!("its file system allows no write-ahead log (journal_mode is {mode})");
            return Err(StoreError::Io { what, why });
        }
    }
    make_schema(connection, path)?;
    if options.integrity_check {
        let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
        if found != "ok" {
            return Err(damaged(path, &found));
        }
    }
    Ok(())
}

/// Two that make one database a WAL database at once do not wait for one another, whatever the busy timeout.
fn patiently<T>(timeout: Duration, mut action: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let started = Instant::now();
    loop {
        match action() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && started.elapsed() < timeout => {
                wait(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

fn make_schema(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| failed("open", path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let number = |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(failed);
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = transaction
        .query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))
        .map_err(failed)?;
    let refused = |why: String| Err(StoreError::Refused(format!("cannot use {}: {why}", path.display())));
    if tables > 0 && application != APPLICATION_ID {
        return refused("it is the database of another program; name another file".to_string());
    }
    if version > SCHEMA_VERSION {
        return refused(format!("a newer version of this package wrote it (schema {version}); update the package"));
    }
    if tables == 0 {
        transaction.execute_batch(content::SCHEMA).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

fn failed(action: &str, path: &Path, error: &rusqlite::Error) -> StoreError {
    let full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
    StoreError::of_system(format!("cannot {action} {}", path.display()), error, full)
}

fn damaged(path: &Path, why: &str) -> StoreError {
    StoreError::of_system(format!("the database {} is damaged", path.display()), &why, false)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `action` in one transaction: all of it happens, or nothing. One that writes takes its lock at the beginning.
    fn transact<T>(
        &self,
        behavior: TransactionBehavior,
        what: &str,
        action: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let mut connection = self.lock();
        let connection = connection.as_mut().ok_or(StoreError::Closed)?;
        // What was done to a file that was taken away would be acknowledged and never seen again.
        if self.is_gone() {
            return Err(StoreError::Gone { path: self.path.clone() });
        }
        let told = |error: &rusqlite::Error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy {
                what: self.path.display().to_string(),
                waited_ms: u64::try_from(self.busy_timeout.as_millis()).unwrap_or(u64::MAX),
            },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(&self.path, &error.to_string()),
            _ => failed(what, &self.path, error),
        };
        let _deadline = Deadline::after(self.busy_timeout);
        let transaction = connection.transaction_with_behavior(behavior).map_err(|error| told(&error))?;
        let outcome = match action(&transaction) {
            Ok(value) => transaction.commit().map(|()| value).map_err(|error| told(&error)),
            // Dropping the transaction takes back what it did.
            Err(Failure::Store(error)) => Err(error),
            Err(Failure::Sqlite(error)) => Err(told(&error)),
        };
        outcome.map_err(|error| if self.is_gone() { StoreError::Gone { path: self.path.clone() } } else { error })
    }

    fn read<T>(&self, action: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, Failure>) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Deferred, "read", action)
    }

    fn write<T>(&self, action: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, Failure>) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Immediate, "write to", action)
    }

    /// Somebody took the file away under us.
    fn is_gone(&self) -> bool {
        self.path.as_os_str() != IN_MEMORY && !self.path.exists()
    }
}

/// What can end a transaction.
enum Failure {
    Store(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure::Sqlite(error)
    }
}

impl SqliteStore {
    fn append_checked(
        &self,
        session: &SessionId,
        events: &[NewEvent],
        expected_head: Option<u64>,
        mark: Option<&str>,
    ) -> Result<Place, StoreError> {
        let mtime_ms = now_ms();
        let ts = iso_timestamp(mtime_ms);
        self.shared.write(|transaction| {
            let now = content::place(transaction, session)?;
            if let Some(expected) = expected_head.filter(|expected| *expected != now.head) {
                return Err(StoreError::Conflict { session: session.clone(), expected, actual: now.head }.into());
            }
            if mark.is_some_and(|mark| now.mark.as_deref() != Some(mark)) {
                return Err(StoreError::Replaced { session: session.clone(), head: now.head }.into());
            }
            content::append(transaction, session, now.head, events, &ts, mtime_ms)?;
            Ok(content::place(transaction, session)?)
        })
    }
}

impl Store for SqliteStore {
    fn append(&self, session: &SessionId, events: &[NewEvent], expected_head: Option<u64>) -> Result<u64, StoreError> {
        self.append_checked(session, events, expected_head, None).map(|place| place.head)
    }

    fn append_at(&self, session: &SessionId, events: &[NewEvent], place: &Place) -> Result<Place, StoreError> {
        self.append_checked(session, events, Some(place.head), place.mark.as_deref())
    }

    fn head(&self, session: &SessionId) -> Result<u64, StoreError> {
        self.shared.read(|transaction| Ok(content::head(transaction, session)?))
    }

    fn reader(&self, session: &SessionId, since_seq: u64) -> Result<Box<dyn EventReader>, StoreError> {
        Ok(Box::new(reader::SqliteReader::open(&self.shared, session, since_seq)?))
    }

    fn list(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.shared.read(content::list)
    }

    fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.shared.write(|transaction| Ok(content::delete(transaction, session)?))
    }

    fn truncate_from(&self, session: &SessionId, to_seq: u64, expected_head: Option<u64>) -> Result<(), StoreError> {
        let mtime_ms = now_ms();
        self.shared.write(|transaction| {
            let actual = content::head(transaction, session)?;
            if let Some(expected) = expected_head.filter(|expected| *expected != actual) {
                return Err(StoreError::Conflict { session: session.clone(), expected, actual }.into());
            }
            Ok(content::truncate(transaction, session, to_seq, mtime_ms)?)
        })
    }

    fn hold(&self, session: &SessionId) -> Result<Box<dyn Hold>, StoreError> {
        if self.shared.lock().is_none() {
            return Err(StoreError::Closed);
        }
        match &self.holds {
            Holds::Files(holds) => holds.hold(session),
            Holds::Memory(holds) => Ok(holds.hold(session)),
        }
    }

    fn cleanup(&self, request: &CleanupRequest) -> Result<CleanupReport, StoreError> {
        let sized = self.shared.read(|transaction| content::sized(transaction, request.max_bytes.is_some()))?;
        let mut total: u64 = sized.iter().map(|(_, bytes)| bytes).sum();
        let mut report = CleanupReport::default();
        for (session, bytes) in sized {
            let is_old = request.modified_before_ms.is_some_and(|before| session.mtime_ms < before);
            let is_too_much = request.max_bytes.is_some_and(|most| total > most);
            if !is_old && !is_too_much {
                continue;
            }
            // Unless somebody has written to it meanwhile.
            let delete = || self.shared.write(|transaction| content::delete_unchanged(transaction, &session));
            let deleted = match &self.holds {
                Holds::Files(holds) => {
                    holds.make_folder().and_then(|()| holds.while_unheld(&session.id, delete)).map(Option::flatten)
                }
                Holds::Memory(holds) if holds.is_held(&session.id) => Ok(None),
                Holds::Memory(_) => delete(),
            };
            match deleted {
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

    fn take_repairs(&self) -> Vec<Repair> {
        // SQLite repairs itself, from its own log.
        Vec::new()
    }

    fn close(&self) -> Result<(), StoreError> {
        let connection = self.shared.lock().take();
        let Some(connection) = connection else { return Ok(()) };
        connection.close().map_err(|(_, error)| failed("close", &self.shared.path, &error))
    }
}
