//! The contract over every store, and what is each one's own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod stores;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use lite_agent::session::store::{CleanupRequest, FileStore, MemoryStore, Store};
use stores::{conformance, id, read, user};

#[test]
fn the_memory_store_keeps_the_contract() {
    conformance::run(|_| MemoryStore::new());
}

#[test]
fn the_file_store_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    conformance::run(|_| {
        number += 1;
        FileStore::new(folder.path().join(number.to_string()).join("sessions"))
    });
}

#[test]
fn every_line_is_json_and_nobody_else_may_read_it() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a").join("sessions");
    let store = FileStore::new(&folder);
    assert!(!folder.exists(), "nothing is made before it is needed");
    store.append(&id("s"), &[user("1"), user("2")], Some(0)).unwrap();
    let _hold = store.hold(&id("s")).unwrap();
    let log = fs::read_to_string(folder.join("s.jsonl")).unwrap();
    for (line, seq) in log.lines().zip(1..) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((line["seq"].as_u64(), line["event"]["type"].as_str()), (Some(seq), Some("user")));
    }
    let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().mode() & 0o777;
    assert_eq!((mode(""), mode("s.jsonl"), mode("s.lock")), (0o700, 0o600, 0o600));
}

#[test]
fn deleting_leaves_nothing_of_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    store.append(&id("s"), &[user("1")], Some(0)).unwrap();
    drop(store.hold(&id("s")).unwrap());
    for name in ["s.bak", "s.2.bak"] {
        fs::write(folder.path().join(name), "cut").unwrap();
    }
    store.delete(&id("s")).unwrap();
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn two_stores_on_one_folder_see_what_the_other_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (FileStore::new(folder.path()), FileStore::new(folder.path()));
    one.append(&id("s"), &[user("1")], Some(0)).unwrap();
    assert_eq!(two.append(&id("s"), &[user("2"), user("3")], Some(1)), Ok(3));
    assert_eq!(one.append(&id("s"), &[user("no")], Some(1)).unwrap_err().code(), "checkpoint_conflict");
    assert_eq!(one.append(&id("s"), &[user("4")], Some(3)), Ok(4));
    two.truncate(&id("s"), 1).unwrap();
    // The same number of bytes as what was cut: only the content tells.
    two.append(&id("s"), &[user("5"), user("6"), user("7")], Some(1)).unwrap();
    assert_eq!(one.append(&id("s"), &[user("8")], Some(4)), Ok(5));
    let texts = read(&one, &id("s")).unwrap();
    assert_eq!(texts, ["1", "5", "6", "7", "8"].map(|text| user(text).json().to_string()));
    two.delete(&id("s")).unwrap();
    assert_eq!(one.head(&id("s")), Ok(0));
    assert_eq!(one.append(&id("s"), &[user("anew")], Some(0)), Ok(1));
    assert_eq!(read(&two, &id("s")).unwrap(), [user("anew").json()]);
}

#[test]
fn what_another_store_holds_is_not_cleaned_up() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (FileStore::new(folder.path()), FileStore::new(folder.path()));
    one.append(&id("s"), &[user("1")], Some(0)).unwrap();
    let hold = one.hold(&id("s")).unwrap();
    let all = CleanupRequest { modified_before_ms: Some(u64::MAX), max_bytes: None };
    assert_eq!(two.cleanup(&all).unwrap().held, [id("s")]);
    drop(hold);
    assert_eq!(two.cleanup(&all).unwrap().deleted, [id("s")]);
}

#[test]
fn a_link_in_place_of_a_log_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::write(&outside, "precious").unwrap();
    let sessions = folder.path().join("sessions");
    fs::create_dir(&sessions).unwrap();
    symlink(&outside, sessions.join("s.jsonl")).unwrap();
    let store = FileStore::new(&sessions);
    let error = store.append(&id("s"), &[user("1")], None).unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert!(store.reader(&id("s"), 0).is_err());
    store.delete(&id("s")).unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
    assert_eq!(store.append(&id("s"), &[user("1")], Some(0)), Ok(1));
}

#[test]
fn a_log_under_another_id_is_refused_also_where_names_ignore_case() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    store.append(&id("a"), &[user("1")], Some(0)).unwrap();
    // What such a file system would do.
    fs::rename(folder.path().join("a.jsonl"), folder.path().join("A.jsonl")).unwrap();
    let error = store.append(&id("A"), &[user("2")], None).unwrap_err();
    assert_eq!(error.code(), "session_damaged");
    assert!(error.to_string().contains("another session id"), "{error}");
    assert!(store.reader(&id("A"), 0).is_err());
    assert!(store.delete(&id("A")).is_err(), "it is another session that would be deleted");
    assert!(folder.path().join("A.jsonl").exists());
}

#[test]
fn files_that_are_no_sessions_are_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    store.append(&id("s"), &[user("1")], Some(0)).unwrap();
    for name in ["notes.txt", "s.bak", "a b.jsonl", ".jsonl", "x.y.jsonl"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    fs::create_dir(folder.path().join("folder.jsonl")).unwrap();
    let names: Vec<_> = store.list().unwrap().into_iter().map(|session| session.id).collect();
    assert_eq!(names, [id("s")]);
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use super::*;
    use lite_agent::session::store::{SqliteOptions, SqliteStore, StoreError};

    fn open(path: impl Into<std::path::PathBuf>) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(path, &SqliteOptions::default())
    }

    #[test]
    fn the_sqlite_store_keeps_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let mut number = 0;
        conformance::run(|_| {
            number += 1;
            open(folder.path().join(format!("{number}/sessions.db"))).unwrap()
        });
    }

    #[test]
    fn the_sqlite_store_in_memory_keeps_the_contract() {
        conformance::run(|_| open(":memory:").unwrap());
    }

    #[test]
    fn what_was_written_is_there_after_opening_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.db");
        let store = open(&path).unwrap();
        store.append(&id("s"), &[user("1")], Some(0)).unwrap();
        let second = open(&path).unwrap();
        assert_eq!(second.append(&id("s"), &[user("2")], Some(1)), Ok(2));
        assert_eq!(store.append(&id("s"), &[user("no")], Some(1)).unwrap_err().code(), "checkpoint_conflict");
        store.close().unwrap();
        second.close().unwrap();
        let checked = SqliteOptions { integrity_check: true, ..SqliteOptions::default() };
        assert_eq!(read(&SqliteStore::open(&path, &checked).unwrap(), &id("s")).unwrap().len(), 2);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_foreign_database_or_file_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = folder.path().join("foreign.db");
        rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
        let error = open(&foreign).err().unwrap();
        assert!(error.to_string().contains("another program"), "{error}");
        let text = folder.path().join("notes.txt");
        fs::write(&text, "notes ".repeat(1000)).unwrap();
        assert!(open(&text).err().unwrap().to_string().contains("not a database"));
        assert_eq!(fs::read_to_string(&text).unwrap(), "notes ".repeat(1000));
        let newer = folder.path().join("newer.db");
        open(&newer).unwrap().close().unwrap();
        rusqlite::Connection::open(&newer).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
        assert!(open(&newer).err().unwrap().to_string().contains("newer version"));
    }

    #[test]
    fn a_database_that_was_taken_away_is_told_and_nothing_is_acknowledged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("sessions.db");
        let store = open(&path).unwrap();
        store.append(&id("s"), &[user("1")], Some(0)).unwrap();
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        assert_eq!(store.append(&id("s"), &[user("2")], Some(1)).unwrap_err().code(), "store_gone");
    }
}
