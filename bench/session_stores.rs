//! What the stores of sessions cost in time. Prints figures; decides nothing.
//! `cargo bench --profile ci --no-default-features --features sqlite --bench session_stores`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout)]

#[path = "../tests/stores/mod.rs"]
mod stores;

use std::fs;
use std::time::Instant;

use lite_agent::session::store::{FileStore, Store};
use stores::{conversation, id, long, user};

/// Milliseconds of the best of some rounds.
fn best_of<T>(rounds: u32, mut action: impl FnMut() -> T) -> f64 {
    let time = |_| {
        let started = Instant::now();
        std::hint::black_box(action());
        started.elapsed().as_secs_f64() * 1000.0
    };
    (0..rounds).map(time).fold(f64::INFINITY, f64::min)
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path());
    for chunk in conversation(20_000).chunks(500) {
        store.append(&id("s"), chunk, None).unwrap();
    }
    let path = folder.path().join("s.jsonl");
    let rounds = if long() { 50 } else { 10 };
    let baseline = best_of(rounds, || {
        let text = fs::read_to_string(&path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|v| v.is_object())
            .count()
    });
    let resume = |store: &dyn Store| {
        let mut reader = store.reader(&id("s"), 0).unwrap();
        while reader.next_batch(256 * 1024).unwrap().is_some() {}
    };
    let read = best_of(rounds, || resume(&FileStore::new(folder.path())));
    let size = fs::metadata(&path).unwrap().len();
    println!("20,000 events, {size} bytes: read and parse each line {baseline:.1} ms; read {read:.1} ms");
    let mut head = 20_000;
    let append = best_of(200, || {
        head = store.append(&id("s"), &[user("one more")], Some(head)).unwrap();
    });
    let quick = stores::quick_folder();
    let in_memory = FileStore::new(quick.path());
    let mut quick_head = 0;
    let unsynced = best_of(200, || {
        quick_head = in_memory.append(&id("s"), &[user("one more")], Some(quick_head)).unwrap();
    });
    println!("an append: {append:.3} ms on this disk, {unsynced:.3} ms in memory");
    for n in 0..1000 {
        fs::write(folder.path().join(format!("session-{n}.jsonl")), "x").unwrap();
    }
    println!("a list of 1,001 sessions: {:.2} ms", best_of(rounds, || store.list().unwrap().len()));
    #[cfg(feature = "sqlite")]
    {
        use lite_agent::session::store::{SqliteOptions, SqliteStore};
        let store = SqliteStore::open(folder.path().join("sessions.db"), &SqliteOptions::default()).unwrap();
        for chunk in conversation(20_000).chunks(500) {
            store.append(&id("s"), chunk, None).unwrap();
        }
        let read = best_of(rounds, || resume(&store));
        let mut head = 20_000;
        let append = best_of(200, || {
            head = store.append(&id("s"), &[user("one more")], Some(head)).unwrap();
        });
        println!("sqlite: read {read:.1} ms; an append {append:.3} ms");
    }
}
