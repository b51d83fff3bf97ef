//! The files of a list: how tasks are read from them, and in which order they are written so that a crash leaves each
//! change whole. Knows nothing of tools.
//!
//! A change becomes true by one rename or removal, that of the file of the task that it is of: all edges that it adds are
//! in that file. The files of the others follow; where they do not, the reader knows better (`graph`).

use std::collections::{BTreeMap, BTreeSet};

use super::failure::TaskFailure;
use super::folder::{LockedFolder, Names};
use super::graph::{BadFile, TaskGraph};
use super::task::{MAX_FILE_BYTES, Status, Task, TaskId};
use super::update::{Act, Change};

/// Of one list, whatever their status.
const MAX_TASKS: usize = 1_000;
/// Holds the highest id that was given: deleted tasks leave no other trace.
const LAST_ID: &str = ".last-id";
const MAX_LAST_ID_BYTES: usize = 32;

/// Reads all tasks. Files that hold none are kept apart, and stop nothing.
///
/// # Errors
/// The folder cannot be read, or has more files than a list has.
pub(super) fn load(folder: &LockedFolder<'_>) -> Result<TaskGraph, TaskFailure> {
    let names = folder.names()?;
    if names.ids.len() > MAX_TASKS {
        return Err(TaskFailure::Refused(format!(
            "{} holds {} tasks, and at most {MAX_TASKS} can be; remove some of the files",
            folder.path_of("").display(),
            names.ids.len()
        )));
    }
    let (mut tasks, mut unreadable) = (BTreeMap::new(), BTreeMap::new());
    for id in names.ids {
        let name = id.file_name();
        let bytes = folder.read(&name, MAX_FILE_BYTES);
        // None: somebody who knows no lock has just removed it.
        match bytes.and_then(|bytes| bytes.map(|bytes| Task::decode(id, &bytes)).transpose()) {
            Ok(Some(task)) => drop(tasks.insert(id, task)),
            Ok(None) => {}
            Err(why) => drop(unreadable.insert(id, BadFile { path: folder.path_of(&name), why })),
        }
    }
    let stranger = |name: &String| BadFile {
        path: folder.path_of(name),
        why: "files of tasks are named by their number, as 1.json is".to_string(),
    };
    Ok(TaskGraph::new(tasks, unreadable, names.strangers.iter().map(stranger).collect()))
}

/// Adds a task, and answers its id. Subject and description are what a task may have.
///
/// # Errors
/// The list is full, or cannot be written.
pub(super) fn create(
    folder: &LockedFolder<'_>,
    subject: &str,
    description: &str,
    now: &str,
) -> Result<TaskId, TaskFailure> {
    let names = folder.names()?;
    if names.ids.len() >= MAX_TASKS {
        return Err(TaskFailure::Refused(format!(
            "the list holds {MAX_TASKS} tasks, as many as it may; delete some first (TaskUpdate, status deleted)"
        )));
    }
    let id = TaskId::after(last_id(folder, &names)?)
        .ok_or_else(|| TaskFailure::Refused("no ids are left for another task in this list".to_string()))?;
    let task = Task {
        id,
        subject: subject.to_string(),
        description: description.to_string(),
        status: Status::Pending,
        blocks: BTreeSet::new(),
        blocked_by: BTreeSet::new(),
        created_at: now.to_string(),
        updated_at: now.to_string(),
    };
    let content = task.encode()?;
    folder.sweep(&names);
    let file = folder.stage(&id.file_name(), &content)?;
    // Before the task: an id that is lost by a crash is better than one that is given twice.
    keep_last_id(folder, id)?;
    file.place()?;
    folder.sync()?;
    Ok(id)
}

/// Writes what a change made of the tasks, and what an update before it did not come to.
///
/// # Errors
/// A file would be too large, or the list cannot be written; nothing was changed, unless the disk fails.
pub(super) fn commit(folder: &LockedFolder<'_>, graph: &TaskGraph, change: &Change) -> Result<(), TaskFailure> {
    if change.act == Act::Keep && graph.out_of_step().next().is_none() {
        return Ok(());
    }
    let names = folder.names()?;
    folder.sweep(&names);
    let mut others = Vec::new();
    for id in &change.others {
        others.push(folder.stage(&id.file_name(), &graph.get(*id)?.encode()?)?);
    }
    let is_written = |id: TaskId| change.others.contains(&id) || (id == change.id && change.act != Act::Keep);
    for id in graph.out_of_step().filter(|id| !is_written(*id)) {
        // A file that others made too large is theirs to put right.
        if let Ok(content) = graph.get(id)?.encode() {
            others.push(folder.stage(&id.file_name(), &content)?);
        }
    }
    let name = change.id.file_name();
    match change.act {
        Act::Keep => {}
        Act::Write => folder.stage(&name, &graph.get(change.id)?.encode()?)?.place()?,
        Act::Remove => {
            // It is less than the highest id where somebody brought the files here without it.
            if let Some(last) = last_id(folder, &names)? {
                keep_last_id(folder, last)?;
            }
            folder.remove(&name)?;
        }
    }
    folder.sync()?;
    for file in others {
        // The change is true by now. What fails here is put right by the next update.
        let _ = file.place();
    }
    Ok(())
}

/// Removes the files of all tasks, and what else is the list's.
///
/// # Errors
/// A file may not be removed; those after it are still there.
pub(super) fn clear(folder: LockedFolder<'_>) -> Result<(), TaskFailure> {
    let names = folder.names()?;
    folder.sweep(&names);
    for id in &names.ids {
        folder.remove(&id.file_name())?;
    }
    // Last, for until then it may be needed.
    folder.remove(LAST_ID)?;
    folder.dissolve()
}

/// The highest id that was given.
fn last_id(folder: &LockedFolder<'_>, names: &Names) -> Result<Option<TaskId>, TaskFailure> {
    let unreadable = |why: String| TaskFailure::Unreadable { path: folder.path_of(LAST_ID), why };
    let kept = match folder.read(LAST_ID, MAX_LAST_ID_BYTES).map_err(unreadable)? {
        Some(bytes) => {
            let id = std::str::from_utf8(&bytes).ok().and_then(|text| TaskId::parse(text.trim_end()));
            Some(id.ok_or_else(|| unreadable("expected the highest id that was given, as a number".to_string()))?)
        }
        None => None,
    };
    Ok(kept.max(names.ids.last().copied()))
}

fn keep_last_id(folder: &LockedFolder<'_>, id: TaskId) -> Result<(), TaskFailure> {
    folder.stage(LAST_ID, format!("{id}\n").as_bytes())?.place()
}
