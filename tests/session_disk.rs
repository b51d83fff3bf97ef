//! Disks that are full, folders that are read-only or gone: a clear error, and nothing lost that was there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::disallowed_types, reason = "a test mounts small file systems by the system's own programs")]

mod stores;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use lite_agent::session::store::{FileStore, Store, StoreError};
use stores::{id, read, user};

/// A file system of its own, in memory, unmounted at the end.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// None where this user may not mount; says so.
    fn new(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let disk = SmallDisk(folder);
        let mounted = mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], disk.path());
        if let Err(why) = mounted {
            eprintln!("skipped: no file system can be mounted here ({why}); run as root to see it");
            return None;
        }
        Some(disk)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn make_read_only(&self) {
        mount(&["-o", "remount,ro"], self.path()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).output();
    }
}

fn mount(arguments: &[&str], path: &Path) -> Result<(), String> {
    let output = Command::new("mount").args(arguments).arg(path).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_string()) }
}

/// Fills what is left.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    for piece in [65536, 4096, 512, 1] {
        while file.write_all(&vec![b'x'; piece]).is_ok() {}
    }
}

/// Appends until the disk is full; answers how many were acknowledged.
fn append_until_full(store: &dyn Store) -> u64 {
    let big = "x".repeat(5000);
    let mut acknowledged = 0;
    loop {
        match store.append(&id("s"), &[user(&format!("{acknowledged} {big}")), user(&big)], Some(acknowledged)) {
            Ok(head) => acknowledged = head,
            Err(error) => {
                assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
                assert!(error.to_string().contains("make room"), "{error}");
                return acknowledged;
            }
        }
    }
}

#[test]
fn on_a_full_disk_nothing_acknowledged_is_lost_and_room_is_all_it_takes() {
    let Some(disk) = SmallDisk::new("256k") else { return };
    fs::write(disk.path().join("ballast"), vec![0; 50_000]).unwrap();
    let store = FileStore::new(disk.path().join("sessions"));
    let acknowledged = append_until_full(&store);
    assert!(acknowledged > 10);
    let length = || fs::metadata(disk.path().join("sessions/s.jsonl")).unwrap().len();
    let before = length();
    for _ in 0..3 {
        assert!(store.append(&id("s"), &[user(&"x".repeat(100_000))], None).is_err());
        assert_eq!(length(), before, "what could not be written whole was taken back");
    }
    assert_eq!(read(&store, &id("s")).unwrap().len() as u64, acknowledged);
    assert_eq!(store.take_repairs(), []);
    fs::remove_file(disk.path().join("ballast")).unwrap();
    assert_eq!(store.append(&id("s"), &[user("on")], Some(acknowledged)), Ok(acknowledged + 1));
    let again = FileStore::new(disk.path().join("sessions"));
    assert_eq!(read(&again, &id("s")).unwrap().len() as u64, acknowledged + 1);
}

#[test]
fn a_session_that_could_not_be_begun_is_none() {
    let Some(disk) = SmallDisk::new("64k") else { return };
    let store = FileStore::new(disk.path().join("sessions"));
    store.append(&id("first"), &[user("1")], None).unwrap();
    fill(&disk.path().join("ballast"));
    assert_eq!(store.append(&id("s"), &[user(&"x".repeat(9000))], Some(0)).unwrap_err().code(), "store_full");
    let names: Vec<_> = store.list().unwrap().into_iter().map(|session| session.id).collect();
    assert_eq!(names, [id("first")]);
}

#[test]
fn a_torn_end_on_a_full_disk_is_left_and_the_rest_is_read() {
    let Some(disk) = SmallDisk::new("64k") else { return };
    let store = FileStore::new(disk.path());
    store.append(&id("s"), &[user("1"), user("2")], None).unwrap();
    let log = disk.path().join("s.jsonl");
    let torn = [fs::read(&log).unwrap(), vec![b'x'; 6000]].concat();
    fs::write(&log, &torn).unwrap();
    fill(&disk.path().join("ballast"));
    let store = FileStore::new(disk.path());
    assert_eq!(read(&store, &id("s")).unwrap().len(), 2);
    let repairs = store.take_repairs();
    assert_eq!((repairs.len(), repairs[0].head, repairs[0].cut_bytes), (1, 2, 6000));
    assert!(repairs[0].backup.is_none() && repairs[0].message().contains("cannot be written"));
    assert_eq!(store.append(&id("s"), &[user("3")], Some(2)).unwrap_err().code(), "store_full");
    assert!(fs::read(&log).unwrap() == torn);
    fs::remove_file(disk.path().join("ballast")).unwrap();
    assert_eq!(store.append(&id("s"), &[user("3")], Some(2)), Ok(3));
    assert_eq!(fs::read(disk.path().join("s.bak")).unwrap().len(), 6000);
}

