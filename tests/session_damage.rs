//! Logs that were torn or damaged in every way: what is whole opens, or the place is named; never a wrong conversation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod stores;

use std::fs;
use std::path::{Path, PathBuf};

use lite_agent::session::log::SessionId;
use lite_agent::session::store::{FileStore, Store, StoreError};
use proptest::prelude::*;
use stores::{id, read, user};
use tempfile::TempDir;

/// A log that was written by appends of so many events each.
struct Log {
    folder: TempDir,
    bytes: Vec<u8>,
    texts: Vec<String>,
    /// Where each line begins, and where the last one ends.
    starts: Vec<usize>,
}

impl Log {
    fn of(appends: &[usize]) -> Log {
        let folder = stores::quick_folder();
        let store = FileStore::new(folder.path());
        let mut texts = Vec::new();
        for events in appends {
            let new: Vec<_> = (0..*events).map(|n| user(&format!("event {} é 🦀", texts.len() + n + 1))).collect();
            store.append(&session(), &new, Some(texts.len() as u64)).unwrap();
            texts.extend(new.iter().map(|event| event.json().to_string()));
        }
        let bytes = fs::read(folder.path().join("s.jsonl")).unwrap();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1);
        let starts = [0].into_iter().chain(ends).collect();
        Log { folder, bytes, texts, starts }
    }

    /// How many lines are whole in the first so many bytes.
    fn whole_in(&self, length: usize) -> usize {
        self.starts.iter().filter(|start| **start <= length).count() - 1
    }

    /// A new store over these bytes in place of the log.
    fn damaged(&self, bytes: &[u8]) -> FileStore {
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        fs::write(self.path(), bytes).unwrap();
        FileStore::new(self.folder.path())
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("s.jsonl")
    }
}

fn session() -> SessionId {
    id("s")
}

/// The repairs that were told, each with what its backup holds.
fn repairs(store: &FileStore) -> Vec<(u64, Vec<u8>)> {
    let backup = |path: Option<PathBuf>| fs::read(path.unwrap()).unwrap();
    store.take_repairs().into_iter().map(|repair| (repair.head, backup(repair.backup))).collect()
}

/// The store holds the first `whole` events and goes on from there; `cut` is what was cut off and told.
fn assert_cut(log: &Log, store: &FileStore, whole: usize, cut: &[u8]) {
    assert_eq!(read(store, &session()).unwrap(), log.texts[..whole]);
    let expected = if cut.is_empty() { vec![] } else { vec![(whole as u64, cut.to_vec())] };
    assert_eq!(repairs(store), expected);
    assert_eq!(store.append(&session(), &[user("on")], Some(whole as u64)), Ok(whole as u64 + 1));
    let again = read(&FileStore::new(log.folder.path()), &session()).unwrap();
    assert_eq!((&again[..whole], again[whole].as_str()), (&log.texts[..whole], user("on").json()));
}

#[test]
fn a_log_that_ends_anywhere_in_its_last_three_records_opens_with_what_is_whole() {
    for appends in [&[1, 1, 1, 1, 1][..], &[2, 3], &[5], &[1, 1, 1]] {
        let log = Log::of(appends);
        let first = log.starts[log.texts.len() - 3];
        for length in first..=log.bytes.len() {
            let whole = log.whole_in(length);
            let cut = &log.bytes[log.starts[whole]..length];
            assert_cut(&log, &log.damaged(&log.bytes[..length]), whole, cut);
            // Whatever is asked first.
            let store = log.damaged(&log.bytes[..length]);
            assert_eq!(store.head(&session()), Ok(whole as u64));
            assert_cut(&log, &store, whole, cut);
            let store = log.damaged(&log.bytes[..length]);
            assert_eq!(store.append(&session(), &[], Some(whole as u64)), Ok(whole as u64));
            assert_cut(&log, &store, whole, cut);
            let store = log.damaged(&log.bytes[..length]);
            store.truncate(&session(), u64::MAX).unwrap();
            assert_cut(&log, &store, whole, cut);
        }
    }
}

