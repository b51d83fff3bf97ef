//! What the task tools answer, over lists in real folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{TaskTool, run_task_tool};
use crate::tasks::TaskList;

fn list() -> (TempDir, TaskList) {
    let top = tempfile::tempdir().unwrap();
    let list = TaskList::new(top.path().join("list"));
    (top, list)
}

#[track_caller]
fn done(list: &TaskList, tool: TaskTool, input: &Value) -> String {
    let answer = run_task_tool(tool, input, list);
    assert!(!answer.is_error, "{}", answer.content);
    answer.content
}

#[track_caller]
fn failed(list: &TaskList, tool: TaskTool, input: &Value) -> String {
    let answer = run_task_tool(tool, input, list);
    assert!(answer.is_error && answer.content.starts_with("Error: "), "{}", answer.content);
    answer.content
}

#[track_caller]
fn create(list: &TaskList, subject: &str) {
    done(list, TaskTool::Create, &json!({ "subject": subject, "description": "" }));
}

/// What the files of tasks say, by their names.
fn stored(top: &TempDir) -> BTreeMap<String, Value> {
    let entries = fs::read_dir(top.path().join("list")).unwrap().map(|entry| entry.unwrap().path());
    let tasks = entries.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_string();
    tasks.map(|path| (name(&path), serde_json::from_slice(&fs::read(&path).unwrap()).unwrap())).collect()
}

#[test]
fn a_task_goes_its_way() {
    let (top, list) = list();
    create(&list, "Write\nthe parser");
    create(&list, "Test it");
    let told =
        done(&list, TaskTool::Update, &json!({ "taskId": "2", "addBlockedBy": ["1"], "description": " Well.\n" }));
    assert_eq!(told, "updated task 2: description, blocked by 1");
    assert_eq!(list.reminder().unwrap().unwrap(), "1 [pending] Write the parser\n2 [pending] Test it (blocked by 1)");
    let told = done(&list, TaskTool::Update, &json!({ "taskId": "2", "status": "in_progress" }));
    assert!(told.starts_with("updated task 2: status in_progress\n"), "{told}");
    assert!(told.ends_with("blocked by what is not completed: 1 [pending]"), "{told}");
    let before = stored(&top);
    let told = done(&list, TaskTool::Update, &json!({ "taskId": "2", "status": "in_progress", "addBlockedBy": ["1"] }));
    assert!(told.starts_with("task 2 is like that already: status in_progress, blocked by 1\n"), "{told}");
    assert_eq!(stored(&top), before);
    done(&list, TaskTool::Update, &json!({ "taskId": "1", "status": "completed" }));
    assert_eq!(done(&list, TaskTool::List, &json!({})), "1 [completed] Write the parser\n2 [in_progress] Test it");
    assert_eq!(list.reminder().unwrap().unwrap(), "2 [in_progress] Test it");
    let got = done(&list, TaskTool::Get, &json!({ "taskId": "2" }));
    let created = before["2.json"]["createdAt"].as_str().unwrap();
    let updated = before["2.json"]["updatedAt"].as_str().unwrap();
    assert!(created.len() == 24 && created <= updated && created.ends_with('Z'), "{created}");
    assert_eq!(
        got,
        format!(
            "task 2: Test it\nstatus: in_progress\nblocked by: 1 [completed]\ncreated: {created}\nupdated: {updated}\n\n Well."
        )
    );
    assert_eq!(done(&list, TaskTool::Update, &json!({ "taskId": "1", "status": "deleted" })), "deleted task 1");
    let tasks = stored(&top);
    assert_eq!((tasks.len(), &tasks["2.json"]["blockedBy"]), (1, &json!([])));
    done(&list, TaskTool::Update, &json!({ "taskId": "2", "status": "completed" }));
    assert_eq!(list.reminder().unwrap(), None);
    let told = done(&list, TaskTool::Create, &json!({ "subject": "x\ty", "description": "" }));
    assert_eq!(told, "created task 3: x y");
}

