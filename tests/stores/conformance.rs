//! The contract of stores. Each check gets a new, empty store.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use lite_agent::session::log::SessionId;
use lite_agent::session::store::{CleanupRequest, Place, Store, StoreError};

use super::{event, id, read, read_in, user};

type Check = fn(&dyn Store);

/// All checks, by name.
pub const CHECKS: &[(&str, Check)] = &[
    ("an unknown session is empty", unknown_session),
    ("events are numbered from 1 without gaps", numbering),
    ("an event's text comes back byte for byte", bytes),
    ("an event has a time and a parent", time_and_parent),
    ("reading begins after the event that is named", since),
    ("reading gives no more at once than is asked for", batches),
    ("a reader sees the log as it was when it was opened", snapshot),
    ("a stale, a future and a missing head are conflicts and write nothing", conflicts),
    ("an append of nothing answers the head and makes no session", empty_append),
    ("a log that was taken back and has the same head again is another one", same_head_again),
    ("sessions do not touch each other", sessions_apart),
    ("a list is the most recent first", list),
    ("what is truncated is gone and the log goes on", truncate),
    ("a reader of a log that was cut never mixes the two", cut_while_reading),
    ("a deleted session is as if it never was", delete),
    ("a clean-up takes the oldest, and never what is held", cleanup),
    ("of many that append to one head one wins", race),
    ("a closed store says so", closed),
];

/// Runs every check on a store of its own.
pub fn run<S: Store>(mut make: impl FnMut(&str) -> S) {
    for (name, check) in CHECKS {
        eprintln!("checking that {name}");
        let store = make(name);
        check(&store);
        store.close().unwrap();
    }
}

fn conflict(session: &SessionId, expected: u64, actual: u64) -> StoreError {
    StoreError::Conflict { session: session.clone(), expected, actual }
}

fn unknown_session(store: &dyn Store) {
    let session = id("nobody");
    assert_eq!(store.head(&session), Ok(0));
    assert_eq!(read(store, &session).unwrap(), [""; 0]);
    assert_eq!(store.delete(&session), Ok(()));
    assert_eq!(store.truncate(&session, 0), Ok(()));
    assert_eq!(store.list(), Ok(vec![]));
}

fn numbering(store: &dyn Store) {
    let session = id("s");
    assert_eq!(store.append(&session, &[user("1")], Some(0)), Ok(1));
    assert_eq!(store.append(&session, &[user("2"), user("3"), user("4")], Some(1)), Ok(4));
    assert_eq!(store.append(&session, &[user("5")], None), Ok(5));
    assert_eq!(store.head(&session), Ok(5));
    let expected: Vec<_> = (1..=5).map(|n| user(&n.to_string()).json().to_string()).collect();
    assert_eq!(read(store, &session).unwrap(), expected);
}

