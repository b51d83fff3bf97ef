//! Tasks as a model reads them. Knows no folder.

use std::fmt::Write;

use super::graph::TaskGraph;
use super::task::{Status, Task, TaskId};

/// Of a reminder.
const MAX_REMINDED_TASKS: usize = 50;
const MAX_REMINDER_BYTES: usize = 8 * 1024;
/// For what is said after its tasks.
const RESERVED_BYTES: usize = 200;
/// Of one line.
const MAX_SHOWN_IDS: usize = 20;
const MAX_SHOWN_FILES: usize = 20;
/// What a host puts around a reminder ends with this; no subject may end it before.
const CLOSING_TAG: &str = "</task-list";

/// All tasks, one a line, then the files that cannot be read.
pub(super) fn all(graph: &TaskGraph) -> String {
    let mut lines: Vec<String> = graph.tasks().map(|task| line(graph, task)).collect();
    let bad: Vec<_> = graph.bad_files().collect();
    if lines.is_empty() {
        lines.push(
            if bad.is_empty() { "there are no tasks" } else { "there are no tasks that can be read" }.to_string(),
        );
    }
    if !bad.is_empty() {
        lines.push("\nThese files cannot be read, and hold no task until they are repaired or removed:".to_string());
        let shown = bad.iter().take(MAX_SHOWN_FILES);
        lines.extend(shown.map(|file| format!("{}: {}", one_line(&file.path.to_string_lossy()), one_line(&file.why))));
        if bad.len() > MAX_SHOWN_FILES {
            lines.push(format!("… and {} more", bad.len() - MAX_SHOWN_FILES));
        }
    }
    lines.join("\n")
}

/// The tasks that are not completed, one a line; none where there is none. At most 50, and 8 KiB.
pub(super) fn reminder(graph: &TaskGraph) -> Option<String> {
    let open: Vec<&Task> = graph.tasks().filter(|task| task.status != Status::Completed).collect();
    if open.is_empty() {
        return None;
    }
    let mut text = String::new();
    let mut shown = 0;
    for task in open.iter().take(MAX_REMINDED_TASKS) {
        let line = without_closing_tags(&line(graph, task));
        if text.len() + line.len() + 1 > MAX_REMINDER_BYTES - RESERVED_BYTES {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        shown += 1;
    }
    // To write into a string cannot fail.
    if shown < open.len() {
        let _ = writeln!(text, "… and {} more that are not completed (TaskList shows all)", open.len() - shown);
    }
    let bad = graph.bad_files().count();
    if bad > 0 {
        let _ = writeln!(text, "{bad} of the list's files cannot be read (TaskList names them)");
    }
    Some(text.trim_end().to_string())
}

/// One task with all that is known of it.
pub(super) fn whole(graph: &TaskGraph, task: &Task) -> String {
    let mut text = format!("task {}: {}\nstatus: {}\n", task.id, one_line(&task.subject), task.status.as_str());
    for (word, ids) in [("blocked by", &task.blocked_by), ("blocks", &task.blocks)] {
        if !ids.is_empty() {
            let ids: Vec<String> = ids.iter().map(|id| with_status(graph, *id)).collect();
            let _ = writeln!(text, "{word}: {}", ids.join(", "));
        }
    }
    let _ = write!(text, "created: {}\nupdated: {}\n", one_line(&task.created_at), one_line(&task.updated_at));
    if !task.description.is_empty() {
        let _ = write!(text, "\n{}", task.description);
    }
    text.trim_end().to_string()
}

/// `3 [pending]`.
pub(super) fn with_status(graph: &TaskGraph, id: TaskId) -> String {
    let status = graph.status(id).map_or("cannot be read", Status::as_str);
    format!("{id} [{status}]")
}

/// `1, 2, 3`.
pub(super) fn joined(ids: &[TaskId]) -> String {
    let mut text = ids.iter().take(MAX_SHOWN_IDS).map(TaskId::to_string).collect::<Vec<_>>().join(", ");
    if ids.len() > MAX_SHOWN_IDS {
        let _ = write!(text, " and {} more", ids.len() - MAX_SHOWN_IDS);
    }
    text
}

/// Blanks of all kinds and control characters as spaces: a subject cannot pretend to be several tasks.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() || char.is_whitespace() { ' ' } else { char }).collect()
}

fn line(graph: &TaskGraph, task: &Task) -> String {
    let mut line = format!("{} {}", with_status(graph, task.id), one_line(&task.subject));
    let blockers = graph.open_blockers(task);
    if task.status != Status::Completed && !blockers.is_empty() {
        let _ = write!(line, " (blocked by {})", joined(&blockers));
    }
    line
}

/// The same text, in which no closing tag of a reminder ends anything: `<\/task-list`.
fn without_closing_tags(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut safe = String::with_capacity(text.len());
    let mut rest = 0;
    for (at, _) in lower.match_indices(CLOSING_TAG) {
        safe.push_str(text.get(rest..=at).unwrap_or_default());
        safe.push('\\');
        rest = at + 1;
    }
    safe.push_str(text.get(rest..).unwrap_or_default());
    safe
}

#[cfg(test)]
mod tests {
    use super::{joined, one_line, without_closing_tags};
    use crate::tasks::task::TaskId;

    #[test]
    fn closing_tags_end_nothing() {
        for (text, safe) in [
            ("a </task-list> b", "a <\\/task-list> b"),
            ("</TASK-LIST></task-list ></task-listé", "<\\/TASK-LIST><\\/task-list ><\\/task-listé"),
            ("<task-list> < /task-list> </task>", "<task-list> < /task-list> </task>"),
            ("é", "é"),
            ("", ""),
        ] {
            assert_eq!(without_closing_tags(text), safe);
        }
    }

    #[test]
    fn long_rows_of_ids_are_cut() {
        let ids: Vec<TaskId> = (1..=22).map(|number: u64| TaskId::parse(&number.to_string()).unwrap()).collect();
        assert_eq!(joined(&ids[..2]), "1, 2");
        assert!(joined(&ids).ends_with(", 19, 20 and 2 more"));
        assert_eq!(one_line("a\r\nb\u{2028}c\u{7}d  e"), "a  b c d  e");
    }
}
