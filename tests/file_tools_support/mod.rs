//! A folder of files for one test, with a neighbour that nothing may reach, and the file tools over it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use lite_agent::tools::builtin::{FileToolOptions, FileTools, Opener, RunPorts, ToolOutcome};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub const OPENERS: [Opener; 2] = [Opener::Kernel, Opener::Walk];

/// Long proofs take ten times as much.
#[expect(clippy::disallowed_methods, reason = "a test is no host: nobody sets variables meanwhile")]
pub fn long(tenth: u32) -> u32 {
    if std::env::var("LITE_AGENT_LONG").is_ok_and(|value| value == "1") { tenth * 10 } else { tenth }
}

/// `root` and `outside`, side by side; removed at the end.
pub struct Tree {
    top: PathBuf,
}

impl Tree {
    pub fn new() -> Tree {
        Tree::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// In memory where the system has such a file system: there a race is not slowed down by the disk.
    pub fn in_memory() -> Tree {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Tree::below(memory) } else { Tree::new() }
    }

    fn below(place: &Path) -> Tree {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("files-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let top = fs::canonicalize(place).unwrap().join(name);
        fs::create_dir_all(top.join("root")).unwrap();
        fs::create_dir_all(top.join("outside")).unwrap();
        Tree { top }
    }

    pub fn root(&self) -> PathBuf {
        self.top.join("root")
    }

    pub fn outside(&self) -> PathBuf {
        self.top.join("outside")
    }

    /// Writes a file below the root, creating its folders.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Tree {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn folder(&self, path: &str) -> &Tree {
        fs::create_dir_all(self.root().join(path)).unwrap();
        self
    }

    pub fn link(&self, path: &str, target: impl AsRef<Path>) -> &Tree {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root().join(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn tools(&self) -> FileTools {
        FileTools::new(&self.root(), FileToolOptions::default()).unwrap()
    }

    /// A call as an agent makes it: what permission would see, then the run.
    pub fn call(&self, tool: &str, input: Value) -> ToolOutcome {
        call(&self.tools(), tool, &input)
    }

    /// The result of a call that must succeed.
    pub fn ok(&self, tool: &str, input: Value) -> String {
        let outcome = self.call(tool, input);
        assert!(!outcome.is_error, "{tool}: {}", outcome.content);
        outcome.content
    }

    /// The result of a call that must fail.
    pub fn error(&self, tool: &str, input: Value) -> String {
        let outcome = self.call(tool, input);
        assert!(outcome.is_error, "{tool}: {}", outcome.content);
        assert!(outcome.content.starts_with("Error: "), "{}", outcome.content);
        outcome.content
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

pub fn call(tools: &FileTools, tool: &str, input: &Value) -> ToolOutcome {
    match tools.permission_input(tool, input) {
        Ok(input) => run(tools, tool, &input),
        Err(problem) => ToolOutcome { content: format!("Error: {problem}"), is_error: true },
    }
}

/// The second half of a call, for input that is canonical.
pub fn run(tools: &FileTools, tool: &str, input: &Value) -> ToolOutcome {
    run_seeing(tools, tool, input, &|_| true)
}

pub fn run_seeing(
    tools: &FileTools,
    tool: &str,
    input: &Value,
    visible: &(dyn Fn(&str) -> bool + Send + Sync),
) -> ToolOutcome {
    tools.run(tool, input, &RunPorts { visible, cancel: &CancellationToken::new(), before_change: None })
}
