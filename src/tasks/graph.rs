//! All tasks of a list, and who waits for whom. Pure: knows no folder.
//!
//! Each edge is in the files of both its tasks, and one of them is enough: what a process wrote on one side before it was
//! killed counts, and is put right on the other by the next update.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::failure::TaskFailure;
use super::task::{Status, Task, TaskId};
use crate::json::quote;

/// A file of the list that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadFile {
    pub path: std::path::PathBuf,
    pub why: String,
}

impl From<&BadFile> for TaskFailure {
    fn from(file: &BadFile) -> TaskFailure {
        TaskFailure::Unreadable { path: file.path.clone(), why: file.why.clone() }
    }
}

/// The tasks of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TaskGraph {
    tasks: BTreeMap<TaskId, Task>,
    /// Of these nothing is known but what others say of them.
    unreadable: BTreeMap<TaskId, BadFile>,
    /// Files that are named as no task's is.
    strangers: Vec<BadFile>,
    /// Whose files do not say all that other files say of them, or speak of tasks that are gone.
    out_of_step: BTreeSet<TaskId>,
}

impl TaskGraph {
    /// Brings together what the files say of each other.
    pub fn new(tasks: BTreeMap<TaskId, Task>, unreadable: BTreeMap<TaskId, BadFile>, strangers: Vec<BadFile>) -> Self {
        let mut graph = TaskGraph { tasks, unreadable, strangers, out_of_step: BTreeSet::new() };
        let edges: BTreeSet<(TaskId, TaskId)> = graph
            .tasks
            .values()
            .flat_map(|task| {
                let ahead = task.blocks.iter().map(|blocked| (task.id, *blocked));
                ahead.chain(task.blocked_by.iter().map(|blocker| (*blocker, task.id)))
            })
            // Of deleted tasks nobody waits for anybody.
            .filter(|(blocker, blocked)| graph.has(*blocker) && graph.has(*blocked))
            .collect();
        let mut sides: BTreeMap<TaskId, (BTreeSet<TaskId>, BTreeSet<TaskId>)> = BTreeMap::new();
        for (blocker, blocked) in edges {
            sides.entry(blocker).or_default().0.insert(blocked);
            sides.entry(blocked).or_default().1.insert(blocker);
        }
        for (id, task) in &mut graph.tasks {
            let (blocks, blocked_by) = sides.remove(id).unwrap_or_default();
            if task.blocks != blocks || task.blocked_by != blocked_by {
                graph.out_of_step.insert(*id);
            }
            task.blocks = blocks;
            task.blocked_by = blocked_by;
        }
        graph
    }

    /// Those that can be read, in the order of their ids.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    /// Files that cannot be used: those named as tasks' are, in order of ids, then others.
    pub fn bad_files(&self) -> impl Iterator<Item = &BadFile> {
        self.unreadable.values().chain(&self.strangers)
    }

    pub fn out_of_step(&self) -> impl Iterator<Item = TaskId> {
        self.out_of_step.iter().copied()
    }

    /// # Errors
    /// There is no such task, or its file cannot be read.
    pub fn get(&self, id: TaskId) -> Result<&Task, TaskFailure> {
        self.tasks.get(&id).ok_or_else(|| self.absent(id))
    }

    /// # Errors
    /// As `get`.
    pub fn get_mut(&mut self, id: TaskId) -> Result<&mut Task, TaskFailure> {
        let absent = self.absent(id);
        self.tasks.get_mut(&id).ok_or(absent)
    }

    /// How far a task is; none where its file cannot be read.
    pub fn status(&self, id: TaskId) -> Option<Status> {
        self.tasks.get(&id).map(|task| task.status)
    }

    /// What a task waits for that is not completed, as far as is known.
    pub fn open_blockers(&self, task: &Task) -> Vec<TaskId> {
        task.blocked_by.iter().copied().filter(|id| self.status(*id) != Some(Status::Completed)).collect()
    }