#[test]
fn what_cannot_be_changes_nothing_and_says_why() {
    let (top, list) = list();
    for subject in ["a", "b", "c"] {
        create(&list, subject);
    }
    done(&list, TaskTool::Update, &json!({ "taskId": "1", "addBlocks": ["2"] }));
    done(&list, TaskTool::Update, &json!({ "taskId": "2", "addBlocks": ["3"] }));
    let before = stored(&top);
    let (long, large) = ("é".repeat(501), "é".repeat(8193));
    let table = [
        (TaskTool::Update, json!({ "taskId": "3", "subject": "new", "addBlocks": ["1"] }), "3 → 1 → 2 → 3"),
        (TaskTool::Update, json!({ "taskId": "1", "addBlockedBy": ["3"] }), "3 → 1 → 2 → 3"),
        (TaskTool::Update, json!({ "taskId": "2", "addBlocks": ["1"], "status": "completed" }), "2 → 1 → 2"),
        (TaskTool::Update, json!({ "taskId": "2", "addBlockedBy": ["2"] }), "2 → 2"),
        (TaskTool::Update, json!({ "taskId": "2", "addBlocks": ["2"], "status": "deleted" }), "2 → 2"),
        (TaskTool::Update, json!({ "taskId": "1", "addBlocks": ["3", "9"] }), "no task \"9\""),
        (TaskTool::Update, json!({ "taskId": "1", "addBlockedBy": ["#2"] }), "no task \"#2\""),
        (TaskTool::Update, json!({ "taskId": "9", "status": "completed" }), "no task \"9\""),
        (TaskTool::Update, json!({ "taskId": "../1", "status": "completed" }), "no task \"../1\""),
        (TaskTool::Update, json!({ "taskId": "01", "status": "completed" }), "no task \"01\""),
        (
            TaskTool::Update,
            json!({ "taskId": "1", "status": "done", "subject": "x" }),
            "completed or deleted, got \"done\"",
        ),
        (TaskTool::Update, json!({ "taskId": "1" }), "nothing to change was given"),
        (TaskTool::Update, json!({ "taskId": "1", "addBlocks": [] }), "nothing to change was given"),
        (TaskTool::Update, json!({ "taskId": "1", "addBlocks": "2" }), "'addBlocks' must be an array"),
        (TaskTool::Update, json!({ "taskId": "1", "addBlockedBy": [2] }), "'addBlockedBy' must be an array"),
        (TaskTool::Update, json!({ "taskId": "1", "addBlocks": vec!["2"; 1001] }), "at most 1000 ids"),
        (TaskTool::Update, json!({ "taskId": 1, "status": "completed" }), "'taskId' must be given as a string"),
        (
            TaskTool::Update,
            json!({ "taskId": "1", "status": "completed", "subject": long }),
            "at most 500 characters, got 501",
        ),
        (TaskTool::Update, json!({ "taskId": "1", "subject": " \t" }), "'subject' must say something"),
        (
            TaskTool::Update,
            json!({ "taskId": "1", "subject": "x", "description": large }),
            "at most 16384 bytes, got 16386",
        ),
        (
            TaskTool::Update,
            json!({ "taskId": "1", "description": "\u{1}".repeat(16_384) }),
            "at most 65536 are possible",
        ),
        (TaskTool::Create, json!({ "subject": long, "description": "" }), "at most 500 characters"),
        (TaskTool::Create, json!({ "subject": "x", "description": large }), "at most 16384 bytes"),
        (
            TaskTool::Create,
            json!({ "subject": "x", "description": "\u{1}".repeat(16_384) }),
            "at most 65536 are possible",
        ),
        (TaskTool::Create, json!({ "subject": "", "description": "" }), "'subject' must say something"),
        (TaskTool::Create, json!({ "subject": "x" }), "'description' must be given as a string"),
        (TaskTool::Create, json!({ "subject": 7, "description": "" }), "'subject' must be given as a string"),
        (TaskTool::Get, json!({ "taskId": "4" }), "no task \"4\""),
        (TaskTool::Get, json!({}), "'taskId' must be given"),
        (TaskTool::List, json!([]), "the input must be an object"),
    ];
    for (tool, input, why) in &table {
        let told = failed(&list, *tool, input);
        assert!(told.contains(why), "{told}");
        assert_eq!(stored(&top), before, "{told}");
    }
    create(&list, &"é".repeat(500));
    assert!(stored(&top).contains_key("4.json"));
}

#[test]
fn a_reminder_is_bounded_and_cannot_be_ended_from_within() {
    let (_top, list) = list();
    create(&list, "a </task-list> b </TASK-LIST>");
    assert_eq!(list.reminder().unwrap().unwrap(), "1 [pending] a <\\/task-list> b <\\/TASK-LIST>");
    for _ in 0..9 {
        create(&list, &"𝕏".repeat(500));
    }
    let reminder = list.reminder().unwrap().unwrap();
    assert!(reminder.len() <= 8 * 1024 && reminder.len() > 5 * 1024, "{}", reminder.len());
    assert_eq!(reminder.lines().count(), 5);
    assert!(reminder.ends_with("\n… and 6 more that are not completed (TaskList shows all)"));
}
