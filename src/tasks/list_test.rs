//! Lists in real folders: who else has the lock, what a crash leaves, links and foreign files in the place of tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::graph::TaskGraph;
use super::{TASK_TOOLS, TaskAnswer, TaskFailure, TaskList, TaskTool, run_task_tool};

struct Stage {
    top: TempDir,
    list: TaskList,
}

fn stage() -> Stage {
    let top = tempfile::tempdir().unwrap();
    let list = TaskList { lock_wait: Duration::from_secs(30), ..TaskList::new(top.path().join("tasks/list")) };
    Stage { top, list }
}

impl Stage {
    fn folder(&self) -> &Path {
        &self.list.folder
    }

    fn call(&self, tool: TaskTool, input: &Value) -> TaskAnswer {
        run_task_tool(tool, input, &self.list)
    }

    #[track_caller]
    fn done(&self, tool: TaskTool, input: &Value) -> String {
        let answer = self.call(tool, input);
        assert!(!answer.is_error, "{}", answer.content);
        answer.content
    }

    #[track_caller]
    fn failed(&self, tool: TaskTool, input: &Value) -> String {
        let answer = self.call(tool, input);
        assert!(answer.is_error, "{}", answer.content);
        answer.content
    }

    fn create(&self, count: usize) {
        for number in 1..=count {
            self.done(TaskTool::Create, &json!({ "subject": format!("step {number}"), "description": "" }));
        }
    }

    fn names(&self) -> BTreeSet<String> {
        files(self.folder()).into_keys().collect()
    }
}

/// Of a folder, but for the lock's.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    named.filter(|(name, _)| name != ".lock").map(|(name, path)| (name, fs::read(path).unwrap())).collect()
}

/// What there is to know of the tasks, but for when they were changed.
fn seen(graph: &TaskGraph) -> Vec<String> {
    let tasks = graph.tasks();
    tasks
        .map(|task| format!("{} {:?} {} {:?} {:?}", task.id, task.status, task.subject, task.blocks, task.blocked_by))
        .collect()
}

#[test]
fn a_list_that_is_not_there_is_empty_and_stays_away() {
    let stage = stage();
    assert_eq!(stage.list.reminder(), Ok(None));
    assert_eq!(stage.list.remove(), Ok(()));
    assert_eq!(stage.done(TaskTool::List, &json!({})), "there are no tasks");
    assert!(stage.failed(TaskTool::Get, &json!({ "taskId": "1" })).contains("no task \"1\""));
    assert!(stage.failed(TaskTool::Update, &json!({ "taskId": "1", "status": "completed" })).contains("no task \"1\""));
    assert!(stage.failed(TaskTool::Create, &json!({ "subject": " ", "description": "" })).contains("'subject'"));
    assert_eq!(fs::read_dir(stage.top.path()).unwrap().count(), 0);
}

#[test]
fn everything_is_for_the_owner_alone() {
    let stage = stage();
    stage.create(1);
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(stage.folder()), 0o700);
    assert_eq!(mode(stage.folder().parent().unwrap()), 0o700);
    let names = [".last-id", ".lock", "1.json"];
    assert_eq!(names.map(|name| mode(&stage.folder().join(name))), [0o600; 3]);
    assert_eq!(stage.names(), BTreeSet::from([".last-id".to_string(), "1.json".to_string()]));
}

#[test]
fn a_lock_that_somebody_keeps_is_waited_for_no_longer_than_allowed() {
    let mut stage = stage();
    stage.create(1);
    stage.list.lock_wait = Duration::from_millis(30);
    assert_eq!(TaskList::new("x".into()).lock_wait, Duration::from_secs(5));
    let before = files(stage.folder());
    let lock = fs::File::open(stage.folder().join(".lock")).unwrap();
    lock.lock().unwrap();
    for failure in [stage.list.reminder().unwrap_err(), stage.list.remove().unwrap_err()] {
        assert_eq!(failure.code(), "tasks_busy");
    }
    for (tool, input) in [
        (TaskTool::Create, json!({ "subject": "x", "description": "" })),
        (TaskTool::Update, json!({ "taskId": "1", "status": "completed" })),
        (TaskTool::Get, json!({ "taskId": "1" })),
        (TaskTool::List, json!({})),
    ] {
        assert!(stage.failed(tool, &input).contains("is locked by somebody else for over 30 ms"));
    }
    assert_eq!(files(stage.folder()), before);
    drop(lock);
    stage.list.lock_wait = Duration::from_secs(30);
    assert_eq!(stage.list.reminder(), Ok(Some("1 [pending] step 1".to_string())));
}

