//! One run, from its place in the session's queue to its last event. Whatever happens in between, its end hooks run once
//! for each time that its start hooks did.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio_util::sync::CancellationToken;

use super::family::{Family, RunHandle};
use super::input::CompactRequest;
use super::profile::{Budget, Profile};
use crate::error::CoreError;
use crate::event::{ErrorReference, Event, HookError, Level};
use crate::hooks::{Commands, Dispatch};
use crate::host::{Answer, Call, Effect, HookSubject, HostError, HostErrorKind, MiddlewarePoint, Recorded, RunSummary};
use crate::permission::redact::redact_text;
use crate::session::{Session, Turn};
use crate::types::{CallId, HookName, HookStatus, MessageOutline, RunKey, RunStopReason, Usage};

/// Why a run did not come to its own end.
pub(super) enum Stopped {
    Cancelled,
    Failed(Failure),
}

/// What failed a run: for the caller, and for hooks.
pub(super) struct Failure {
    pub error: ErrorReference,
    pub thrown: HookError,
}

impl Stopped {
    /// The host's call `key` failed, and the run with it.
    pub fn thrown(key: CallId, error: HostError) -> Stopped {
        match error.kind {
            HostErrorKind::Thrown => Stopped::Failed(Failure {
                error: ErrorReference::Host { key },
                thrown: HookError { name: error.name, message: error.message },
            }),
            HostErrorKind::Invalid => CoreError::Provider(error.message).into(),
        }
    }
}

impl RunEnd {
    fn cancelled() -> RunEnd {
        RunEnd { status: HookStatus::Cancelled, error: None, has_text: false }
    }
}

fn status_of(reason: RunStopReason) -> HookStatus {
    if reason == RunStopReason::MaxTurns { HookStatus::MaxTurns } else { HookStatus::Completed }
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Failure {
        let name = if matches!(error, CoreError::Provider(_)) { "ProviderError" } else { "AgentError" };
        let message = error.to_string();
        Failure {
            thrown: HookError { name: name.to_string(), message: message.clone() },
            error: ErrorReference::Core { code: error.code(), message },
        }
    }
}

impl From<CoreError> for Stopped {
    fn from(error: CoreError) -> Stopped {
        Stopped::Failed(error.into())
    }
}

/// How a run ended, for whoever started it within the core.
pub(super) struct RunEnd {
    pub status: HookStatus,
    /// What failed it.
    pub error: Option<String>,
    /// The last message of its model says something.
    pub has_text: bool,
}

/// What one run differs in from others.
pub(super) struct RunSetup {
    pub key: RunKey,
    pub place: Turn,
    pub profile: Rc<Profile>,
    /// The session that it belongs to: its own, or that of the root agent which started the child.
    pub owner: Rc<str>,
    /// It goes on with a conversation, which must be there.
    pub resumes: bool,
    pub max_turns: u32,
    pub budget: Rc<Budget>,
    pub has_steering: bool,
    pub inside_approval: Option<CallId>,
    pub inside_child: bool,
    pub compact: Option<CompactRequest>,
}

/// One run of a family.
pub(super) struct Run {
    pub family: Rc<Family>,
    pub handle: Rc<RunHandle>,
    pub key: RunKey,
    pub session: Rc<Session>,
    pub profile: Rc<Profile>,
    /// The session that it belongs to: its own, or that of the root agent which started the child.
    pub owner: Rc<str>,
    resumes: bool,
    pub max_turns: u32,
    pub budget: Rc<Budget>,
    pub has_steering: bool,
    /// The call to the approval handler that it was started in.
    pub inside_approval: Option<CallId>,
    /// It was started in a callback of a child, or follows from such a run.
    pub inside_child: bool,
    usage: Cell<Usage>,
    /// The last message of its model says something.
    pub has_text: Cell<bool>,
    /// The call by which the model gave its final answer.
    pub answer: Cell<Option<CallId>>,
    /// Calls of that kind that were valid.
    pub valid_answers: RefCell<Vec<CallId>>,
    /// The turn that is going on; 0 before the first.
    pub turn: Cell<u32>,
    /// How many compactions there were.
    pub compactions: Cell<u32>,
    compact: Option<CompactRequest>,
    /// Ends what is going on of the run: it was cancelled, or it failed beside what is going on.
    pub stop: CancellationToken,
    /// Why it failed beside what was going on.
    pub failure: RefCell<Option<Failure>>,
    place: RefCell<Option<Turn>>,
}

