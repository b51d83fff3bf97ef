//! Hosts of their own: such as die, such as have no /proc, no standard streams, no room for processes, or are pid 1. Each
//! is this binary again, started for one test of it with a part to play.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "these tests are the host of commands")]

mod commands;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command as Program, Stdio};
use std::time::Duration;

use commands::{alive, assert_gone, folder, is_root, supervisor, wait_until};
use lite_agent::process::{Command, Limits, Runner};
use tokio_util::sync::CancellationToken;

const PART: &str = "LITE_AGENT_TEST_PART";
const TEXT: &str = "LITE_AGENT_TEST_TEXT";
const MARK: &str = "LITE_AGENT_TEST_MARK";
const THE_HOST: &str = "a_host_of_its_own_runs_a_command";

#[test]
fn all_of_it_holds_for_an_ordinary_user() {
    commands::all_again_as_ordinary_user("all_of_it_holds_for_an_ordinary_user");
}

/// A host in another process: `before` is what starts it, if not we ourselves.
fn host(part: &str, text: &str, mark: &str, before: &[&str]) -> Program {
    let binary = std::env::current_exe().unwrap();
    let (program, words) = before.split_first().map_or((binary.as_path(), &[][..]), |(p, rest)| (Path::new(*p), rest));
    let mut host = Program::new(program);
    host.args(words);
    if !before.is_empty() {
        host.arg(&binary);
    }
    host.args(["--exact", THE_HOST, "--nocapture", "--test-threads=1"]);
    host.env(PART, part).env(TEXT, text).env(MARK, mark).env("LITE_AGENT_TEST_SUPERVISOR", supervisor());
    host.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    host
}

/// What such a host printed of its command: `end | output`.
fn outcome_of(mut host: Program) -> String {
    let output = host.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split_once("OUTCOME ")).map(|(_, rest)| rest.to_string());
    line.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// Plays the part that the environment says; without one, sees that it can.
#[test]
fn a_host_of_its_own_runs_a_command() {
    let Ok(part) = std::env::var(PART) else {
        assert_eq!(outcome_of(host("wait", "echo hi", "A=1", &[])), "Exit(0) clean=true | hi");
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let runner = Runner::new(supervisor().to_path_buf(), runtime.handle().clone());
    let text = std::env::var(TEXT).unwrap();
    let mut command = Command::new(["/bin/sh", "-c", &text].map(String::from).to_vec(), "/".into());
    let mark = std::env::var(MARK).unwrap();
    let (name, value) = mark.split_once('=').unwrap();
    command.env = vec![("PATH".into(), "/usr/bin:/bin".into()), (name.into(), value.into())];
    command.timeout = Some(Duration::from_secs(if part == "soon" { 1 } else { 100 }));
    if part == "limited" {
        command.limits = Limits { max_processes: Some(100), ..Limits::default() };
    }
    if part == "crowded" {
        fill_the_users_processes();
    }
    let never = CancellationToken::new();
    let run = async move { runner.run(command, &never).await };
    match part.as_str() {
        "panic" | "exit" | "abort" | "shutdown" => {
            let running = runtime.spawn(run);
            // The command says when it is there by a file.
            let there = std::path::PathBuf::from(format!("/tmp/lite-agent-{value}"));
            while !there.exists() {
                std::thread::sleep(Duration::from_millis(2));
            }
            match part.as_str() {
                "exit" => std::process::exit(0),
                "abort" => std::process::abort(),
                "panic" => panic!("on purpose"),
                _ => {
                    drop(running);
                    runtime.shutdown_background();
                    // It lives on without a runtime, and must have no zombie then.
                    while !commands::zombies().is_empty() || has_children() {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    println!("OUTCOME no children");
                }
            }
        }
        _ => {
            let outcome = runtime.block_on(run);
            let text = outcome.output.text();
            // A host that is pid 1 gets what nobody else waits for.
            let left = if part == "pid1" { format!(" zombies={}", commands::zombies().len()) } else { String::new() };
            println!("OUTCOME {:?} clean={}{left} | {}", outcome.end, outcome.clean, text.trim().replace('\n', "; "));
        }
    }
}

fn has_children() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok()).any(|list| !list.is_empty())
}

