//! Pipes between us and a command, with our ends for the runtime. Knows no processes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Above the descriptors at which a supervisor finds its pipes. A host whose standard streams are closed gets new pipes
/// there, and putting one in its place would run over another.
const FIRST_SAFE_FD: i32 = 10;

/// The two ends of a pipe, neither of which outlives an exec.
pub(super) struct Ends {
    pub read: OwnedFd,
    pub write: OwnedFd,
}

pub(super) fn pipe() -> io::Result<Ends> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just made, and nobody else has them.
    let [read, write] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    Ok(Ends { read: out_of_the_way(read)?, write: out_of_the_way(write)? })
}

fn out_of_the_way(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() >= FIRST_SAFE_FD {
        return Ok(fd);
    }
    // SAFETY: makes another descriptor of the same pipe end.
    let moved = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST_SAFE_FD) };
    if moved < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just made, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(moved) })
}

/// Reads what is there now, without waiting and past the runtime, which may not know of it yet. 0 is the end.
pub(super) fn read_now(fd: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one buffer. The descriptor does not block: the runtime set it so.
    let count = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Writes what a pipe has room for, without waiting. A reader that is gone, or no room at all, is nothing written: who
/// writes the rest will see.
pub(super) fn write_now(fd: &impl AsRawFd, bytes: &[u8]) -> usize {
    let fd = fd.as_raw_fd();
    // SAFETY: sets a flag of our end; the pointer and the length are those of one buffer.
    let count = unsafe {
        if libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) < 0 {
            return 0;
        }
        libc::write(fd, bytes.as_ptr().cast(), bytes.len())
    };
    usize::try_from(count).unwrap_or(0)
}

/// The number that the system has for a pipe, the same for both ends.
pub(super) fn number(fd: &impl AsRawFd) -> Option<u64> {
    // SAFETY: a struct of integers, which the call fills if it succeeds.
    unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        (libc::fstat(fd.as_raw_fd(), &raw mut found) == 0).then_some(found.st_ino)
    }
}
