//! One group of children: they run in the family's pool, first come first served, and when all are over one completion goes
//! to the session that started them, with a run of its own. A group that was cancelled starts no run.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::family::Family;
use super::profile::Budget;
use super::run::{Run, RunEnd, RunSetup};
use crate::host::{ChildReport, Completion, CompletionStatus, Effect};
use crate::session::{Presence, Session, Turn};
use crate::types::{CallId, GroupKey, HookStatus, MessageOutline, RunKey};

/// One child that is to run.
pub(super) struct Task {
    pub name: String,
    pub agent: Rc<str>,
    pub resumes: bool,
    /// Position of its definition.
    pub definition: usize,
    pub model: Option<String>,
    pub prompt: String,
}

/// Children that were started by one call.
pub(super) struct Group {
    pub key: GroupKey,
    pub id: String,
    family: Rc<Family>,
    label: String,
    /// The session that started it, and that its completion goes to.
    session: Rc<Session>,
    /// Fires when the run that started it is cancelled, when its session is deleted, and when the family closes.
    pub cancel: CancellationToken,
    budget: Rc<Budget>,
    max_turns: u32,
    inside_approval: Option<CallId>,
    inside_child: bool,
    /// Where its children have their places.
    pool: Rc<Semaphore>,
    /// The session is not idle as long as it is there.
    presence: RefCell<Option<Presence>>,
}

/// A run that the host made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MadeRun {
    run: RunKey,
    model: String,
    /// Somebody pulls its events.
    stream: bool,
}

/// How a child ended.
struct ChildEnd {
    run: Option<RunKey>,
    status: HookStatus,
    error: Option<String>,
}

impl ChildEnd {
    fn cancelled() -> ChildEnd {
        ChildEnd { run: None, status: HookStatus::Cancelled, error: None }
    }

    fn failed(error: String) -> ChildEnd {
        ChildEnd { run: None, status: HookStatus::Failed, error: Some(error) }
    }
}

impl Group {
    /// A group of the run's session; its children are known as being at work from now on.
    pub fn new(run: &Run, tasks: &[Task]) -> Rc<Group> {
        let family = run.family.clone();
        let key = family.next_group_key();
        let group = Rc::new(Group {
            key,
            id: family.new_group_id(),
            label: tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>().join(", "),
            session: run.session.clone(),
            cancel: run.handle.cancel.child_token(),
            budget: run.budget.clone(),
            max_turns: run.max_turns,
            inside_approval: run.inside_approval,
            inside_child: run.inside_child,
            pool: family.pool_for(run),
            presence: RefCell::new(Some(run.session.attend())),
            family,
        });
        let family = &group.family;
        family.groups.borrow_mut().insert(key, group.clone());
        family.live_agents.borrow_mut().extend(tasks.iter().map(|task| task.agent.clone()));
        family.host.emit(&Effect::GroupBegan { run: run.key, group: key });
        group
    }

    /// The id of its session.
    pub fn session_id(&self) -> &str {
        self.session.id()
    }

    pub fn start(self: Rc<Group>, tasks: Vec<Task>) {
        let spawner = self.family.spawner.clone();
        spawner.spawn(async move {
            let ends = join_all(tasks.iter().map(|task| self.child(task))).await;
            self.complete(&tasks, &ends).await;
        });
    }

    /// One child, from its place in the pool to its end.
    async fn child(&self, task: &Task) -> ChildEnd {
        let end = self.run_child(task).await;
        self.family.live_agents.borrow_mut().remove(&task.agent);
        end
    }