#[test]
fn removing_takes_the_list_and_leaves_what_is_somebody_elses() {
    let stage = stage();
    stage.create(3);
    fs::write(stage.folder().join(".task-0123456789abcdef.tmp"), "left").unwrap();
    assert_eq!(stage.list.remove(), Ok(()));
    assert!(!stage.folder().exists() && stage.folder().parent().unwrap().exists());
    assert_eq!(stage.list.reminder(), Ok(None));
    stage.create(1);
    fs::write(stage.folder().join("notes.txt"), "mine").unwrap();
    assert_eq!(stage.list.remove(), Ok(()));
    assert_eq!(files(stage.folder()), BTreeMap::from([("notes.txt".to_string(), b"mine".to_vec())]));
    assert!(!stage.folder().join(".lock").exists());
}

#[test]
fn ids_of_deleted_tasks_are_not_given_again() {
    let stage = stage();
    stage.create(2);
    stage.done(TaskTool::Update, &json!({ "taskId": "2", "status": "deleted" }));
    assert!(
        stage.done(TaskTool::Create, &json!({ "subject": "x", "description": "" })).starts_with("created task 3: x")
    );
    // Files that came here without what remembers the highest id.
    fs::remove_file(stage.folder().join(".last-id")).unwrap();
    stage.done(TaskTool::Update, &json!({ "taskId": "3", "status": "deleted" }));
    stage.done(TaskTool::Update, &json!({ "taskId": "1", "status": "deleted" }));
    assert!(stage.done(TaskTool::Create, &json!({ "subject": "x", "description": "" })).starts_with("created task 4"));
    // By hand, past the tools.
    fs::remove_file(stage.folder().join("4.json")).unwrap();
    assert!(stage.done(TaskTool::Create, &json!({ "subject": "x", "description": "" })).starts_with("created task 5"));
    for damage in ["", "five\n", "0\n", &"9".repeat(40)] {
        fs::write(stage.folder().join(".last-id"), damage).unwrap();
        let failed = stage.failed(TaskTool::Create, &json!({ "subject": "x", "description": "" }));
        assert!(failed.contains(".last-id cannot be read: "), "{failed}");
    }
    fs::write(stage.folder().join(".last-id"), "999999999999999").unwrap();
    let failed = stage.failed(TaskTool::Create, &json!({ "subject": "x", "description": "" }));
    assert!(failed.contains("no ids are left"), "{failed}");
    assert!(stage.done(TaskTool::List, &json!({})).starts_with("5 [pending] x"));
}

