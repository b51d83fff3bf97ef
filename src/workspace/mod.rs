//! One folder, and everything inside it and nothing else: resolves paths, opens, reads, writes and walks files below a
//! root, whatever links are there or are put there meanwhile. Knows nothing of tools, of permission or of JavaScript.
//!
//! Two steps, always: `Workspace::resolve` says which file a path means, links and `..` and letter case resolved
//! (`CanonicalPath`), so that somebody can decide about that file; then a `Root` acts on the canonical path and follows
//! no link at all. A link that was put on the way in between makes the second step fail, never lead elsewhere.

mod canonical;
mod digest;
mod failure;
mod folder;
mod ignored;
mod letter_case;
mod missing;
mod open;
mod read;
mod resolve;
mod restore;
mod temporary;
mod walk;
mod write;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

pub use canonical::{CanonicalPath, shown};
pub use digest::Digest;
pub use failure::Failure;
pub use folder::{Entry, EntryKind};
pub use missing::Nearest;
pub use open::Opener;
pub use read::FileContent;
pub use restore::{Checked, LeftBehind, Restoration, Target};
pub use walk::{FileBatch, Visitor, Walked};
pub use write::{Before, Keeper, WriteOutcome};

/// What is done with symbolic links on the way to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Links {
    /// Followed, but only to targets inside the root.
    #[default]
    Inside,
    /// Refused.
    Deny,
}

/// A folder that nothing may leave. Holds no descriptor: the root is opened for each operation.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// Free of links.
    root: PathBuf,
    /// As the caller wrote it: absolute paths may begin with this as well.
    given: PathBuf,
    links: Links,
    opener: Opener,
}

impl Workspace {
    /// Takes an existing folder as the root.
    ///
    /// # Errors
    /// Says that the folder is not there, is none, or cannot be entered.
    pub fn new(root: &Path, links: Links) -> Result<Workspace, String> {
        let shown_root = shown(&root.to_string_lossy());
        let canonical = std::fs::canonicalize(root).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("the folder {shown_root} does not exist"),
            _ => format!("the folder {shown_root} cannot be used: {}", failure::plain(&error)),
        })?;
        if !canonical.is_dir() {
            return Err(format!("{shown_root} is not a folder"));
        }
        Ok(Workspace { root: canonical, given: root.to_path_buf(), links, opener: Opener::default() })
    }

    /// The same folder, opened in this way: what one kernel has and another lacks can be tried on either.
    #[must_use]
    pub fn with_opener(mut self, opener: Opener) -> Workspace {
        self.opener = opener;
        self
    }

    /// The root's absolute path, free of links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens the root. It must still be where it was, and no link.
    ///
    /// # Errors
    /// `Failure::Missing` when it is gone, `Failure::Changed` when a link is in its place.
    pub fn open(&self) -> Result<Root, Failure> {
        let top = open::top().map_err(|error| Failure::from_errno("/", error))?;
        let path = self.root.as_os_str().as_bytes();
        let path = path.strip_prefix(b"/").unwrap_or(path);
        let folder = open::folder_beneath(top.as_fd(), path, self.opener)
            .map_err(|error| Failure::from_errno(&self.root.to_string_lossy(), error))?;
        Ok(Root { folder, opener: self.opener })
    }

    /// Which file the path means: relative to the root, links and `..` resolved, named as the disk names it. What does
    /// not exist keeps its name below the deepest folder that does. A path may be absolute if it leads inside.
    ///
    /// # Errors
    /// The path leads outside, through a link that is refused, through a file, or is no path.
    pub fn resolve(&self, path: &str) -> Result<CanonicalPath, Failure> {
        resolve::resolve(self, path)
    }

    fn root_names(&self) -> Vec<&[u8]> {
        names_of(&self.root)
    }

    fn given_names(&self) -> Vec<&[u8]> {
        if self.given.is_absolute() { names_of(&self.given) } else { Vec::new() }
    }
}

/// The root, open. Acts on canonical paths, and follows no link at all.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    opener: Opener,
}

impl Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Opens a folder below the root.
    fn folder(&self, path: &CanonicalPath) -> Result<OwnedFd, Failure> {
        open::folder_beneath(self.as_fd(), path.beneath().as_bytes(), self.opener)
            .map_err(|error| Failure::from_errno(path.as_str(), error))
    }
}

fn names_of(path: &Path) -> Vec<&[u8]> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.as_bytes()),
            Component::ParentDir => Some(b"..".as_slice()),
            _ => None,
        })
        .collect()
}
