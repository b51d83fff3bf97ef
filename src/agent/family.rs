//! A family: a root agent and all that runs for it, on one thread. What its runs share lives here.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::children;
use super::flow::Flow;
use super::group::Group;
use super::input::{FamilyOptions, StartOptions};
use super::profile::{Budget, Profile};
use super::run::{Run, RunSetup};
use crate::background::{Jobs, Limits};
use crate::error::CoreError;
use crate::event::{Event, HookFailure, Level};
use crate::hooks::{HookDiagnostic, HookFiles, Registry};
use crate::host::{Effect, Host, Spawner};
use crate::permission::{Policy, default_policy};
use crate::process::{Runner, locate_supervisor};
use crate::session::{Session, Turn};
use crate::tools::ToolSet;
use crate::tools::builtin::{FileToolOptions, FileTools};
use crate::types::{CallId, GroupKey, HandlerId, HookName, OperationKey, RunKey};

/// So many sessions that are stored are kept in memory as well.
const MAX_SESSIONS_KEPT: usize = 64;

/// What the host can reach of a run that is going.
pub(super) struct RunHandle {
    pub cancel: CancellationToken,
    /// Id of its session.
    pub session: String,
    pub flow: Flow,
    /// Somebody pulls the run's events.
    pub stream: Cell<bool>,
}

/// A root agent and all that runs for it.
pub struct Family {
    pub(super) host: Host,
    pub(super) spawner: Spawner,
    pub(super) options: FamilyOptions,
    /// What the agent itself is.
    pub(super) root: Rc<Profile>,
    /// What is decided of calls of children; absent where the host is asked.
    pub(super) child_policy: Option<Arc<Policy>>,
    /// Places for children.
    pub(super) pool: Rc<Semaphore>,
    pub(super) groups: RefCell<HashMap<GroupKey, Rc<Group>>>,
    /// Children that are at work, or wait for their place.
    pub(super) live_agents: RefCell<HashSet<Rc<str>>>,
    last_group: Cell<u64>,
    pub(super) last_name: Cell<u64>,
    pub(super) jobs: Jobs,
    /// Sessions that have a task list of their own.
    pub(super) task_lists: RefCell<HashSet<Rc<str>>>,
    /// Approvals are asked one at a time.
    pub(super) approvals: Semaphore,
    /// The call to the approval handler that is being waited for.
    pub(super) asking: Cell<Option<CallId>>,
    /// Gone once the family is closed.
    pub(super) files: RefCell<Option<FileTools>>,
    /// What is going on on other threads.
    pub(super) work: TaskTracker,
    pub(super) command_runner: OnceCell<Runner>,
    pub(super) shell_path: OnceCell<String>,
    pub(super) hooks: RefCell<Registry>,
    pub(super) sessions: RefCell<HashMap<String, Rc<Session>>>,
    /// Places that the host holds.
    pub(super) held: RefCell<HashMap<OperationKey, Turn>>,
    pub(super) runs: RefCell<HashMap<RunKey, Rc<RunHandle>>>,
    /// `next()` calls of wrapToolCall onions, by the onion's call.
    pub(super) wraps: RefCell<HashMap<CallId, tokio::sync::mpsc::UnboundedSender<u32>>>,
    pub(super) run_over: Notify,
    pub(super) closing: Cell<bool>,
    /// Unused task lists were looked for.
    pub(super) swept: Cell<bool>,
    /// How many runs have ended.
    uses: Cell<u64>,
    /// Somebody subscribed.
    pub(super) subscribed: Cell<bool>,
}

impl Family {
    /// # Errors
    /// `CoreError::Config` when a tool's schema or the folder cannot be used.
    pub fn new(
        host: Host,
        spawner: Spawner,
        mut options: FamilyOptions,
        policy: Option<Arc<Policy>>,
        subagent_policy: Option<Arc<Policy>>,
    ) -> Result<Rc<Family>, CoreError> {
        let tools =
            ToolSet::new(std::mem::take(&mut options.tools), &options.builtin_tools).map_err(CoreError::Config)?;
        let mut file_options = FileToolOptions { deny_symlinks: options.deny_symlinks, ..FileToolOptions::default() };
        if let Some(bytes) = options.max_snapshot_bytes {
            file_options.max_snapshot_bytes = bytes;
        }
        let files = FileTools::new(&options.workdir, file_options)
            .map_err(|problem| CoreError::Config(format!("workdir: {problem}")))?;
        let hook_files = load_hook_files(&options)?;
        let policy = match policy {
            _ if options.host_policy => None,
            Some(policy) => Some(policy),
            None => Some(default_policy()),
        };
        let child_policy = match (&policy, subagent_policy) {
            _ if options.host_child_policy => None,
            (Some(own), Some(narrower)) => Some(Arc::new(Policy::compose(&[own.clone(), narrower]))),
            (own, _) => own.clone(),
        };
        let root = Profile { model_name: options.model_name.clone(), tools, policy };
        let limits = Limits {
            max_total: options.background_limits.max_total,
            max_commands: options.background_limits.max_detached,
            buffer_bytes: options.background_limits.buffer_bytes,
        };
        Ok(Rc::new(Family {
            root: Rc::new(root),
            child_policy,
            pool: new_pool(&options),
            groups: RefCell::default(),
            live_agents: RefCell::default(),
            last_group: Cell::new(0),
            last_name: Cell::new(0),
            jobs: Jobs::new(limits),
            task_lists: RefCell::default(),
            hooks: RefCell::new(Registry::new(host.clone(), &hook_files)),
            host,
            spawner,
            options,
            approvals: Semaphore::new(1),
            asking: Cell::new(None),
            files: RefCell::new(Some(files)),
            work: TaskTracker::new(),
            command_runner: OnceCell::new(),
            shell_path: OnceCell::new(),
            sessions: RefCell::default(),
            held: RefCell::default(),
            runs: RefCell::default(),
            wraps: RefCell::default(),
            run_over: Notify::new(),
            closing: Cell::new(false),
            swept: Cell::new(false),
            uses: Cell::new(0),
            subscribed: Cell::new(false),
        }))
    }

