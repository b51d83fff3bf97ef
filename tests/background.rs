//! The register of background commands: limits, owners, reading while a command writes on another thread, killing, and what
//! is remembered of those that ended. No command is started here: the test is the runner.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use lite_agent::background::{JobEnd, JobSink, JobStatus, Jobs, Kill, Limits};
use lite_agent::process::{End, Ended, Sink, Stream, Taken};
use tokio_util::sync::CancellationToken;

const OWNER: &str = "session-1";

fn jobs() -> Jobs {
    Jobs::new(Limits::default())
}

fn begin(jobs: &Jobs, owner: &str, id: &str) -> (JobSink, CancellationToken) {
    let place = jobs.admit(0).unwrap();
    jobs.begin(place, id.to_string(), owner.to_string(), format!("run {id}"))
}

fn ended(end: End) -> Ended {
    let zero = Duration::ZERO;
    Ended { end, clean: true, output_held: false, stdin_written: 0, duration: zero, spawn_held: zero }
}

fn end(jobs: &Jobs, id: &str, how: End) -> Option<JobEnd> {
    jobs.end(id, &ended(how), None)
}

fn write(sink: &mut JobSink, text: &str) {
    assert_eq!(sink.take(Stream::Stdout, text.as_bytes()), Taken::All);
}

fn read(jobs: &Jobs, id: &str) -> String {
    jobs.reading(OWNER, id).and_then(|reading| reading.read(None)).unwrap()
}

/// Runs what a family's thread would.
fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(tokio::task::LocalSet::new().run_until(future))
}

#[test]
fn each_limit_is_named_with_its_value() {
    let table = [
        (Limits { max_commands: 2, ..Limits::default() }, 0, "backgroundLimits.maxDetached is 2, and as many commands"),
        (Limits { max_total: 5, ..Limits::default() }, 3, "backgroundLimits.maxTotal is 5, and as many child groups"),
        (Limits { max_total: 4, ..Limits::default() }, 9, "backgroundLimits.maxTotal is 4, and as many child groups"),
    ];
    for (limits, others, expected) in table {
        let jobs = Jobs::new(limits);
        let _sinks = [begin(&jobs, OWNER, "bg_1"), begin(&jobs, OWNER, "bg_2")];
        let problem = jobs.admit(others).unwrap_err();
        assert!(problem.starts_with(expected), "{problem}");
        assert!(problem.contains("KillBackground"), "{problem}");
        end(&jobs, "bg_1", End::Exit(0));
        assert!(jobs.admit(others.min(2)).is_ok(), "{limits:?}");
    }
    let none = Jobs::new(Limits { max_commands: 0, ..Limits::default() });
    assert_eq!(none.admit(0).unwrap_err(), "backgroundLimits.maxDetached is 0: run the command in the foreground");
}

#[test]
fn a_place_counts_until_it_is_dropped_or_its_command_ends() {
    let jobs = Jobs::new(Limits { max_commands: 1, ..Limits::default() });
    let place = jobs.admit(0).unwrap();
    assert_eq!(jobs.going(), 1);
    assert!(jobs.admit(0).is_err());
    drop(place);
    assert_eq!(jobs.going(), 0);
    let _sink = begin(&jobs, OWNER, "bg_1");
    assert_eq!(jobs.going(), 1);
    end(&jobs, "bg_1", End::Exit(0));
    assert_eq!(jobs.going(), 0);
}

#[test]
fn a_read_answers_what_is_new_and_the_status() {
    let jobs = jobs();
    let (mut sink, _kill) = begin(&jobs, OWNER, "bg_1");
    assert_eq!(read(&jobs, "bg_1"), "[running]");
    write(&mut sink, "one\ntw");
    assert_eq!(read(&jobs, "bg_1"), "one\ntw\n[running]");
    write(&mut sink, "o\nthree");
    end(&jobs, "bg_1", End::Exit(3));
    assert_eq!(read(&jobs, "bg_1"), "o\nthree\n[exit code: 3]");
    assert_eq!(read(&jobs, "bg_1"), "[exit code: 3]");
}

#[test]
fn a_read_tells_how_it_ended() {
    let table = [
        (End::Signal(9), "[killed by signal 9]"),
        (End::Timeout, "[timed out after 1500 ms]"),
        (End::Cancelled, "[killed]"),
        (End::Spawn("no such folder".to_string()), "[could not be started: no such folder]"),
    ];
    for (how, expected) in table {
        let jobs = jobs();
        let _sink = begin(&jobs, OWNER, "bg_1");
        jobs.end("bg_1", &ended(how), Some(1500));
        assert_eq!(read(&jobs, "bg_1"), expected);
    }
}

