//! A family: a root agent and all that runs for it, on one thread. What its runs share lives here.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::flow::Flow;
use super::input::{FamilyOptions, StartOptions};
use super::run::Run;
use crate::error::CoreError;
use crate::event::{Event, HookFailure, Level};
use crate::hooks::{HookDiagnostic, HookFiles, Registry};
use crate::host::{Effect, Host, Spawner};
use crate::permission::redact::redact_text;
use crate::permission::{Policy, default_policy};
use crate::process::{Runner, locate_supervisor};
use crate::session::{Session, Turn};
use crate::tools::ToolSet;
use crate::tools::builtin::{FileToolOptions, FileTools};
use crate::types::{CallId, HandlerId, HookName, OperationKey, RunKey};

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
    pub(super) tools: ToolSet,
    pub(super) options: FamilyOptions,
    /// Absent where the host is asked for each decision.
    pub(super) policy: Option<Arc<Policy>>,
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
        Ok(Rc::new(Family {
            hooks: RefCell::new(Registry::new(host.clone(), &hook_files)),
            host,
            spawner,
            tools,
            options,
            policy,
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
        let handle = Rc::new(RunHandle {
            cancel: CancellationToken::new(),
            session: options.session_id.clone(),
            flow: Flow::default(),
            stream: Cell::new(options.stream),
        });
        if options.aborted {
            handle.cancel.cancel();
        }
        self.runs.borrow_mut().insert(options.run, handle.clone());
        let run = Run::new(self.clone(), handle, session, options);
        self.spawner.spawn(run.drive(input));
        Ok(())
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
        } else if self.options.stores {
            self.uses.set(self.uses.get() + 1);
            session.used.set(self.uses.get());
            self.forget_a_session();
        }
        self.run_over.notify_waiters();
    }

    /// A session that is stored need not be kept in memory as well: of many, the one that was not used for longest goes.
    fn forget_a_session(&self) {
        let mut sessions = self.sessions.borrow_mut();
        if sessions.len() <= MAX_SESSIONS_KEPT {
            return;
        }
        let idle = sessions.values().filter(|session| session.is_idle()).min_by_key(|session| session.used.get());
        let Some(session) = idle.cloned() else { return };
        sessions.remove(session.id());
        self.host.emit(&Effect::ForgetSession { session: session.id() });
    }

    /// The text without its secrets, unless the host masks them itself.
    pub(super) fn redacted(&self, text: &str) -> String {
        if self.options.host_redacts { text.to_string() } else { redact_text(text).into_owned() }
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
