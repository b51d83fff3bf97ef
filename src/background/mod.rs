//! Background commands: which go on, whose they are, and what is kept of their output until it is read. Starts no command:
//! whoever does gives the runner the sink and the token that [`Jobs::begin`] answers, and tells of the end. Knows no run,
//! no session's log and no host.
//!
//! Memory is bounded whatever commands write: for each command that goes on, and for each of the last 64 that ended,
//! [`Limits::buffer_bytes`].

mod answer;
mod end;
mod filter;
mod jobs;
mod kept;
mod kill;

#[cfg(test)]
mod answer_test;

pub use end::{JobEnd, JobStatus};
pub use jobs::{Jobs, Limits, Place, Reading};
pub use kept::JobSink;
pub use kill::{Kill, Killing};