fn bytes(store: &dyn Store) {
    let session = id("s");
    let long = format!(r#"{{"type":"user","message":{{"role":"user","content":"{}"}}}}"#, "é\\n".repeat(700_000));
    let texts = [
        r#"{"type":"user","message":{"role":"user","content":"half \ud800 of \udc00\ud83e\udd80 a pair, a \u0000"}}"#,
        r#"{ "type" : "user" ,"message":  {"role":"user","content":[{"n":1.0e0,"n":12345678901234567890}]} }"#,
        r#"{"type":"user","message":{"role":"user","content":"🦀 \" \\ {\"crc\":\"00000000\" \u2028 "}}"#,
        r#"{"type":"of a later version"}"#,
        &long,
        r#"{"type":"user"}"#,
    ];
    let events: Vec<_> = texts.iter().map(|text| event(text)).collect();
    store.append(&session, &events, Some(0)).unwrap();
    assert!(read(store, &session).unwrap() == texts);
}

fn time_and_parent(store: &dyn Store) {
    let session = id("s");
    store.append(&session, &[user("1"), user("2")], Some(0)).unwrap();
    let mut reader = store.reader(&session, 0).unwrap();
    let batch = reader.next_batch(1 << 20).unwrap().unwrap();
    let events: Vec<_> = batch.iter().collect();
    assert_eq!((events[0].parent_seq(), events[1].parent_seq()), (None, Some(1)));
    for stored in events {
        assert_eq!(stored.ts.len(), 24, "{}", stored.ts);
        assert!(stored.ts.starts_with("20") && stored.ts.ends_with('Z'), "{}", stored.ts);
    }
}

fn since(store: &dyn Store) {
    let session = id("s");
    for n in 1..=40 {
        store.append(&session, &[user(&"x".repeat(20_000)), user(&n.to_string())], None).unwrap();
    }
    for since in [0, 1, 7, 40, 79, 80, 81, u64::MAX] {
        let events = read_in(store, &session, since, 50_000).unwrap();
        assert_eq!(events.len() as u64, 80u64.saturating_sub(since));
        assert!(events.iter().zip(since.saturating_add(1)..).all(|((seq, _, _), expected)| *seq == expected));
    }
}

fn batches(store: &dyn Store) {
    let session = id("s");
    let events: Vec<_> = (0..50).map(|_| user(&"x".repeat(1000))).collect();
    store.append(&session, &events, Some(0)).unwrap();
    for max_bytes in [1, 5_000, 1 << 20] {
        let mut reader = store.reader(&session, 0).unwrap();
        let mut read = 0;
        while let Some(batch) = reader.next_batch(max_bytes).unwrap() {
            assert!(batch.bytes() <= max_bytes + 1200);
            read += batch.len();
        }
        assert_eq!(read, 50);
        assert!(reader.next_batch(max_bytes).unwrap().is_none(), "the end stays the end");
    }
}

fn snapshot(store: &dyn Store) {
    let session = id("s");
    store.append(&session, &[user("1"), user("2")], Some(0)).unwrap();
    let mut reader = store.reader(&session, 0).unwrap();
    store.append(&session, &[user("3")], Some(2)).unwrap();
    let mut read = Vec::new();
    while let Some(batch) = reader.next_batch(1).unwrap() {
        read.extend(batch.iter().map(|stored| stored.seq));
    }
    assert_eq!(read, [1, 2]);
}

fn conflicts(store: &dyn Store) {
    let session = id("s");
    assert_eq!(store.append(&session, &[user("1")], Some(7)), Err(conflict(&session, 7, 0)));
    assert_eq!(store.list(), Ok(vec![]), "a refused append makes no session");
    store.append(&session, &[user("1"), user("2")], Some(0)).unwrap();
    for expected in [0, 1, 3, u64::MAX] {
        let appended = store.append(&session, &[user("no")], Some(expected));
        assert_eq!(appended, Err(conflict(&session, expected, 2)));
        assert_eq!(appended.unwrap_err().code(), "checkpoint_conflict");
    }
    assert_eq!(read(store, &session).unwrap().len(), 2);
    assert_eq!(store.append(&session, &[user("3")], Some(2)), Ok(3));
}

fn empty_append(store: &dyn Store) {
    let session = id("s");
    assert_eq!(store.append(&session, &[], None), Ok(0));
    assert_eq!(store.append(&session, &[], Some(0)), Ok(0));
    assert_eq!(store.list(), Ok(vec![]));
    store.append(&session, &[user("1")], None).unwrap();
    assert_eq!(store.append(&session, &[], Some(1)), Ok(1));
    assert_eq!(store.append(&session, &[], Some(0)), Err(conflict(&session, 0, 1)));
}

fn sessions_apart(store: &dyn Store) {
    let names = ["a", "A", "a_b", "a-b", "a--b", "_", &"x".repeat(128)];
    for name in names {
        store.append(&id(name), &[user(name)], Some(0)).unwrap();
    }
    store.append(&id("a"), &[user("more")], Some(1)).unwrap();
    store.truncate(&id("A"), 0).unwrap();
    store.delete(&id("_")).unwrap();
    for name in ["a_b", "a-b", "a--b", names[6]] {
        assert_eq!(read(store, &id(name)).unwrap(), [user(name).json()]);
    }
    assert_eq!(store.head(&id("a")), Ok(2));
    assert_eq!((store.head(&id("A")), store.head(&id("_"))), (Ok(0), Ok(0)));
}

/// Waits until the clock shows another millisecond, and the file system's clock as well.
fn tick() {
    let started = std::time::Instant::now();
    while started.elapsed().as_millis() < 12 {
        thread::yield_now();
    }
}

fn list(store: &dyn Store) {
    for name in ["one", "two", "three"] {
        store.append(&id(name), &[user(name)], Some(0)).unwrap();
        tick();
    }
    store.append(&id("one"), &[user("again")], Some(1)).unwrap();
    let sessions = store.list().unwrap();
    let names: Vec<_> = sessions.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(names, ["one", "three", "two"]);
    assert!(sessions.iter().all(|session| session.mtime_ms > 1_600_000_000_000), "{sessions:?}");
}

fn same_head_again(store: &dyn Store) {
    let session = id("s");
    let nowhere = Place { head: 0, mark: None };
    assert_eq!(store.append_at(&session, &[], &nowhere), Ok(nowhere.clone()));
    assert_eq!(store.list(), Ok(vec![]));
    let takings_back: [fn(&dyn Store, &SessionId); 3] = [
        |store, session| store.truncate(session, 1).unwrap(),
        |store, session| store.truncate(session, 0).unwrap(),
        |store, session| store.delete(session).unwrap(),
    ];
    for take_back in takings_back {
        let one = store.append_at(&session, &[user("1")], &nowhere).unwrap();
        let mut place = store.append_at(&session, &[user("2"), user("3")], &one).unwrap();
        assert_eq!((place.head, store.append_at(&session, &[], &place)), (3, Ok(place.clone())));
        assert_eq!(store.append_at(&session, &[user("no")], &one), Err(conflict(&session, 1, 3)));
        take_back(store, &session);
        let head = store.head(&session).unwrap();
        assert_eq!(store.append_at(&session, &[user("no")], &place), Err(conflict(&session, 3, head)));
        // The very same events: they are others all the same.
        let again = [user("1"), user("2"), user("3, anew")];
        store.append(&session, &again[head as usize..], Some(head)).unwrap();
        let replaced = StoreError::Replaced { session: session.clone(), head: 3 };
        assert_eq!(store.append_at(&session, &[user("no")], &place), Err(replaced));
        assert_eq!(store.head(&session), Ok(3));
        place = store.append_at(&session, &[], &Place { head: 3, mark: None }).unwrap();
        assert_eq!(store.append_at(&session, &[user("4")], &place).map(|place| place.head), Ok(4));
        store.delete(&session).unwrap();
    }
    store.append(&session, &[user("1"), user("2")], Some(0)).unwrap();
    assert_eq!(store.truncate_from(&session, 0, Some(1)), Err(conflict(&session, 1, 2)));
    assert_eq!(store.truncate_from(&session, 1, Some(2)), Ok(()));
    assert_eq!(store.truncate_from(&id("nobody"), 0, Some(2)), Err(conflict(&id("nobody"), 2, 0)));
    assert_eq!((store.head(&session), store.truncate_from(&id("nobody"), 0, Some(0))), (Ok(1), Ok(())));
}

fn truncate(store: &dyn Store) {
    let session = id("s");
    let events: Vec<_> = (1..=10).map(|n| user(&n.to_string())).collect();
    store.append(&session, &events[..4], Some(0)).unwrap();
    store.append(&session, &events[4..], Some(4)).unwrap();
    store.truncate(&session, 10).unwrap();
    store.truncate(&session, 99).unwrap();
    assert_eq!(store.head(&session), Ok(10));
    store.truncate(&session, 6).unwrap();
    assert_eq!(store.head(&session), Ok(6));
    assert_eq!(store.append(&session, &[user("no")], Some(10)), Err(conflict(&session, 10, 6)));
    assert_eq!(store.append(&session, &[user("new 7")], Some(6)), Ok(7));
    let texts = read(store, &session).unwrap();
    assert_eq!((texts.len(), texts[5].as_str(), texts[6].as_str()), (7, user("6").json(), user("new 7").json()));
    store.truncate(&session, 0).unwrap();
    assert_eq!((store.head(&session), read(store, &session).unwrap().len()), (Ok(0), 0));
    assert_eq!(store.append(&session, &[user("anew")], Some(0)), Ok(1));
    assert_eq!(read(store, &session).unwrap(), [user("anew").json()]);
}

fn cut_while_reading(store: &dyn Store) {
    let texts = |prefix: &str| -> Vec<_> {
        (1..=3000).map(|n| user(&format!("{prefix} {n:05} {}", "x".repeat(300)))).collect()
    };
    for (cut, session) in [(2, id("a")), (0, id("b"))] {
        store.append(&session, &texts("old"), Some(0)).unwrap();
        let mut reader = store.reader(&session, 0).unwrap();
        let mut read: Vec<String> = Vec::new();
        let first = reader.next_batch(1).unwrap().unwrap();
        read.extend(first.iter().map(|stored| stored.json.to_string()));
        if cut == 0 {
            store.delete(&session).unwrap();
        } else {
            store.truncate(&session, cut).unwrap();
        }
        store.append(&session, &texts("new")[cut as usize..], Some(cut)).unwrap();
        let ended = loop {
            match reader.next_batch(1000) {
                Ok(Some(batch)) => read.extend(batch.iter().map(|stored| stored.json.to_string())),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let old: Vec<_> = texts("old").iter().map(|event| event.json().to_string()).collect();
        assert!(old.starts_with(&read), "what was read is of the log as it was");
        match ended {
            Ok(()) => assert_eq!(read.len(), old.len()),
            Err(error) => assert_eq!(error, StoreError::Changed { session: session.clone() }),
        }
    }
}

fn delete(store: &dyn Store) {
    let session = id("s");
    store.append(&session, &[user("1"), user("2")], Some(0)).unwrap();
    store.append(&id("other"), &[user("1")], Some(0)).unwrap();
    store.delete(&session).unwrap();
    assert_eq!(store.head(&session), Ok(0));
    assert_eq!(store.list().unwrap().len(), 1);
    assert_eq!(store.append(&session, &[user("x")], Some(2)), Err(conflict(&session, 2, 0)));
    assert_eq!(store.append(&session, &[user("anew")], Some(0)), Ok(1));
    assert_eq!(read(store, &session).unwrap(), [user("anew").json()]);
}

fn cleanup(store: &dyn Store) {
    let mut heard = Vec::new();
    for name in ["a", "b", "c", "d"] {
        store.append(&id(name), &[user(&"x".repeat(10_000))], Some(0)).unwrap();
        heard.push(store.list().unwrap()[0].clone());
        tick();
    }
    let nothing = store.cleanup(&CleanupRequest::default()).unwrap();
    assert!(nothing.deleted.is_empty() && nothing.failed.is_empty());

    let hold = store.hold(&id("a")).unwrap();
    let old = CleanupRequest { modified_before_ms: Some(heard[2].mtime_ms), max_bytes: None };
    let report = store.cleanup(&old).unwrap();
    assert_eq!((report.deleted, report.held), (vec![id("b")], vec![id("a")]));
    assert!(report.failed.is_empty() && report.freed_bytes > 10_000, "{}", report.freed_bytes);
    assert_eq!(store.head(&id("a")), Ok(1));

    // Held twice is held until both are gone.
    let second = store.hold(&id("a")).unwrap();
    drop(hold);
    assert_eq!(store.cleanup(&old).unwrap().held, [id("a")]);
    drop(second);
    assert_eq!(store.cleanup(&old).unwrap().deleted, [id("a")]);

    let most = CleanupRequest { modified_before_ms: None, max_bytes: Some(15_000) };
    assert_eq!(store.cleanup(&most).unwrap().deleted, [id("c")]);
    assert_eq!(store.list().unwrap().len(), 1);
}

fn race(store: &dyn Store) {
    const THREADS: usize = 8;
    const ROUNDS: u64 = 20;
    let session = id("s");
    let barrier = Barrier::new(THREADS);
    let won: Vec<Vec<u64>> = thread::scope(|scope| {
        let writer = |name: usize| {
            let (barrier, session) = (&barrier, &session);
            move || {
                let mut won = Vec::new();
                for round in 0..ROUNDS {
                    barrier.wait();
                    match store.append(session, &[user(&format!("{name} {round}"))], Some(round)) {
                        Ok(head) => won.push(head),
                        Err(error) => assert_eq!(error, conflict(session, round, round + 1)),
                    }
                    barrier.wait();
                }
                won
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|name| scope.spawn(writer(name))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let heads: Vec<u64> = won.into_iter().flatten().collect();
    assert_eq!(heads.len() as u64, ROUNDS);
    assert_eq!(heads.into_iter().collect::<BTreeSet<_>>(), (1..=ROUNDS).collect());
    assert_eq!(read(store, &session).unwrap().len() as u64, ROUNDS);
}

fn closed(store: &dyn Store) {
    let session = id("s");
    store.append(&session, &[user("1"), user("2")], Some(0)).unwrap();
    let mut reader = store.reader(&session, 0).unwrap();
    store.close().unwrap();
    store.close().unwrap();
    assert_eq!(store.append(&session, &[user("3")], None), Err(StoreError::Closed));
    assert_eq!(store.head(&session), Err(StoreError::Closed));
    assert_eq!(store.list(), Err(StoreError::Closed));
    assert_eq!(store.delete(&session), Err(StoreError::Closed));
    assert_eq!(store.truncate(&session, 0), Err(StoreError::Closed));
    assert_eq!(store.hold(&session).err(), Some(StoreError::Closed));
    assert_eq!(store.reader(&session, 0).err(), Some(StoreError::Closed));
    assert_eq!(store.cleanup(&CleanupRequest::default()).err(), Some(StoreError::Closed));
    assert_eq!(reader.next_batch(1).err(), Some(StoreError::Closed));
}
