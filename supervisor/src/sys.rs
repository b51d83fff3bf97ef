//! The few calls of the system that the supervisor makes, each in a safe form. Knows nothing of commands.

use std::ffi::CStr;

use lite_agent_supervisor::protocol::Status;

/// An error number of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

pub fn last_error() -> Errno {
    Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

fn check(result: i32) -> Result<i32, Errno> {
    if result < 0 { Err(last_error()) } else { Ok(result) }
}

/// Ends the process at once: no destructors, no exit handlers, which would be the parent's after a fork.
pub fn leave(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Writes a line to the runner. A runner that is gone needs none; that it is gone is seen at the control pipe.
pub fn tell(status_fd: i32, status: Status) {
    let line = status.to_line();
    // SAFETY: the pointer and the length are those of one string. SIGPIPE is blocked.
    unsafe { libc::write(status_fd, line.as_ptr().cast(), line.len()) };
}

/// Fills the buffer; `false` at the end of the file or at an error.
pub fn read_whole(fd: i32, mut buffer: &mut [u8]) -> bool {
    while !buffer.is_empty() {
        // SAFETY: the pointer and the length are those of one buffer.
        let count = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
        match usize::try_from(count) {
            Ok(0) => return false,
            Ok(count) => buffer = buffer.get_mut(count..).unwrap_or_default(),
            Err(_) if last_error() == Errno(libc::EINTR) => {}
            Err(_) => return false,
        }
    }
    true
}

/// A pipe: the end to read, the end to write. Neither outlives an exec.
pub fn pipe() -> Result<(i32, i32), Errno> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    let [read, write] = ends;
    Ok((read, write))
}

pub fn is_open(fd: i32) -> bool {
    // SAFETY: asks only.
    unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
}

pub fn close(fd: i32) {
    // SAFETY: closes a descriptor that is the caller's own.
    unsafe { libc::close(fd) };
}

/// Makes a process. One thread only, so that the child may do all that the parent may.
pub fn fork() -> Result<i32, Errno> {
    // SAFETY: the supervisor has one thread.
    check(unsafe { libc::fork() })
}

pub fn own_pid() -> i32 {
    // SAFETY: cannot fail.
    unsafe { libc::getpid() }
}

pub fn parent_pid() -> i32 {
    // SAFETY: cannot fail.
    unsafe { libc::getppid() }
}

pub fn send(pid: i32, signal: i32) {
    // SAFETY: a signal to another process. That one may be gone, or belong to another user: what comes of it is looked
    // at, not the result.
    unsafe { libc::kill(pid, signal) };
}

/// Before all that are to be killed, where we may (as root): a storm of forks leaves nobody else much time.
pub fn hurry() {
    // SAFETY: changes an attribute of this process.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

/// Lets others run for so long.
pub fn pause_us(microseconds: u64) {
    let nanoseconds = i64::try_from(microseconds % 1_000_000 * 1000).unwrap_or(0);
    let time = libc::timespec { tv_sec: i64::try_from(microseconds / 1_000_000).unwrap_or(0), tv_nsec: nanoseconds };
    // SAFETY: reads the struct.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
}

pub fn monotonic_ms() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the struct.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    u64::try_from(now.tv_sec).unwrap_or(0) * 1000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Whose children that lose their parent become ours, instead of init's.
pub fn become_subreaper() -> Result<(), Errno> {
    // SAFETY: changes an attribute of this process.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Nobody of the same user may read this process's memory, which holds the command and its environment, or trace it.
pub fn become_unreadable() {
    // SAFETY: changes an attribute of this process.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
}

/// Closes all from `first` on: what the host leaked into its children is not held open by us.
pub fn close_from(first: u32) {
    // SAFETY: nothing of ours is there yet.
    if unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } == 0 {
        return;
    }
    each_descriptor(first, close);
}

/// Leaves nothing from `first` on to the program that will be executed.
pub fn close_from_on_exec(first: u32) {
    // SAFETY: sets flags of descriptors.
    if unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) } == 0 {
        return;
    }
    // SAFETY: sets a flag of a descriptor.
    each_descriptor(first, |fd| {
        // SAFETY: sets a flag of a descriptor.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    });
}

/// For kernels before 5.9, and before 5.11 for the flag.
fn each_descriptor(first: u32, act: impl Fn(i32)) {
    let mut limit = libc::rlimit { rlim_cur: 1024, rlim_max: 1024 };
    // SAFETY: fills the struct.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let end = i32::try_from(limit.rlim_cur).unwrap_or(i32::MAX).min(1 << 20);
    (i32::try_from(first).unwrap_or(0)..end).for_each(act);
}

/// Puts /dev/null in the place of the command's streams: whoever reads their other ends is to see when the command
/// closes them.
pub fn let_go_of_streams() {
    // SAFETY: descriptors of this process.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for stream in 0..3 {
            if null < 0 || libc::dup2(null, stream) < 0 {
                libc::close(stream);
            }
        }
        if null > 2 {
            libc::close(null);
        }
    }
}