    /// Starts a run; it lines up in its session at once.
    ///
    /// # Errors
    /// `CoreError::Closed` once closing began; `CoreError::Internal` for input that the host should have refused.
    pub fn start(self: &Rc<Family>, options: StartOptions) -> Result<(), CoreError> {
        if self.closing.get() {
            return Err(CoreError::Closed("the agent is closed".to_string()));
        }
        let input = options.input()?;
        let session = self.session(&options.session_id);
        let cancel = CancellationToken::new();
        if options.aborted {
            cancel.cancel();
        }
        let handle = self.register_run(options.run, session.id(), cancel, options.stream);
        self.sweep_task_lists();
        let setup = RunSetup {
            key: options.run,
            place: session.line_up(),
            profile: self.root.clone(),
            owner: session.id().into(),
            resumes: false,
            max_turns: options.max_turns.unwrap_or(self.options.max_turns),
            budget: Rc::new(Budget::new(options.max_total_tokens)),
            has_steering: options.steer,
            inside_approval: options.inside_approval,
            inside_child: options.inside_child,
            compact: options.compact,
        };
        let run = Run::new(self.clone(), handle, session, setup);
        self.spawner.spawn(async move {
            run.drive(input).await;
        });
        Ok(())
    }

    /// What the host can reach of a run from now on.
    pub(super) fn register_run(
        &self,
        run: RunKey,
        session: &str,
        cancel: CancellationToken,
        stream: bool,
    ) -> Rc<RunHandle> {
        let handle = Rc::new(RunHandle {
            cancel,
            session: session.to_string(),
            flow: Flow::default(),
            stream: Cell::new(stream),
        });
        self.runs.borrow_mut().insert(run, handle.clone());
        handle
    }

    /// Where the children of a run's group have their places. Those of the family may all be held by children that wait for
    /// this very group, in a callback that started the run: it has places of its own.
    pub(super) fn pool_for(&self, run: &Run) -> Rc<Semaphore> {
        if run.inside_child { new_pool(&self.options) } else { self.pool.clone() }
    }

    pub(super) fn next_group_key(&self) -> GroupKey {
        self.last_group.set(self.last_group.get() + 1);
        GroupKey(self.last_group.get())
    }

    /// # Errors
    /// As much goes on in the background as may; says what the limit is.
    pub(super) fn admit_group(&self) -> Result<(), String> {
        let limit = self.options.background_limits.max_total;
        if self.groups.borrow().len() + self.jobs.going() < limit {
            return Ok(());
        }
        Err(format!(
            "{limit} groups of agents and commands go on in the background, and there may be no more at once \
                     (backgroundLimits.maxTotal): wait until some are over"
        ))
    }

    /// What a child of this definition is, on a model of that name.
    pub(super) fn profile_of(&self, definition: usize, model_name: String) -> Rc<Profile> {
        let names = self.options.definitions.get(definition).and_then(|definition| definition.tools.as_deref());
        Rc::new(Profile { model_name, tools: self.root.tools.for_child(names), policy: self.child_policy.clone() })
    }

    /// Tells of what a definition names and the agent does not have.
    pub(super) fn warn_of_unknown(&self, run: RunKey, definition: usize) {
        let Some(definition) = self.options.definitions.get(definition) else { return };
        if let Some(model) = &definition.model
            && self.options.has_tiers
            && !children::is_model(model)
        {
            let message = format!(
                "the agent definition '{}' names the model '{model}', which is none of the tiers that there are: its \
                 children have their parent's model",
                definition.name
            );
            self.diagnose(run, Level::Warning, "agent_model_unknown", &message, None);
        }
        let missing: Vec<&str> = definition
            .tools
            .iter()
            .flatten()
            .map(String::as_str)
            .filter(|name| self.root.tools.get(name).is_none())
            .collect();
        if missing.is_empty() {
            return;
        }
        let message = format!(
            "the agent definition '{}' names tools that this agent does not have: {}",
            definition.name,
            missing.join(", ")
        );
        self.diagnose(run, Level::Warning, "agent_tools_missing", &message, None);
    }

