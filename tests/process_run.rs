//! What goes into a command and what comes out of it: input, output, limits on output, ends, environment.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod commands;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use commands::{is_long, run, runner, shell};
use lite_agent::process::{Command, End, Sink, Stream, Streams, Taken};
use tokio_util::sync::CancellationToken;

const CAP: usize = 64 << 10;

#[test]
fn all_of_it_holds_for_an_ordinary_user() {
    commands::all_again_as_ordinary_user("all_of_it_holds_for_an_ordinary_user");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quarter_of_a_megabyte_is_echoed() {
    let bytes: Vec<u8> = (0..256 << 10).map(|index: u32| index.to_le_bytes()[1]).collect();
    let outcome = shell("cat").stdin(bytes.clone()).max_output(1 << 20).run().await;
    assert_eq!(outcome.end, End::Exit(0));
    assert!(outcome.output.bytes() == bytes && outcome.clean);
    assert_eq!(outcome.stdin_written, bytes.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_never_reads_its_input_is_fine() {
    let outcome = shell("exit 0").stdin(vec![b'x'; 256 << 10]).run().await;
    assert_eq!(outcome.end, End::Exit(0));
    assert!(outcome.stdin_written < 256 << 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_closes_its_input_early_is_fine() {
    let outcome = shell("exec 0<&-; sleep 0.1; echo ok").stdin(vec![b'x'; 256 << 10]).run().await;
    assert_eq!((outcome.end, outcome.output.text().as_str()), (End::Exit(0), "ok\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_input_a_command_reads_its_end() {
    let outcome = shell("cat; echo done").timeout_ms(20_000).run().await;
    assert_eq!((outcome.end, outcome.output.text().as_str()), (End::Exit(0), "done\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_closes_its_output_early_goes_on() {
    let outcome = shell("exec 1>&- 2>&-; sleep 0.3; exit 3").run().await;
    assert_eq!(outcome.end, End::Exit(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_holds_the_output_is_given_its_grace_and_no_more() {
    let outcome = shell("sleep 60 & echo hi").run().await;
    assert_eq!((outcome.end, outcome.output.text().as_str()), (End::Exit(0), "hi\n"));
    assert!(outcome.output_held && outcome.clean);
    assert!(outcome.duration < Duration::from_secs(2), "{:?}", outcome.duration);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_holds_nothing_costs_no_grace() {
    let mut slow = shell("sleep 60 >/dev/null 2>&1 & echo hi");
    slow.command.pipe_grace = Duration::from_secs(3600);
    let outcome = slow.run().await;
    assert_eq!((outcome.end, outcome.output.text().as_str()), (End::Exit(0), "hi\n"));
    assert!(!outcome.output_held && outcome.clean);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_child_writes_within_the_grace_is_kept() {
    let mut patient = shell("(sleep 0.1; echo late) & echo early");
    patient.command.pipe_grace = Duration::from_secs(20);
    let outcome = patient.run().await;
    assert_eq!((outcome.end, outcome.output.text().as_str()), (End::Exit(0), "early\nlate\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_utf_8_are_kept_as_they_are() {
    let outcome = shell(r"printf '\377\376\000a'").run().await;
    assert_eq!(outcome.output.bytes(), b"\xff\xfe\0a");
    assert_eq!(outcome.output.text(), "\u{fffd}\u{fffd}\0a");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_character_that_comes_in_two_writes_is_one() {
    let outcome = shell(r"printf '\342'; sleep 0.1; printf '\200\224'").run().await;
    assert_eq!(outcome.output.text(), "—");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_character_that_the_limit_cuts_is_left_out() {
    let outcome = shell(r"printf 'ab\342\200\224'").max_output(4).run().await;
    assert_eq!((outcome.end, outcome.output.text().as_str()), (End::OutputLimit, "ab"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_ends_at_the_limit() {
    for text in ["yes", "yes >&2", "yes & yes >&2 & wait", "cat; cat /dev/zero", "trap '' TERM; yes; yes"] {
        let outcome = shell(text).stdin(vec![b'x'; 256 << 10]).run().await;
        assert_eq!(outcome.end, End::OutputLimit, "{text}");
        assert_eq!(outcome.output.bytes().len(), CAP, "{text}");
        assert!(outcome.duration < Duration::from_secs(5), "{text}: {:?}", outcome.duration);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_limit_is_no_failure_and_one_byte_more_is() {
    for (both, bytes, end) in [
        (false, CAP, End::Exit(0)),
        (false, CAP + 1, End::OutputLimit),
        (true, CAP / 2, End::Exit(0)),
        (true, CAP / 2 + 1, End::OutputLimit),
    ] {
        let again = if both { format!("; head -c {bytes} /dev/zero >&2") } else { String::new() };
        let outcome = shell(&format!("head -c {bytes} /dev/zero{again}")).run().await;
        assert_eq!((outcome.end, outcome.output.bytes().len()), (end, CAP), "{bytes} {both}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_streams_are_kept_apart_in_their_order() {
    let outcome = shell("echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three").run().await;
    let pieces: Vec<_> = outcome.output.pieces().collect();
    let expected =
        [(Stream::Stdout, &b"one\n"[..]), (Stream::Stderr, &b"two\n"[..]), (Stream::Stdout, &b"three\n"[..])];
    assert_eq!(pieces, expected);
    assert_eq!(outcome.output.text_of(Stream::Stdout), "one\nthree\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn joined_streams_have_exactly_the_order_of_the_writes() {
    let mut joined = shell("for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo $i >&2; done");
    joined.command.streams = Streams::Joined;
    let outcome = joined.run().await;
    let expected: String = (1..=9).map(|number| format!("{number}\n{number}\n")).collect();
    assert_eq!((outcome.end, outcome.output.text()), (End::Exit(0), expected));
}

/// Counts, and keeps nothing.
#[derive(Clone, Default)]
struct Counting(Arc<Mutex<[u64; 2]>>);

impl Sink for Counting {
    fn take(&mut self, stream: Stream, bytes: &[u8]) -> Taken {
        self.0.lock().unwrap()[usize::from(stream == Stream::Stderr)] += bytes.len() as u64;
        Taken::All
    }
}

fn peak_kilobytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn gigabytes_on_both_streams_pass_through_flat_memory() {
    let bytes: u64 = if is_long() { 1 << 30 } else { 100 << 20 };
    let counting = Counting::default();
    let flood = shell(&format!("head -c {bytes} /dev/zero & head -c {bytes} /dev/zero >&2; wait"));
    let before = peak_kilobytes();
    let ended = runner().start(flood.command, &CancellationToken::new(), counting.clone()).wait().await;
    assert_eq!((ended.end, ended.clean), (End::Exit(0), true));
    assert_eq!(*counting.0.lock().unwrap(), [bytes, bytes]);
    // The kernel counts in batches: what it tells may go down a little.
    let grown = peak_kilobytes().saturating_sub(before);
    assert!(grown < 40 << 10, "the peak has grown by {grown} kB");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_sees_output_while_the_command_runs() {
    let counting = Counting::default();
    let mut running = runner().start(shell("echo hi; sleep 60").command, &CancellationToken::new(), counting.clone());
    let seen = || counting.0.lock().unwrap()[0] == 3;
    commands::wait_until(Duration::from_secs(20), seen, || "no output".to_string()).await;
    running.kill();
    assert_eq!(running.wait().await.end, End::Cancelled);
    assert_eq!(running.wait().await.end, End::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_and_signals_are_told() {
    assert_eq!(shell("exit 7").run().await.end, End::Exit(7));
    assert_eq!(shell("kill -SEGV $$; sleep 60").run().await.end, End::Signal(11));
    assert_eq!(shell("kill -KILL $$; sleep 60").run().await.end, End::Signal(9));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_started_is_told_with_its_reason() {
    async fn reason(change: impl FnOnce(&mut Command)) -> String {
        let mut command = shell("true").command;
        change(&mut command);
        match run(command).await.end {
            End::Spawn(message) => message,
            other => panic!("{other:?}"),
        }
    }
    let message = reason(|command| command.cwd = "/no/such/folder".into()).await;
    assert_eq!(message, "the working folder /no/such/folder does not exist");
    let message = reason(|command| command.cwd = "/etc/passwd".into()).await;
    assert_eq!(message, "the working folder /etc/passwd is not a folder");
    let message = reason(|command| command.argv[0] = "/no/such/program".into()).await;
    assert!(message.starts_with("the program /no/such/program, or what it is run by, was not found"), "{message}");
    let message = reason(|command| command.argv[0] = "no-such-program".into()).await;
    assert!(message.starts_with("the program no-such-program"), "{message}");
    let message = reason(|command| command.argv[0] = "/etc/passwd".into()).await;
    assert!(message.contains("Permission denied"), "{message}");
    let message = reason(|command| command.argv[2] = "a\0b".into()).await;
    assert!(message.contains("zero byte"), "{message}");
    let message = reason(|command| command.argv[2] = "x".repeat(300 << 10)).await;
    assert!(message.contains("too long"), "{message}");
    let message = reason(|command| command.argv.clear()).await;
    assert!(message.contains("argv is empty"), "{message}");
    let message = reason(|command| command.env.push(("A=B".into(), "c".into()))).await;
    assert!(message.contains("\"A=B\""), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_that_is_missing_is_told() {
    let runner = lite_agent::process::Runner::new("/no/such/supervisor".into(), tokio::runtime::Handle::current());
    let outcome = runner.run(shell("true").command, &CancellationToken::new()).await;
    let End::Spawn(message) = outcome.end else { panic!("{:?}", outcome.end) };
    assert!(message.starts_with("the supervisor at /no/such/supervisor cannot be started: No such file"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_found_in_the_path_of_the_command() {
    let mut command = shell("").command;
    command.argv = ["sh", "-c", "echo $0 $1", "zero", "one two"].map(String::from).to_vec();
    assert_eq!(run(command.clone()).await.output.text(), "zero one two\n");
    command.env = vec![("PATH".into(), "/no/such/folder".into())];
    assert!(matches!(run(command).await.end, End::Spawn(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_host_leaks() {
    // SAFETY: one descriptor that every careless child would inherit.
    let leaked = unsafe { libc::dup(2) };
    let mut command = shell("env | sort; ls /proc/self/fd").command;
    command.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("ONE".into(), "two\nlines".into())];
    command.cwd = "/usr".into();
    let outcome = run(command).await;
    // SAFETY: closes what was made above.
    unsafe { libc::close(leaked) };
    let text = outcome.output.text();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("_=")).collect();
    // PWD is the shell's own; the last descriptor is that of the folder which is listed.
    assert_eq!(lines, ["ONE=two", "PATH=/usr/bin:/bin", "PWD=/usr", "lines", "0", "1", "2", "3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_a_command_is_in_no_arguments_but_its_own() {
    let outcome = shell("tr '\\0' ' ' < /proc/$PPID/cmdline; : secret").run().await;
    assert!(!outcome.output.text().contains("secret"), "{}", outcome.output.text());
    assert!(outcome.output.text().contains("supervisor"), "{}", outcome.output.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_signal_has_its_default() {
    let outcome = shell("yes | head -1; exec grep -E 'Sig(Ign|Blk)' /proc/self/status").run().await;
    let text = outcome.output.text();
    assert!(text.starts_with("y\n"), "{text}");
    for name in ["SigIgn", "SigBlk"] {
        assert!(text.contains(&format!("{name}:\t0000000000000000")), "{text}");
    }
    assert_eq!(outcome.output.text_of(Stream::Stderr), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_sees_the_host_as_any_child_would() {
    let status = |text: &str, name: &str| text.lines().find(|line| line.starts_with(name)).map(String::from);
    let outcome = shell("cat /proc/self/status; ls -l /proc/self/ns | sed 's/.*->//'; ulimit -n").run().await;
    let theirs = outcome.output.text();
    let ours = std::fs::read_to_string("/proc/self/status").unwrap();
    for name in ["NoNewPrivs", "CapEff", "CapBnd", "CapPrm", "CapInh", "Uid", "Gid", "Groups"] {
        assert_eq!(status(&theirs, name), status(&ours, name), "{name}");
    }
    for space in ["pid", "mnt", "user", "net", "ipc"] {
        let ours = std::fs::read_link(format!("/proc/self/ns/{space}")).unwrap();
        assert!(theirs.contains(ours.to_str().unwrap()), "{space}: {theirs}");
    }
    let mut files = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills the struct.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut files) };
    assert_eq!(theirs.lines().last(), Some(files.rlim_cur.to_string().as_str()));
}