/// Bytes that a byte may turn into: another bit, no UTF-8, a line end, a quote.
fn flips(byte: u8) -> impl Iterator<Item = u8> {
    [byte ^ 1, byte ^ 0x20, byte ^ 0x80, b'\n', b'"', 0].into_iter().filter(move |flipped| *flipped != byte)
}

#[test]
fn a_flipped_byte_of_a_record_that_others_follow_fails_and_names_the_place() {
    let log = Log::of(&[1, 1, 1, 1, 1]);
    for line in [0, 2, 3] {
        for at in log.starts[line]..log.starts[line + 1] {
            for flipped in flips(log.bytes[at]) {
                let mut bytes = log.bytes.clone();
                bytes[at] = flipped;
                let store = log.damaged(&bytes);
                let error = read(&store, &session()).unwrap_err();
                let StoreError::Damaged { line: named, byte, ref path, .. } = error else { panic!("{error}") };
                assert_eq!((named as usize, byte as usize), (line + 1, log.starts[line]), "byte {at} to {flipped}");
                assert_eq!(*path, log.path());
                assert_eq!(fs::read(log.path()).unwrap(), bytes, "the log is left as it is");
                assert_eq!(store.take_repairs(), []);
            }
        }
    }
}

#[test]
fn a_flipped_byte_of_the_last_record_is_cut_with_it() {
    let log = Log::of(&[1, 1, 1]);
    for at in log.starts[2]..log.starts[3] {
        for flipped in flips(log.bytes[at]) {
            let mut bytes = log.bytes.clone();
            bytes[at] = flipped;
            assert_cut(&log, &log.damaged(&bytes), 2, &bytes[log.starts[2]..]);
        }
    }
}

#[test]
fn what_a_crash_left_of_one_append_is_cut_though_a_later_piece_of_it_is_whole() {
    let log = Log::of(&[1, 4]);
    for line in 1..4 {
        let mut bytes = log.bytes.clone();
        bytes[log.starts[line]..log.starts[line + 1]].fill(0);
        assert_cut(&log, &log.damaged(&bytes), line, &bytes[log.starts[line]..]);
    }
}

#[test]
fn an_append_does_not_go_on_from_an_append_that_a_crash_left_in_pieces() {
    let log = Log::of(&[1, 4]);
    let mut bytes = log.bytes.clone();
    bytes[log.starts[1]..log.starts[2]].fill(0);
    let store = log.damaged(&bytes);
    assert_eq!(store.append(&session(), &[user("on")], None), Ok(2));
    assert_eq!(repairs(&store).len(), 1);
    assert_eq!(read(&store, &session()).unwrap(), [log.texts[0].as_str(), user("on").json()]);
}

#[test]
fn lines_that_are_lost_doubled_moved_or_foreign_fail_and_name_the_place() {
    let log = Log::of(&[1, 1, 1, 1, 1]);
    let line = |index: usize| &log.bytes[log.starts[index]..log.starts[index + 1]];
    let joined = |order: &[usize]| -> Vec<u8> { order.iter().flat_map(|index| line(*index).to_vec()).collect() };
    // Of the same session and number, but not what the next line followed.
    let replaced = {
        let store = log.damaged(&log.bytes);
        store.truncate(&session(), 2).unwrap();
        store.append(&session(), &[user("another")], Some(2)).unwrap();
        let bytes = fs::read(log.path()).unwrap();
        [&bytes, line(3)].concat()
    };
    for (bytes, named) in [
        (joined(&[0, 1, 3, 4]), 3),
        (joined(&[0, 1, 1, 2, 3, 4]), 3),
        (joined(&[0, 2, 1, 3, 4]), 2),
        (joined(&[1, 2, 3, 4]), 1),
        (joined(&[0, 1, 2, 3, 4, 0]), 6),
        ([line(0), b"\n", line(1), line(2)].concat(), 2),
        ([line(0), b"{\"crc\":\"", line(1), line(2)].concat(), 2),
        (replaced, 4),
    ] {
        let error = read(&log.damaged(&bytes), &session()).unwrap_err();
        let StoreError::Damaged { line, .. } = error else { panic!("{error}") };
        assert_eq!(line, named);
    }
}