#[test]
fn a_crash_between_any_two_writes_leaves_the_change_whole() {
    let changes = [
        json!({ "taskId": "2", "addBlocks": ["3", "4"], "addBlockedBy": ["1"], "status": "in_progress", "subject": "new" }),
        json!({ "taskId": "3", "status": "deleted" }),
        json!({ "taskId": "3", "addBlocks": ["2"], "status": "deleted" }),
    ];
    for change in changes {
        let stage = stage();
        stage.create(5);
        stage.done(TaskTool::Update, &json!({ "taskId": "3", "addBlockedBy": ["1", "5"], "addBlocks": ["4"] }));
        stage.done(TaskTool::Update, &change);
        let after = files(stage.folder());
        let wanted = seen(&stage.list.load().unwrap());
        let own = format!("{}.json", change["taskId"].as_str().unwrap());
        // The same change, anew in the same folder, with the files that were not written yet as they were before.
        stage.list.remove().unwrap();
        stage.create(5);
        stage.done(TaskTool::Update, &json!({ "taskId": "3", "addBlockedBy": ["1", "5"], "addBlocks": ["4"] }));
        let before = files(stage.folder());
        let others: Vec<&String> =
            before.keys().filter(|name| **name != own && after[*name] != before[*name]).collect();
        assert!(others.len() >= 3, "{others:?}");
        for written in 0_u32..1 << others.len() {
            match after.get(&own) {
                Some(content) => fs::write(stage.folder().join(&own), content).unwrap(),
                None => drop(fs::remove_file(stage.folder().join(&own))),
            }
            for (at, name) in others.iter().enumerate() {
                let from = if written >> at & 1 == 1 { &after } else { &before };
                fs::write(stage.folder().join(name), &from[*name]).unwrap();
            }
            fs::write(stage.folder().join(".task-00000000000000ff.tmp"), "torn").unwrap();
            assert_eq!(seen(&stage.list.load().unwrap()), wanted, "{written:b} of {others:?}");
            // Be it one that changes nothing.
            stage.done(TaskTool::Update, &json!({ "taskId": "4", "status": "pending" }));
            let graph = stage.list.load().unwrap();
            assert_eq!((seen(&graph), graph.out_of_step().count()), (wanted.clone(), 0));
            stage.done(TaskTool::Update, &json!({ "taskId": "5", "description": format!("{written}") }));
            assert!(!stage.names().iter().any(|name| name.ends_with(".tmp")));
        }
    }
}

#[test]
fn an_id_that_a_crash_lost_is_passed_over() {
    let stage = stage();
    stage.create(1);
    fs::write(stage.folder().join(".last-id"), "2\n").unwrap();
    stage.create(1);
    assert_eq!(stage.done(TaskTool::List, &json!({})), "1 [pending] step 1\n3 [pending] step 1");
}

#[test]
fn who_reads_without_the_lock_sees_whole_files_and_no_change_that_is_not_true_yet() {
    let stage = stage();
    let count = 30;
    stage.create(count);
    let (list, folder) = (&stage.list, stage.folder());
    let others = |text: &[u8], side: &str| -> Vec<Value> {
        let task: Value = serde_json::from_slice(text).expect("a whole file");
        task[side].as_array().unwrap().clone()
    };
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            for number in 2..=count {
                let id = number.to_string();
                let input = json!({ "taskId": "1", "addBlocks": [id], "description": "x".repeat(number * 500) });
                assert!(!run_task_tool(TaskTool::Update, &input, list).is_error);
            }
        });
        let mut at = 2;
        while at <= count {
            let was_over = changes.is_finished();
            let waits = others(&fs::read(folder.join(format!("{at}.json"))).unwrap(), "blockedBy");
            let blocks = others(&fs::read(folder.join("1.json")).unwrap(), "blocks");
            if waits == [json!("1")] {
                assert!(blocks.contains(&json!(at.to_string())), "{at} waits, and 1 does not know");
                at += 1;
            } else {
                assert!(!was_over, "{at} does not wait");
            }
        }
    });
}

#[test]
fn lists_that_are_made_and_removed_at_once_fail_nobody() {
    let top = tempfile::tempdir().unwrap();
    let list = TaskList::new(top.path().join("tasks/list"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let answer = run_task_tool(TaskTool::Create, &json!({ "subject": "x", "description": "" }), &list);
                    assert!(!answer.is_error, "{}", answer.content);
                    list.reminder().unwrap();
                    list.remove().unwrap();
                }
            });
        }
    });
    assert!(!list.folder.exists());
}

