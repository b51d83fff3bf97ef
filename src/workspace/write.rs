//! Writes and deletes files at canonical paths: whole or not at all, and never through a link.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::read::{Seen, must_be_regular, open_regular_in, read_up_to, stat_in};
use super::temporary::Temporary;
use super::{CanonicalPath, Failure, FileContent, Root, open};

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// There was no such file before.
    Created,
    Replaced,
}

/// What a file held before it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Before<'a> {
    /// It did not exist.
    Absent,
    Held(&'a [u8]),
    /// So many bytes that they were not read.
    TooLarge {
        bytes: u64,
    },
}

/// Takes what a file held, and what it will hold.
pub type Keep<'a> = dyn Fn(Before<'_>, Option<&[u8]>) -> Result<(), String> + 'a;

/// Who is told what a file held just before it is changed, and may refuse.
pub struct Keeper<'a> {
    /// Of larger files the content is not read.
    pub max_bytes: u64,
    /// Told while nothing is changed yet, and what the file will hold: nothing where it is to be deleted. An error keeps the
    /// file as it is.
    pub keep: &'a Keep<'a>,
}

impl Root {
    /// Writes the whole file, creating the folders that it needs. Until it is written, and if that fails, the old content
    /// stands. The mode of an existing file is kept, its owner where the system allows.
    ///
    /// # Errors
    /// A folder, a link, a special file is in its place or on the way; the file may not be written; the disk is full;
    /// the keeper refuses.
    pub fn write(
        &self,
        path: &CanonicalPath,
        content: &[u8],
        keeper: Option<&Keeper<'_>>,
    ) -> Result<WriteOutcome, Failure> {
        let (_, name) = path.split().ok_or_else(|| Failure::Folder { path: path.as_str().to_string() })?;
        let located = match self.locate(path) {
            Err(Failure::Missing { .. }) => None,
            located => Some(located?.0),
        };
        let before = match &located {
            Some(folder) => Place { folder: folder.as_fd(), name, path: path.as_str() }.prepare(keeper, content)?,
            None => {
                tell(keeper, path.as_str(), Before::Absent, Some(content))?;
                None
            }
        };
        let folder = match located {
            Some(folder) => folder,
            None => self.create_folders(path, &mut Vec::new())?,
        };
        Place { folder: folder.as_fd(), name, path: path.as_str() }.replace(content, before.as_ref())
    }

    /// Writes the file anew, if it is still as it was read.
    ///
    /// # Errors
    /// As `write`; `Failure::Changed` when somebody else wrote it meanwhile.
    pub fn rewrite(
        &self,
        path: &CanonicalPath,
        read: &FileContent,
        content: &[u8],
        keeper: Option<&Keeper<'_>>,
    ) -> Result<(), Failure> {
        let (folder, name) = self.locate(path)?;
        let place = Place { folder: folder.as_fd(), name, path: path.as_str() };
        let before = place.prepare(keeper, content)?.ok_or_else(|| place.changed())?;
        if Seen::of(&before) != read.seen {
            return Err(place.changed());
        }
        place.replace(content, Some(&before)).map(|_| ())
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// It does not exist, is a folder, a link, a special file or read-only; the keeper refuses.
    pub fn delete(&self, path: &CanonicalPath, keeper: Option<&Keeper<'_>>) -> Result<(), Failure> {
        let (folder, name) = self.locate(path)?;
        let place = Place { folder: folder.as_fd(), name, path: path.as_str() };
        let before = place.look()?.ok_or_else(|| Failure::Missing { path: path.as_str().to_string() })?;
        must_not_be_read_only(&before, path.as_str())?;
        place.keep(Some(&before), keeper, None)?;
        place.must_still_be(Some(&before))?;
        rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map_err(|error| place.failed(error))
    }

    /// Opens the folder of a path, creating what is missing of it; `made` gets the folders that were, outermost first.
    pub(super) fn create_folders(
        &self,
        path: &CanonicalPath,
        made: &mut Vec<CanonicalPath>,
    ) -> Result<OwnedFd, Failure> {
        let failed = |error| Failure::from_errno(path.as_str(), error);
        let mut folder = self.folder(&CanonicalPath::root())?;
        let mut place = CanonicalPath::root();
        let parent = path.split().map_or_else(CanonicalPath::root, |(parent, _)| parent);
        for name in parent.beneath().split('/').filter(|name| !name.is_empty()) {
            place = place.join(name);
            folder = match open::child(folder.as_fd(), name.as_bytes()) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) => made.push(place.clone()),
                        // Somebody else made it.
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(failed(error)),
                    }
                    open::child(folder.as_fd(), name.as_bytes())
                }
                opened => opened,
            }
            .map_err(failed)?;
        }
        Ok(folder)
    }
}

