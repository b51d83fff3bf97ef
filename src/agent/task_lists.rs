//! Task lists of a family: which list a run works on, and what its model is reminded of before each call. A session that has
//! no list costs nothing.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use super::family::Family;
use super::input::TaskOptions;
use super::run::Run;
use crate::event::Level;
use crate::session::Session;
use crate::tasks::{TaskAnswer, TaskList, TaskTool, remove_unused_lists, run_task_tool};
use crate::tools::builtin::ToolOutcome;

impl Run {
    pub(super) async fn run_task_tool(&self, tool: TaskTool, input: &Value) -> ToolOutcome {
        let Some(list) = self.family.task_list(&self.owner) else {
            return ToolOutcome { content: "Error: there are no task lists here".to_string(), is_error: true };
        };
        self.family.task_lists.borrow_mut().insert(self.owner.clone());
        let input = input.clone();
        match self.blocking(move || run_task_tool(tool, &input, &list)).await {
            Ok(TaskAnswer { content, is_error }) => ToolOutcome { content, is_error },
            Err(content) => ToolOutcome { content, is_error: true },
        }
    }

    /// What the next request ends with: the tasks that are not completed.
    pub(super) async fn reminder(&self) -> Option<String> {
        if !self.family.may_have_tasks(&self.owner, &self.session) {
            return None;
        }
        let list = self.family.task_list(&self.owner)?;
        match self.blocking(move || list.reminder()).await {
            Ok(Ok(reminder)) => {
                if reminder.is_some() {
                    self.family.task_lists.borrow_mut().insert(self.owner.clone());
                }
                // What it had from before was seen; what comes is of this process.
                self.session.was_stored.set(false);
                reminder.map(|tasks| format!("<task-list>\n{tasks}\n</task-list>"))
            }
            Ok(Err(problem)) => {
                self.tell_of_tasks(&problem.to_string());
                None
            }
            Err(_panicked) => None,
        }
    }

    fn tell_of_tasks(&self, problem: &str) {
        self.family.diagnose(self.key, Level::Warning, "task_list_unreadable", problem, None);
    }
}

impl Family {
    fn task_list(&self, owner: &str) -> Option<TaskList> {
        let options = self.options.tasks.as_ref()?;
        Some(TaskList::new(options.folder.join(options.list.as_deref().unwrap_or(owner))))
    }

    /// Whether it is worth looking: a list that others share; one that was used here; one that a stored session may have
    /// from before.
    fn may_have_tasks(&self, owner: &str, session: &Session) -> bool {
        let Some(options) = &self.options.tasks else { return false };
        options.list.is_some() || self.task_lists.borrow().contains(owner) || session.was_stored.get()
    }

    /// Removes lists that nobody has used for long, once; nobody waits for it.
    pub(super) fn sweep_task_lists(&self) {
        let Some(TaskOptions { folder, unused_before_ms: Some(before), .. }) = &self.options.tasks else { return };
        if self.swept.replace(true) {
            return;
        }
        let (folder, before) = (folder.clone(), UNIX_EPOCH + Duration::from_millis(*before));
        drop(self.work.spawn_blocking(move || remove_unused_lists(&folder, before)));
    }

    /// The list of a session that is deleted. One that sessions share stays.
    pub(super) async fn remove_task_list(&self, owner: &str) {
        self.task_lists.borrow_mut().remove(owner);
        if self.options.tasks.as_ref().is_some_and(|options| options.list.is_none()) {
            self.remove_list(owner).await;
        }
    }

    /// Lists of sessions that are not stored.
    pub(super) async fn remove_temporary_task_lists(&self) {
        let lists = std::mem::take(&mut *self.task_lists.borrow_mut());
        if self.options.tasks.as_ref().is_some_and(|options| options.temporary && options.list.is_none()) {
            for owner in lists {
                self.remove_list(&owner).await;
            }
        }
    }

    async fn remove_list(&self, owner: &str) {
        let Some(list) = self.task_list(owner) else { return };
        match self.work.spawn_blocking(move || list.remove()).await {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => tracing::warn!(%problem, "a task list could not be removed"),
            Err(error) => tracing::error!(%error, "removing a task list panicked"),
        }
    }
}
