//! What tests of commands share: the supervisor, built as it is shipped; commands; and a look at who is alive.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "these tests are the host of commands")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lite_agent::process::{Command, Outcome, Runner};
use tokio_util::sync::CancellationToken;

/// No process of a tree is left so long after its command was over.
const GONE_WITHIN: Duration = Duration::from_secs(2);
/// A user whom no machine has.
const ORDINARY_USER: &str = "54321";
const SUPERVISOR_VARIABLE: &str = "LITE_AGENT_TEST_SUPERVISOR";

/// Whether the long proofs are to be done in full.
pub fn is_long() -> bool {
    std::env::var("LITE_AGENT_LONG").is_ok_and(|value| value == "1")
}

/// Builds the supervisor as the package has it.
pub fn supervisor() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| std::env::var_os(SUPERVISOR_VARIABLE).map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = Program::new("cc").arg("-print-file-name=libc.a").output();
    let linkable = found.is_ok_and(|found| found.stdout.starts_with(b"/"));
    let mut cargo = Program::new(env!("CARGO"));
    cargo.current_dir(root).args(["rustc", "--quiet", "--package=lite-agent-supervisor"]);
    cargo.args(["--bin=lite-agent-supervisor", "--profile=supervisor", "--target-dir=target/supervisor"]);
    if linkable {
        cargo.args(["--", "-Ctarget-feature=+crt-static", "-Crelocation-model=static"]);
    }
    assert!(cargo.status().unwrap().success(), "the supervisor could not be built");
    root.join("target/supervisor/supervisor/lite-agent-supervisor")
}

pub fn runner() -> Runner {
    Runner::new(supervisor().to_path_buf(), tokio::runtime::Handle::current())
}

pub async fn run(command: Command) -> Outcome {
    runner().run(command, &CancellationToken::new()).await
}

/// A shell command that is marked, so that all that comes from it can be found.
pub struct Shell {
    pub command: Command,
    pub mark: String,
}

pub fn shell(text: &str) -> Shell {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("LITE_AGENT_MARK={}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let argv = ["/bin/sh", "-c", text].map(String::from).to_vec();
    let mut command = Command::new(argv, PathBuf::from("/"));
    let (name, value) = mark.split_once('=').unwrap();
    command.env = vec![("PATH".into(), "/usr/bin:/bin".into()), (name.into(), value.into())];
    Shell { command, mark }
}

impl Shell {
    pub fn timeout_ms(mut self, timeout: u64) -> Shell {
        self.command.timeout = Some(Duration::from_millis(timeout));
        self
    }

    pub fn stdin(mut self, bytes: Vec<u8>) -> Shell {
        self.command.stdin = bytes;
        self
    }

    pub fn max_output(mut self, bytes: usize) -> Shell {
        self.command.max_output_bytes = bytes;
        self
    }

    /// Runs it, and sees to it that nothing is left.
    pub async fn run(self) -> Outcome {
        let outcome = run(self.command).await;
        assert_gone(&self.mark).await;
        outcome
    }
}

/// The processes that have the mark in their environment and have not ended.
pub fn alive(mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()) && !is_zombie(*pid)
    })
    .collect()
}

fn is_zombie(pid: i32) -> bool {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    line.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// Waits until nothing with this mark is alive.
pub async fn assert_gone(mark: &str) {
    wait_until(GONE_WITHIN, || alive(mark).is_empty(), || format!("{mark} is alive in {:?}", alive(mark))).await;
}

/// Waits until something with this mark is alive.
pub async fn wait_for_any(mark: &str) {
    let within = Duration::from_secs(20);
    wait_until(within, || !alive(mark).is_empty(), || format!("nothing with {mark} came to life")).await;
}

pub async fn wait_until(within: Duration, mut holds: impl FnMut() -> bool, what: impl FnOnce() -> String) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < within, "{} after {within:?}", what());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Children of this process that ended and that nobody waited for.
pub fn zombies() -> Vec<i32> {
    let own = std::process::id();
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<i32> =
        lists.flat_map(|list| list.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<_>>()).collect();
    assert!(own > 0);
    children.into_iter().filter(|pid| is_zombie(*pid)).collect()
}

pub fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

pub fn is_root() -> bool {
    // SAFETY: asks only.
    unsafe { libc::geteuid() == 0 }
}

/// A folder that an ordinary user can reach too; removed at the end.
pub struct Folder(pub PathBuf);

pub fn folder(name: &str) -> Folder {
    let path = Path::new("/tmp").join(format!("lite-agent-{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    Folder(path)
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Runs all tests of this binary but one again, as an ordinary user, where this one is root.
pub fn all_again_as_ordinary_user(but: &str) {
    if !is_root() {
        return;
    }
    // The checkout may be where nobody else can look.
    let folder = folder(but);
    let binary = folder.0.join("tests");
    fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    let copied = folder.0.join("supervisor");
    fs::copy(supervisor(), &copied).unwrap();
    let identity = [format!("--reuid={ORDINARY_USER}"), format!("--regid={ORDINARY_USER}"), "--clear-groups".into()];
    let output = Program::new("setpriv")
        .args(identity)
        .arg(&binary)
        .args(["--skip", but])
        .env(SUPERVISOR_VARIABLE, &copied)
        .env("HOME", &folder.0)
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let passed = text.lines().find_map(|line| line.strip_prefix("test result: ok. ")).unwrap_or("0");
    assert!(!passed.starts_with("0"), "{text}");
}