fn tell(keeper: Option<&Keeper<'_>>, path: &str, before: Before<'_>, after: Option<&[u8]>) -> Result<(), Failure> {
    let Some(keeper) = keeper else { return Ok(()) };
    (keeper.keep)(before, after).map_err(|problem| Failure::NotKept { path: path.to_string(), problem })
}

/// Where a file is, or is to be.
pub(super) struct Place<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a str,
    pub(super) path: &'a str,
}

impl Place<'_> {
    pub(super) fn failed(&self, error: Errno) -> Failure {
        Failure::from_errno(self.path, error)
    }

    pub(super) fn changed(&self) -> Failure {
        Failure::Changed { path: self.path.to_string() }
    }

    /// What is there; none where nothing is.
    fn stat(&self) -> Result<Option<Stat>, Failure> {
        match stat_in(self.folder, self.name.as_bytes(), self.path) {
            Ok(stat) => Ok(Some(stat)),
            Err(Failure::Missing { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// As `stat`, and it must be a regular file.
    pub(super) fn look(&self) -> Result<Option<Stat>, Failure> {
        let found = self.stat()?;
        if let Some(stat) = &found {
            must_be_regular(stat, self.path)?;
        }
        Ok(found)
    }

    /// All that must be so before a write, and what the keeper is told. Changes nothing.
    fn prepare(&self, keeper: Option<&Keeper<'_>>, content: &[u8]) -> Result<Option<Stat>, Failure> {
        let before = self.look()?;
        if let Some(before) = &before {
            must_not_be_read_only(before, self.path)?;
            self.must_be_writable()?;
        }
        self.keep(before.as_ref(), keeper, Some(content))?;
        Ok(before)
    }

    fn keep(&self, before: Option<&Stat>, keeper: Option<&Keeper<'_>>, after: Option<&[u8]>) -> Result<(), Failure> {
        let Some(stat) = keeper.and(before) else { return tell(keeper, self.path, Before::Absent, after) };
        let bytes = u64::try_from(stat.st_size).unwrap_or_default();
        let max_bytes = keeper.map_or(0, |keeper| keeper.max_bytes);
        if bytes > max_bytes {
            return tell(keeper, self.path, Before::TooLarge { bytes }, after);
        }
        let (file, now) = open_regular_in(self.folder, self.name.as_bytes(), self.path)?;
        let held = read_up_to(&file, bytes, max_bytes).map_err(|error| Failure::from_io(self.path, &error))?;
        // What is told must be what is replaced.
        if Seen::of(&now) != Seen::of(stat) || u64::try_from(held.len()) != Ok(bytes) {
            return Err(self.changed());
        }
        tell(keeper, self.path, Before::Held(&held), after)
    }

    pub(super) fn must_still_be(&self, before: Option<&Stat>) -> Result<(), Failure> {
        if self.stat()?.as_ref().map(Seen::of) == before.map(Seen::of) { Ok(()) } else { Err(self.changed()) }
    }

    fn replace(&self, content: &[u8], before: Option<&Stat>) -> Result<WriteOutcome, Failure> {
        let temporary = Temporary::create(self.folder, before).map_err(|error| self.failed(error))?;
        temporary.fill(content, before).map_err(|error| Failure::from_io(self.path, &error))?;
        // A rename replaces whatever is there: it must still be what was looked at.
        self.must_still_be(before)?;
        let flags = if before.is_some() { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match temporary.keep_as(self.name, flags) {
            Ok(()) => Ok(if before.is_some() { WriteOutcome::Replaced } else { WriteOutcome::Created }),
            Err(Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY) => Err(self.changed()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// A rename asks for no right on the file itself.
    pub(super) fn must_be_writable(&self) -> Result<(), Failure> {
        // Not by opening it: that alone gives a file of a lower layer (overlayfs) another identity.
        match rustix::fs::accessat(
            self.folder,
            self.name,
            Access::WRITE_OK,
            AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW,
        ) {
            Ok(()) => return Ok(()),
            // The kernel, or a filter of system calls, may not know the question.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
            Err(Errno::NOENT) => return Err(self.changed()),
            Err(error) => return Err(self.failed(error)),
        }
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match rustix::fs::openat(self.folder, self.name, flags, Mode::empty()) {
            // A program that runs right now can be replaced.
            Ok(_) | Err(Errno::TXTBSY) => Ok(()),
            Err(Errno::NOENT | Errno::NXIO | Errno::LOOP) => Err(self.changed()),
            Err(error) => Err(self.failed(error)),
        }
    }
}

/// Whoever made a file read-only meant it, even where the system would let root, or the owner of the folder, replace it.
pub(super) fn must_not_be_read_only(stat: &Stat, path: &str) -> Result<(), Failure> {
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let may_write = Mode::WUSR | Mode::WGRP | Mode::WOTH;
    if is_file && !Mode::from_raw_mode(stat.st_mode).intersects(may_write) {
        return Err(Failure::ReadOnly { path: path.to_string() });
    }
    Ok(())
}
