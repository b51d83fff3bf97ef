//! Starts the supervisor: `posix_spawn`, which copies nothing of the host, however large it is. It holds the calling
//! thread until the new program is loaded. Knows no commands: those go through the control pipe.

use std::ffi::{CStr, c_char};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// What the supervisor gets, by the number at which it finds it.
pub(super) struct Descriptors {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    /// None: the same as stdout.
    pub stderr: Option<OwnedFd>,
    pub control: OwnedFd,
    pub status: OwnedFd,
}

impl Descriptors {
    fn in_order(&self) -> [i32; 5] {
        let stderr = self.stderr.as_ref().unwrap_or(&self.stdout);
        [&self.stdin, &self.stdout, stderr, &self.control, &self.status].map(AsRawFd::as_raw_fd)
    }
}

/// Starts the program in a group of its own, with all signals at their defaults and an empty environment.
///
/// # Errors
/// What the system says, `EAGAIN` among it when there is no room for another process.
pub(super) fn spawn(program: &CStr, descriptors: &Descriptors) -> io::Result<i32> {
    let mut actions = Actions::new()?;
    for (target, fd) in (0..).zip(descriptors.in_order()) {
        actions.duplicate(fd, target)?;
    }
    let attributes = Attributes::new()?;
    let mut pid = 0;
    let arguments: [*mut c_char; 2] = [program.as_ptr().cast_mut(), ptr::null_mut()];
    let environment: [*mut c_char; 1] = [ptr::null_mut()];
    // SAFETY: all pointers live, the arrays end with a null pointer, and nothing of them is written to.
    let error = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            arguments.as_ptr(),
            environment.as_ptr(),
        )
    };
    check(error).map(|()| pid)
}

/// These functions return their error.
fn check(error: i32) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new() -> io::Result<Actions> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: initialised by the call, if it succeeds.
        unsafe {
            check(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
            Ok(Actions(actions.assume_init()))
        }
    }

    fn duplicate(&mut self, fd: i32, target: i32) -> io::Result<()> {
        // SAFETY: the struct is initialised.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut self.0, fd, target) })
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: the struct is initialised.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> io::Result<Attributes> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: initialised by the call, if it succeeds.
        let mut attributes = unsafe {
            check(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
            Attributes(attributes.assume_init())
        };
        let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETPGROUP;
        // SAFETY: the struct is initialised, and so is each set before it is read.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            check(libc::posix_spawnattr_setsigmask(&raw mut attributes.0, &raw const set))?;
            libc::sigfillset(&raw mut set);
            check(libc::posix_spawnattr_setsigdefault(&raw mut attributes.0, &raw const set))?;
            // A group of its own: no signal from the host's terminal, and none to the host's group. Not a session: the
            // kernel gives each a share of the processor of its own (autogroup), and beginning one costs milliseconds on
            // a busy machine. The command itself gets one.
            check(libc::posix_spawnattr_setpgroup(&raw mut attributes.0, 0))?;
            check(libc::posix_spawnattr_setflags(&raw mut attributes.0, i16::try_from(flags).unwrap_or(0)))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the struct is initialised.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}