    /// Has `blocked` wait for `blocker`. Answers false where it does already.
    ///
    /// # Errors
    /// One of them is not there, or waits for the other already, be it through others.
    pub fn add_edge(&mut self, blocker: TaskId, blocked: TaskId) -> Result<bool, TaskFailure> {
        self.get(blocked)?;
        if self.get(blocker)?.blocks.contains(&blocked) {
            return Ok(false);
        }
        if let Some(way) = self.way(blocked, blocker) {
            let way = way.iter().map(|id| format!(" → {id}")).collect::<String>();
            return Err(TaskFailure::Refused(format!(
                "task {blocker} cannot block task {blocked}: that would be a cycle, {blocker}{way} (each blocks the \
                 next); nothing was changed"
            )));
        }
        self.get_mut(blocker)?.blocks.insert(blocked);
        self.get_mut(blocked)?.blocked_by.insert(blocker);
        Ok(true)
    }

    /// Takes a task out, and answers which others spoke of it.
    pub fn remove(&mut self, id: TaskId) -> BTreeSet<TaskId> {
        self.tasks.remove(&id);
        let mut mentioned_by = BTreeSet::new();
        for task in self.tasks.values_mut() {
            if task.blocks.remove(&id) | task.blocked_by.remove(&id) {
                mentioned_by.insert(task.id);
            }
        }
        mentioned_by
    }

    fn has(&self, id: TaskId) -> bool {
        self.tasks.contains_key(&id) || self.unreadable.contains_key(&id)
    }

    fn absent(&self, id: TaskId) -> TaskFailure {
        self.unreadable.get(&id).map_or_else(|| unknown(&id.to_string()), TaskFailure::from)
    }

    /// The shortest way from one task to another, both ends included, along those that wait for it.
    fn way(&self, from: TaskId, to: TaskId) -> Option<Vec<TaskId>> {
        let mut came_from = BTreeMap::from([(from, None)]);
        let mut ahead = VecDeque::from([from]);
        while let Some(at) = ahead.pop_front() {
            if at == to {
                let mut way: Vec<TaskId> =
                    std::iter::successors(Some(at), |step| came_from.get(step).copied().flatten()).collect();
                way.reverse();
                return Some(way);
            }
            for next in self.blocked_by(at) {
                came_from.entry(next).or_insert_with(|| {
                    ahead.push_back(next);
                    Some(at)
                });
            }
        }
        None
    }

    /// Those that wait for a task, be it one that cannot be read: of that one the others tell.
    fn blocked_by(&self, id: TaskId) -> Vec<TaskId> {
        match self.tasks.get(&id) {
            Some(task) => task.blocks.iter().copied().collect(),
            None => self.tasks.values().filter(|task| task.blocked_by.contains(&id)).map(|task| task.id).collect(),
        }
    }
}