    async fn run_child(&self, task: &Task) -> ChildEnd {
        let family = &self.family;
        let place = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return ChildEnd::cancelled(),
            place = self.pool.acquire() => place,
        };
        let Ok(_place) = place else { return ChildEnd::cancelled() };
        let call = family.host.call(|id| Effect::MakeRun {
            id,
            group: self.key,
            agent: &task.agent,
            definition: task.definition,
            model: task.model.as_deref(),
            prompt: &task.prompt,
        });
        let made = match call.await.outcome {
            Ok(json) => serde_json::from_str::<MadeRun>(&json).map_err(|error| error.to_string()),
            Err(error) => Err(error.message),
        };
        let made = match made {
            Ok(made) => made,
            Err(problem) => return ChildEnd::failed(problem),
        };
        let session = family.session(&task.agent);
        session.is_child.set(true);
        let place = session.line_up();
        let key = made.run;
        let cancel = self.cancel.child_token();
        let run = self.make_run(made, place, session, Some(task), cancel.clone());
        let input = vec![MessageOutline::user_text(task.prompt.is_empty())];
        let mut end = self.bounded(run.drive(input), &cancel).await;
        if end.error.is_none() && end.status == HookStatus::Completed && !end.has_text {
            end.status = HookStatus::Failed;
            end.error = Some("it ended without a text".to_string());
        }
        ChildEnd { run: Some(key), status: end.status, error: end.error }
    }

    /// Awaits a child's run, for as long as a child may take.
    async fn bounded(&self, run: impl Future<Output = RunEnd>, cancel: &CancellationToken) -> RunEnd {
        let Some(limit) = self.family.options.background_limits.max_task_ms else { return run.await };
        tokio::pin!(run);
        tokio::select! {
            biased;
            end = &mut run => return end,
            () = tokio::time::sleep(Duration::from_millis(limit)) => cancel.cancel(),
        }
        let end = run.await;
        // It may have been over, and its end hooks alone have gone on.
        if end.status != HookStatus::Cancelled {
            return end;
        }
        RunEnd { status: HookStatus::Failed, error: Some(format!("timed out after {limit} ms")), ..end }
    }

    fn make_run(
        &self,
        made: MadeRun,
        place: Turn,
        session: Rc<Session>,
        task: Option<&Task>,
        cancel: CancellationToken,
    ) -> Run {
        let family = &self.family;
        let profile = match task {
            None => family.root.clone(),
            Some(task) => family.profile_of(task.definition, made.model),
        };
        let setup = RunSetup {
            key: made.run,
            place,
            profile,
            owner: self.session.id().into(),
            resumes: task.is_some_and(|task| task.resumes),
            max_turns: self.max_turns,
            budget: self.budget.clone(),
            has_steering: false,
            inside_approval: self.inside_approval,
            inside_child: self.inside_child,
            compact: None,
        };
        let handle = family.register_run(made.run, session.id(), cancel, made.stream);
        if let Some(task) = task {
            family.warn_of_unknown(setup.key, task.definition);
        }
        Run::new(family.clone(), handle, session, setup)
    }

    /// All are over: tells of it, and has the session's model take up what came of it.
    async fn complete(&self, tasks: &[Task], ends: &[ChildEnd]) {
        let family = &self.family;
        let cancelled = self.cancel.is_cancelled() || family.closing.get();
        let children = tasks
            .iter()
            .zip(ends)
            .map(|(task, end)| ChildReport {
                name: &task.name,
                agent: &task.agent,
                status: end.status,
                run: end.run,
                error: end.error.as_deref(),
            })
            .collect();
        let completion = Completion { id: &self.id, label: &self.label, status: status_of(ends), children };
        // From here on the session is not idle for the sake of this place.
        let place = (!cancelled).then(|| self.session.line_up());
        let told = !family.closing.get();
        let call =
            family.host.call(|id| Effect::GroupOver { id, group: self.key, completion, told, starts: place.is_some() });
        let made = call.await.outcome;
        if let Some(place) = place {
            match made
                .map_err(|error| error.message)
                .and_then(|json| serde_json::from_str::<MadeRun>(&json).map_err(|error| error.to_string()))
            {
                Ok(made) => {
                    let run = self.make_run(made, place, self.session.clone(), None, self.cancel.child_token());
                    self.leave();
                    run.drive(vec![MessageOutline::user_text(false)]).await;
                    return;
                }
                Err(problem) => tracing::error!(problem, "a completion run could not be made"),
            }
        }
        self.leave();
    }

    fn leave(&self) {
        self.family.groups.borrow_mut().remove(&self.key);
        self.presence.borrow_mut().take();
        self.family.run_over.notify_waiters();
    }
}

fn status_of(ends: &[ChildEnd]) -> CompletionStatus {
    let count = |status| ends.iter().filter(|end| end.status == status).count();
    match count(HookStatus::Completed) {
        all if all == ends.len() => CompletionStatus::Completed,
        0 if count(HookStatus::Cancelled) == ends.len() => CompletionStatus::Cancelled,
        0 => CompletionStatus::Failed,
        _ => CompletionStatus::Partial,
    }
}
