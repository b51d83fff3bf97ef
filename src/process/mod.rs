//! The one runner of commands. A small supervisor program owns each command and ends its whole process tree, whatever
//! becomes of us; here it is started, fed, listened to, and killed when it fails. See docs/commands.md for what is
//! guaranteed. Nothing here knows who asks for a command, or why it may run.

mod command;
mod locate;
mod outcome;
mod output;
mod runner;
mod text;

#[cfg(target_os = "linux")]
mod backstop;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod entry;
#[cfg(target_os = "linux")]
mod failure;
#[cfg(target_os = "linux")]
mod outputs;
#[cfg(target_os = "linux")]
mod pipes;
#[cfg(target_os = "linux")]
mod spawn;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(test)]
mod output_test;

pub use command::{Command, Confinement, DEFAULT_OUTPUT_BYTES, KILL_GRACE, Limits, PIPE_GRACE, Streams};
pub use locate::{SUPERVISOR_FILE, locate_supervisor};
pub use outcome::{End, Ended, Outcome};
pub use output::{Output, Sink, Stream, Taken};
pub use runner::{Runner, Running};
pub use text::Utf8Decoder;
