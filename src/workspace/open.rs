//! Opens folders beneath a folder without following a link: by the kernel in one step where it can (openat2), else name by
//! name. Knows nothing of what is in them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

/// How folders below the root are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opener {
    /// By the kernel where it knows how, else name by name.
    #[default]
    Automatic,
    /// By the kernel alone.
    Kernel,
    /// Name by name.
    Walk,
}

/// For folders that names are looked up in, which needs no right to list them.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) const LOOK_UP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) const LOOK_UP: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// `/`.
pub(super) fn top() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/", LOOK_UP, Mode::empty())
}

/// Opens the folder that the names in `path`, parted by `/`, lead to; the folder itself where there is none.
///
/// # Errors
/// `Errno::LOOP` where a link is on the way.
pub(super) fn folder_beneath(folder: BorrowedFd<'_>, path: &[u8], opener: Opener) -> Result<OwnedFd, Errno> {
    if path.is_empty() {
        return rustix::fs::openat(folder, ".", LOOK_UP, Mode::empty());
    }
    match opener {
        Opener::Walk => walk(folder, path),
        Opener::Kernel => kernel::open(folder, path),
        Opener::Automatic => match kernel::open(folder, path) {
            // Too old, or a filter of system calls that does not know it; or somebody renames folders without end.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => walk(folder, path),
            result => result,
        },
    }
}

fn walk(folder: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut held: Option<OwnedFd> = None;
    for name in path.split(|byte| *byte == b'/') {
        let at = held.as_ref().map_or(folder, AsFd::as_fd);
        held = Some(child(at, name)?);
    }
    held.ok_or(Errno::INVAL)
}

/// Opens a folder by its name in another.
///
/// # Errors
/// `Errno::LOOP` where the name is a link.
pub(super) fn child(folder: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') {
        return Err(Errno::INVAL);
    }
    rustix::fs::openat(folder, name, LOOK_UP, Mode::empty()).map_err(|error| match error {
        Errno::NOTDIR if is_link(folder, name) => Errno::LOOP,
        other => other,
    })
}

fn is_link(folder: BorrowedFd<'_>, name: &[u8]) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod kernel {
    //! openat2: the kernel refuses links and the way up itself.

    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::fs::{Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;

    /// The kernel takes 4,096 bytes at a time; deeper paths go in several steps.
    const MAX_STEP_BYTES: usize = 4_000;
    const MAX_TRIES: usize = 16;
    const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    const CONFINED: ResolveFlags =
        ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

    pub(super) fn open(folder: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
        let mut held: Option<OwnedFd> = None;
        let mut rest = path;
        while rest.len() > MAX_STEP_BYTES {
            let (head, _) = rest.split_at(MAX_STEP_BYTES);
            let cut = head.iter().rposition(|byte| *byte == b'/').ok_or(Errno::NAMETOOLONG)?;
            let (step, tail) = rest.split_at(cut);
            held = Some(open_step(held.as_ref().map_or(folder, AsFd::as_fd), step)?);
            rest = tail.get(1..).unwrap_or_default();
        }
        open_step(held.as_ref().map_or(folder, AsFd::as_fd), rest)
    }

    fn open_step(folder: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
        for _ in 0..MAX_TRIES {
            match rustix::fs::openat2(folder, path, FOLDER, Mode::empty(), CONFINED) {
                // Somewhere a folder was renamed in that moment, and the kernel cannot tell.
                Err(Errno::AGAIN) => {}
                result => return result,
            }
        }
        Err(Errno::AGAIN)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod kernel {
    //! There is no openat2 here.

    use std::os::fd::{BorrowedFd, OwnedFd};

    use rustix::io::Errno;

    pub(super) fn open(_folder: BorrowedFd<'_>, _path: &[u8]) -> Result<OwnedFd, Errno> {
        Err(Errno::NOSYS)
    }
}
