//! The supervisor as a process of ours: signals to it, and reaping it. It is the only child that we ever wait for; all
//! others are the host's.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How long to sleep between two looks where the kernel cannot tell us of a process's end.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// When the runtime is gone under us: how long the supervisor has to end its tree before it is killed itself.
const LAST_GRACE: Duration = Duration::from_secs(2);

/// A supervisor that was started.
pub(super) struct Supervisor {
    pid: i32,
    /// None where the kernel has no such descriptors, or there was no room for one.
    descriptor: Option<OwnedFd>,
    reaped: bool,
}

impl Supervisor {
    pub(super) fn new(pid: i32) -> Supervisor {
        Supervisor { pid, descriptor: process_descriptor(pid), reaped: false }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Until it is reaped its pid is nobody else's.
    pub(super) fn signal(&self, signal: i32) {
        if self.reaped {
            return;
        }
        match &self.descriptor {
            Some(descriptor) => signal_through(descriptor, signal),
            // SAFETY: a signal to our own child, which has not been reaped.
            None => drop(unsafe { libc::kill(self.pid, signal) }.min(0)),
        }
    }

    /// Waits until it has ended, and reaps it.
    pub(super) async fn reap(&mut self) {
        if self.is_over() {
            return;
        }
        let waiting = self.descriptor.as_ref().and_then(|descriptor| descriptor.try_clone().ok());
        // SAFETY: an owned descriptor is the same for as long as it lives, and open.
        let register = |fd| unsafe { AsyncFd::<OwnedFd>::register_with_interest(fd, Interest::READABLE) };
        let waiting = waiting.and_then(|fd| register(fd).ok());
        while !self.is_over() {
            match &waiting {
                // It stays readable once the process has ended, so that nothing needs to be cleared.
                Some(descriptor) if descriptor.readable().await.is_ok() => {}
                _ => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    /// Reaps it if it has ended. Never waits for any other child: those are the host's.
    fn is_over(&mut self) -> bool {
        if !self.reaped {
            let mut status = 0;
            // SAFETY: fills the status.
            let found = unsafe { libc::waitpid(self.pid, &raw mut status, libc::WNOHANG) };
            // A host that ignores SIGCHLD has its children reaped by the kernel.
            self.reaped =
                found == self.pid || found < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD);
        }
        self.reaped
    }
}

/// The runtime ended before the supervisor did: its control pipe is closed by now, so it will. A thread of our own waits
/// for it, so that no zombie stays in a process that lives on.
impl Drop for Supervisor {
    fn drop(&mut self) {
        if self.is_over() {
            return;
        }
        let mut left = Supervisor { pid: self.pid, descriptor: self.descriptor.take(), reaped: false };
        self.reaped = true;
        let waited = std::thread::Builder::new().name("lite-agent-reaper".to_string()).spawn(move || {
            let start = std::time::Instant::now();
            while !left.is_over() {
                if start.elapsed() > LAST_GRACE {
                    left.signal(libc::SIGKILL);
                }
                pause(LOOK_EVERY);
            }
        });
        if let Err(cause) = waited {
            tracing::warn!(pid = self.pid, %cause, "a supervisor could not be waited for when the runtime ended");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "on a thread of its own: there is no runtime any more")]
fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// A descriptor that stands for the process, whatever becomes of its pid.
pub(super) fn process_descriptor(pid: i32) -> Option<OwnedFd> {
    // SAFETY: makes a descriptor, which is closed on exec.
    let fd = i32::try_from(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) }).ok()?;
    // SAFETY: it was just made, and nobody else has it.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(super) fn signal_through(descriptor: &OwnedFd, signal: i32) {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a signal without further information. What comes of it is looked at, not the result.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, descriptor.as_raw_fd(), signal, none, 0) };
}
