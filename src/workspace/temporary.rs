//! A file under a name of its own, which takes the place of another or is removed again. Knows nothing of paths: it lives
//! in one open folder.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

const MAX_NAME_TRIES: usize = 16;
/// What the umask makes of it is the mode of a new file.
const NEW_FILE: u32 = 0o666;
/// Until it has the mode of the file that it replaces, nobody else may look into it.
const PRIVATE: u32 = 0o600;
/// Bits that make a program run as its owner were given to the old content, not to the new one.
const KEPT: u32 = 0o1777;

/// Removed again when it is dropped before it was kept.
pub(super) struct Temporary<'a> {
    folder: BorrowedFd<'a>,
    name: String,
    file: File,
    is_placed: bool,
}

impl Temporary<'_> {
    /// `before`: the file that it is to replace.
    pub(super) fn create<'a>(folder: BorrowedFd<'a>, before: Option<&Stat>) -> Result<Temporary<'a>, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(if before.is_some() { PRIVATE } else { NEW_FILE });
        for _ in 0..MAX_NAME_TRIES {
            let name = fresh_name();
            match rustix::fs::openat(folder, name.as_str(), flags, mode) {
                Ok(file) => return Ok(Temporary { folder, name, file: File::from(file), is_placed: false }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }

    /// Writes the content, takes over owner and mode of the file before, and waits until the disk has it.
    pub(super) fn fill(&self, content: &[u8], before: Option<&Stat>) -> std::io::Result<()> {
        let mut file = &self.file;
        file.write_all(content)?;
        if let Some(before) = before {
            self.take_over(before)?;
        }
        file.sync_all()
    }

    fn take_over(&self, before: &Stat) -> Result<(), Errno> {
        let now = rustix::fs::fstat(&self.file)?;
        let (owner, group) = (Uid::from_raw(before.st_uid), Gid::from_raw(before.st_gid));
        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid)
            && rustix::fs::fchown(&self.file, Some(owner), Some(group)).is_err()
        {
            // Only root may give files away; a group of one's own may be set. Where not even that works, the file is ours.
            let _ = rustix::fs::fchown(&self.file, None, Some(group));
        }
        // After the owner, for to change that changes the mode.
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(before.st_mode & KEPT))
    }

    /// Gives it its name, in place of what had that name.
    pub(super) fn keep_as(mut self, name: &str, flags: RenameFlags) -> Result<(), Errno> {
        let renamed = rustix::fs::renameat_with(self.folder, self.name.as_str(), self.folder, name, flags);
        match renamed {
            // The file system, or the kernel, does not know the flag.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                rustix::fs::renameat(self.folder, self.name.as_str(), self.folder, name)?;
            }
            renamed => renamed?,
        }
        self.is_placed = true;
        Ok(())
    }
}

impl Temporary<'_> {
    /// Which file it is.
    pub(super) fn stat(&self) -> Result<Stat, Errno> {
        rustix::fs::fstat(&self.file)
    }

    /// Gives it the name of a file that there is, which lives on under the name that this returns.
    pub(super) fn swap_with(mut self, name: &str) -> Result<String, Errno> {
        match swap(self.folder, &self.name, name) {
            Ok(()) => {
                self.is_placed = true;
                Ok(std::mem::take(&mut self.name))
            }
            // The file system, or the kernel, does not know how to.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                let aside = set_aside(self.folder, name)?;
                let folder = self.folder;
                if let Err(error) = self.keep_as(name, RenameFlags::NOREPLACE) {
                    rename_to_new(folder, &aside, name)?;
                    return Err(error);
                }
                Ok(aside)
            }
            Err(error) => Err(error),
        }
    }
}

/// Two files take each other's names.
fn swap(folder: BorrowedFd<'_>, one: &str, other: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(folder, one, folder, other, RenameFlags::EXCHANGE)
}

/// Takes a file's name away; it lives on under the name that this returns.
pub(super) fn set_aside(folder: BorrowedFd<'_>, name: &str) -> Result<String, Errno> {
    for _ in 0..MAX_NAME_TRIES {
        let aside = fresh_name();
        match rename_to_new(folder, name, &aside) {
            Ok(()) => return Ok(aside),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST)
}

/// Renames a file; nothing may have the new name.
pub(super) fn rename_to_new(folder: BorrowedFd<'_>, name: &str, new: &str) -> Result<(), Errno> {
    match rustix::fs::renameat_with(folder, name, folder, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match rustix::fs::statat(folder, new, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(folder, name, folder, new),
                Ok(_) => Err(Errno::EXIST),
                Err(error) => Err(error),
            }
        }
        renamed => renamed,
    }
}

fn fresh_name() -> String {
    format!(".lite-agent-{:016x}.tmp", RandomState::new().build_hasher().finish())
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            // Nothing is left to tell it to, and nothing else to try.
            let _ = rustix::fs::unlinkat(self.folder, self.name.as_str(), AtFlags::empty());
        }
    }
}