#[test]
fn torn_and_foreign_files_are_named_and_stop_nothing_else() {
    let stage = stage();
    stage.create(5);
    stage.done(TaskTool::Update, &json!({ "taskId": "1", "addBlocks": ["2", "3"] }));
    stage.done(TaskTool::Update, &json!({ "taskId": "3", "addBlocks": ["4"] }));
    let path = |name: &str| stage.folder().join(name);
    let whole = fs::read(path("3.json")).unwrap();
    fs::write(path("3.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(path("5.json"), vec![b' '; 64 * 1024 + 1]).unwrap();
    fs::create_dir(path("6.json")).unwrap();
    fs::write(path("07.json"), "{}").unwrap();
    fs::write(path("README"), "mine").unwrap();
    let told = stage.done(TaskTool::List, &json!({}));
    let (tasks, rest) = told.split_once("\n\n").unwrap();
    assert_eq!(tasks, "1 [pending] step 1\n2 [pending] step 2 (blocked by 1)\n4 [pending] step 4 (blocked by 3)");
    let lines: Vec<&str> = rest.lines().collect();
    assert_eq!(lines.len(), 5, "{rest}");
    for (line, name, why) in [
        (lines[1], "3.json", "EOF while parsing"),
        (lines[2], "5.json", "more than 65536 bytes"),
        (lines[3], "6.json", "no regular file"),
        (lines[4], "07.json", "named by their number"),
    ] {
        assert!(line.starts_with(&path(name).display().to_string()) && line.contains(why), "{line}");
    }
    assert!(
        stage.list.reminder().unwrap().unwrap().ends_with("4 of the list's files cannot be read (TaskList names them)")
    );
    for input in [
        json!({ "taskId": "3", "status": "completed" }),
        json!({ "taskId": "3", "status": "deleted" }),
        json!({ "taskId": "2", "addBlocks": ["3"] }),
        json!({ "taskId": "2", "subject": "new", "addBlockedBy": ["3"] }),
    ] {
        let before = fs::read(path("2.json")).unwrap();
        let failed = stage.failed(TaskTool::Update, &input);
        assert!(failed.contains("3.json cannot be read: EOF") && failed.contains("repair or remove"), "{failed}");
        assert_eq!(fs::read(path("2.json")).unwrap(), before);
    }
    assert!(stage.failed(TaskTool::Get, &json!({ "taskId": "3" })).contains("3.json cannot be read"));
    let started = stage.done(TaskTool::Update, &json!({ "taskId": "4", "status": "in_progress" }));
    assert!(started.contains("blocked by what is not completed: 3 [cannot be read]"), "{started}");
    // Nothing is lost of what others said of it, and a new task takes no such id.
    assert!(stage.done(TaskTool::Create, &json!({ "subject": "x", "description": "" })).starts_with("created task 7"));
    stage.done(TaskTool::Update, &json!({ "taskId": "1", "status": "deleted" }));
    fs::write(path("3.json"), whole).unwrap();
    let got = stage.done(TaskTool::Get, &json!({ "taskId": "3" }));
    assert!(got.contains("\nblocks: 4 [in_progress]\n") && !got.contains("blocked by"), "{got}");
}

#[test]
fn links_are_followed_neither_to_read_nor_to_write() {
    let stage = stage();
    stage.create(3);
    let outside = stage.top.path().join("outside");
    let content = fs::read(stage.folder().join("2.json")).unwrap();
    fs::write(&outside, &content).unwrap();
    let link = |name: &str| {
        let path = stage.folder().join(name);
        let _ = fs::remove_file(&path);
        symlink(&outside, path).unwrap();
    };
    link("2.json");
    assert!(stage.done(TaskTool::List, &json!({})).contains("2.json: it is a symbolic link, which is not followed"));
    assert!(stage.failed(TaskTool::Update, &json!({ "taskId": "2", "status": "completed" })).contains("symbolic link"));
    link(".last-id");
    assert!(stage.failed(TaskTool::Create, &json!({ "subject": "x", "description": "" })).contains("symbolic link"));
    link(".lock");
    assert!(stage.failed(TaskTool::List, &json!({})).contains(".lock: it is a symbolic link"));
    assert_eq!(stage.list.reminder().unwrap_err().code(), "tasks_io");
    assert_eq!(fs::read(&outside).unwrap(), content);
    // The link goes, and not what it leads to.
    fs::remove_file(stage.folder().join(".lock")).unwrap();
    let folder = super::LockedFolder::open(stage.folder(), Duration::ZERO).unwrap().unwrap();
    folder.stage("2.json", b"new").unwrap().place().unwrap();
    drop(folder);
    assert_eq!(fs::read(&outside).unwrap(), content);
    assert_eq!(fs::read(stage.folder().join("2.json")).unwrap(), b"new");
    assert_eq!(stage.list.remove(), Ok(()));
    assert_eq!(fs::read(&outside).unwrap(), content);
}

#[test]
fn a_folder_that_is_a_link_or_a_file_is_refused() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("real")).unwrap();
    symlink(top.path().join("real"), top.path().join("link")).unwrap();
    symlink(top.path().join("nowhere"), top.path().join("dangling")).unwrap();
    fs::write(top.path().join("file"), "x").unwrap();
    for name in ["link", "dangling", "file"] {
        let list = TaskList::new(top.path().join(name));
        let answer = run_task_tool(TaskTool::Create, &json!({ "subject": "x", "description": "" }), &list);
        assert!(answer.is_error && answer.content.contains("no folder, or a link"), "{}", answer.content);
        assert!(matches!(list.reminder(), Err(TaskFailure::Io { .. })));
        assert!(list.remove().is_err());
    }
    assert_eq!(fs::read_dir(top.path().join("real")).unwrap().count(), 0);
}

