//! The folder of a list, open and locked: names, reads, writes and removes files in it, and follows no link. Whole files
//! alone: a file is made under another name, and takes its own when the disk has it. Knows nothing of what tasks are, but
//! for how their files are named.
//!
//! The lock is one of the system on the file `.lock`, so that it goes with its process however that ends.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::failure::TaskFailure;
use super::task::TaskId;

const LOCK: &str = ".lock";
const TEMPORARY_START: &str = ".task-";
const TEMPORARY_END: &str = ".tmp";
/// So many names are read of a folder; one with more is no list.
const MAX_ENTRIES: usize = 10_000;
const MAX_NAME_TRIES: usize = 8;

/// For nobody but the owner.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const FOLDER_MODE: u32 = 0o700;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// `NONBLOCK` is for pipes that somebody put in a file's place: opening one would wait for ever.
const REGULAR: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// What a folder lists.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Of all that is named as a task's file, whatever it is.
    pub ids: BTreeSet<TaskId>,
    /// Other `.json` names, in order.
    pub strangers: BTreeSet<String>,
    /// What a process that was killed has left.
    leftovers: Vec<String>,
}

/// The folder of a list. Nobody else reads or writes the list while this lives.
#[derive(Debug)]
pub(super) struct LockedFolder<'a> {
    path: &'a Path,
    folder: OwnedFd,
    /// Closing it gives the lock back.
    _lock: File,
}

/// How one try to lock went.
enum Tried<'a> {
    Locked(LockedFolder<'a>),
    NoFolder,
    /// Somebody has it, or has just taken the folder away.
    Again,
}

impl<'a> LockedFolder<'a> {
    /// Locks the folder of a list that exists; none where there is no such folder.
    ///
    /// # Errors
    /// `Busy` when somebody else has it for longer than `wait`; `Io` when it cannot be opened.
    pub fn open(path: &'a Path, wait: Duration) -> Result<Option<LockedFolder<'a>>, TaskFailure> {
        let started = Instant::now();
        for attempt in 0.. {
            match LockedFolder::try_open(path)? {
                Tried::Locked(folder) => return Ok(Some(folder)),
                Tried::NoFolder => return Ok(None),
                Tried::Again if started.elapsed() >= wait => break,
                // A lock of the system has no deadline, so it is asked for again and again.
                Tried::Again => pause(attempt),
            }
        }
        Err(TaskFailure::Busy { path: path.to_path_buf(), waited_ms: wait.as_millis() })
    }

    /// Locks the folder of a list, and makes it where there is none.
    ///
    /// # Errors
    /// As `open`, and `Io` when it cannot be made.
    pub fn make(path: &'a Path, wait: Duration) -> Result<LockedFolder<'a>, TaskFailure> {
        let started = Instant::now();
        loop {
            if let Some(folder) = LockedFolder::open(path, wait)? {
                return Ok(folder);
            }
            make_folder(path)?;
            // It was there, and somebody removed the list again.
            if started.elapsed() >= wait.saturating_mul(2) {
                return Err(TaskFailure::Busy { path: path.to_path_buf(), waited_ms: wait.as_millis() });
            }
        }
    }

    fn try_open(path: &'a Path) -> Result<Tried<'a>, TaskFailure> {
        let folder = match rustix::fs::open(path, FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(Tried::NoFolder),
            Err(Errno::NOTDIR) => {
                let why = "it is no folder, or a link, which is not followed".to_string();
                return Err(TaskFailure::Io { what: format!("cannot open {}", path.display()), why });
            }
            Err(error) => return Err(TaskFailure::io("open", path, error)),
        };
        let lock_path = path.join(LOCK);
        let lock = match rustix::fs::openat(&folder, LOCK, REGULAR | OFlags::RDWR | OFlags::CREATE, FILE_MODE) {
            Ok(lock) => File::from(lock),
            // The folder was removed after it was opened.
            Err(Errno::NOENT) => return Ok(Tried::Again),
            Err(error) => return Err(TaskFailure::io("open", &lock_path, error)),
        };
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Tried::Again),
            Err(TryLockError::Error(error)) => return Err(TaskFailure::io("lock", &lock_path, error)),
        }
        // Whoever removed the list meanwhile took the lock's file along, and this lock locks nothing.
        let failed = |error| TaskFailure::io("look at", &lock_path, error);
        let opened = rustix::fs::fstat(&lock).map_err(failed)?;
        match rustix::fs::statat(&folder, LOCK, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) if (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino) => {
                Ok(Tried::Locked(LockedFolder { path, folder, _lock: lock }))
            }
            Ok(_) | Err(Errno::NOENT) => Ok(Tried::Again),
            Err(error) => Err(failed(error)),
        }
    }

    /// The whole path of a name in it.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// # Errors
    /// It cannot be listed, or lists more than a list ever has.
    pub fn names(&self) -> Result<Names, TaskFailure> {
        let failed = |error| TaskFailure::io("list", self.path, error);
        let mut names = Names::default();
        for (count, entry) in Dir::read_from(&self.folder).map_err(failed)?.enumerate() {
            if count >= MAX_ENTRIES {
                return Err(TaskFailure::Refused(format!(
                    "{} holds over {MAX_ENTRIES} files, which no task list has; check which folder it is",
                    self.path.display()
                )));
            }
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy();
            match name.strip_suffix(".json").map(TaskId::parse) {
                Some(Some(id)) => {
                    names.ids.insert(id);
                }
                Some(None) => {
                    names.strangers.insert(name.into_owned());
                }
                None if is_temporary(&name) => names.leftovers.push(name.into_owned()),
                None => {}
            }
        }
        Ok(names)
    }

