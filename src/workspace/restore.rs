//! Puts files back to what they once held: all of them, or none. Each is checked first; what a change takes away lives on
//! under another name until all is done, so that it can be undone. Knows nothing of sessions and of why.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Access, AtFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::read::{Seen, open_regular_in};
use super::temporary::{Temporary, rename_to_new, set_aside};
use super::write::{Place, must_not_be_read_only};
use super::{CanonicalPath, Digest, Failure, Root, Workspace, shown};

/// What one file is to hold again.
#[derive(Debug)]
pub struct Target {
    pub path: CanonicalPath,
    /// Nothing: there was no such file.
    pub content: Option<Vec<u8>>,
    pub left: LeftBehind,
}

/// How whoever is to be undone left the file. A file that is otherwise was changed by somebody else since.
#[derive(Debug, Clone, Default)]
pub struct LeftBehind {
    /// Of what it may hold. None: that is not known.
    pub digests: Vec<Digest>,
    pub may_be_absent: bool,
    /// Nothing of it is unknown: a file that holds anything else was changed.
    pub is_known: bool,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// It can be put back.
    Ready,
    /// It is as it is to be.
    AlreadyThere,
    /// It is left alone: why, in words that follow its name.
    Skipped(String),
}

/// The files of one restoration.
#[derive(Debug)]
pub struct Restoration {
    root: Root,
    /// In the order in which they were checked; those that were put back are gone.
    ready: std::collections::VecDeque<Ready>,
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Ready {
    path: CanonicalPath,
    content: Option<Vec<u8>>,
    before: Option<Found>,
}

/// A file as it was when it was checked. Times and sizes alone do not tell one state from the next: two writes may share them.
#[derive(Debug)]
struct Found {
    stat: Stat,
    digest: Digest,
}

/// One file that was put back, and how to undo that.
#[derive(Debug)]
struct Change {
    path: CanonicalPath,
    /// What was there before.
    aside: Option<Aside>,
    /// What was put there.
    put: Option<(Seen, Digest)>,
    /// Folders that were made for it, outermost first.
    made: Vec<CanonicalPath>,
}

/// A file whose name was taken away: it lives on beside its place.
#[derive(Debug)]
struct Aside {
    name: String,
    seen: Seen,
    digest: Digest,
}

impl Restoration {
    /// # Errors
    /// The root is gone, or something else is in its place.
    pub fn new(workspace: &Workspace) -> Result<Restoration, Failure> {
        Ok(Restoration { root: workspace.open()?, ready: Default::default(), changes: Vec::new() })
    }

    /// Looks whether a file can be put back, and remembers it if so. Changes nothing.
    ///
    /// # Errors
    /// It cannot be written, or not even be looked at, though nobody has changed it.
    pub fn check(&mut self, target: Target) -> Result<Checked, Failure> {
        let Target { path, content, left } = target;
        let (folder, name) = match self.root.locate(&path) {
            Ok((folder, name)) => (Some(folder), name),
            Err(Failure::Missing { .. }) => (None, ""),
            Err(failure) => return skipped_if_changed(failure),
        };
        let place = folder.as_ref().map(|folder| Place { folder: folder.as_fd(), name, path: path.as_str() });
        let found = match place.as_ref().map(Place::look).transpose() {
            Ok(found) => found.flatten(),
            Err(failure) => return skipped_if_changed(failure),
        };
        let Some(before) = &found else {
            if content.is_none() {
                return Ok(Checked::AlreadyThere);
            }
            if !left.may_be_absent {
                return Ok(Checked::Skipped("was deleted since the agent last wrote it".to_string()));
            }
            if let Some(place) = &place {
                must_be_writable_folder(place)?;
            }
            self.ready.push_back(Ready { path, content, before: None });
            return Ok(Checked::Ready);
        };
        let Some(place) = place else { return Ok(Checked::AlreadyThere) };
        let now = digest(&place, before)?;
        if content.as_deref().map(Digest::of) == Some(now) {
            return Ok(Checked::AlreadyThere);
        }
        if let Some(why) = changed_since(&left, now) {
            return Ok(Checked::Skipped(why.to_string()));
        }
        must_not_be_read_only(before, place.path)?;
        place.must_be_writable()?;
        must_be_writable_folder(&place)?;
        let before = Some(Found { stat: *before, digest: now });
        self.ready.push_back(Ready { path: path.clone(), content, before });
        Ok(Checked::Ready)
    }