#[test]
fn a_read_only_folder_is_read_and_says_that_it_cannot_be_written() {
    let Some(disk) = SmallDisk::new("256k") else { return };
    let store = FileStore::new(disk.path());
    store.append(&id("s"), &[user("1"), user("2")], None).unwrap();
    store.append(&id("torn"), &[user("1"), user("2")], None).unwrap();
    let log = disk.path().join("torn.jsonl");
    let torn = fs::metadata(&log).unwrap().len() - 5;
    fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(torn).unwrap();
    disk.make_read_only();
    let store = FileStore::new(disk.path());
    assert_eq!(read(&store, &id("s")).unwrap().len(), 2);
    assert_eq!(read(&store, &id("torn")).unwrap().len(), 1);
    assert_eq!(store.take_repairs()[0].backup, None);
    assert_eq!(store.list().unwrap().len(), 2);
    for session in ["s", "torn", "new"] {
        let error = store.append(&id(session), &[user("3")], None).unwrap_err();
        assert_eq!(error.code(), "store_io");
        assert!(error.to_string().contains("Read-only"), "{error}");
    }
    assert!(store.delete(&id("s")).is_err());
    assert!(store.truncate(&id("s"), 0).is_err());
    assert!(store.hold(&id("s")).is_err());
    assert_eq!(read(&store, &id("s")).unwrap().len(), 2);
}

#[test]
fn a_folder_that_vanished_is_told_and_not_made_again() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("sessions");
    let store = FileStore::new(&folder);
    assert_eq!(store.list(), Ok(vec![]), "a folder that was never there is an empty one");
    store.append(&id("s"), &[user("1")], Some(0)).unwrap();
    let mut reader = store.reader(&id("s"), 0).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let gone = StoreError::Gone { path: folder.clone() };
    assert_eq!(store.append(&id("s"), &[user("2")], Some(1)), Err(gone.clone()));
    assert_eq!(store.append(&id("new"), &[user("1")], None), Err(gone.clone()));
    assert_eq!(store.head(&id("s")), Err(gone.clone()));
    assert_eq!(store.reader(&id("s"), 0).err(), Some(gone.clone()));
    assert_eq!(store.list(), Err(gone.clone()));
    assert_eq!(store.delete(&id("s")), Err(gone.clone()));
    assert_eq!(store.hold(&id("s")).err(), Some(gone));
    assert!(!folder.exists());
    // What is open can still be read.
    assert_eq!(reader.next_batch(1).unwrap().unwrap().len(), 1);
}

#[test]
fn a_file_in_place_of_the_folder_is_told() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("sessions");
    fs::write(&folder, "").unwrap();
    let error = FileStore::new(&folder).append(&id("s"), &[user("1")], None).unwrap_err();
    assert_eq!(error.code(), "store_io");
    assert!(error.to_string().contains(folder.to_str().unwrap()), "{error}");
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use super::*;
    use lite_agent::session::store::{SqliteOptions, SqliteStore};

    #[test]
    fn a_database_on_a_full_disk_loses_nothing_acknowledged() {
        let Some(disk) = SmallDisk::new("512k") else { return };
        fs::write(disk.path().join("ballast"), vec![0; 100_000]).unwrap();
        let path = disk.path().join("sessions.db");
        let store = SqliteStore::open(&path, &SqliteOptions::default()).unwrap();
        let acknowledged = append_until_full(&store);
        assert!(acknowledged > 10);
        assert_eq!(read(&store, &id("s")).unwrap().len() as u64, acknowledged);
        fs::remove_file(disk.path().join("ballast")).unwrap();
        assert_eq!(store.append(&id("s"), &[user("on")], Some(acknowledged)), Ok(acknowledged + 1));
        store.close().unwrap();
        let again = SqliteStore::open(&path, &SqliteOptions::default()).unwrap();
        assert_eq!(read(&again, &id("s")).unwrap().len() as u64, acknowledged + 1);
    }

    #[test]
    fn a_database_that_cannot_be_written_says_so() {
        let Some(disk) = SmallDisk::new("512k") else { return };
        disk.make_read_only();
        let error = SqliteStore::open(disk.path().join("sessions.db"), &SqliteOptions::default()).err().unwrap();
        assert!(error.to_string().contains("Read-only"), "{error}");
    }
}