/// A task that was asked for and is not there.
pub(super) fn unknown(id: &str) -> TaskFailure {
    TaskFailure::Refused(format!("there is no task {}; TaskList shows those that there are", quote(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> TaskId {
        TaskId::parse(&number.to_string()).unwrap()
    }

    fn task(number: u64, blocks: &[u64], blocked_by: &[u64]) -> Task {
        Task {
            id: id(number),
            subject: format!("task {number}"),
            description: String::new(),
            status: Status::Pending,
            blocks: blocks.iter().map(|number| id(*number)).collect(),
            blocked_by: blocked_by.iter().map(|number| id(*number)).collect(),
            created_at: String::new(),
            updated_at: String::new(),
        }
    }

    fn graph(tasks: Vec<Task>, unreadable: &[u64]) -> TaskGraph {
        let bad =
            |number: &u64| (id(*number), BadFile { path: format!("{number}.json").into(), why: "torn".to_string() });
        let tasks = tasks.into_iter().map(|task| (task.id, task)).collect();
        TaskGraph::new(tasks, unreadable.iter().map(bad).collect(), Vec::new())
    }

    #[test]
    fn an_edge_counts_that_one_side_alone_knows() {
        let mut graph =
            graph(vec![task(1, &[2, 3], &[]), task(2, &[], &[]), task(3, &[], &[1]), task(4, &[], &[3])], &[]);
        assert_eq!(graph.out_of_step().collect::<Vec<_>>(), [id(2), id(3)]);
        assert_eq!(graph.get(id(2)).unwrap(), &task(2, &[], &[1]));
        assert_eq!(graph.get(id(3)).unwrap(), &task(3, &[4], &[1]));
        assert_eq!(graph.add_edge(id(1), id(2)), Ok(false));
        assert_eq!(graph.add_edge(id(1), id(4)), Ok(true));
    }

    #[test]
    fn nobody_waits_for_what_is_gone() {
        let graph = graph(vec![task(1, &[9], &[8]), task(2, &[], &[])], &[]);
        assert_eq!(graph.out_of_step().collect::<Vec<_>>(), [id(1)]);
        assert_eq!(graph.get(id(1)).unwrap(), &task(1, &[], &[]));
    }

    #[test]
    fn a_cycle_is_told_with_its_shortest_way() {
        let chain =
            vec![task(1, &[2, 3], &[]), task(2, &[4], &[]), task(3, &[5], &[]), task(4, &[5], &[]), task(5, &[], &[])];
        let mut graph = graph(chain, &[]);
        let before = graph.clone();
        for (blocker, blocked, way) in [(5, 1, "5 → 1 → 3 → 5"), (2, 1, "2 → 1 → 2"), (2, 2, "2 → 2")] {
            let error = graph.add_edge(id(blocker), id(blocked)).unwrap_err().to_string();
            assert!(error.contains(&format!("a cycle, {way} (each")), "{error}");
            assert!(error.contains(&format!("task {blocker} cannot block task {blocked}")), "{error}");
        }
        assert_eq!(graph, before);
        let error = graph.add_edge(id(1), id(6)).unwrap_err().to_string();
        assert!(error.contains("no task \"6\""), "{error}");
        assert_eq!(graph, before);
    }

    #[test]
    fn what_cannot_be_read_still_blocks_and_closes_cycles() {
        let mut graph = graph(vec![task(1, &[2], &[]), task(3, &[], &[2])], &[2]);
        assert_eq!(graph.out_of_step().count(), 0);
        assert_eq!(graph.open_blockers(graph.get(id(3)).unwrap()), [id(2)]);
        assert!(graph.add_edge(id(3), id(1)).unwrap_err().to_string().contains("3 → 1 → 2 → 3"));
        assert!(matches!(graph.add_edge(id(2), id(1)), Err(TaskFailure::Unreadable { .. })));
        assert!(matches!(graph.get(id(2)), Err(TaskFailure::Unreadable { .. })));
    }

    #[test]
    fn a_cycle_that_somebody_wrote_into_the_files_stops_nothing() {
        let mut graph = graph(vec![task(1, &[2], &[]), task(2, &[1], &[]), task(3, &[], &[])], &[]);
        assert_eq!(graph.add_edge(id(1), id(3)), Ok(true));
        assert_eq!(graph.remove(id(2)), BTreeSet::from([id(1)]));
        assert_eq!(graph.get(id(1)).unwrap(), &task(1, &[3], &[]));
    }

    #[test]
    fn a_thousand_tasks_in_a_row_are_followed_without_recursion() {
        let row = (1..=1000)
            .map(|number| task(number, if number < 1000 { vec![number + 1] } else { vec![] }.as_slice(), &[]));
        let mut graph = graph(row.collect(), &[]);
        assert!(graph.add_edge(id(1000), id(1)).is_err());
        assert_eq!(graph.add_edge(id(1), id(1000)), Ok(true));
    }
}