#[test]
fn a_filter_consumes_what_does_not_match_and_holds_an_open_line_back() {
    let jobs = jobs();
    let (mut sink, _kill) = begin(&jobs, OWNER, "bg_1");
    let filtered = || jobs.reading(OWNER, "bg_1").and_then(|reading| reading.read(Some("error"))).unwrap();
    write(&mut sink, "fine\nerror 1\nfine\nerr");
    assert_eq!(filtered(), "error 1\n[running]");
    assert_eq!(filtered(), "[running]");
    write(&mut sink, "or 2\nerror");
    assert_eq!(filtered(), "error 2\n[running]");
    end(&jobs, "bg_1", End::Exit(0));
    assert_eq!(filtered(), "error\n[exit code: 0]");
    assert_eq!(read(&jobs, "bg_1"), "[exit code: 0]");
}

#[test]
fn a_bad_filter_reads_nothing() {
    let jobs = jobs();
    let (mut sink, _kill) = begin(&jobs, OWNER, "bg_1");
    write(&mut sink, "one\n");
    let problem = jobs.reading(OWNER, "bg_1").and_then(|reading| reading.read(Some("a(b"))).unwrap_err();
    assert!(problem.contains("unclosed group, at character 2"), "{problem}");
    assert_eq!(read(&jobs, "bg_1"), "one\n[running]");
}

#[test]
fn a_command_is_known_to_its_owner_alone() {
    let jobs = jobs();
    let _one = begin(&jobs, OWNER, "bg_00aa");
    let _two = begin(&jobs, OWNER, "bg_ffff");
    let _other = begin(&jobs, "session-2", "bg_1234");
    end(&jobs, "bg_ffff", End::Exit(0));
    let unknown = |owner, id| {
        let problem = jobs.reading(owner, id).and_then(|reading| reading.read(None)).unwrap_err();
        assert_eq!(jobs.kill(owner, id).unwrap_err(), problem);
        problem
    };
    let listed = "there are: bg_00aa (running), bg_ffff (ended)";
    assert_eq!(unknown(OWNER, "bg_1234"), format!("no background command 'bg_1234'; {listed}"));
    assert_eq!(unknown(OWNER, "bg_00ab"), "no background command 'bg_00ab'; did you mean bg_00aa?");
    assert_eq!(unknown("session-3", "bg_00aa"), "no background command 'bg_00aa'; there is none at all");
    let long = unknown("session-3", &"x\n".repeat(1000));
    assert!(long.len() < 200 && !long.contains('\n'), "{long}");
}

#[test]
fn the_report_has_the_command_its_last_output_and_its_end() {
    let jobs = jobs();
    let place = jobs.admit(0).unwrap();
    let command = format!("cd here &&\n  echo {}", "x".repeat(100));
    let (mut sink, _kill) = jobs.begin(place, "bg_1".to_string(), OWNER.to_string(), command);
    write(&mut sink, "one\ntwo");
    // That it was read takes nothing from the report.
    assert_eq!(read(&jobs, "bg_1"), "one\ntwo\n[running]");
    let report = end(&jobs, "bg_1", End::Exit(0)).unwrap();
    assert_eq!((report.status, report.status.as_str()), (JobStatus::Completed, "completed"));
    assert_eq!(report.label, format!("cd here && echo {}…", "x".repeat(63)));
    assert_eq!(report.content, "one\ntwo\n[exit code: 0]");
    assert_eq!(end(&jobs, "bg_1", End::Exit(0)), None);

    let (mut sink, _kill) = begin(&jobs, OWNER, "bg_2");
    write(&mut sink, &"é".repeat(1_000_000));
    let report = end(&jobs, "bg_2", End::Signal(15)).unwrap();
    assert_eq!(report.status, JobStatus::Failed);
    assert!(report.content.starts_with("[… 1995904 bytes left out …]\né"), "{:.50}", report.content);
    assert!(report.content.ends_with("é\n[killed by signal 15]") && report.content.len() < 4200);

    let _silent = begin(&jobs, OWNER, "bg_3");
    assert_eq!(end(&jobs, "bg_3", End::Cancelled).unwrap().content, "[killed]");
}

