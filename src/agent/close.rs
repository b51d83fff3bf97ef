//! Endings: when a session is idle, and how a family closes.

use std::rc::Rc;
use std::time::Duration;

use super::family::Family;
use crate::host::Effect;
use crate::types::OperationKey;

/// How long closing waits for what was begun on other threads and cancelled: work on the disk, and dying commands.
const MAX_WAIT: Duration = Duration::from_secs(2);

impl Family {
    /// Nobody will poll the family any more: kills what it has left running, and lets go of what refers to it.
    pub fn abandon(&self) {
        self.jobs.kill_all(None);
        let groups = std::mem::take(&mut *self.groups.borrow_mut());
        drop(groups);
    }

    fn is_busy(&self) -> bool {
        !self.runs.borrow().is_empty() || !self.held.borrow().is_empty() || !self.groups.borrow().is_empty()
    }

    /// Tells the host when the session has no run left.
    pub fn await_idle(self: &Rc<Family>, session: &str, operation: OperationKey) {
        let session = self.sessions.borrow().get(session).cloned();
        let family = self.clone();
        self.spawner.spawn(async move {
            if let Some(session) = session {
                session.idle().await;
            }
            family.host.emit(&Effect::Operation { operation });
        });
    }

    /// Refuses new work, cancels all runs and groups, kills background commands, waits for their terminal hooks, and clears the registrations.
    pub fn close(self: &Rc<Family>, operation: OperationKey) {
        self.closing.set(true);
        // A run that is cancelled may be polled before this returns, so the table is not borrowed meanwhile.
        let runs: Vec<_> = self.runs.borrow().values().cloned().collect();
        for run in runs {
            run.cancel.cancel();
        }
        let groups: Vec<_> = self.groups.borrow().values().cloned().collect();
        for group in groups {
            group.cancel.cancel();
        }
        self.jobs.kill_all(None);
        let family = self.clone();
        self.spawner.spawn(async move {
            while family.is_busy() {
                family.run_over.notified().await;
            }
            family.remove_temporary_task_lists().await;
            family.files.borrow_mut().take();
            family.work.close();
            // A disk that hangs must not hold the host.
            let _ = tokio::time::timeout(MAX_WAIT, family.work.wait()).await;
            family.hooks.borrow_mut().clear();
            family.host.emit(&Effect::Operation { operation });
        });
    }
}