/// Blocks all signals, and gives a descriptor from which those that matter are read.
pub fn signals() -> Result<i32, Errno> {
    // SAFETY: the sets are filled before they are used.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        let mut read: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut read);
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&raw mut read, signal);
        }
        check(libc::signalfd(-1, &raw const read, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
    }
}

/// Reads what signals have come; whether one of them asks us to end.
pub fn asked_to_end(signals_fd: i32) -> bool {
    let mut asked = false;
    loop {
        // SAFETY: a struct of integers, which the kernel fills whole or not at all.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the pointer and the length are those of the struct.
        let count = unsafe { libc::read(signals_fd, (&raw mut info).cast(), size) };
        if count != size.cast_signed() {
            return asked;
        }
        asked |= info.ssi_signo != libc::SIGCHLD.cast_unsigned();
    }
}

/// Every signal at its default and none blocked: an ignored one, as Rust leaves SIGPIPE, would be so in the command.
pub fn reset_signals() {
    // The kernel's own form of `struct sigaction`: the C library refuses to touch the two that it uses itself, which
    // posix_spawn leaves ignored.
    let default = [0u64; 4];
    for signal in 1..=64 {
        // SAFETY: the struct is at least as large as the kernel's; the mask has 8 bytes.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null_mut::<u64>(), 8usize) };
    }
    let none = 0u64;
    // SAFETY: the mask has 8 bytes.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const none, std::ptr::null_mut::<u64>(), 8usize)
    };
}

/// A descriptor that becomes readable when the process ends; -1 where the kernel has none.
pub fn process_descriptor(pid: i32) -> i32 {
    // SAFETY: makes a descriptor, which is closed on exec.
    i32::try_from(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) }).unwrap_or(-1)
}

/// Waits until one of the descriptors has something, or was closed at its other end, or the time is over (-1: never).
pub fn wait_for<const N: usize>(descriptors: [i32; N], timeout_ms: i32) -> [bool; N] {
    let mut polled = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: the pointer and the length are those of one array.
    unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, timeout_ms) };
    polled.map(|one| one.revents != 0)
}

/// How a process ended, or that it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Exited(i32),
    Killed(i32),
    Stopped,
}

/// What happened to children since the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// This one changed, and if it ended is reaped. `peak_bytes`: the most that it, or one that it waited for, held.
    One { pid: i32, change: Change, peak_bytes: u64 },
    /// Some are left, and nothing happened to them.
    Nothing,
    /// There are none.
    NoChildren,
}

/// Never blocks. Our children are all ours to wait for.
pub fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: a struct of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: fills both.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED, &raw mut usage) };
    if pid == 0 {
        return Reaped::Nothing;
    }
    if pid < 0 {
        return if last_error() == Errno(libc::ECHILD) { Reaped::NoChildren } else { Reaped::Nothing };
    }
    let change = if libc::WIFEXITED(status) {
        Change::Exited(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Change::Killed(libc::WTERMSIG(status))
    } else {
        Change::Stopped
    };
    Reaped::One { pid, change, peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024 }
}

/// Whether the process is a child of ours, dead or alive: the only way to tell where there is no /proc.
pub fn is_child(pid: i32) -> bool {
    // SAFETY: a struct of integers, which is filled or left alone; nothing is reaped.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, pid.cast_unsigned(), &raw mut info, flags) == 0
    }
}

pub fn set_limit(resource: libc::__rlimit_resource_t, soft: u64, hard: u64) -> Result<(), Errno> {
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: fills the struct.
    check(unsafe { libc::getrlimit(resource, &raw mut old) })?;
    // Only root may raise one that the host was given.
    let new = libc::rlimit { rlim_cur: soft.min(old.rlim_max), rlim_max: hard.min(old.rlim_max) };
    // SAFETY: reads the struct.
    check(unsafe { libc::setrlimit(resource, &raw const new) }).map(drop)
}

pub fn change_folder(path: &CStr) -> Result<(), Errno> {
    // SAFETY: the path ends with a zero byte.
    check(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

pub fn own_session() {
    // SAFETY: cannot fail in a process that was just made.
    unsafe { libc::setsid() };
}

pub fn is_root() -> bool {
    // SAFETY: cannot fail.
    unsafe { libc::geteuid() == 0 }
}

pub fn group_of(pid: i32) -> i32 {
    // SAFETY: asks only.
    unsafe { libc::getpgid(pid) }
}

/// The processor time of all children that were reaped, and of those that they had reaped.
pub fn reaped_cpu_ms() -> u64 {
    // SAFETY: a struct of integers, which is filled.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let milliseconds = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1000 + u64::try_from(time.tv_usec).unwrap_or(0) / 1000
    };
    milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime)
}

/// Units of /proc: bytes of a page, milliseconds of a tick.
pub fn units() -> (u64, u64) {
    // SAFETY: asks only.
    let (page, ticks) = unsafe { (libc::sysconf(libc::_SC_PAGESIZE), libc::sysconf(libc::_SC_CLK_TCK)) };
    (u64::try_from(page).unwrap_or(4096), 1000 / u64::try_from(ticks).unwrap_or(100).max(1))
}