#[test]
fn a_kill_is_waited_for() {
    let jobs = Rc::new(jobs());
    let (_sink, kill) = begin(&jobs, OWNER, "bg_1");
    let Kill::Asked(killing) = jobs.kill(OWNER, "bg_1").unwrap() else { panic!("it had not ended") };
    let Kill::Asked(again) = jobs.kill(OWNER, "bg_1").unwrap() else { panic!("it had not ended") };
    assert!(kill.is_cancelled());
    let runner = Rc::clone(&jobs);
    let how = block_on(async move {
        tokio::task::spawn_local(async move {
            kill.cancelled().await;
            end(&runner, "bg_1", End::Cancelled);
        });
        killing.over().await
    });
    assert_eq!(how, "bg_1 was killed");
    // It can be asked for later too, and by several.
    assert_eq!(block_on(again.over()), "bg_1 was killed");
    let Kill::Over(sentence) = jobs.kill(OWNER, "bg_1").unwrap() else { panic!("it had ended") };
    assert_eq!(sentence, "bg_1 had ended before: killed");
}

#[test]
fn a_command_that_ended_by_itself_was_not_killed() {
    let jobs = jobs();
    let _sink = begin(&jobs, OWNER, "bg_1");
    let Kill::Asked(killing) = jobs.kill(OWNER, "bg_1").unwrap() else { panic!("it had not ended") };
    assert_eq!(end(&jobs, "bg_1", End::Exit(0)).unwrap().status, JobStatus::Completed);
    assert_eq!(block_on(killing.over()), "bg_1 ended before it could be killed: exit code: 0");
}

#[test]
fn all_of_an_owner_are_killed_and_waited_for() {
    let jobs = Rc::new(jobs());
    let mine: Vec<_> = ["bg_1", "bg_2"].into_iter().map(|id| (id, begin(&jobs, OWNER, id))).collect();
    let (_sink, other) = begin(&jobs, "session-2", "bg_3");
    jobs.kill_all(Some(OWNER));
    assert!(mine.iter().all(|(_, (_, kill))| kill.is_cancelled()) && !other.is_cancelled());
    let left = Rc::new(Cell::new(2));
    block_on(async {
        for (id, (_, kill)) in mine {
            let (jobs, left) = (Rc::clone(&jobs), Rc::clone(&left));
            tokio::task::spawn_local(async move {
                kill.cancelled().await;
                tokio::task::yield_now().await;
                left.set(left.get() - 1);
                end(&jobs, id, End::Cancelled);
            });
        }
        jobs.none_left(Some(OWNER)).await;
    });
    assert_eq!((left.get(), jobs.going()), (0, 1));
    jobs.kill_all(None);
    assert!(other.is_cancelled());
    end(&jobs, "bg_3", End::Cancelled);
    block_on(jobs.none_left(None));
}

#[test]
fn one_that_begins_meanwhile_is_waited_for_as_well() {
    let jobs = Rc::new(jobs());
    let _sink = begin(&jobs, OWNER, "bg_1");
    block_on(async {
        let runner = Rc::clone(&jobs);
        tokio::task::spawn_local(async move {
            let _sink = begin(&runner, OWNER, "bg_2");
            end(&runner, "bg_1", End::Exit(0));
            tokio::task::yield_now().await;
            end(&runner, "bg_2", End::Exit(0));
        });
        jobs.none_left(Some(OWNER)).await;
    });
    assert_eq!(jobs.going(), 0);
}

#[test]
fn what_is_forgotten_is_killed_counts_to_its_end_and_is_not_reported() {
    let jobs = jobs();
    let (mut sink, kill) = begin(&jobs, OWNER, "bg_1");
    let _over = begin(&jobs, OWNER, "bg_2");
    let (_other_sink, other) = begin(&jobs, "session-2", "bg_3");
    end(&jobs, "bg_2", End::Exit(0));
    jobs.forget(OWNER);
    assert!(kill.is_cancelled() && !other.is_cancelled());
    write(&mut sink, "more\n");
    for id in ["bg_1", "bg_2"] {
        assert_eq!(
            jobs.reading(OWNER, id).and_then(|reading| reading.read(None)).unwrap_err(),
            format!("no background command '{id}'; there is none at all")
        );
    }
    assert_eq!(jobs.going(), 2);
    assert_eq!(end(&jobs, "bg_1", End::Cancelled), None);
    assert_eq!(jobs.going(), 1);
    assert!(jobs.reading(OWNER, "bg_1").and_then(|reading| reading.read(None)).is_err());
    assert!(jobs.reading("session-2", "bg_3").and_then(|reading| reading.read(None)).is_ok());
}

#[test]
fn dropping_the_register_kills_what_goes_on() {
    let jobs = jobs();
    let (mut sink, kill) = begin(&jobs, OWNER, "bg_1");
    let Kill::Asked(killing) = jobs.kill("session-2", "bg_1").map_or_else(|_| jobs.kill(OWNER, "bg_1"), Ok).unwrap()
    else {
        panic!("it had not ended")
    };
    drop(jobs);
    assert!(kill.is_cancelled());
    write(&mut sink, "nobody hears it");
    assert_eq!(block_on(killing.over()), "bg_1 is being killed");
}

