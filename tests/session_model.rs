//! Random work on stores, by several openings at once, against the store in memory: all must agree after each step.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod stores;

use std::path::Path;

use lite_agent::session::log::NewEvent;
use lite_agent::session::store::{FileStore, MemoryStore, Store};
use proptest::prelude::*;
use stores::{id, long, read_in, user};

#[derive(Debug, Clone)]
enum Step {
    Append { lengths: Vec<usize>, expected: Option<u64> },
    Truncate(u64),
    Delete,
    Read { since: u64, batch_bytes: usize },
    Head,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<(usize, bool, Step)>> {
    let length = prop_oneof![8 => 0usize..200, 2 => 50_000usize..150_000];
    let step = prop_oneof![
        6 => prop::collection::vec(length, 0..5).prop_map(|lengths| Step::Append { lengths, expected: None }),
        2 => (prop::collection::vec(0usize..50, 0..3), 0u64..20)
            .prop_map(|(lengths, head)| Step::Append { lengths, expected: Some(head) }),
        2 => (0u64..25).prop_map(Step::Truncate),
        1 => Just(Step::Delete),
        3 => (0u64..25, prop_oneof![Just(1usize), Just(10_000), Just(1 << 20)])
            .prop_map(|(since, batch_bytes)| Step::Read { since, batch_bytes }),
        2 => Just(Step::Head),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec((0usize..2, any::<bool>(), step), 1..30)
}

fn agree(steps: &[(usize, bool, Step)], open: impl Fn() -> Box<dyn Store>) {
    let model = MemoryStore::new();
    let mut openings = [open(), open()];
    let mut written = 0;
    for (opening, other_session, step) in steps {
        let session = id(if *other_session { "S" } else { "s" });
        let store = &openings[*opening];
        match step {
            Step::Append { lengths, expected } => {
                let events: Vec<NewEvent> = lengths
                    .iter()
                    .map(|length| {
                        written += 1;
                        user(&format!("{written} {}", "x".repeat(*length)))
                    })
                    .collect();
                assert_eq!(store.append(&session, &events, *expected), model.append(&session, &events, *expected));
            }
            Step::Truncate(to) => {
                assert_eq!(store.truncate(&session, *to), model.truncate(&session, *to));
            }
            Step::Delete => assert_eq!(store.delete(&session), model.delete(&session)),
            Step::Read { since, batch_bytes } => {
                let texts = |store: &dyn Store| -> Vec<(u64, String)> {
                    let events = read_in(store, &session, *since, *batch_bytes).unwrap();
                    events.into_iter().map(|(seq, _, json)| (seq, json)).collect()
                };
                assert!(texts(&**store) == texts(&model));
            }
            Step::Head => assert_eq!(store.head(&session), model.head(&session)),
            Step::Reopen => openings[*opening] = open(),
        }
        assert_eq!(openings[0].take_repairs(), []);
    }
    for session in [id("s"), id("S")] {
        for store in &openings {
            let all = |store: &dyn Store| read_in(store, &session, 0, 5000).unwrap().into_iter().map(|event| event.2);
            assert!(all(&**store).eq(all(&model)));
        }
    }
}

fn file(folder: &Path) -> Box<dyn Store> {
    Box::new(FileStore::new(folder.join("sessions")))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if long() { 3000 } else { 100 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_file_store_does_as_the_store_in_memory(steps in steps()) {
        let folder = stores::quick_folder();
        agree(&steps, || file(folder.path()));
    }
}

#[cfg(feature = "sqlite")]
proptest! {
    #![proptest_config(ProptestConfig {
        cases: if long() { 1000 } else { 30 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_sqlite_store_does_as_the_store_in_memory(steps in steps()) {
        use lite_agent::session::store::{SqliteOptions, SqliteStore};
        let folder = stores::quick_folder();
        agree(&steps, || {
            Box::new(SqliteStore::open(folder.path().join("sessions.db"), &SqliteOptions::default()).unwrap())
        });
    }
}
