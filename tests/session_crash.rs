//! Processes that are killed while they write, and processes that write at once: nothing acknowledged is lost, nothing is
//! there twice. The other processes are this test program, started anew as a writer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test starts itself as other processes")]

mod stores;

use std::collections::HashMap;
use std::env;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lite_agent::session::log::NewEvent;
use lite_agent::session::store::{FileStore, Store, StoreError};
use stores::{id, long, read, user};

const ROLE: &str = "LITE_AGENT_TEST_WRITER";

fn open(kind: &str, folder: &Path) -> Box<dyn Store> {
    match kind {
        "file" => Box::new(FileStore::new(folder.join("sessions"))),
        #[cfg(feature = "sqlite")]
        "sqlite" => {
            use lite_agent::session::store::{SqliteOptions, SqliteStore};
            Box::new(SqliteStore::open(folder.join("sessions.db"), &SqliteOptions::default()).unwrap())
        }
        other => panic!("no store {other}"),
    }
}

fn kinds() -> Vec<&'static str> {
    if cfg!(feature = "sqlite") { vec!["file", "sqlite"] } else { vec!["file"] }
}

/// Starts this program as a writer; what it says comes line by line.
fn start(role: &str, kind: &str, folder: &Path, word: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "a_killed_process_loses_nothing_that_was_acknowledged", "--nocapture"])
        .env(ROLE, format!("{role} {kind} {word}"))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

/// Whether this is one of the other processes; then it has done its work.
fn has_played_a_role() -> bool {
    let Ok(role) = env::var(ROLE) else { return false };
    let words: Vec<_> = role.split(' ').collect();
    let store = open(words[1], Path::new("."));
    match words[0] {
        "endless" => write_without_end(&*store),
        "contender" => contend(&*store, words[2]),
        other => panic!("no role {other}"),
    }
    true
}

fn say(line: &str) {
    // The test harness keeps what `println!` says, and has begun a line of its own.
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "\n{line}").and_then(|()| stdout.flush()).unwrap();
}

/// The event of this number: short ones, long ones, and now and then one that takes many writes of the disk.
fn numbered(seq: u64) -> NewEvent {
    let length = match seq % 11 {
        0 => 2_000_000,
        5 => 20_000,
        _ => 100,
    };
    user(&format!("{seq} {}", "x".repeat(length)))
}

fn write_without_end(store: &dyn Store) {
    let mut head = store.head(&id("s")).unwrap();
    loop {
        let batch: Vec<_> = (head + 1..=head + 1 + head % 3).map(numbered).collect();
        head = store.append(&id("s"), &batch, Some(head)).unwrap();
        say(&format!("ack {head}"));
    }
}

/// Small numbers without a pattern.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    if has_played_a_role() {
        return;
    }
    let kills = if long() { 200 } else { 20 };
    for kind in kinds() {
        let folder = tempfile::tempdir().unwrap();
        let mut random = Random(u64::from(std::process::id()));
        let mut before = 0;
        let mut repaired = 0;
        for _ in 0..kills {
            let (mut child, mut lines) = start("endless", kind, folder.path(), "");
            let wanted = 1 + random.below(12);
            let mut acknowledged = before;
            let mut line = String::new();
            let mut heard = 0;
            while heard < wanted {
                line.clear();
                assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the writer ended by itself");
                if let Some(head) = line.trim().strip_prefix("ack ") {
                    acknowledged = head.parse().unwrap();
                    heard += 1;
                }
            }
            // Somewhere inside of what it does next.
            let moment = Instant::now() + Duration::from_micros(random.below(3000));
            while Instant::now() < moment {
                std::hint::spin_loop();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            for rest in lines.lines() {
                if let Some(head) = rest.unwrap().strip_prefix("ack ").and_then(|head| head.parse().ok()) {
                    acknowledged = head;
                }
            }
            let store = open(kind, folder.path());
            let texts = read(&*store, &id("s")).unwrap();
            let head = texts.len() as u64;
            assert!(head >= acknowledged && head <= acknowledged + 3, "{head} after {acknowledged}");
            assert!(texts.iter().zip(1..).all(|(text, seq)| text == numbered(seq).json()));
            assert_eq!(store.head(&id("s")), Ok(head));
            repaired += store.take_repairs().len();
            store.close().unwrap();
            before = head;
            // Long logs make the checks slow and nothing else.
            if head > 80 {
                let store = open(kind, folder.path());
                store.truncate(&id("s"), 7).unwrap();
                before = 7;
            }
        }
        eprintln!("{kind}: {kills} kills, {repaired} torn ends");
    }
}

/// Appends at whatever head there is, until it has won so often, or for so long.
fn contend(store: &dyn Store, word: &str) {
    let (name, limit) = word.split_once('/').unwrap();
    let (wins_wanted, seconds) = limit.split_once('/').unwrap();
    let (wins_wanted, seconds): (u64, u64) = (wins_wanted.parse().unwrap(), seconds.parse().unwrap());
    // All begin at once: when the one that started them closes their input.
    say("ready");
    std::io::stdin().lines().for_each(drop);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let (mut head, mut won, mut lost) = (0, 0, 0);
    while won < wins_wanted || Instant::now() < deadline {
        match store.append(&id("s"), &[user(&format!("{name} {won}"))], Some(head)) {
            Ok(new) => {
                assert_eq!(new, head + 1);
                head = new;
                won += 1;
            }
            Err(StoreError::Conflict { expected, actual, .. }) => {
                assert_eq!(expected, head);
                assert!(actual > expected);
                head = actual;
                lost += 1;
            }
            Err(error) => panic!("{name} was told {error:?}"),
        }
    }
    say(&format!("won {name} {won} {lost}"));
}

#[test]
fn ten_processes_append_to_one_session_without_gap_or_double() {
    let limit = if long() { "1/10" } else { "15/0" };
    for kind in kinds() {
        let folder = tempfile::tempdir().unwrap();
        let mut children: Vec<_> =
            (0..10).map(|name| start("contender", kind, folder.path(), &format!("{name}/{limit}"))).collect();
        for (_, lines) in &mut children {
            assert!(lines.lines().any(|line| line.unwrap() == "ready"));
        }
        for (child, _) in &mut children {
            drop(child.stdin.take());
        }
        let mut won: HashMap<String, u64> = HashMap::new();
        let mut lost = 0;
        for (mut child, lines) in children {
            for line in lines.lines() {
                let line = line.unwrap();
                if let Some(rest) = line.strip_prefix("won ") {
                    let words: Vec<_> = rest.split(' ').collect();
                    won.insert(words[0].to_string(), words[1].parse().unwrap());
                    lost += words[2].parse::<u64>().unwrap();
                }
            }
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(won.len(), 10);
        let store = open(kind, folder.path());
        let mut found: HashMap<String, u64> = HashMap::new();
        for text in read(&*store, &id("s")).unwrap() {
            let event: serde_json::Value = serde_json::from_str(&text).unwrap();
            let content = event["message"]["content"].as_str().unwrap();
            let (name, number) = content.split_once(' ').unwrap();
            let expected = found.entry(name.to_string()).or_default();
            assert_eq!(number.parse::<u64>().unwrap(), *expected, "in the order in which {name} wrote them");
            *expected += 1;
        }
        assert_eq!(found, won);
        assert_eq!(store.take_repairs(), []);
        eprintln!("{kind}: {} appends, {lost} conflicts", found.values().sum::<u64>());
    }
}
