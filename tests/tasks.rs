//! Task lists through their tools: files and a model in memory agree whatever is done, and many threads and processes, some
//! of them killed, neither lose a task nor give an id twice. The other processes are this test program, started anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test starts itself as other processes")]

mod long;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lite_agent::tasks::{TaskList, TaskTool, run_task_tool};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

const ROLE: &str = "LITE_AGENT_TEST_TASKS";

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

fn create(list: &TaskList, subject: &str) -> u64 {
    let told = done(list, TaskTool::Create, &json!({ "subject": subject, "description": "" }));
    let id = told.strip_prefix("created task ").and_then(|rest| rest.split(':').next()).unwrap();
    id.parse().unwrap()
}

/// What the files say, by id.
fn stored(folder: &Path) -> BTreeMap<u64, Value> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    let paths =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "json"));
    let read = |path: std::path::PathBuf| {
        let id = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        (id, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    paths.map(read).collect()
}

fn ids(value: &Value) -> BTreeSet<u64> {
    value.as_array().unwrap().iter().map(|id| id.as_str().unwrap().parse().unwrap()).collect()
}

/// What one file says of another task, and that one's does not.
fn one_sided(tasks: &BTreeMap<u64, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (id, task) in tasks {
        for (side, other_side) in [("blocks", "blockedBy"), ("blockedBy", "blocks")] {
            let knows = |other: &u64| tasks.get(other).is_some_and(|task| ids(&task[other_side]).contains(id));
            found.extend(
                ids(&task[side]).iter().filter(|other| !knows(other)).map(|other| format!("{id} {side} {other}")),
            );
        }
    }
    found
}

/// A list as it is to be, without a folder.
#[derive(Debug, Clone, Default)]
struct Model {
    last: u64,
    tasks: BTreeMap<u64, (String, String, &'static str)>,
    /// Who blocks whom.
    edges: BTreeSet<(u64, u64)>,
}

#[derive(Debug, Clone)]
enum Step {
    Create(String, String),
    Update { id: u64, status: Option<&'static str>, subject: Option<String>, blocks: Vec<u64>, blocked_by: Vec<u64> },
}

impl Model {
    fn leads(&self, from: u64, to: u64) -> bool {
        from == to || self.edges.iter().any(|(blocker, blocked)| *blocker == from && self.leads(*blocked, to))
    }

    /// The list after a step; none where the step cannot be done.
    fn after(&self, step: &Step) -> Option<Model> {
        let mut next = self.clone();
        match step {
            Step::Create(subject, description) => {
                next.last += 1;
                next.tasks.insert(next.last, (subject.clone(), description.clone(), "pending"));
            }
            Step::Update { id, status, subject, blocks, blocked_by } => {
                if status.is_none() && subject.is_none() && blocks.is_empty() && blocked_by.is_empty() {
                    return None;
                }
                let ahead = blocks.iter().map(|other| (*id, *other));
                for (blocker, blocked) in ahead.chain(blocked_by.iter().map(|other| (*other, *id))) {
                    if !next.tasks.contains_key(&blocker)
                        || !next.tasks.contains_key(&blocked)
                        || next.leads(blocked, blocker)
                    {
                        return None;
                    }
                    next.edges.insert((blocker, blocked));
                }
                let task = next.tasks.get_mut(id)?;
                if let Some(subject) = subject {
                    task.0.clone_from(subject);
                }
                task.2 = status.unwrap_or(task.2);
                if *status == Some("deleted") {
                    next.tasks.remove(id);
                    next.edges.retain(|(blocker, blocked)| blocker != id && blocked != id);
                }
            }
        }
        Some(next)
    }

    fn assert_is(&self, tasks: &BTreeMap<u64, Value>) {
        assert_eq!(tasks.keys().collect::<Vec<_>>(), self.tasks.keys().collect::<Vec<_>>());
        for (id, (subject, description, status)) in &self.tasks {
            let task = &tasks[id];
            assert_eq!((&task["subject"], &task["description"]), (&json!(subject), &json!(description)));
            assert_eq!(task["status"], *status);
            let ahead = self.edges.iter().filter(|edge| edge.0 == *id).map(|edge| edge.1).collect();
            let behind = self.edges.iter().filter(|edge| edge.1 == *id).map(|edge| edge.0).collect();
            assert_eq!((ids(&task["blocks"]), ids(&task["blockedBy"])), (ahead, behind));
            // Nobody is ahead of himself.
            assert!(ids(&task["blocks"]).iter().all(|next| !self.leads(*next, *id)));
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let some = || prop::collection::vec(1_u64..9, 0..3);
    let status = prop::sample::select(vec!["pending", "in_progress", "completed", "completed", "deleted"]);
    prop_oneof![
        2 => ("[a-z<\"\\\\é]{1,8}", "[ -~\\n]{0,12}").prop_map(|(subject, description)| Step::Create(subject, description)),
        5 => (1_u64..9, prop::option::weighted(0.4, status), prop::option::weighted(0.3, "[a-z]{1,8}"), some(), some())
            .prop_map(|(id, status, subject, blocks, blocked_by)| Step::Update { id, status, subject, blocks, blocked_by }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(long::cases(12)) })]

    #[test]
    fn files_and_a_model_in_memory_agree(steps in prop::collection::vec(step(), 1..40)) {
        let (top, list) = list();
        let folder = top.path().join("list");
        let mut model = Model::default();
        for step in &steps {
            let (tool, input) = call(step);
            let answer = run_task_tool(tool, &input, &list);
            match model.after(step) {
                Some(next) => {
                    prop_assert!(!answer.is_error, "{}", answer.content);
                    model = next;
                }
                None => prop_assert!(answer.is_error, "{}", answer.content),
            }
            let tasks = stored(&folder);
            model.assert_is(&tasks);
            prop_assert_eq!(one_sided(&tasks), Vec::<String>::new());
            let open = model.tasks.values().filter(|task| task.2 != "completed").count();
            prop_assert_eq!(list.reminder().unwrap().map_or(0, |text| text.lines().count()), open);
        }
        list.remove().unwrap();
        prop_assert!(!folder.exists());
    }
}

fn call(step: &Step) -> (TaskTool, Value) {
    let texts = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>();
    match step {
        Step::Create(subject, description) => {
            (TaskTool::Create, json!({ "subject": subject, "description": description }))
        }
        Step::Update { id, status, subject, blocks, blocked_by } => {
            let (blocks, blocked_by) = (texts(blocks), texts(blocked_by));
            let id = id.to_string();
            let input = json!({
                "taskId": id, "status": status, "subject": subject, "addBlocks": blocks, "addBlockedBy": blocked_by,
            });
            (TaskTool::Update, input)
        }
    }
}

/// Starts this program in a role; what it says comes line by line.
fn start(role: &str, folder: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "a_killed_process_leaves_a_list_that_loads", "--nocapture"])
        .env(ROLE, role)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

/// Whether this is one of the other processes; then it has done its work.
fn has_played_a_role() -> bool {
    let Ok(role) = env::var(ROLE) else { return false };
    let list = TaskList::new(env::current_dir().unwrap().join("list"));
    match role.split_once(' ').unwrap() {
        ("endless", seed) => change_without_end(&list, seed.parse().unwrap()),
        ("contender", name) => {
            // All begin at once: when the one that started them closes their input.
            say("ready");
            std::io::stdin().lines().for_each(drop);
            contend(&list, name).iter().for_each(|id| say(&format!("created {id}")));
        }
        other => panic!("no role {other:?}"),
    }
    true
}

fn say(line: &str) {
    // The test harness keeps what `println!` says, and has begun a line of its own.
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "\n{line}").and_then(|()| stdout.flush()).unwrap();
}

/// Small numbers without a pattern.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn change_without_end(list: &TaskList, seed: u64) {
    let mut random = Random(seed);
    loop {
        let known: Vec<u64> = stored(Path::new("list")).into_keys().collect();
        if known.len() < 4 || (known.len() < 15 && random.below(3) == 0) {
            let id = create(list, &"x".repeat(1 + usize::try_from(random.below(400)).unwrap()));
            say(&format!("created {id}"));
            continue;
        }
        let mut any = || known[usize::try_from(random.below(known.len() as u64)).unwrap()].to_string();
        let (id, some, others) = (any(), [any(), any(), any()], [any(), any()]);
        if random.below(6) == 0 {
            say(&format!("deleting {id}"));
            done(list, TaskTool::Update, &json!({ "taskId": id, "status": "deleted" }));
        } else {
            let description = "y".repeat(usize::try_from(random.below(16_000)).unwrap());
            // Some of it would be a cycle.
            let input = json!({ "taskId": id, "description": description, "addBlocks": some, "addBlockedBy": others });
            let answer = run_task_tool(TaskTool::Update, &input, list);
            assert!(!answer.is_error || answer.content.contains("a cycle"), "{}", answer.content);
            let input = json!({ "taskId": id, "status": "in_progress", "addBlocks": [some[0]] });
            run_task_tool(TaskTool::Update, &input, list);
        }
        say("changed");
    }
}

#[test]
fn a_killed_process_leaves_a_list_that_loads() {
    if has_played_a_role() {
        return;
    }
    let (top, list) = list();
    let folder = top.path().join("list");
    let mut random = Random(u64::from(std::process::id()));
    let (mut created, mut deleted): (BTreeSet<u64>, BTreeSet<u64>) = (BTreeSet::new(), BTreeSet::new());
    let (mut leftovers, mut out_of_step) = (0, 0);
    for round in 0..long::cases(20) {
        let (mut child, mut lines) = start(&format!("endless {}", random.below(1 << 30)), top.path());
        let wanted = 2 + random.below(12);
        let mut told = String::new();
        let mut heard = 0;
        while heard < wanted {
            let begin = told.len();
            assert_ne!(lines.read_line(&mut told).unwrap(), 0, "the process ended by itself");
            heard += u64::from(told[begin..].starts_with("changed") || told[begin..].starts_with("created"));
        }
        // Somewhere inside of what it does next.
        let moment = Instant::now() + Duration::from_micros(random.below(20_000));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        lines.read_to_string(&mut told).unwrap();
        // Its last line may have come in part.
        for line in told.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            if let Some(id) = line.strip_prefix("created ") {
                let id: u64 = id.parse().unwrap();
                assert!(created.last().is_none_or(|last| *last < id), "{id} was given before");
                created.insert(id);
            } else if let Some(id) = line.strip_prefix("deleting ") {
                deleted.insert(id.parse().unwrap());
            }
        }
        let shown = done(&list, TaskTool::List, &json!({}));
        assert!(!shown.contains("cannot be read"), "{shown}");
        let tasks = stored(&folder);
        assert_eq!(shown.lines().count(), tasks.len());
        let lost: Vec<_> = created.iter().filter(|id| !tasks.contains_key(id) && !deleted.contains(*id)).collect();
        assert!(lost.is_empty(), "{lost:?} are lost");
        // The one that it was about to tell of.
        let untold: Vec<_> = tasks.keys().copied().filter(|id| !created.contains(id)).collect();
        assert!(untold.len() <= 1, "{untold:?}");
        created.extend(untold);
        leftovers += temporary(&folder);
        out_of_step += usize::from(!one_sided(&tasks).is_empty());
        // The next change puts everything right.
        let any = tasks.keys().next().unwrap().to_string();
        done(&list, TaskTool::Update, &json!({ "taskId": any, "subject": format!("seen after round {round}") }));
        assert_eq!(one_sided(&stored(&folder)), Vec::<String>::new());
        assert_eq!(temporary(&folder), 0);
    }
    eprintln!("{} tasks, {leftovers} temporary files left, {out_of_step} lists out of step", created.len());
}