impl Run {
    pub fn new(family: Rc<Family>, handle: Rc<RunHandle>, session: Rc<Session>, setup: RunSetup) -> Run {
        let stop = handle.cancel.child_token();
        Run {
            family,
            handle,
            key: setup.key,
            place: RefCell::new(Some(setup.place)),
            session,
            profile: setup.profile,
            owner: setup.owner,
            resumes: setup.resumes,
            max_turns: setup.max_turns,
            budget: setup.budget,
            has_steering: setup.has_steering,
            inside_approval: setup.inside_approval,
            inside_child: setup.inside_child,
            usage: Cell::default(),
            has_text: Cell::new(false),
            answer: Cell::new(None),
            valid_answers: RefCell::default(),
            turn: Cell::new(0),
            compactions: Cell::new(0),
            compact: setup.compact,
            stop,
            failure: RefCell::default(),
        }
    }

    /// The whole run, as one task.
    pub async fn drive(self, input: Vec<MessageOutline>) -> RunEnd {
        let place = self.place.borrow_mut().take();
        let Some(mut place) = place else { return RunEnd::cancelled() };
        let ended = match self.cancellable(place.begin()).await {
            // It never began: no hooks, nothing stored.
            Err(stopped) => Err(stopped),
            Ok(()) if self.compact.is_some() => return self.drive_compaction(place).await,
            Ok(()) => {
                let ended = self.body(&input).await;
                self.finish(&ended).await;
                ended
            }
        };
        let (reason, error, end) = match ended {
            Ok(reason) => {
                let status = status_of(reason);
                (reason, None, RunEnd { status, error: None, has_text: self.has_text.get() })
            }
            Err(Stopped::Cancelled) => (RunStopReason::Aborted, None, RunEnd::cancelled()),
            Err(Stopped::Failed(Failure { error, thrown })) => {
                let end = RunEnd { status: HookStatus::Failed, error: Some(thrown.message), has_text: false };
                (RunStopReason::Aborted, Some(error), end)
            }
        };
        let result = self.summary(reason);
        self.family.host.emit(&Effect::Done { run: self.key, result, error, compaction: None });
        drop(place);
        self.family.forget_run(self.key, &self.session);
        end
    }

    /// A compaction that the host asked for: it has its place in the session like a run, and hooks of its own alone.
    async fn drive_compaction(self, place: Turn) -> RunEnd {
        let instructions = self.compact.as_ref().and_then(|request| request.instructions.as_deref());
        let (compaction, error) = match self.compact_now(instructions).await {
            Ok(sizes) => (Some(sizes), None),
            Err(Stopped::Cancelled) => (None, None),
            Err(Stopped::Failed(failure)) => (None, Some(failure.error)),
        };
        let result = self.summary(RunStopReason::Aborted);
        self.family.host.emit(&Effect::Done { run: self.key, result, error, compaction });
        drop(place);
        self.family.forget_run(self.key, &self.session);
        // Nobody within the core starts one.
        RunEnd::cancelled()
    }

    async fn body(&self, input: &[MessageOutline]) -> Result<RunStopReason, Stopped> {
        self.dispatch(HookSubject::of(HookName::RunStart), None, true).await?;
        self.load_session().await?;
        if self.resumes && self.session.conversation.borrow().messages() == 0 {
            return Err(
                CoreError::Config("there is no such agent to resume: nothing of it is stored".to_string()).into()
            );
        }
        let recorded: Vec<_> = (0..input.len()).map(|index| Recorded::User { from: None, index }).collect();
        self.record(&recorded).await?;
        for (index, message) in input.iter().enumerate() {
            self.append(message, None, Some(index));
        }
        let middleware = self.family.options.middleware;
        if middleware.before_agent {
            self.ask_middleware(MiddlewarePoint::BeforeAgent, 0).await?;
        }
        let reason = self.turns().await?;
        if self.profile.tools.has_final() && self.answer.get().is_none() {
            let message = "the run ended without a call of final_answer, so its result has no output";
            self.family.diagnose(self.key, Level::Warning, "no_final_answer", message, None);
        }
        if middleware.after_agent {
            self.ask_middleware(MiddlewarePoint::AfterAgent, 0).await?;
        }
        Ok(reason)
    }