    /// Reads a whole file; none where there is none.
    ///
    /// # Errors
    /// Says why it cannot be read: a link, no regular file, more than `max_bytes` bytes.
    pub fn read(&self, name: &str, max_bytes: usize) -> Result<Option<Vec<u8>>, String> {
        let file = match rustix::fs::openat(&self.folder, name, REGULAR | OFlags::RDONLY, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(super::failure::plain(error)),
        };
        let stat = rustix::fs::fstat(&file).map_err(super::failure::plain)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err("it is no regular file".to_string());
        }
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).map_err(super::failure::plain)?;
        if bytes.len() > max_bytes {
            return Err(format!("it has more than {max_bytes} bytes"));
        }
        Ok(Some(bytes))
    }

    /// Makes a file ready to take a name, and changes nothing yet.
    ///
    /// # Errors
    /// `Io`: the disk is full, or the folder may not be written.
    pub fn stage(&self, name: &str, content: &[u8]) -> Result<StagedFile<'_>, TaskFailure> {
        let failed = |error: io::Error| TaskFailure::io("write", &self.path_of(name), error);
        let (temporary, mut file) = self.create_temporary().map_err(|error| failed(error.into()))?;
        let staged = StagedFile { folder: self, temporary, name: name.to_string(), is_placed: false };
        file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(staged)
    }

    fn create_temporary(&self) -> Result<(String, File), Errno> {
        let flags = REGULAR | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        for _ in 0..MAX_NAME_TRIES {
            let number = RandomState::new().build_hasher().finish();
            let name = format!("{TEMPORARY_START}{number:016x}{TEMPORARY_END}");
            match rustix::fs::openat(&self.folder, name.as_str(), flags, FILE_MODE) {
                Ok(file) => return Ok((name, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// `Io`: the folder may not be written, or the name is a folder's.
    pub fn remove(&self, name: &str) -> Result<(), TaskFailure> {
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(TaskFailure::io("remove", &self.path_of(name), error)),
        }
    }

    /// Removes what killed processes have left. The lock says that nobody needs it.
    pub fn sweep(&self, names: &Names) {
        for name in &names.leftovers {
            // It does no harm where it is.
            let _ = self.remove(name);
        }
    }

    /// Makes names durable that were given or taken.
    ///
    /// # Errors
    /// `Io`: the disk fails.
    pub fn sync(&self) -> Result<(), TaskFailure> {
        rustix::fs::fsync(&self.folder).map_err(|error| TaskFailure::io("sync the folder", self.path, error))
    }

    /// Takes the folder away; where it has files that are not the list's, only the lock's file.
    ///
    /// # Errors
    /// `Io`: it may not be removed.
    pub fn dissolve(self) -> Result<(), TaskFailure> {
        self.remove(LOCK)?;
        match std::fs::remove_dir(self.path) {
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
                Err(TaskFailure::io("remove the folder", self.path, error))
            }
            _ => Ok(()),
        }
    }
}

/// A file that is whole, and has a name for the meantime. Gone when it is dropped before it was placed.
#[derive(Debug)]
pub(super) struct StagedFile<'a> {
    folder: &'a LockedFolder<'a>,
    temporary: String,
    name: String,
    is_placed: bool,
}

impl StagedFile<'_> {
    /// Gives it its name, in place of whatever had that name; of a link, in place of the link.
    ///
    /// # Errors
    /// `Io`: the folder may not be written, or the name is a folder's.
    pub fn place(mut self) -> Result<(), TaskFailure> {
        let folder = &self.folder.folder;
        rustix::fs::renameat(folder, self.temporary.as_str(), folder, self.name.as_str())
            .map_err(|error| TaskFailure::io("write", &self.folder.path_of(&self.name), error))?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for StagedFile<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            // Left behind, it is swept away by the next change.
            let _ = self.folder.remove(&self.temporary);
        }
    }
}

fn is_temporary(name: &str) -> bool {
    let number = name.strip_prefix(TEMPORARY_START).and_then(|rest| rest.strip_suffix(TEMPORARY_END));
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Makes the folder and those above it, durably.
fn make_folder(path: &Path) -> Result<(), TaskFailure> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    match DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path) {
        // Somebody made it meanwhile, and removed it. If it is something else, opening it tells.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(|error| TaskFailure::io("make the folder", path, error))?,
    }
    for parent in missing.iter().filter_map(|made| made.parent()) {
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        File::open(parent)
            .and_then(|opened| opened.sync_all())
            .map_err(|error| TaskFailure::io("sync the folder", parent, error))?;
    }
    Ok(())
}

/// Short, for whoever asks seldom gets nothing from those that lock again at once.
#[expect(clippy::disallowed_methods, reason = "a list blocks, and is called where blocking is allowed")]
fn pause(attempt: u32) {
    std::thread::sleep(Duration::from_micros(50 << attempt.min(4)));
}
