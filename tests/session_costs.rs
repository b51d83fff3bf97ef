//! What stores may cost, counted in what they read, not in time (`cargo bench --bench session_stores` tells times).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod stores;

use std::fs;

use lite_agent::session::store::{FileStore, Store};
use stores::{conversation, id, read, user};

/// How many bytes this thread has read by system calls.
fn bytes_read() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = counters.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

/// How much `action` reads; reading the counter itself not counted.
fn reading<T>(action: impl FnOnce() -> T) -> (T, u64) {
    let alone = {
        let before = bytes_read();
        bytes_read() - before
    };
    let before = bytes_read();
    let value = action();
    (value, bytes_read() - before - alone)
}

#[test]
fn an_append_reads_nothing_of_the_log_again() {
    let folder = stores::quick_folder();
    let store = FileStore::new(folder.path());
    store.append(&id("s"), &conversation(5000), Some(0)).unwrap();
    for head in 5000..5020 {
        let (_, read) = reading(|| store.append(&id("s"), &[user("more")], Some(head)).unwrap());
        assert!(read < 100, "{read} bytes");
    }
}

#[test]
fn the_first_append_of_a_process_reads_the_end_of_a_long_log_alone() {
    let folder = stores::quick_folder();
    let store = FileStore::new(folder.path());
    store.append(&id("s"), &conversation(20_000), Some(0)).unwrap();
    store.append(&id("s"), &[user("last")], None).unwrap();
    let (length, store) = (fs::metadata(folder.path().join("s.jsonl")).unwrap().len(), FileStore::new(folder.path()));
    let (head, read) = reading(|| store.append(&id("s"), &[user("more")], None).unwrap());
    assert_eq!(head, 20_002);
    // One append may be as long as the log was.
    assert!(read < length / 4 || read < 3 * 1024 * 1024, "{read} of {length} bytes");
}

#[test]
fn resuming_reads_the_log_once() {
    let folder = stores::quick_folder();
    let store = FileStore::new(folder.path());
    for chunk in conversation(20_000).chunks(4) {
        store.append(&id("s"), chunk, None).unwrap();
    }
    let length = fs::metadata(folder.path().join("s.jsonl")).unwrap().len();
    let store = FileStore::new(folder.path());
    let (events, read) = reading(|| read(&store, &id("s")).unwrap().len());
    assert_eq!(events, 20_000);
    assert!(read < length + 200_000, "{read} of {length} bytes");
    // Reading what is new does not begin at the beginning again.
    let (new, read) = reading(|| stores::read_in(&store, &id("s"), 19_990, 1 << 20).unwrap().len());
    assert_eq!(new, 10);
    assert!(read < 600_000, "{read} of {length} bytes");
}

#[test]
fn a_list_of_1000_sessions_reads_no_log() {
    let folder = stores::quick_folder();
    let store = FileStore::new(folder.path());
    for n in 0..1000 {
        fs::write(folder.path().join(format!("session-{n}.jsonl")), "x".repeat(10_000)).unwrap();
    }
    let (sessions, read) = reading(|| store.list().unwrap().len());
    assert_eq!(sessions, 1000);
    assert!(read < 100, "{read} bytes");
}