#[test]
fn a_pipe_in_the_place_of_a_file_makes_nobody_wait() {
    let stage = stage();
    stage.create(1);
    for name in ["2.json", ".last-id"] {
        let path = stage.folder().join(name);
        let _ = fs::remove_file(&path);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
    }
    assert!(stage.done(TaskTool::List, &json!({})).contains("2.json: it is no regular file"));
    let failed = stage.failed(TaskTool::Create, &json!({ "subject": "x", "description": "" }));
    assert!(failed.contains(".last-id cannot be read: it is no regular file"), "{failed}");
}

#[test]
fn a_list_has_an_end() {
    let stage = stage();
    stage.create(1);
    let text = fs::read_to_string(stage.folder().join("1.json")).unwrap();
    for id in 2..=1000 {
        let text = text.replace("\"id\": \"1\"", &format!("\"id\": \"{id}\""));
        fs::write(stage.folder().join(format!("{id}.json")), text).unwrap();
    }
    let failed = stage.failed(TaskTool::Create, &json!({ "subject": "x", "description": "" }));
    assert!(failed.contains("holds 1000 tasks, as many as it may"), "{failed}");
    assert_eq!(stage.done(TaskTool::List, &json!({})).lines().count(), 1000);
    let reminder = stage.list.reminder().unwrap().unwrap();
    assert_eq!(reminder.lines().count(), 51);
    assert!(reminder.ends_with("\n… and 950 more that are not completed (TaskList shows all)"), "{reminder}");
    let many: Vec<String> = (701..=1000).map(|id: u32| id.to_string()).collect();
    stage.done(TaskTool::Update, &json!({ "taskId": "1", "addBlocks": many }));
    assert_eq!(stage.done(TaskTool::Get, &json!({ "taskId": "1" })).matches(" [pending]").count(), 300);
    stage.done(TaskTool::Update, &json!({ "taskId": "1000", "status": "deleted" }));
    assert!(
        stage.done(TaskTool::Create, &json!({ "subject": "x", "description": "" })).starts_with("created task 1001")
    );
    fs::write(stage.folder().join("2000.json"), text).unwrap();
    assert!(stage.failed(TaskTool::List, &json!({})).contains("holds 1001 tasks, and at most 1000 can be"));
}

#[test]
fn each_schema_is_json_and_each_tool_has_its_name() {
    for tool in TASK_TOOLS {
        let schema: Value = serde_json::from_str(tool.parameters).unwrap();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        assert!(TaskTool::named(tool.name).is_some());
        assert!(!tool.description.contains("  "), "{}", tool.description);
    }
    let names: Vec<&str> = TASK_TOOLS.iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["TaskCreate", "TaskUpdate", "TaskGet", "TaskList"]);
    assert_eq!(TaskTool::named("Task"), None);
}
