//! One task, and the text of its file. Knows no folder.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::failure::TaskFailure;
use crate::json::quote;

/// Characters.
const MAX_SUBJECT_CHARS: usize = 500;
const MAX_DESCRIPTION_BYTES: usize = 16 * 1024;
/// Of one task's file.
pub(super) const MAX_FILE_BYTES: usize = 64 * 1024;
/// Of what the JSON parser says, which may quote what it read.
const MAX_PROBLEM_CHARS: usize = 200;

/// The number of a task, from 1. Every double holds it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct TaskId(u64);

impl TaskId {
    const MAX: u64 = 999_999_999_999_999;

    /// The one way to write it: decimal digits, none before it that is zero.
    pub fn parse(text: &str) -> Option<TaskId> {
        if !text.bytes().all(|byte| byte.is_ascii_digit()) || text.starts_with('0') {
            return None;
        }
        text.parse().ok().filter(|number| (1..=TaskId::MAX).contains(number)).map(TaskId)
    }

    /// The id after the last one that was given; none where all were.
    pub fn after(last: Option<TaskId>) -> Option<TaskId> {
        let next = last.map_or(1, |last| last.0 + 1);
        (next <= TaskId::MAX).then_some(TaskId(next))
    }

    pub fn file_name(self) -> String {
        format!("{self}.json")
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for TaskId {
    type Error = String;

    fn try_from(text: String) -> Result<TaskId, String> {
        TaskId::parse(&text).ok_or_else(|| format!("expected the number of a task in quotes, got {}", quote(&text)))
    }
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
        }
    }
}

/// What a task's file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Task {
    pub id: TaskId,
    pub subject: String,
    pub description: String,
    pub status: Status,
    /// Those that wait for this one.
    pub blocks: BTreeSet<TaskId>,
    /// Those that this one waits for.
    pub blocked_by: BTreeSet<TaskId>,
    /// ISO 8601, UTC, as the next.
    pub created_at: String,
    pub updated_at: String,
}

impl Task {
    /// Reads the text of the file of this id.
    ///
    /// # Errors
    /// Says what is wrong with it: it is torn, somebody else's, or holds more than a task may.
    pub fn decode(id: TaskId, bytes: &[u8]) -> Result<Task, String> {
        let task: Task = serde_json::from_slice(bytes).map_err(|error| shortened(&error.to_string()))?;
        if task.id != id {
            return Err(format!("expected \"id\": \"{id}\", got \"{}\"", task.id));
        }
        if task.blocks.contains(&id) || task.blocked_by.contains(&id) {
            return Err("it says that the task waits for itself".to_string());
        }
        check_subject(&task.subject)?;
        check_description(&task.description)?;
        Ok(task)
    }

    /// # Errors
    /// It is more than a file may hold.
    pub fn encode(&self) -> Result<Vec<u8>, TaskFailure> {
        let refused = |problem: String| TaskFailure::Refused(format!("task {}: {problem}", self.id));
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| refused(error.to_string()))?;
        text.push(b'\n');
        if text.len() > MAX_FILE_BYTES {
            let bytes = text.len();
            return Err(refused(format!(
                "its file would have {bytes} bytes, and at most {MAX_FILE_BYTES} are possible; shorten its description"
            )));
        }
        Ok(text)
    }
}

/// # Errors
/// Says what the limit is.
pub(super) fn check_subject(subject: &str) -> Result<(), String> {
    let chars = subject.chars().count();
    if subject.trim().is_empty() {
        return Err("'subject' must say something, got only blanks".to_string());
    }
    if chars > MAX_SUBJECT_CHARS {
        return Err(format!("'subject' must have at most {MAX_SUBJECT_CHARS} characters, got {chars}"));
    }
    Ok(())
}

/// # Errors
/// Says what the limit is.
pub(super) fn check_description(description: &str) -> Result<(), String> {
    let bytes = description.len();
    if bytes > MAX_DESCRIPTION_BYTES {
        return Err(format!("'description' must have at most {MAX_DESCRIPTION_BYTES} bytes, got {bytes}"));
    }
    Ok(())
}

