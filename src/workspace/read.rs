//! Reads a file at a canonical path, whole and up to a limit. Follows no link, opens no pipe, socket or device.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

use super::{CanonicalPath, Failure, Root, folder};

/// What a file held, and which state of it that was.
#[derive(Debug)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    pub(super) seen: Seen,
}

/// Tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    device: u64,
    inode: u64,
    bytes: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Seen {
    #[expect(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
    pub(super) fn of(stat: &Stat) -> Seen {
        Seen {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            bytes: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

impl Seen {
    /// Whether it is the same file with the same content, whatever name it has by now.
    pub(super) fn is_renamed(&self, now: &Seen) -> bool {
        Seen { changed: now.changed, ..*self } == *now
    }
}

impl Root {
    /// Reads the whole file.
    ///
    /// # Errors
    /// It does not exist, is a folder or a special file, has more than `max_bytes` bytes, or a link is on the way.
    pub fn read(&self, path: &CanonicalPath, max_bytes: u64) -> Result<FileContent, Failure> {
        let (file, stat) = self.open_file(path)?;
        let too_large = |bytes| Failure::TooLarge { path: path.as_str().to_string(), bytes, limit: max_bytes };
        let expected = u64::try_from(stat.st_size).unwrap_or_default();
        if expected > max_bytes {
            return Err(too_large(expected));
        }
        let bytes = read_up_to(&file, expected, max_bytes).map_err(|error| Failure::from_io(path.as_str(), &error))?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length > max_bytes {
            return Err(too_large(length));
        }
        Ok(FileContent { bytes, seen: Seen::of(&stat) })
    }

    /// Opens a regular file for reading, and says how many bytes it has.
    ///
    /// # Errors
    /// As `read`, whatever the size.
    pub fn open_regular(&self, path: &CanonicalPath) -> Result<(File, u64), Failure> {
        let (file, stat) = self.open_file(path)?;
        Ok((file, u64::try_from(stat.st_size).unwrap_or_default()))
    }

    fn open_file(&self, path: &CanonicalPath) -> Result<(File, Stat), Failure> {
        let (folder, name) = self.locate(path)?;
        open_regular_in(folder.as_fd(), name.as_bytes(), path.as_str())
    }

    /// The folder of a path, open, and the name in it.
    pub(super) fn locate<'a>(&self, path: &'a CanonicalPath) -> Result<(OwnedFd, &'a str), Failure> {
        let (folder, name) = path.split().ok_or_else(|| Failure::Folder { path: path.as_str().to_string() })?;
        let folder = self.folder(&folder).map_err(|failure| failure.of(path))?;
        Ok((folder, name))
    }

    /// Whether the path is a folder.
    ///
    /// # Errors
    /// It does not exist, or a link is on the way.
    pub fn is_folder(&self, path: &CanonicalPath) -> Result<bool, Failure> {
        if path.is_root() {
            return Ok(true);
        }
        let (folder, name) = self.locate(path)?;
        let stat = stat_in(folder.as_fd(), name.as_bytes(), path.as_str())?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => Err(Failure::Changed { path: path.as_str().to_string() }),
            kind => Ok(kind == FileType::Directory),
        }
    }
}

impl Failure {
    /// The same about a longer path: what was asked for, in place of the part of it that was opened.
    pub(super) fn of(self, path: &CanonicalPath) -> Failure {
        let path = path.as_str().to_string();
        match self {
            Failure::Missing { .. } => Failure::Missing { path },
            Failure::NotFolder { .. } => Failure::NotFolder { path },
            Failure::Changed { .. } => Failure::Changed { path },
            Failure::Denied { .. } => Failure::Denied { path },
            Failure::TooLong { .. } => Failure::TooLong { path },
            Failure::System { problem, .. } => Failure::System { path, problem },
            other => other,
        }
    }
}

/// Reads to the end, or one byte more than the limit: a file may grow meanwhile, and some that say they are empty are not.
pub(super) fn read_up_to(file: &File, expected: u64, max_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default().saturating_add(1));
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn stat_in(folder: BorrowedFd<'_>, name: &[u8], path: &str) -> Result<Stat, Failure> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| Failure::from_errno(path, error))
}

/// Opens a regular file by its name in a folder.
pub(super) fn open_regular_in(folder: BorrowedFd<'_>, name: &[u8], path: &str) -> Result<(File, Stat), Failure> {
    // Looked at first: to open a device may have effects.
    must_be_regular(&stat_in(folder, name, path)?, path)?;
    open_listed_in(folder, name, path)
}

/// Opens what its folder lists as a regular file. If something else took its place, nothing waits for it.
pub(super) fn open_listed_in(folder: BorrowedFd<'_>, name: &[u8], path: &str) -> Result<(File, Stat), Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file =
        rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(|error| Failure::from_errno(path, error))?;
    let stat = rustix::fs::fstat(&file).map_err(|error| Failure::from_errno(path, error))?;
    must_be_regular(&stat, path)?;
    Ok((File::from(file), stat))
}

/// # Errors
/// Says what it is instead.
pub(super) fn must_be_regular(stat: &Stat, path: &str) -> Result<(), Failure> {
    let path = path.to_string();
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Failure::Folder { path }),
        FileType::Symlink => Err(Failure::Changed { path }),
        kind => Err(Failure::Special { path, kind: folder::special_kind(kind) }),
    }
}