    /// Puts the next of the files back that were checked.
    ///
    /// # Errors
    /// It changed since it was checked, or cannot be written. The file is as it was; those before it are not undone.
    pub fn put_back_next(&mut self) -> Result<(), Failure> {
        let Some(Ready { path, content, before }) = self.ready.pop_front() else { return Ok(()) };
        let change = match (content, before) {
            (Some(content), Some(before)) => self.replace(path, &content, &before),
            (Some(content), None) => self.create(path, &content),
            (None, Some(before)) => self.remove(path, &before),
            (None, None) => return Ok(()),
        }?;
        self.changes.push(change);
        Ok(())
    }

    fn replace(&self, path: CanonicalPath, content: &[u8], found: &Found) -> Result<Change, Failure> {
        let before = &found.stat;
        let (folder, name) = self.root.locate(&path)?;
        let place = Place { folder: folder.as_fd(), name, path: path.as_str() };
        let temporary = Temporary::create(place.folder, Some(before)).map_err(|error| place.failed(error))?;
        temporary.fill(content, Some(before)).map_err(|error| Failure::from_io(place.path, &error))?;
        let put = Seen::of(&temporary.stat().map_err(|error| place.failed(error))?);
        place.must_still_be(Some(before))?;
        let aside = temporary.swap_with(name).map_err(|error| place.failed(error))?;
        if !holds(&place, &aside, &Seen::of(before), found.digest) {
            // Something else came to its place in that moment.
            rustix::fs::renameat(&folder, aside.as_str(), &folder, name).map_err(|error| place.failed(error))?;
            return Err(place.changed());
        }
        let aside = Aside { name: aside, seen: Seen::of(before), digest: found.digest };
        Ok(Change { path, aside: Some(aside), put: Some((put, Digest::of(content))), made: Vec::new() })
    }

    fn create(&self, path: CanonicalPath, content: &[u8]) -> Result<Change, Failure> {
        let mut made = Vec::new();
        match self.create_in(&path, content, &mut made) {
            Ok(put) => Ok(Change { path, aside: None, put: Some((put, Digest::of(content))), made }),
            Err(failure) => {
                self.remove_folders(&made);
                Err(failure)
            }
        }
    }

    fn create_in(&self, path: &CanonicalPath, content: &[u8], made: &mut Vec<CanonicalPath>) -> Result<Seen, Failure> {
        let (_, name) = path.split().ok_or_else(|| Failure::Folder { path: path.as_str().to_string() })?;
        let folder = self.root.create_folders(path, made)?;
        let place = Place { folder: folder.as_fd(), name, path: path.as_str() };
        let temporary = Temporary::create(place.folder, None).map_err(|error| place.failed(error))?;
        temporary.fill(content, None).map_err(|error| Failure::from_io(place.path, &error))?;
        let put = Seen::of(&temporary.stat().map_err(|error| place.failed(error))?);
        place.must_still_be(None)?;
        temporary.keep_as(name, RenameFlags::NOREPLACE).map_err(|error| match error {
            Errno::EXIST => place.changed(),
            error => place.failed(error),
        })?;
        Ok(put)
    }

    fn remove(&self, path: CanonicalPath, found: &Found) -> Result<Change, Failure> {
        let before = &found.stat;
        let (folder, name) = self.root.locate(&path)?;
        let place = Place { folder: folder.as_fd(), name, path: path.as_str() };
        place.must_still_be(Some(before))?;
        let aside = set_aside(place.folder, name).map_err(|error| place.failed(error))?;
        if !holds(&place, &aside, &Seen::of(before), found.digest) {
            rename_to_new(place.folder, &aside, name).map_err(|error| place.failed(error))?;
            return Err(place.changed());
        }
        let aside = Aside { name: aside, seen: Seen::of(before), digest: found.digest };
        Ok(Change { path, aside: Some(aside), put: None, made: Vec::new() })
    }

    /// Undoes what was put back, the last first. Answers what could not be undone, in words.
    pub fn undo(&mut self) -> Vec<String> {
        let changes = std::mem::take(&mut self.changes);
        self.ready.clear();
        changes.into_iter().rev().filter_map(|change| self.undo_one(&change).err()).collect()
    }

