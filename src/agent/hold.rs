//! A session held for the host: what changes its log from outside takes its place in the session's queue like a run.

use std::rc::Rc;

use super::family::Family;
use super::identity::agent_prefix;
use crate::error::CoreError;
use crate::host::Effect;
use crate::types::OperationKey;

impl Family {
    /// Lines up in the session and tells by an operation effect when everything before is over; what comes later waits
    /// until `release_session`. With `cancel`, the session's runs, children and background commands are ended first.
    ///
    /// # Errors
    /// `CoreError::Closed` once closing began.
    pub fn hold_session(self: &Rc<Family>, id: &str, cancel: bool, operation: OperationKey) -> Result<(), CoreError> {
        if self.closing.get() {
            return Err(CoreError::Closed("the agent is closed".to_string()));
        }
        let session = self.session(id);
        if cancel {
            self.cancel_session(id);
            self.jobs.kill_all(Some(id));
        }
        let mut place = session.line_up();
        let family = self.clone();
        self.spawner.spawn(async move {
            place.begin().await;
            if cancel {
                session.unattended().await;
                family.jobs.none_left(Some(session.id())).await;
                family.jobs.forget(session.id());
                family.remove_task_list(session.id()).await;
            }
            family.held.borrow_mut().insert(operation, place);
            family.host.emit(&Effect::Operation { operation });
        });
        Ok(())
    }

    /// Cancels the session's runs, and the children that they have started.
    pub fn cancel_session(&self, id: &str) {
        // A run that is cancelled may be polled before this returns, so the tables are not borrowed meanwhile.
        let runs: Vec<_> = self.runs.borrow().values().filter(|run| run.session == id).cloned().collect();
        for run in runs {
            run.cancel.cancel();
        }
        let groups: Vec<_> = self.groups.borrow().values().filter(|group| group.session_id() == id).cloned().collect();
        for group in groups {
            group.cancel.cancel();
        }
    }

    /// Gives the place back. With `changed`, what is kept of the session in memory is no longer what its log holds.
    pub fn release_session(&self, id: &str, changed: bool, operation: OperationKey) {
        let place = self.held.borrow_mut().remove(&operation);
        let session = self.sessions.borrow().get(id).cloned();
        if let Some(session) = session
            && changed
        {
            session.loaded.set(!self.options.stores);
            session.conversation.borrow_mut().restore(0, None);
        }
        drop(place);
        if changed {
            // What is kept of its children went along with it.
            let children = agent_prefix(id);
            self.sessions.borrow_mut().retain(|name, session| !name.starts_with(&children) || !session.is_idle());
        }
        let mut sessions = self.sessions.borrow_mut();
        if sessions.get(id).is_some_and(|session| session.is_blank()) {
            sessions.remove(id);
        }
        drop(sessions);
        self.run_over.notify_waiters();
    }
}
