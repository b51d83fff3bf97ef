//! Goes through the files below a folder in the order of their paths, without following links, and leaves out what git
//! would. Reads folders and `.gitignore` files; the visitor opens what it wants to, by descriptors, not by paths.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use super::folder::entries;
use super::ignored::Ignored;
use super::{CanonicalPath, Entry, EntryKind, Failure, Root, Workspace, open, read};

/// Folders deeper than that are opened anew when they are come back to, lest descriptors run out.
const MAX_OPEN_FOLDERS: usize = 64;
const MAX_BATCH_FILES: usize = 64;
const REPOSITORY: &[u8] = b".git";

/// Whom the walk tells what it finds.
pub trait Visitor {
    /// Whether to go into a folder: its path from the root.
    fn enters(&mut self, path: &[u8]) -> bool;
    /// Takes files and links of one folder; `Break` ends the walk.
    fn visit(&mut self, batch: FileBatch) -> ControlFlow<()>;
    /// Asked at each folder and each batch: whether to end the walk.
    fn is_stopped(&self) -> bool;
}

/// Files and links of one folder, in order.
pub struct FileBatch {
    folder: Arc<OwnedFd>,
    /// The way from the root to their folder, with a `/` at its end unless it is the root.
    prefix: Arc<[u8]>,
    entries: Vec<Entry>,
}

impl FileBatch {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The path of one of them from the root.
    pub fn path(&self, entry: &Entry) -> Vec<u8> {
        [&self.prefix, entry.name.as_slice()].concat()
    }

    /// Opens one of them, if it is a regular file, and says how many bytes it has.
    ///
    /// # Errors
    /// It is none any more, or may not be read.
    pub fn open(&self, entry: &Entry) -> Result<(File, u64), Failure> {
        let path = String::from_utf8_lossy(&entry.name);
        let (file, stat) = read::open_listed_in(self.folder.as_fd(), &entry.name, &path)?;
        Ok((file, u64::try_from(stat.st_size).unwrap_or_default()))
    }
}

/// How far a walk came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Walked {
    /// It ended because it had looked at as many entries as it may.
    pub is_cut: bool,
    /// Folders that could not be read.
    pub unreadable_folders: u64,
}

struct Frame {
    /// None while a deep folder is left for one below it.
    folder: Option<Arc<OwnedFd>>,
    prefix: Arc<[u8]>,
    entries: std::vec::IntoIter<Entry>,
    batch: Vec<Entry>,
    /// How many rules held outside it.
    outer_rules: usize,
}

impl Root {
    /// Walks the folder `start`. What `.gitignore` rules name is left out, and so is `.git`; `start` itself never is.
    ///
    /// # Errors
    /// `start` is no folder, or cannot be read.
    pub fn walk(
        &self,
        workspace: &Workspace,
        start: &CanonicalPath,
        max_entries: u64,
        visitor: &mut dyn Visitor,
    ) -> Result<Walked, Failure> {
        let mut ignored = Ignored::around(workspace.root());
        self.enter_ancestors(start, &mut ignored)?;
        let folder = self.folder(start)?;
        let prefix = if start.is_root() { Vec::new() } else { [start.as_str().as_bytes(), b"/"].concat() };
        let first =
            Frame::open(folder, prefix, &mut ignored).map_err(|error| Failure::from_errno(start.as_str(), error))?;
        let mut walk = Walking { root: self, frames: vec![first], ignored, walked: Walked::default(), visitor };
        let mut seen = 0;
        while walk.next().is_continue() {
            seen += 1;
            if seen > max_entries {
                walk.walked.is_cut = true;
                break;
            }
        }
        Ok(walk.walked)
    }

    /// Reads the rules of the folders that lead to `start`.
    fn enter_ancestors(&self, start: &CanonicalPath, ignored: &mut Ignored) -> Result<(), Failure> {
        let mut folder = self.folder(&CanonicalPath::root())?;
        let mut prefix = Vec::new();
        for name in start.beneath().split('/').filter(|name| !name.is_empty()) {
            ignored.enter(folder.as_fd(), &prefix);
            folder = open::child(folder.as_fd(), name.as_bytes())
                .map_err(|error| Failure::from_errno(start.as_str(), error))?;
            prefix.extend_from_slice(name.as_bytes());
            prefix.push(b'/');
        }
        Ok(())
    }
}

