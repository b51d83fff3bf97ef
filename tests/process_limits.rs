//! Bounds of the whole tree: memory, processor time, processes, core files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod commands;

use commands::{Shell, shell};
use lite_agent::process::{End, Limits};

/// `tail` keeps a line that does not end whole in its memory.
const HOG: &str = "head -c 400M /dev/zero | tail -n 1 | wc -c";

#[test]
fn all_of_it_holds_for_an_ordinary_user() {
    commands::all_again_as_ordinary_user("all_of_it_holds_for_an_ordinary_user");
}

fn limited(text: &str, limits: Limits) -> Shell {
    let mut shell = shell(text).timeout_ms(60_000);
    shell.command.limits = limits;
    shell
}

fn memory(megabytes: u64) -> Limits {
    Limits { memory_bytes: Some(megabytes << 20), ..Limits::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_takes_too_much_memory_is_ended() {
    let outcome = limited(HOG, memory(200)).run().await;
    assert_eq!(outcome.end, End::MemoryLimit, "{}", outcome.output.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_of_many_processes_counts_together() {
    let text = "for i in 1 2 3 4; do (head -c 80M /dev/zero; sleep 60) | tail -n 1 >/dev/null & done; wait";
    assert_eq!(limited(text, memory(200)).run().await.end, End::MemoryLimit);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_fails_for_want_of_memory_is_told_as_such() {
    // The line never ends. Whether a look or the kernel's own limit comes first, it is the same to the caller.
    let outcome = limited("exec tail -n 1 /dev/zero", memory(50)).run().await;
    assert_eq!(outcome.end, End::MemoryLimit, "{}", outcome.output.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_within_its_memory_is_left_alone() {
    let outcome = limited("head -c 50M /dev/zero | tail -n 1 | wc -c", memory(400)).run().await;
    assert_eq!((outcome.end, outcome.output.text().trim()), (End::Exit(0), "52428800"));
}

#[tokio::test(flavor = "multi_thread")]
async fn processor_time_of_all_processes_counts_together() {
    let spin = "while :; do :; done";
    let one = Limits { cpu_seconds: Some(1), ..Limits::default() };
    assert_eq!(limited(spin, one).run().await.end, End::CpuLimit);
    let outcome = limited(&format!("({spin}) & ({spin}) & wait"), one).run().await;
    assert_eq!(outcome.end, End::CpuLimit);
    assert_eq!(limited("sleep 0.2", one).run().await.end, End::Exit(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn time_of_processes_that_are_gone_counts() {
    let short = "for i in $(seq 200); do timeout 0.3 sh -c 'while :; do :; done'; done; echo all";
    let one = Limits { cpu_seconds: Some(1), ..Limits::default() };
    let outcome = limited(short, one).run().await;
    assert_eq!(outcome.end, End::CpuLimit, "{}", outcome.output.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_processes_are_ended() {
    let limits = Limits { max_processes: Some(10), ..Limits::default() };
    let outcome = limited("for i in $(seq 30); do sleep 60 & done; wait", limits).run().await;
    assert_eq!(outcome.end, End::ProcessLimit);
    let outcome = limited("for i in $(seq 8); do sleep 0.3 & done; wait", limits).run().await;
    assert_eq!(outcome.end, End::Exit(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_core_is_dumped() {
    let outcome = shell("ulimit -c; ulimit -Hc").run().await;
    assert_eq!(outcome.output.text(), "0\n0\n");
}