fn temporary(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().ends_with(".tmp")).count()
}

/// Creates tasks, and has each wait for the one before. A lock that others have for too long is asked for again.
fn contend(list: &TaskList, name: &str) -> Vec<u64> {
    let mut created: Vec<u64> = Vec::new();
    let until_free = |tool: TaskTool, input: &Value| loop {
        let answer = run_task_tool(tool, input, list);
        if !answer.content.contains("is locked by somebody else") {
            assert!(!answer.is_error, "{}", answer.content);
            return answer.content;
        }
    };
    for number in 0..8 {
        let told = until_free(TaskTool::Create, &json!({ "subject": format!("{name} {number}"), "description": "" }));
        let id = told.strip_prefix("created task ").and_then(|rest| rest.split(':').next()).unwrap();
        if let Some(last) = created.last() {
            until_free(TaskTool::Update, &json!({ "taskId": id, "addBlockedBy": [last.to_string()] }));
        }
        created.push(id.parse().unwrap());
    }
    created
}

#[test]
fn ten_threads_and_four_processes_create_tasks_at_once() {
    let (top, list) = list();
    let mut children: Vec<_> = (0..4).map(|name| start(&format!("contender process-{name}"), top.path())).collect();
    for (_, lines) in &mut children {
        assert!(lines.lines().any(|line| line.unwrap() == "ready"));
    }
    for (child, _) in &mut children {
        drop(child.stdin.take());
    }
    let mut created: Vec<u64> = std::thread::scope(|scope| {
        let list = &list;
        let threads: Vec<_> =
            (0..10).map(|name| scope.spawn(move || contend(list, &format!("thread-{name}")))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for (mut child, lines) in children {
        let told = lines.lines().map(Result::unwrap);
        created.extend(told.filter_map(|line| line.strip_prefix("created ").map(|id| id.parse::<u64>().unwrap())));
        assert!(child.wait().unwrap().success());
    }
    created.sort_unstable();
    assert_eq!(created, (1..=14 * 8).collect::<Vec<_>>());
    let tasks = stored(&top.path().join("list"));
    assert_eq!(tasks.keys().copied().collect::<Vec<_>>(), created);
    assert_eq!(one_sided(&tasks), Vec::<String>::new());
    let subjects: BTreeSet<&str> = tasks.values().map(|task| task["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects.len(), 14 * 8);
    assert_eq!(tasks.values().map(|task| ids(&task["blockedBy"]).len()).sum::<usize>(), 14 * 7);
}
