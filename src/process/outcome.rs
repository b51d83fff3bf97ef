//! How a command ended. Data only.

use std::time::Duration;

use super::output::Output;

/// Why a command is over. If several things happened, the one that came first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The main process exited with this code.
    Exit(i32),
    /// The main process was killed by this signal, and not by us.
    Signal(i32),
    /// The deadline passed.
    Timeout,
    /// The caller cancelled it, or dropped it.
    Cancelled,
    /// More output than the sink took.
    OutputLimit,
    /// The tree held more memory than it may.
    MemoryLimit,
    /// The tree used more processor time than it may.
    CpuLimit,
    /// The tree had more processes than it may.
    ProcessLimit,
    /// It could not be started. The message says what was missing.
    Spawn(String),
    /// The supervisor was killed or stopped before the command had ended; the tree was killed all the same.
    SupervisorLost,
}

/// What is known of a command that is over, beside its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub end: End,
    /// No process of the tree is left. `false`: killing it took longer than we wait with the outcome, or something cannot
    /// be killed (it became another user's, or sleeps in the kernel); it is still being tried.
    pub clean: bool,
    /// A process that the command left behind held its output open until its grace was over.
    pub output_held: bool,
    /// How much of its input the command took, or the pipe to it.
    pub stdin_written: usize,
    /// From the call to the outcome.
    pub duration: Duration,
    /// How long starting the supervisor held the calling thread, which is never the JS thread.
    pub spawn_held: Duration,
}

/// What `Runner::run` answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub end: End,
    pub output: Output,
    pub clean: bool,
    pub output_held: bool,
    pub stdin_written: usize,
    pub duration: Duration,
    pub spawn_held: Duration,
}

impl Outcome {
    pub(super) fn new(ended: Ended, output: Output) -> Outcome {
        let Ended { end, clean, output_held, stdin_written, duration, spawn_held } = ended;
        Outcome { end, output, clean, output_held, stdin_written, duration, spawn_held }
    }
}
