//! A list of tasks in a folder: one JSON file a task, shared by any number of processes and threads under one lock, so
//! that each call sees what all before it did. All functions block. Knows nothing of agents, sessions and hosts.
//!
//! In the folder are `<id>.json` for each task, `.last-id`, `.lock`, and while something is written `.task-….tmp`.

mod catalogue;
mod failure;
mod files;
mod folder;
mod graph;
mod lines;
mod sweep;
mod task;
mod timestamp;
mod tool;
mod update;

use std::path::PathBuf;
use std::time::Duration;

pub use catalogue::{TASK_TOOLS, TaskToolDescription};
pub use failure::TaskFailure;
pub use sweep::remove_unused_lists;
pub use tool::{TaskAnswer, TaskTool, run_task_tool};

use folder::LockedFolder;
use graph::TaskGraph;
use task::TaskId;
use update::{Change, Update};

/// How long somebody else's lock is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// One list. Holds nothing open between calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskList {
    folder: PathBuf,
    lock_wait: Duration,
}

impl TaskList {
    /// The list in this folder, which the first task makes. Touches nothing.
    pub fn new(folder: PathBuf) -> TaskList {
        TaskList { folder, lock_wait: LOCK_WAIT }
    }

    /// The tasks that are not completed, one a line, in order of ids, each with what it waits for; none where there is
    /// none. At most 50 tasks and 8 KiB, with the number of those that are left out. What would end a `<task-list>` that
    /// is put around it is made harmless.
    ///
    /// # Errors
    /// The folder cannot be read, or somebody has it locked for over five seconds.
    pub fn reminder(&self) -> Result<Option<String>, TaskFailure> {
        Ok(lines::reminder(&self.load()?))
    }

    /// Removes the whole list, and its folder, unless that holds files of somebody else. A list that is not there is
    /// removed already.
    ///
    /// # Errors
    /// A file may not be removed, or somebody has the list locked for over five seconds.
    pub fn remove(&self) -> Result<(), TaskFailure> {
        match self.open()? {
            Some(folder) => files::clear(folder),
            None => Ok(()),
        }
    }

    fn load(&self) -> Result<TaskGraph, TaskFailure> {
        self.open()?.map_or_else(|| Ok(TaskGraph::default()), |folder| files::load(&folder))
    }

    fn create(&self, subject: &str, description: &str) -> Result<TaskId, TaskFailure> {
        let folder = LockedFolder::make(&self.folder, self.lock_wait)?;
        files::create(&folder, subject, description, &timestamp::now())
    }

    /// Answers the tasks as they are after it.
    fn update(&self, update: &Update) -> Result<(TaskGraph, Change), TaskFailure> {
        let Some(folder) = self.open()? else { return Err(graph::unknown(&update.id.to_string())) };
        let mut graph = files::load(&folder)?;
        let change = update.apply(&mut graph, &timestamp::now())?;
        files::commit(&folder, &graph, &change)?;
        Ok((graph, change))
    }

    fn open(&self) -> Result<Option<LockedFolder<'_>>, TaskFailure> {
        LockedFolder::open(&self.folder, self.lock_wait)
    }
}

#[cfg(test)]
#[path = "list_test.rs"]
mod tests;
