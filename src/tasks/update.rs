//! A change of one task, worked out in memory: whole or not at all. Knows no folder.

use std::collections::BTreeSet;

use super::failure::TaskFailure;
use super::graph::TaskGraph;
use super::task::{Status, TaskId, check_description, check_subject};

/// What a status can be changed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewStatus {
    Kept(Status),
    Deleted,
}

/// What is to be changed of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Update {
    pub id: TaskId,
    pub status: Option<NewStatus>,
    pub subject: Option<String>,
    pub description: Option<String>,
    pub add_blocks: Vec<TaskId>,
    pub add_blocked_by: Vec<TaskId>,
}

/// What is to become of the file of the task itself. That file alone decides whether the change was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// It is as it is to be.
    Keep,
    Write,
    Remove,
}

/// A change as it was worked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub id: TaskId,
    pub act: Act,
    /// Whose files change along with it.
    pub others: BTreeSet<TaskId>,
    /// What the task waits for, where it was started all the same.
    pub started_despite: Vec<TaskId>,
}

impl Update {
    /// Changes the tasks in memory.
    ///
    /// # Errors
    /// There is no such task, or something of it cannot be; then `graph` must not be used any more.
    pub fn apply(&self, graph: &mut TaskGraph, now: &str) -> Result<Change, TaskFailure> {
        let before = graph.get(self.id)?.clone();
        let mut others = BTreeSet::new();
        for blocked in &self.add_blocks {
            if graph.add_edge(self.id, *blocked)? {
                others.insert(*blocked);
            }
        }
        for blocker in &self.add_blocked_by {
            if graph.add_edge(*blocker, self.id)? {
                others.insert(*blocker);
            }
        }
        let task = graph.get_mut(self.id)?;
        if let Some(subject) = &self.subject {
            check_subject(subject).map_err(TaskFailure::Refused)?;
            task.subject.clone_from(subject);
        }
        if let Some(description) = &self.description {
            check_description(description).map_err(TaskFailure::Refused)?;
            task.description.clone_from(description);
        }
        let act = match self.status {
            Some(NewStatus::Deleted) => {
                others = graph.remove(self.id);
                Act::Remove
            }
            Some(NewStatus::Kept(status)) => {
                task.status = status;
                if *task == before { Act::Keep } else { Act::Write }
            }
            None if *task == before => Act::Keep,
            None => Act::Write,
        };
        if act == Act::Write {
            graph.get_mut(self.id)?.updated_at = now.to_string();
        }
        for other in &others {
            graph.get_mut(*other)?.updated_at = now.to_string();
        }
        let started_despite = match self.status {
            Some(NewStatus::Kept(Status::InProgress)) => graph.open_blockers(graph.get(self.id)?),
            _ => Vec::new(),
        };
        Ok(Change { id: self.id, act, others, started_despite })
    }
}