    fn undo_one(&self, change: &Change) -> Result<(), String> {
        let Change { path, aside, put, made } = change;
        let failed = |failure: Failure| match aside {
            Some(aside) => format!("{failure}; what it held is in the file {} beside it", aside.name),
            None => failure.to_string(),
        };
        let (folder, name) = self.root.locate(path).map_err(failed)?;
        let place = Place { folder: folder.as_fd(), name, path: path.as_str() };
        if put.as_ref().is_some_and(|(put, digest)| !holds(&place, name, put, *digest)) {
            return Err(failed(place.changed()));
        }
        let undone = match (aside, put) {
            (Some(aside), Some(_)) => rustix::fs::renameat(&folder, aside.name.as_str(), &folder, name),
            (Some(aside), None) => rename_to_new(place.folder, &aside.name, name),
            (None, _) => rustix::fs::unlinkat(&folder, name, AtFlags::empty()),
        };
        undone.map_err(|error| failed(place.failed(error)))?;
        self.remove_folders(made);
        Ok(())
    }

    /// Lets go of what the changes replaced: they can no longer be undone. Answers what could not be removed, in words.
    pub fn keep(&mut self) -> Vec<String> {
        let changes = std::mem::take(&mut self.changes);
        changes.into_iter().filter_map(|change| self.keep_one(&change).err()).collect()
    }

    fn keep_one(&self, Change { path, aside, .. }: &Change) -> Result<(), String> {
        let Some(Aside { name: aside, seen, digest }) = aside else { return Ok(()) };
        let removed = self.root.locate(path).and_then(|(folder, name)| {
            let place = Place { folder: folder.as_fd(), name, path: path.as_str() };
            if !holds(&place, aside, seen, *digest) {
                return Ok(false);
            }
            let removed = rustix::fs::unlinkat(&folder, aside.as_str(), AtFlags::empty());
            removed.map(|()| true).map_err(|error| place.failed(error))
        });
        match removed {
            Ok(true) => Ok(()),
            // Whoever had it open wrote on.
            Ok(false) => Err(format!(
                "{} was written to while it went back; what was written is in the file {aside} beside it",
                shown(path.as_str())
            )),
            Err(failure) => Err(format!("{failure}; the file {aside} beside it can be removed")),
        }
    }

    /// Removes folders that were made, unless something is in them by now.
    fn remove_folders(&self, made: &[CanonicalPath]) {
        for folder in made.iter().rev() {
            let removed: Result<(OwnedFd, &str), Failure> = self.root.locate(folder);
            let Ok((outer, name)) = removed else { continue };
            if rustix::fs::unlinkat(&outer, name, AtFlags::REMOVEDIR).is_err() {
                // Whoever put something into it wants it to stay.
                return;
            }
        }
    }
}

/// What somebody put in the place of a file, or of a folder on the way to it, is a change of theirs.
fn skipped_if_changed(failure: Failure) -> Result<Checked, Failure> {
    Ok(Checked::Skipped(match failure {
        Failure::Folder { .. } => "is a folder by now".to_string(),
        Failure::Special { kind, .. } => format!("is a {kind} by now"),
        Failure::NotFolder { .. } => "is no longer in a folder, for a file is in the place of that".to_string(),
        Failure::Changed { .. } => "is a link by now, or behind one, and links are not followed".to_string(),
        failure => return Err(failure),
    }))
}

/// Why a file is not as it was left. Its content decides: a time stamp may be that of an edit just as well.
fn changed_since(left: &LeftBehind, now: Digest) -> Option<&'static str> {
    if left.digests.contains(&now) {
        None
    } else if left.is_known {
        Some("was changed since the agent last wrote it")
    } else {
        Some("may have changed since the agent last wrote it: what it held then is not known")
    }
}

fn digest(place: &Place<'_>, before: &Stat) -> Result<Digest, Failure> {
    let (file, now) = open_regular_in(place.folder, place.name.as_bytes(), place.path)?;
    if Seen::of(&now) != Seen::of(before) {
        return Err(place.changed());
    }
    Digest::of_reader(file).map_err(|error| Failure::from_io(place.path, &error))
}

/// Whether a name stands for a file that was seen, perhaps under another name, and it still holds what it did.
fn holds(place: &Place<'_>, name: &str, seen: &Seen, content: Digest) -> bool {
    let Ok((file, stat)) = open_regular_in(place.folder, name.as_bytes(), place.path) else { return false };
    seen.is_renamed(&Seen::of(&stat)) && Digest::of_reader(file).is_ok_and(|digest| digest == content)
}

/// Files come and go by the right to write their folder.
fn must_be_writable_folder(place: &Place<'_>) -> Result<(), Failure> {
    let folder: BorrowedFd<'_> = place.folder;
    match rustix::fs::accessat(folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        // The kernel, or a filter of system calls, may not know the question: writing will tell.
        Ok(()) | Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Ok(()),
        Err(error) => Err(place.failed(error)),
    }
}

#[cfg(test)]
#[path = "restore_test.rs"]
mod tests;
