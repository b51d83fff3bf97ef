//! Looks for a file by its name alone, for whoever was wrong about its folder. Opens no file.

use std::ops::ControlFlow;

use super::{FileTools, RunPorts};
use crate::workspace::{CanonicalPath, EntryKind, FileBatch, Root, Visitor};

/// A hint is not worth more.
const MAX_WALKED_ENTRIES: u64 = 20_000;

/// The first file of that name that may be shown.
pub(super) fn find(tools: &FileTools, root: &Root, path: &CanonicalPath, ports: &RunPorts<'_>) -> Option<String> {
    let (_, name) = path.split()?;
    let mut search = Search { name, ports, found: None };
    root.walk(&tools.workspace, &CanonicalPath::root(), MAX_WALKED_ENTRIES, &mut search).ok()?;
    search.found
}

struct Search<'a> {
    name: &'a str,
    ports: &'a RunPorts<'a>,
    found: Option<String>,
}

impl Visitor for Search<'_> {
    fn enters(&mut self, _path: &[u8]) -> bool {
        true
    }

    fn visit(&mut self, batch: FileBatch) -> ControlFlow<()> {
        let named =
            batch.entries().iter().find(|entry| entry.kind == EntryKind::File && entry.name == self.name.as_bytes());
        let path = named.and_then(|entry| String::from_utf8(batch.path(entry)).ok());
        self.found = path.filter(|path| (self.ports.visible)(path));
        if self.found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_stopped(&self) -> bool {
        self.ports.cancel.is_cancelled()
    }
}
