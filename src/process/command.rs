//! What to run, where, with what, and within which bounds. Data only.

use std::path::PathBuf;
use std::time::Duration;

/// How much of a command's output is kept when nothing else is said: what a hook may write.
pub const DEFAULT_OUTPUT_BYTES: usize = 64 << 10;
/// How long a process tree has between SIGTERM and SIGKILL.
pub const KILL_GRACE: Duration = Duration::from_millis(200);
/// How long a process that the command left behind may hold its output open.
pub const PIPE_GRACE: Duration = Duration::from_millis(100);

/// One command.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments. A program without a slash is looked for in the `PATH` of `env`.
    pub argv: Vec<String>,
    /// The working folder.
    pub cwd: PathBuf,
    /// The whole environment: nothing is inherited.
    pub env: Vec<(String, String)>,
    /// What the command reads; then its input ends. One that reads less is fine.
    pub stdin: Vec<u8>,
    /// Counts from the moment at which the command is given to the runner. Default: none.
    pub timeout: Option<Duration>,
    /// Of both streams together; one byte more and the command is killed. For `Runner::run`; a sink decides by itself.
    pub max_output_bytes: usize,
    pub streams: Streams,
    pub limits: Limits,
    pub confinement: Confinement,
    pub kill_grace: Duration,
    pub pipe_grace: Duration,
}

impl Command {
    /// With an empty environment, no input, no deadline, no limits, `DEFAULT_OUTPUT_BYTES` of output.
    pub fn new(argv: Vec<String>, cwd: PathBuf) -> Command {
        Command {
            argv,
            cwd,
            env: Vec::new(),
            stdin: Vec::new(),
            timeout: None,
            max_output_bytes: DEFAULT_OUTPUT_BYTES,
            streams: Streams::default(),
            limits: Limits::default(),
            confinement: Confinement::default(),
            kill_grace: KILL_GRACE,
            pipe_grace: PIPE_GRACE,
        }
    }
}

/// How the two streams reach us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Streams {
    /// Each through a pipe of its own: it is known which is which, and their order is that in which they were read, which
    /// for writes that follow each other within microseconds is not always that in which they were written.
    #[default]
    Apart,
    /// Both through one pipe, as on a terminal: exactly the order of the writes, and not known which is which.
    Joined,
}

/// Bounds of the whole process tree; `None` is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory that only the tree holds: resident, without the pages of files.
    pub memory_bytes: Option<u64>,
    /// Processor time of all its processes together.
    pub cpu_seconds: Option<u64>,
    /// How many processes at once.
    pub max_processes: Option<u64>,
}

/// How a command is shut in. The place for a sandbox's namespaces and rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Confinement {
    /// The command sees the host as any child would.
    #[default]
    None,
}