fn shortened(problem: &str) -> String {
    match problem.char_indices().nth(MAX_PROBLEM_CHARS) {
        Some((end, _)) => format!("{}…", problem.get(..end).unwrap_or_default()),
        None => problem.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: u64) -> Task {
        Task {
            id: TaskId(id),
            subject: "Write \"it\"".to_string(),
            description: String::new(),
            status: Status::InProgress,
            blocks: BTreeSet::from([TaskId(10), TaskId(9)]),
            blocked_by: BTreeSet::new(),
            created_at: "2026-12-01T03:20:00.001Z".to_string(),
            updated_at: "2026-12-01T03:20:00.002Z".to_string(),
        }
    }

    #[test]
    fn ids_are_written_in_one_way() {
        for (text, number) in [("1", 1), ("10", 10), ("999999999999999", TaskId::MAX)] {
            assert_eq!(TaskId::parse(text), Some(TaskId(number)));
            assert_eq!(TaskId(number).to_string(), text);
        }
        for text in
            ["", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "1e3", "١", "1000000000000000", "18446744073709551616"]
        {
            assert_eq!(TaskId::parse(text), None, "{text}");
        }
        assert_eq!(TaskId::after(None), Some(TaskId(1)));
        assert_eq!(TaskId::after(Some(TaskId(7))), Some(TaskId(8)));
        assert_eq!(TaskId::after(Some(TaskId(TaskId::MAX))), None);
    }

    #[test]
    fn a_file_has_the_fields_that_it_is_to_have() {
        let text = task(3).encode().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let expected = serde_json::json!({
            "id": "3", "subject": "Write \"it\"", "description": "", "status": "in_progress",
            "blocks": ["9", "10"], "blockedBy": [],
            "createdAt": "2026-12-01T03:20:00.001Z", "updatedAt": "2026-12-01T03:20:00.002Z",
        });
        assert_eq!(value, expected);
        assert_eq!(Task::decode(TaskId(3), &text), Ok(task(3)));
    }

    #[test]
    fn what_is_no_task_is_told_from_one() {
        let text = String::from_utf8(task(3).encode().unwrap()).unwrap();
        let long = format!("\"subject\": \"{}\"", "x".repeat(501));
        for (from, to, problem) in [
            (text.as_str(), "", "EOF while parsing"),
            ("}\n", "", "EOF while parsing"),
            ("}\n", "} x", "trailing characters"),
            ("\"id\": \"3\"", "\"id\": \"4\"", "expected \"id\": \"3\", got \"4\""),
            ("\"id\": \"3\"", "\"id\": 3", "invalid type"),
            ("\"id\": \"3\",", "", "missing field `id`"),
            ("\"id\": \"3\",", "\"id\": \"3\", \"id\": \"3\",", "duplicate field `id`"),
            ("\"id\": \"3\",", "\"id\": \"3\", \"owner\": 1,", "unknown field `owner`"),
            ("in_progress", "done", "unknown variant `done`"),
            ("in_progress", "deleted", "unknown variant `deleted`"),
            ("\"10\"", "\"3\"", "waits for itself"),
            ("\"10\"", "\"010\"", "expected the number of a task in quotes, got \"010\""),
            ("\"subject\": \"Write \\\"it\\\"\"", "\"subject\": \" \"", "'subject' must say something"),
            ("\"subject\": \"Write \\\"it\\\"\"", &long, "at most 500 characters, got 501"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Task::decode(TaskId(3), text.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        assert!(Task::decode(TaskId(3), b"\xff").is_err());
        let foreign = format!("{{\"id\": {{\"{}\": 1}}}}", "x".repeat(60_000));
        assert!(Task::decode(TaskId(3), foreign.as_bytes()).unwrap_err().len() < 1_000);
        let deep = "[".repeat(60_000);
        assert!(Task::decode(TaskId(3), deep.as_bytes()).is_err());
    }

    #[test]
    fn texts_are_bounded_in_their_own_units() {
        assert_eq!(check_subject(&"é".repeat(500)), Ok(()));
        assert!(check_subject(&"é".repeat(501)).is_err());
        assert!(check_subject(" \n").is_err());
        assert_eq!(check_description(&"é".repeat(8 * 1024)), Ok(()));
        assert!(check_description(&"é".repeat(8 * 1024 + 1)).unwrap_err().contains("at most 16384 bytes, got 16386"));
        // Six bytes for one, in the file.
        let controls = Task { description: "\u{1}".repeat(MAX_DESCRIPTION_BYTES), ..task(3) };
        let error = controls.encode().unwrap_err().to_string();
        assert!(error.contains("task 3: its file would have") && error.contains("at most 65536"), "{error}");
    }
}