#[test]
fn of_those_that_ended_64_are_remembered_and_read_ones_go_first() {
    let jobs = jobs();
    let run = |at: usize| {
        let id = format!("bg_{at:04}");
        let (mut sink, _kill) = begin(&jobs, OWNER, &id);
        write(&mut sink, &id);
        end(&jobs, &id, End::Exit(0));
        id
    };
    let ids: Vec<String> = (0..64).map(run).collect();
    let is_known = |id: &str| jobs.kill(OWNER, id).is_ok();
    assert!(ids.iter().all(|id| is_known(id)));
    assert_eq!(read(&jobs, &ids[5]), "bg_0005\n[exit code: 0]");
    run(64);
    assert!(!is_known(&ids[5]) && is_known(&ids[0]));
    run(65);
    run(66);
    assert!(!is_known(&ids[0]) && !is_known(&ids[1]) && is_known(&ids[2]));
    // The list of a message is short.
    let problem = jobs.reading(OWNER, "nothing like it").and_then(|reading| reading.read(None)).unwrap_err();
    assert!(problem.contains("bg_0066 (ended), bg_0065 (ended)") && problem.ends_with(" and more"), "{problem}");
}

/// A command that writes faster than it is read, and one that is read in time: every byte is read or told as dropped.
#[test]
fn a_reader_and_a_writer_on_two_threads_lose_nothing_unsaid() {
    for buffer_bytes in [1000, 64 << 20] {
        let jobs = Jobs::new(Limits { buffer_bytes, ..Limits::default() });
        let (mut sink, _kill) = begin(&jobs, OWNER, "bg_1");
        // No newline, and characters of three bytes: each position says which number it belongs to.
        let piece: String = (0..5000).map(|at| format!("{at:05}—")).collect();
        let written = 400 * piece.len();
        let text = piece.clone();
        let writer = std::thread::spawn(move || {
            for _ in 0..400 {
                for part in text.as_bytes().chunks(777) {
                    assert_eq!(sink.take(Stream::Stdout, part), Taken::All);
                }
            }
        });
        let mut position = 0;
        let mut check = |answer: &str| {
            let (body, _status) = answer.rsplit_once('\n').unwrap_or(("", answer));
            let body = match body.strip_prefix("[… ").and_then(|rest| rest.split_once(" bytes dropped …]")) {
                Some((count, rest)) => {
                    position += count.parse::<usize>().unwrap();
                    rest.strip_prefix('\n').unwrap_or(rest)
                }
                None => body,
            };
            let expected = piece.repeat(2);
            for part in body.as_bytes().chunks(piece.len()) {
                let from = position % piece.len();
                assert_eq!(part, &expected.as_bytes()[from..from + part.len()]);
                position += part.len();
            }
            position
        };
        while !writer.is_finished() {
            check(&read(&jobs, "bg_1"));
        }
        writer.join().unwrap();
        end(&jobs, "bg_1", End::Exit(0));
        while check(&read(&jobs, "bg_1")) < written {}
        assert_eq!(check(&read(&jobs, "bg_1")), written);
        assert_eq!(read(&jobs, "bg_1"), "[exit code: 0]");
    }
}

#[test]
fn a_long_answer_goes_on_in_the_next() {
    let jobs = jobs();
    let (mut sink, _kill) = begin(&jobs, OWNER, "bg_1");
    write(&mut sink, &"x".repeat(300 * 1024));
    let first = read(&jobs, "bg_1");
    assert!(first.len() <= 256 * 1024 && first.ends_with("x\n[running; more output waits]"));
    let second = read(&jobs, "bg_1");
    assert!(second.ends_with("x\n[running]"));
    let newlines_and_status = "\n[running; more output waits]\n[running]".len();
    assert_eq!(first.len() + second.len() - newlines_and_status, 300 * 1024);
}

#[test]
fn a_command_that_writes_a_gibibyte_is_never_held_up() {
    let jobs = jobs();
    let (mut sink, _kill) = begin(&jobs, OWNER, "bg_1");
    let piece = [b'x'; 32 << 10];
    for _ in 0..32 << 10 {
        assert_eq!(sink.take(Stream::Stdout, &piece), Taken::All);
    }
    let dropped = (1 << 30) - (1 << 20);
    assert!(read(&jobs, "bg_1").starts_with(&format!("[… {dropped} bytes dropped …]\nxxx")));
    let report = end(&jobs, "bg_1", End::Exit(0)).unwrap();
    assert!(report.content.len() < 4200);
}
