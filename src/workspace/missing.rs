//! What a path that does not exist may have meant. Lists folders inside the root, and opens no file.

use std::os::fd::{AsFd, OwnedFd};

use super::read::stat_in;
use super::{CanonicalPath, EntryKind, Root, folder, open};
use crate::types::nearest::nearest;

/// In larger folders nothing is guessed.
const MAX_NAMES: usize = 10_000;

/// What there is in place of a path that is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The deepest folder on the way that exists.
    pub folder: CanonicalPath,
    /// The existing path that was most likely meant.
    pub meant: Option<CanonicalPath>,
}

impl Root {
    /// Looks for what a path may have meant. `may_show`: whether a path may be named.
    pub fn nearest(&self, path: &CanonicalPath, may_show: &dyn Fn(&str) -> bool) -> Nearest {
        let mut found = Nearest { folder: CanonicalPath::root(), meant: None };
        let Ok(mut folder) = self.folder(&found.folder) else { return found };
        let mut names = path.beneath().split('/').filter(|name| !name.is_empty());
        while let Some(name) = names.next() {
            match open::child(folder.as_fd(), name.as_bytes()) {
                Ok(child) => {
                    found.folder = found.folder.join(name);
                    folder = child;
                }
                Err(_) => {
                    let rest: Vec<&str> = names.collect();
                    found.meant = self.meant(&folder, &found.folder, name, &rest, may_show);
                    break;
                }
            }
        }
        while !found.folder.is_root() && !may_show(found.folder.as_str()) {
            found.folder = found.folder.split().map_or_else(CanonicalPath::root, |(outer, _)| outer);
        }
        found
    }

    fn meant(
        &self,
        folder: &OwnedFd,
        place: &CanonicalPath,
        name: &str,
        rest: &[&str],
        may_show: &dyn Fn(&str) -> bool,
    ) -> Option<CanonicalPath> {
        let entries = folder::entries(folder.as_fd()).ok()?;
        if entries.len() > MAX_NAMES {
            return None;
        }
        // What a link leads to is not looked at here.
        let names = entries
            .iter()
            .filter(|entry| rest.is_empty() || entry.kind == EntryKind::Folder)
            .filter_map(|entry| std::str::from_utf8(&entry.name).ok());
        let near = place.join(nearest(name, names)?);
        let whole = rest.iter().fold(near.clone(), |path, name| path.join(name));
        let exists = |path: &CanonicalPath| {
            let located = self.locate(path);
            located.is_ok_and(|(folder, name)| stat_in(folder.as_fd(), name.as_bytes(), path.as_str()).is_ok())
        };
        if !rest.is_empty() && exists(&whole) && may_show(whole.as_str()) {
            return Some(whole);
        }
        may_show(near.as_str()).then_some(near)
    }
}