    /// Cancels a run; nothing happens if it is over.
    pub fn cancel(&self, run: RunKey) {
        let handle = self.runs.borrow().get(&run).cloned();
        if let Some(handle) = handle {
            handle.cancel.cancel();
        }
    }

    /// Holds or releases a run whose reader is behind.
    pub fn hold(&self, run: RunKey, held: bool) {
        if let Some(handle) = self.runs.borrow().get(&run) {
            handle.flow.hold(held);
        }
    }

    /// Nobody pulls this run's events any more.
    pub fn stop_streaming(&self, run: RunKey) {
        if let Some(handle) = self.runs.borrow().get(&run) {
            handle.stream.set(false);
            handle.flow.hold(false);
        }
    }

    /// Whether events are wanted beyond the runs' own streams.
    pub fn listen(&self, subscribed: bool) {
        self.subscribed.set(subscribed);
    }

    /// Registers a handler.
    ///
    /// # Errors
    /// `CoreError::Closed` once closing began.
    pub fn hook(&self, event: HookName, timeout_ms: u32) -> Result<HandlerId, CoreError> {
        if self.closing.get() {
            return Err(CoreError::Closed("the agent is closed".to_string()));
        }
        Ok(self.hooks.borrow_mut().register(event, Duration::from_millis(timeout_ms.into())))
    }

    pub fn unhook(&self, event: HookName, handler: HandlerId) {
        // The registration that is dropped tells the host, so the registry must not be borrowed by then.
        self.hooks.borrow_mut().unregister(event, handler);
    }

    /// The innermost `next()` of a wrapToolCall onion was called for the `index`th time.
    pub fn wrap_next(&self, wrap: CallId, index: u32) -> bool {
        self.wraps.borrow().get(&wrap).is_some_and(|calls| calls.send(index).is_ok())
    }

    pub(super) fn session(&self, id: &str) -> Rc<Session> {
        if let Some(session) = self.sessions.borrow().get(id) {
            return session.clone();
        }
        let session = Rc::new(Session::new(id.to_string(), !self.options.stores));
        self.sessions.borrow_mut().insert(id.to_string(), session.clone());
        session
    }

    /// A run is over: forgets it, and its session if nothing would be lost.
    pub(super) fn forget_run(&self, run: RunKey, session: &Session) {
        self.runs.borrow_mut().remove(&run);
        if session.is_blank() {
            self.sessions.borrow_mut().remove(session.id());
        } else if self.is_forgettable(session) {
            self.uses.set(self.uses.get() + 1);
            session.used.set(self.uses.get());
            self.forget_a_session();
        }
        self.run_over.notify_waiters();
    }

    /// Whether it may be forgotten though it is not blank: it is stored; or it is a child's, which is remembered for a while.
    fn is_forgettable(&self, session: &Session) -> bool {
        self.options.stores || session.is_child.get()
    }

    /// A session that is stored need not be kept in memory as well: of many, the one that was not used for longest goes.
    fn forget_a_session(&self) {
        let mut sessions = self.sessions.borrow_mut();
        if sessions.len() <= MAX_SESSIONS_KEPT {
            return;
        }
        let may_go = |session: &&Rc<Session>| session.is_idle() && self.is_forgettable(session);
        let idle = sessions.values().filter(may_go).min_by_key(|session| session.used.get());
        let Some(session) = idle.cloned() else { return };
        sessions.remove(session.id());
        self.host.emit(&Effect::ForgetSession { session: session.id() });
    }

    /// The one place that reports what hooks have to say.
    pub(super) fn report_hook(&self, run: RunKey, diagnostic: &HookDiagnostic) {
        let HookDiagnostic { level, code, message, failure } = diagnostic;
        self.diagnose(run, *level, code, message, failure.as_ref());
    }

    /// The one place that emits diagnostics.
    pub(super) fn diagnose(&self, run: RunKey, level: Level, code: &str, message: &str, hook: Option<&HookFailure>) {
        self.host.emit(&Effect::Event { run, event: Event::Diagnostic { level, code, message, hook } });
    }
}

fn new_pool(options: &FamilyOptions) -> Rc<Semaphore> {
    Rc::new(Semaphore::new(options.max_parallel_subagents.min(Semaphore::MAX_PERMITS)))
}

/// Reads the hooks.json files. Commands that could never run are refused now: whoever wrote them counts on them.
fn load_hook_files(options: &FamilyOptions) -> Result<HookFiles, CoreError> {
    let Some(home) = &options.hook_files_home else { return Ok(HookFiles::default()) };
    let files = HookFiles::load(home, &options.workdir).map_err(|failure| CoreError::HookFile {
        message: failure.message,
        file: failure.file,
        path: failure.path,
    })?;
    if let Some((_event, command)) = files.commands().next() {
        locate_supervisor(&options.commands.addon_folder).map_err(|problem| CoreError::HookFile {
            message: format!("Invalid hooks configuration {}: {problem}", command.config_file),
            file: command.config_file.to_string(),
            path: None,
        })?;
    }
    Ok(files)
}
