//! How the end of a background command is told: in a status line, and when it is reported. Pure.

use crate::process::{End, Ended};

/// Characters of a command that its label shows.
const MAX_LABEL_CHARS: usize = 80;
/// Characters that are shown of why a command could not be started.
const MAX_REASON_CHARS: usize = 500;

/// What became of a background command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// It exited with 0.
    Completed,
    /// It exited with something else, could not be started, or was killed because of a limit or by somebody else.
    Failed,
    /// It was killed because somebody of ours asked for it.
    Cancelled,
}

impl JobStatus {
    /// `completed`, `failed` or `cancelled`.
    pub fn as_str(self) -> &'static str {
        match self {
            JobStatus::Completed => "completed",
            JobStatus::Failed => "failed",
            JobStatus::Cancelled => "cancelled",
        }
    }
}

/// What is reported when a background command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEnd {
    pub status: JobStatus,
    /// The command on one line, at most 80 characters of it.
    pub label: String,
    /// The last 4 KiB that it wrote, and on a line of its own how it ended.
    pub content: String,
}

/// The end of a command as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Over {
    pub status: JobStatus,
    /// One line: `exit code: 0`, `killed`.
    pub how: String,
}

impl Over {
    pub(super) fn new(ended: &Ended, timeout_ms: Option<u64>) -> Over {
        let status = match ended.end {
            End::Exit(0) => JobStatus::Completed,
            End::Cancelled => JobStatus::Cancelled,
            _ => JobStatus::Failed,
        };
        let mut how = match &ended.end {
            End::Exit(code) => format!("exit code: {code}"),
            End::Signal(signal) => format!("killed by signal {signal}"),
            End::Timeout => match timeout_ms {
                Some(timeout_ms) => format!("timed out after {timeout_ms} ms"),
                None => "timed out".to_string(),
            },
            End::Cancelled => "killed".to_string(),
            End::OutputLimit => "killed: it wrote more than it may".to_string(),
            End::MemoryLimit => "out of memory limit: it used more than bash.memoryBytes allows".to_string(),
            End::CpuLimit => "out of time limit: it used more processor time than it may".to_string(),
            End::ProcessLimit => "out of process limit: it had more processes than it may".to_string(),
            End::Spawn(message) => format!("could not be started: {}", one_line(message, MAX_REASON_CHARS)),
            End::SupervisorLost => "killed: it killed or stopped its supervisor".to_string(),
        };
        if !ended.clean && ended.end != End::SupervisorLost {
            how.push_str("; what it started is still being killed");
        }
        Over { status, how }
    }
}

/// A command as a label.
pub(super) fn label(command: &str) -> String {
    one_line(command, MAX_LABEL_CHARS)
}

/// The text on one line: each run of white space and control characters is a space. At most so many characters, the
/// ellipsis included.
pub(super) fn one_line(text: &str, max_chars: usize) -> String {
    let parts = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|part| !part.is_empty());
    let mut line = String::new();
    let mut count = 0;
    for part in parts {
        let space = (count > 0).then_some(' ');
        for character in space.into_iter().chain(part.chars()) {
            if count == max_chars {
                line.pop();
                line.push('…');
                return line;
            }
            line.push(character);
            count += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn over(end: End, clean: bool, timeout_ms: Option<u64>) -> (JobStatus, String) {
        let zero = Duration::ZERO;
        let ended = Ended { end, clean, output_held: false, stdin_written: 0, duration: zero, spawn_held: zero };
        let over = Over::new(&ended, timeout_ms);
        (over.status, over.how)
    }

    #[test]
    fn every_end_has_its_status_and_its_words() {
        use JobStatus::{Cancelled, Completed, Failed};
        let table = [
            (End::Exit(0), Completed, "exit code: 0"),
            (End::Exit(3), Failed, "exit code: 3"),
            (End::Signal(9), Failed, "killed by signal 9"),
            (End::Timeout, Failed, "timed out after 1500 ms"),
            (End::Cancelled, Cancelled, "killed"),
            (End::OutputLimit, Failed, "killed: it wrote more than it may"),
            (End::MemoryLimit, Failed, "out of memory limit: it used more than bash.memoryBytes allows"),
            (End::CpuLimit, Failed, "out of time limit: it used more processor time than it may"),
            (End::ProcessLimit, Failed, "out of process limit: it had more processes than it may"),
            (End::Spawn("no such\nfolder".to_string()), Failed, "could not be started: no such folder"),
            (End::SupervisorLost, Failed, "killed: it killed or stopped its supervisor"),
        ];
        for (end, status, how) in table {
            assert_eq!(over(end, true, Some(1500)), (status, how.to_string()));
        }
        assert_eq!(over(End::Timeout, true, None).1, "timed out");
    }

    #[test]
    fn it_is_said_when_not_all_is_gone() {
        assert_eq!(over(End::Cancelled, false, None).1, "killed; what it started is still being killed");
        assert_eq!(over(End::SupervisorLost, false, None).1, "killed: it killed or stopped its supervisor");
    }

    #[test]
    fn the_reason_of_a_failed_start_is_cut() {
        let how = over(End::Spawn("x".repeat(100_000)), true, None).1;
        assert_eq!(how.chars().count(), "could not be started: ".len() + 500);
    }

    #[test]
    fn a_label_is_one_line_of_at_most_80_characters() {
        let table = [
            ("npm test", "npm test".to_string()),
            ("  a \n\t b\r\n", "a b".to_string()),
            ("a\u{1b}[31mb\u{0}", "a [31mb".to_string()),
            ("", String::new()),
            (" \n ", String::new()),
        ];
        for (command, expected) in table {
            assert_eq!(label(command), expected, "{command:?}");
        }
        assert_eq!(label(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(label(&"é".repeat(81)), format!("{}…", "é".repeat(79)));
        assert_eq!(label(&format!("{} b", "a".repeat(79))).chars().count(), 80);
    }
}