/// As many as the user has now, and not one more.
fn fill_the_users_processes() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain calls of the system.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NPROC, &raw mut limit);
        limit.rlim_cur = 1;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit), 0);
    }
}

/// A mark that no other test has, and the file by which a command says that it is there.
fn mark(name: &str) -> (String, String) {
    let value = format!("{name}-{}", std::process::id());
    (format!("LITE_AGENT_HOST_MARK={value}"), format!("/tmp/lite-agent-{value}"))
}

/// A tree of the worst kind, which says that it is there.
fn stubborn(file: &str) -> String {
    format!(
        "setsid sh -c \"trap '' TERM HUP INT; setsid sleep 60 & sleep 60; sleep 60\" & trap '' TERM HUP; \
         touch {file}; sleep 60; sleep 60"
    )
}

fn end_of(mut child: Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_host_is_killed_the_tree_is_gone() {
    let (mark, file) = mark("killed");
    let mut child = host("wait", &stubborn(&file), &mark, &[]).spawn().unwrap();
    wait_until(Duration::from_secs(20), || Path::new(&file).exists(), || "no command".to_string()).await;
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_gone(&mark).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_host_ends_in_any_other_way_the_tree_is_gone() {
    for part in ["exit", "abort", "panic"] {
        let (mark, file) = mark(part);
        let child = host(part, &stubborn(&file), &mark, &[]).spawn().unwrap();
        end_of(child);
        assert!(Path::new(&file).exists(), "{part}");
        std::fs::remove_file(&file).unwrap();
        assert_gone(&mark).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_only_the_runtime_ends_the_tree_is_gone_and_no_zombie_stays() {
    let (mark, file) = mark("shutdown");
    let outcome = outcome_of(host("shutdown", &stubborn(&file), &mark, &[]));
    assert_eq!(outcome, "no children");
    std::fs::remove_file(&file).unwrap();
    assert_gone(&mark).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_forked_without_exec_holds_nothing_open() {
    // Its copy of the control pipe would keep the tree alive if that were all that is watched.
    let (mark, file) = mark("forked");
    let mut child = host("wait", &stubborn(&file), &mark, &[]).spawn().unwrap();
    wait_until(Duration::from_secs(20), || Path::new(&file).exists(), || "no command".to_string()).await;
    std::fs::remove_file(&file).unwrap();
    // What a fork would hold, we hold: the host's end of the control pipe.
    let held: Vec<std::fs::File> = std::fs::read_dir(format!("/proc/{}/fd", child.id()))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_str().unwrap().parse::<i32>().unwrap() > 9)
        .filter_map(|entry| std::fs::OpenOptions::new().write(true).open(entry.path()).ok())
        .collect();
    assert!(!held.is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_gone(&mark).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_standard_streams_runs_commands() {
    let closed = ["/bin/sh", "-c", "exec 0<&- 2>&-; exec \"$@\"", "sh"];
    let outcome = outcome_of(host("wait", "cat; echo out; echo err >&2; ls /proc/self/fd | wc -l", "A=1", &closed));
    // Two pipes: which is read first is not said.
    assert!(outcome.starts_with("Exit(0) clean=true | "), "{outcome}");
    for line in ["out", "err", "4"] {
        assert!(outcome.contains(line), "{outcome}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_ignores_sigchld_runs_commands() {
    let deaf = ["/bin/sh", "-c", "trap '' CHLD HUP; exec \"$@\"", "sh"];
    let outcome = outcome_of(host("wait", "true; echo $?; exit 3", "A=1", &deaf));
    assert_eq!(outcome, "Exit(3) clean=true | 0");
}

/// Namespaces for tests: as root, or as whom the kernel lets make a user namespace.
fn unshared(words: &'static str) -> Option<[&'static str; 4]> {
    let prefix = if is_root() { "unshare" } else { "unshare -Ur" };
    let possible = Program::new("sh").args(["-c", &format!("{prefix} -m true")]).stderr(Stdio::null()).status();
    possible.is_ok_and(|status| status.success()).then_some(["/bin/sh", "-c", words, "sh"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_pid_1_leaves_no_zombies() {
    let words = if is_root() {
        "exec unshare -p -m --fork --mount-proc \"$@\""
    } else {
        "exec unshare -Ur -p -m --fork --mount-proc \"$@\""
    };
    let Some(before) = unshared(words) else { panic!("no namespaces here") };
    let text = "(setsid true &) & setsid sleep 60 >/dev/null 2>&1 & head -c 2 /proc/1/stat";
    let outcome = outcome_of(host("pid1", text, "A=1", &before));
    assert_eq!(outcome, "Exit(0) clean=true zombies=0 | 1");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_proc_commands_run_and_end_and_limits_are_refused() {
    let words = if is_root() {
        "exec unshare -m sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh \"$@\""
    } else {
        "exec unshare -Ur -m sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh \"$@\""
    };
    let Some(before) = unshared(words) else { panic!("no namespaces here") };
    let outcome = outcome_of(host("wait", "echo hi", "A=1", &before));
    assert_eq!(outcome, "Exit(0) clean=true | hi");
    let (mark, file) = mark("no-proc");
    let text = stubborn(&file);
    let outcome = outcome_of(host("soon", &text, &mark, &before));
    assert!(outcome.starts_with("Timeout"), "{outcome}");
    std::fs::remove_file(&file).unwrap();
    wait_until(Duration::from_secs(30), || alive(&mark).is_empty(), || format!("{:?}", alive(&mark))).await;
    let outcome = outcome_of(host("limited", "echo hi", "A=1", &before));
    assert!(outcome.contains("need /proc"), "{outcome}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_read_only_tmp_commands_run() {
    let words = if is_root() {
        "exec unshare -m sh -c 'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && exec \"$@\"' sh \"$@\""
    } else {
        "exec unshare -Ur -m sh -c 'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && exec \"$@\"' sh \"$@\""
    };
    let Some(before) = unshared(words) else { panic!("no namespaces here") };
    let outcome = outcome_of(host("wait", "touch /tmp/x 2>/dev/null || echo read-only", "A=1", &before));
    assert_eq!(outcome, "Exit(0) clean=true | read-only");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_process_table_is_told() {
    // Root has no such limit: this is shown as an ordinary user.
    if is_root() {
        return;
    }
    let outcome = outcome_of(host("crowded", "echo hi", "A=1", &[]));
    assert!(outcome.contains("limit of processes is full"), "{outcome}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_became_another_users_does_not_hold_up_the_outcome() {
    // Only root can make a program that makes its user root.
    if !is_root() {
        return;
    }
    let folder = folder("another-user");
    let raise = folder.0.join("raise");
    std::fs::copy("/usr/bin/setpriv", &raise).unwrap();
    std::fs::set_permissions(&raise, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let ordinary = ["/usr/bin/setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"];
    let (binary, copied) = (folder.0.join("tests"), folder.0.join("supervisor"));
    std::fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    std::fs::copy(supervisor(), &copied).unwrap();
    let (mark, _) = mark("another-user");
    let text =
        format!("{} --reuid=0 --regid=0 --clear-groups sleep 3 >/dev/null 2>&1 & sleep 0.5; echo hi", raise.display());
    let mut host = Program::new(ordinary[0]);
    host.args(&ordinary[1..]).arg(&binary).args(["--exact", THE_HOST, "--nocapture", "--test-threads=1"]);
    host.env(PART, "wait").env(TEXT, text).env(MARK, &mark).env("LITE_AGENT_TEST_SUPERVISOR", &copied);
    assert_eq!(outcome_of(host), "Exit(0) clean=false | hi");
    assert!(!alive(&mark).is_empty());
    // The supervisor stays with it until it ends by itself.
    wait_until(Duration::from_secs(20), || alive(&mark).is_empty(), || format!("{:?}", alive(&mark))).await;
}
