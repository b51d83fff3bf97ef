//! However a command ends, nothing of its tree is left: what ignores signals, leaves its session, forks twice, kills or
//! stops its supervisor.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod commands;

use std::time::Duration;

use commands::{alive, assert_gone, folder, is_long, is_root, runner, shell, wait_for_any, wait_until};
use lite_agent::process::{End, Sink, Stream, Taken};
use tokio_util::sync::CancellationToken;

/// How soon the caller goes on after a deadline: 500 ms are promised, the rest is for a busy machine.
const MOVED_ON: Duration = Duration::from_secs(2);

#[test]
fn all_of_it_holds_for_an_ordinary_user() {
    commands::all_again_as_ordinary_user("all_of_it_holds_for_an_ordinary_user");
}

/// Keeps nothing.
struct Nowhere;

impl Sink for Nowhere {
    fn take(&mut self, _stream: Stream, _bytes: &[u8]) -> Taken {
        Taken::All
    }
}

/// Trees that are hard to end; each sleeps for a minute if nobody does.
const STUBBORN: [(&str, &str); 9] = [
    ("plain", "sleep 60"),
    ("with input that it does not read", "sleep 60 <&0"),
    ("deaf to signals", "trap '' TERM INT HUP; sleep 60; sleep 60"),
    ("deaf children", "(trap '' TERM; sleep 60; sleep 60) & (trap '' TERM; sleep 60; sleep 60) & wait"),
    ("in its own session", "setsid sleep 60 & sleep 60"),
    ("deaf, in its own session", "setsid sh -c \"trap '' TERM; sleep 60; sleep 60\" & sleep 60"),
    ("forked twice", "setsid sh -c 'setsid nohup sleep 60 & setsid nohup sleep 60 & exit' & sleep 60"),
    ("stopped", "sleep 60 & kill -STOP $!; kill -STOP $$; sleep 60"),
    (
        "daemons without streams",
        "(setsid sh -c '(exec setsid sleep 60 </dev/null >/dev/null 2>&1) & exit' &); sleep 60",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_the_whole_tree() {
    for (name, text) in STUBBORN {
        let outcome = shell(text).stdin(vec![b'x'; 200 << 10]).timeout_ms(300).run().await;
        assert_eq!(outcome.end, End::Timeout, "{name}");
        assert!(outcome.clean, "{name}");
        assert!(outcome.duration < Duration::from_millis(300) + MOVED_ON, "{name}: {:?}", outcome.duration);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_ends_the_whole_tree() {
    for (name, text) in STUBBORN {
        let cancel = CancellationToken::new();
        let shell = shell(text);
        let mut running = runner().start(shell.command, &cancel, Nowhere);
        wait_for_any(&shell.mark).await;
        cancel.cancel();
        let ended = running.wait().await;
        assert_eq!((ended.end, ended.clean), (End::Cancelled, true), "{name}");
        assert_gone(&shell.mark).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_ends_the_whole_tree() {
    for (_, text) in STUBBORN {
        let shell = shell(text);
        let (runner, never) = (runner(), CancellationToken::new());
        tokio::select! {
            outcome = runner.run(shell.command, &never) => panic!("{outcome:?}"),
            () = wait_for_any(&shell.mark) => {}
        }
        assert_gone(&shell.mark).await;
    }
    wait_until(Duration::from_secs(2), || commands::zombies().is_empty(), || "a zombie".to_string()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_left_behind_ends_with_it() {
    for (name, text) in [
        ("a child", "sleep 60 >/dev/null 2>&1 &"),
        ("a deaf child", "(trap '' TERM; sleep 60; sleep 60) >/dev/null 2>&1 &"),
        ("a session", "setsid sleep 60 >/dev/null 2>&1 &"),
        ("a daemon", "setsid sh -c 'setsid sleep 60 </dev/null >/dev/null 2>&1 & exit' & sleep 0.1"),
    ] {
        let outcome = shell(text).run().await;
        assert_eq!((outcome.end, outcome.clean), (End::Exit(0), true), "{name}");
        assert!(outcome.duration < MOVED_ON, "{name}: {:?}", outcome.duration);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_of_a_millisecond_is_kept() {
    for _ in 0..20 {
        let outcome = shell("sleep 60").timeout_ms(1).run().await;
        assert_eq!((outcome.end, outcome.clean), (End::Timeout, true));
        assert!(outcome.duration < MOVED_ON, "{:?}", outcome.duration);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_was_cancelled_before_is_not_started() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let folder = folder("cancelled");
    let file = folder.0.join("file");
    let outcome = runner().run(shell(&format!("touch {}", file.display())).command, &cancel).await;
    assert_eq!((outcome.end, outcome.clean), (End::Cancelled, true));
    assert!(!file.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_may_clean_up_when_it_is_asked_to_end() {
    let mut tidy = shell("trap 'echo bye; exit 0' TERM; echo hi; while :; do :; done").timeout_ms(300);
    // Enough time for a shell on a busy machine.
    tidy.command.kill_grace = Duration::from_secs(20);
    let outcome = tidy.run().await;
    assert_eq!((outcome.end, outcome.clean, outcome.output.text().as_str()), (End::Timeout, true, "hi\nbye\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_stays_alive_when_the_supervisor_is_attacked() {
    // The parent of the command, and its parent in turn.
    let up = "k=$PPID; g=$(cut -d' ' -f4 /proc/$k/stat)";
    for attack in [
        "kill -KILL $k",
        "kill -STOP $k",
        "kill -KILL $g",
        "kill -STOP $g",
        "kill -STOP $g $k",
        "kill -KILL $g; kill -KILL $k",
        "kill -KILL $k; kill -KILL $g",
        "kill -TERM $k $g",
        "kill -STOP $k; kill -KILL $g",
        "kill -STOP $g; kill -KILL $k",
    ] {
        // Whoever does it is in a session of its own, and so is another; and it takes its time, so that all are seen.
        let text = format!("{up}; setsid sleep 60 & setsid sh -c 'sleep 0.2; {attack}; sleep 60' & sleep 60");
        let text = text.replace("setsid sh -c", "export k g; setsid sh -c");
        let outcome = shell(&text).timeout_ms(1500).run().await;
        if is_root() {
            // The guard refuses.
            let expected = matches!(outcome.end, End::Timeout);
            assert!(expected, "{attack}: {:?} {}", outcome.end, outcome.output.text());
        } else {
            let expected = matches!(outcome.end, End::Timeout | End::SupervisorLost | End::Signal(_) | End::Exit(_));
            assert!(expected, "{attack}: {:?} {}", outcome.end, outcome.output.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quick_attack_on_the_parent_lets_nobody_escape() {
    let rounds = if is_long() { 200 } else { 20 };
    for _ in 0..rounds {
        let text = "setsid sh -c 'setsid sleep 60 & sleep 60' & kill -KILL $PPID; sleep 60";
        let outcome = shell(text).timeout_ms(1000).run().await;
        assert!(outcome.clean, "{outcome:?}");
        let expected = if is_root() { End::Timeout } else { End::SupervisorLost };
        assert_eq!(outcome.end, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_to_everybody_are_refused_to_root() {
    // As an ordinary user this would end all of that user's processes, this one among them.
    if !is_root() {
        return;
    }
    let host = std::process::id();
    let text = format!("kill -KILL -1; kill -KILL {host}; kill -0 {host}; kill -KILL $PPID; kill -TERM $$; sleep 60");
    let outcome = shell(&text).run().await;
    assert_eq!(outcome.end, End::Signal(15), "{}", outcome.output.text());
    assert_eq!(outcome.output.text().matches("ermitted").count(), 4, "{}", outcome.output.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_cannot_signal_the_group_of_the_host() {
    let outcome = shell("trap '' TERM; kill -TERM 0; echo alive").run().await;
    assert_eq!((outcome.end, outcome.output.text().as_str()), (End::Exit(0), "alive\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_forks_is_ended() {
    let storm = "f() { setsid sh -c 'while :; do setsid sleep 60 & sleep 0.002; done' & }; f; f; f; sleep 60";
    let shell = shell(storm).timeout_ms(700);
    let mark = shell.mark.clone();
    let outcome = shell.run().await;
    assert_eq!(outcome.end, End::Timeout);
    assert!(outcome.clean && alive(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bomb_of_forks_is_ended() {
    // It ends by itself at some thousand, to spare the machine if this fails.
    let text = "b() { [ $1 -gt 0 ] && { b $(($1-1)) | b $(($1-1)) & }; exec sleep 60; }; b 10";
    let mut bomb = shell(text).timeout_ms(30_000);
    bomb.command.limits.max_processes = Some(100);
    let outcome = bomb.run().await;
    assert_eq!(outcome.end, End::ProcessLimit);
}
