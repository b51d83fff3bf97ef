//! The runner's face: a command in, an outcome out; or a handle on one that goes on.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::command::Command;
use super::outcome::{End, Ended, Outcome};
use super::output::{Capture, Output, Sink, Stream, Taken};

/// Starts commands. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Runner {
    supervisor: Arc<PathBuf>,
    runtime: Handle,
}

impl Runner {
    /// `supervisor`: what `locate_supervisor` found. `runtime`: does all the work; its input, output and time must be
    /// enabled, and its threads must not be the JS thread.
    pub fn new(supervisor: PathBuf, runtime: Handle) -> Runner {
        Runner { supervisor: Arc::new(supervisor), runtime }
    }

    /// Runs a command to its end, and keeps its output up to `max_output_bytes`. Dropping the future, or cancelling the
    /// token, kills the whole tree.
    ///
    /// The outcome comes when nothing of the tree is left, and at the latest 400 ms after killing it began.
    pub async fn run(&self, command: Command, cancel: &CancellationToken) -> Outcome {
        let capture = Arc::new(Mutex::new(Some(Capture::new(command.max_output_bytes))));
        let ended = self.start(command, cancel, Captured(Arc::clone(&capture))).wait().await;
        let kept = capture.lock().unwrap_or_else(PoisonError::into_inner).take();
        Outcome::new(ended, kept.map_or_else(Output::default, Capture::into_output))
    }

    /// Starts a command whose output goes to a sink as it arrives. Comes back at once: a command that cannot be started
    /// has ended with `End::Spawn`.
    pub fn start(&self, command: Command, cancel: &CancellationToken, sink: impl Sink) -> Running {
        let kill = cancel.child_token();
        let (tell, ended) = oneshot::channel();
        self.watch(command, kill.clone(), Box::new(sink), tell);
        Running { _guard: kill.clone().drop_guard(), kill, ended, over: None }
    }

    #[cfg(target_os = "linux")]
    fn watch(&self, command: Command, kill: CancellationToken, sink: Box<dyn Sink>, tell: oneshot::Sender<Ended>) {
        let (supervisor, began) = (Arc::clone(&self.supervisor), Instant::now());
        let order = super::watch::Order { supervisor, command, sink, kill, tell, began };
        drop(self.runtime.spawn(super::watch::watch(order)));
    }

    #[cfg(not(target_os = "linux"))]
    fn watch(&self, _command: Command, _kill: CancellationToken, _sink: Box<dyn Sink>, tell: oneshot::Sender<Ended>) {
        let message = "commands can be run on Linux only so far".to_string();
        drop(tell.send(Ended::before_start(End::Spawn(message), Duration::ZERO)));
    }
}

/// A command that was started. Dropping it kills the whole tree.
#[derive(Debug)]
pub struct Running {
    kill: CancellationToken,
    _guard: DropGuard,
    ended: oneshot::Receiver<Ended>,
    over: Option<Ended>,
}

impl Running {
    /// Kills the whole tree; `wait` then answers `End::Cancelled`, unless the command was over before.
    pub fn kill(&self) {
        self.kill.cancel();
    }

    /// Waits for the end. May be called again, and be dropped and called again.
    pub async fn wait(&mut self) -> Ended {
        if let Some(over) = &self.over {
            return over.clone();
        }
        // Nobody answers if the runtime ended: the tree was killed by its supervisor then.
        let lost = || Ended::before_start(End::SupervisorLost, Duration::ZERO);
        let ended = (&mut self.ended).await.unwrap_or_else(|_| lost());
        self.over.insert(ended).clone()
    }
}

impl Ended {
    /// Nothing was started, as far as is known.
    pub(super) fn before_start(end: End, duration: Duration) -> Ended {
        let clean = !matches!(end, End::SupervisorLost);
        Ended { end, clean, output_held: false, stdin_written: 0, duration, spawn_held: Duration::ZERO }
    }
}

/// What `run` keeps. It is taken away with the outcome; what comes later is nobody's.
struct Captured(Arc<Mutex<Option<Capture>>>);

impl Captured {
    fn with<R>(&self, act: impl FnOnce(&mut Capture) -> R) -> Option<R> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(act)
    }
}

impl Sink for Captured {
    fn take(&mut self, stream: Stream, bytes: &[u8]) -> Taken {
        self.with(|capture| capture.take(stream, bytes)).unwrap_or(Taken::Full)
    }

    fn ended(&mut self, stream: Stream) {
        self.with(|capture| capture.end(stream));
    }
}