#[test]
fn backups_of_repairs_do_not_replace_each_other() {
    let log = Log::of(&[1, 1]);
    let store = log.damaged(&[&log.bytes[..], b"torn"].concat());
    assert_eq!(store.head(&session()), Ok(2));
    let mut bytes = fs::read(log.path()).unwrap();
    bytes.extend(b"again");
    fs::write(log.path(), bytes).unwrap();
    assert_eq!(store.head(&session()), Ok(2));
    let cut: Vec<_> = repairs(&store).into_iter().map(|(_, cut)| cut).collect();
    assert_eq!(cut, [b"torn".to_vec(), b"again".to_vec()]);
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_string();
    let mut names: Vec<_> =
        fs::read_dir(log.folder.path()).unwrap().map(|entry| name(&entry.unwrap().path())).collect();
    names.sort();
    assert_eq!(names, ["s.2.bak", "s.bak", "s.jsonl"]);
}

#[test]
fn a_rewind_to_before_the_damage_makes_the_log_whole_again() {
    let log = Log::of(&[1, 1, 1, 1, 1]);
    let mut bytes = log.bytes.clone();
    bytes[log.starts[2] + 30] ^= 1;
    let store = log.damaged(&bytes);
    assert_eq!(store.truncate(&session(), 3).unwrap_err().code(), "session_damaged");
    store.truncate(&session(), 2).unwrap();
    assert_eq!(read(&store, &session()).unwrap(), log.texts[..2]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if stores::long() { 20_000 } else { 300 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_the_bytes_what_is_read_was_written(
        at in 0usize..1200, removed in 0usize..400, inserted in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let log = Log::of(&[2, 1, 3, 1]);
        let start = at.min(log.bytes.len());
        let end = (start + removed).min(log.bytes.len());
        let bytes = [&log.bytes[..start], &inserted, &log.bytes[end..]].concat();
        let store = log.damaged(&bytes);
        match read(&store, &session()) {
            Ok(texts) => prop_assert!(log.texts.starts_with(&texts)),
            Err(error) => prop_assert_eq!(error.code(), "session_damaged"),
        }
        // All that is not read any more is kept.
        let kept: usize = repairs(&store).iter().map(|(_, cut)| cut.len()).sum();
        prop_assert_eq!(fs::metadata(log.path()).unwrap().len() as usize + kept, bytes.len());
    }
}

#[test]
fn a_log_whose_lines_are_all_damaged_fails_and_is_not_taken_for_a_torn_end() {
    let log = Log::of(&[1, 1, 1, 2, 1, 1]);
    let text = String::from_utf8(log.bytes.clone()).unwrap();
    let each_from = |first: usize| {
        let lines = text.lines().enumerate();
        lines
            .map(|(n, line)| if n >= first { line.replace("event", "Event") } else { line.to_string() } + "\n")
            .collect::<String>()
    };
    for (damaged, line) in [(text.replace('\n', "\r\n"), 1), (each_from(0), 1), (each_from(2), 3), (each_from(4), 5)] {
        let store = log.damaged(damaged.as_bytes());
        for error in [
            store.head(&session()).unwrap_err(),
            read(&store, &session()).unwrap_err(),
            store.append(&session(), &[user("on")], None).unwrap_err(),
        ] {
            assert_eq!(error.code(), "session_damaged", "{error}");
            assert!(error.to_string().contains(&format!("line {line}")), "{error}");
        }
        assert_eq!(fs::read(log.path()).unwrap(), damaged.as_bytes(), "nothing is cut");
    }
    // All that is damaged is of the last append, which nobody may have been told of.
    let log = Log::of(&[1, 1, 3]);
    let text = String::from_utf8(log.bytes.clone()).unwrap();
    let damaged = text
        .lines()
        .enumerate()
        .map(|(n, line)| if n >= 2 { line.replace("event", "Event") } else { line.to_string() } + "\n");
    let damaged: String = damaged.collect();
    assert_cut(&log, &log.damaged(damaged.as_bytes()), 2, &damaged.as_bytes()[log.starts[2]..]);
}