impl Frame {
    fn open(folder: OwnedFd, prefix: Vec<u8>, ignored: &mut Ignored) -> Result<Frame, rustix::io::Errno> {
        let entries = entries(folder.as_fd())?;
        let outer_rules = ignored.len();
        if entries.iter().any(|entry| entry.name == b".gitignore") {
            ignored.enter(folder.as_fd(), &prefix);
        }
        Ok(Frame {
            folder: Some(Arc::new(folder)),
            prefix: prefix.into(),
            entries: entries.into_iter(),
            batch: Vec::new(),
            outer_rules,
        })
    }
}

struct Walking<'a> {
    root: &'a Root,
    frames: Vec<Frame>,
    ignored: Ignored,
    walked: Walked,
    visitor: &'a mut dyn Visitor,
}

impl Walking<'_> {
    /// One entry further.
    fn next(&mut self) -> ControlFlow<()> {
        let Some(frame) = self.frames.last_mut() else { return ControlFlow::Break(()) };
        let Some(entry) = frame.entries.next() else {
            self.flush()?;
            if let Some(frame) = self.frames.pop() {
                self.ignored.leave(frame.outer_rules);
            }
            return ControlFlow::Continue(());
        };
        if entry.name == REPOSITORY || entry.kind == EntryKind::Special {
            return ControlFlow::Continue(());
        }
        let path = [&frame.prefix, entry.name.as_slice()].concat();
        let is_folder = entry.kind == EntryKind::Folder;
        if self.ignored.ignores(&path, is_folder) {
            return ControlFlow::Continue(());
        }
        if is_folder {
            if self.visitor.enters(&path) {
                self.flush()?;
                self.go_down(&entry, path);
            }
            return ControlFlow::Continue(());
        }
        frame.batch.push(entry);
        if frame.batch.len() >= MAX_BATCH_FILES { self.flush() } else { ControlFlow::Continue(()) }
    }

    fn go_down(&mut self, entry: &Entry, path: Vec<u8>) {
        let child = self.folder().and_then(|folder| open::child(folder.as_fd(), &entry.name).ok());
        let opened = child.and_then(|child| {
            let mut prefix = path;
            prefix.push(b'/');
            Frame::open(child, prefix, &mut self.ignored).ok()
        });
        let Some(opened) = opened else {
            self.walked.unreadable_folders += 1;
            return;
        };
        if self.frames.len() >= MAX_OPEN_FOLDERS
            && let Some(frame) = self.frames.last_mut()
        {
            frame.folder = None;
        }
        self.frames.push(opened);
    }

    /// The folder that is walked now, open.
    fn folder(&mut self) -> Option<Arc<OwnedFd>> {
        let frame = self.frames.last_mut()?;
        if frame.folder.is_none() {
            let way = frame.prefix.strip_suffix(b"/").unwrap_or(&frame.prefix);
            frame.folder = open::folder_beneath(self.root.as_fd(), way, self.root.opener).ok().map(Arc::new);
        }
        frame.folder.clone()
    }

    /// Hands over the files that were gathered.
    fn flush(&mut self) -> ControlFlow<()> {
        if self.visitor.is_stopped() {
            return ControlFlow::Break(());
        }
        let Some(frame) = self.frames.last_mut().filter(|frame| !frame.batch.is_empty()) else {
            return ControlFlow::Continue(());
        };
        let entries = std::mem::take(&mut frame.batch);
        let prefix = frame.prefix.clone();
        match self.folder() {
            Some(folder) => self.visitor.visit(FileBatch { folder, prefix, entries }),
            None => {
                self.walked.unreadable_folders += 1;
                ControlFlow::Continue(())
            }
        }
    }
}