    /// The terminal hooks; a failure is told first.
    async fn finish(&self, ended: &Result<RunStopReason, Stopped>) {
        let mut subject = HookSubject::of(HookName::RunEnd);
        match ended {
            Ok(reason) => {
                subject.status = Some(status_of(*reason));
                subject.run_result = Some(self.summary(*reason));
            }
            Err(Stopped::Cancelled) => {
                subject.status = Some(HookStatus::Cancelled);
                subject.run_result = Some(self.summary(RunStopReason::Aborted));
            }
            Err(Stopped::Failed(failure)) => {
                self.tell(Event::Error { error: failure.error.clone(), fatal: true });
                subject.status = Some(HookStatus::Failed);
                subject.error = Some(failure.thrown.clone());
            }
        }
        // End hooks are never abandoned.
        let _ = self.dispatch(subject, None, false).await;
    }

    /// The model used tokens.
    pub fn spend(&self, usage: Usage) {
        let mut sum = self.usage.get();
        sum.add(usage);
        self.usage.set(sum);
        self.budget.spend(usage);
    }

    fn summary(&self, stop_reason: RunStopReason) -> RunSummary {
        RunSummary {
            usage: self.usage.get(),
            stop_reason,
            answer: self.answer.get().filter(|_| stop_reason != RunStopReason::Aborted),
        }
    }

    /// Dispatches a hook event, of a call of `tool` if it is about one; costs nothing where nobody registered. Cancellation abandons start hooks alone.
    pub async fn dispatch(&self, subject: HookSubject, tool: Option<&str>, abandon: bool) -> Result<(), Stopped> {
        let registrations = self.family.hooks.borrow().snapshot(subject.event);
        let Some(registrations) = registrations else { return Ok(()) };
        let dispatch = Dispatch {
            host: &self.family.host,
            run: self.key,
            subject,
            cancel: abandon.then_some(&self.stop),
            commands: Some(Commands { port: self, tool }),
            redact: &|text| redact_text(text).into_owned(),
            host_redacts: self.family.options.host_redacts,
            report: &|diagnostic| self.family.report_hook(self.key, &diagnostic),
        };
        dispatch.run(registrations).await.map_err(|_abandoned| Stopped::Cancelled)
    }

    pub async fn ask_middleware(&self, point: MiddlewarePoint, turn: u32) -> Result<(), Stopped> {
        let call = self.family.host.call(|id| Effect::Middleware { id, run: self.key, point, turn });
        self.answered(call).await.map(|_answer| ())
    }

    /// Awaits a call that fails the run when it fails.
    pub async fn answered(&self, call: Call) -> Result<String, Stopped> {
        let key = call.id();
        let Answer { outcome, .. } = self.cancellable(call).await?;
        outcome.map_err(|error| Stopped::thrown(key, error))
    }

    /// Awaits a future, or the run's cancellation, whichever is first.
    pub async fn cancellable<T>(&self, future: impl Future<Output = T>) -> Result<T, Stopped> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(Stopped::Cancelled),
            value = future => Ok(value),
        }
    }

    /// The run cannot go on, whatever else of it is going on.
    pub fn fail(&self, failure: Failure) {
        self.failure.borrow_mut().get_or_insert(failure);
        self.stop.cancel();
    }

    /// Why the run was stopped from outside of what is going on, if it was.
    pub fn stopped(&self) -> Option<Stopped> {
        if let Some(failure) = self.failure.borrow_mut().take() {
            return Some(Stopped::Failed(failure));
        }
        self.stop.is_cancelled().then_some(Stopped::Cancelled)
    }

    /// Waits while the reader is behind; fails once the run was cancelled.
    pub async fn ready(&self) -> Result<(), Stopped> {
        self.cancellable(self.handle.flow.ready()).await
    }

    /// Whether anybody listens to the run's events.
    pub fn is_heard(&self) -> bool {
        self.handle.stream.get() || self.family.subscribed.get()
    }

    /// Emits an event, if anybody listens.
    pub fn tell(&self, event: Event<'_>) {
        if self.is_heard() {
            self.family.host.emit(&Effect::Event { run: self.key, event });
        }
    }

    /// Appends a message that the host keeps under `from`, at `index` if that is a list.
    pub fn append(&self, message: &MessageOutline, from: Option<CallId>, index: Option<usize>) {
        let place = self.session.conversation.borrow_mut().append(message);
        self.family.host.emit(&Effect::Append { run: self.key, from, index, place, leave_out: &message.empty_blocks });
    }
}
