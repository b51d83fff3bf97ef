//! Many commands, at once and one after another: nothing mixes, nothing stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod commands;

use std::time::Duration;

use commands::{is_long, open_descriptors, run, shell, wait_until, zombies};
use lite_agent::process::End;

#[test]
fn all_of_it_holds_for_an_ordinary_user() {
    commands::all_again_as_ordinary_user("all_of_it_holds_for_an_ordinary_user");
}

/// Both in one test: descriptors and zombies are those of the whole process.
#[tokio::test(flavor = "multi_thread")]
async fn many_commands_leave_nothing_and_mix_nothing() {
    run(shell("true").command).await;
    let before = open_descriptors();
    let at_once: Vec<_> = (0..100)
        .map(|index| {
            let one = shell(&format!("cat | wc -c; exit {}", index % 7)).stdin(vec![b'x'; 100_000 + index]);
            tokio::spawn(one.run())
        })
        .collect();
    for (index, one) in at_once.into_iter().enumerate() {
        let outcome = one.await.unwrap();
        let written = outcome.output.text().trim().to_string();
        assert_eq!(
            (outcome.end, written),
            (End::Exit(i32::try_from(index % 7).unwrap()), (100_000 + index).to_string())
        );
    }
    let rounds = if is_long() { 2_000 } else { 200 };
    let mut marks = Vec::new();
    for round in 0..rounds {
        let (text, end) = match round % 10 {
            0 => ("sleep 60", End::Timeout),
            1 => ("true & (true &); setsid true & exit 0", End::Exit(0)),
            2 => ("sleep 60 >/dev/null 2>&1 & exit 2", End::Exit(2)),
            3 => ("kill -KILL $$", End::Signal(9)),
            4 => ("yes", End::OutputLimit),
            _ => ("echo hi", End::Exit(0)),
        };
        let mut one = shell(text).stdin(vec![b'x'; 1000]);
        if end == End::Timeout {
            one = one.timeout_ms(5);
        }
        marks.push(one.mark.clone());
        let outcome = run(one.command).await;
        assert_eq!((outcome.end, outcome.clean), (end, true), "{text}");
        // The outcome came after its supervisor was reaped; those of the test beside this one may be about to be.
        wait_until(Duration::from_secs(2), || zombies().is_empty(), || format!("{text}: {:?}", zombies())).await;
    }
    for mark in marks {
        assert_eq!(commands::alive(&mark), [0; 0], "{mark}");
    }
    wait_until(
        Duration::from_secs(2),
        || open_descriptors() <= before,
        || format!("{} descriptors, {before} before", open_descriptors()),
    )
    .await;
}
