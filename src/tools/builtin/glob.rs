//! `glob`: the files whose paths match a pattern. Reads folders, and no file but `.gitignore`.

use std::ops::ControlFlow;

use serde_json::Value;

use super::grep::{below, walk_notes};
use super::matches::listed;
use super::pattern::PathPattern;
use super::{FileTools, MAX_WALKED_ENTRIES, RunPorts, cut, input};
use crate::workspace::{CanonicalPath, EntryKind, Failure, FileBatch, Root, Visitor, shown};

const MAX_PATHS: usize = 5_000;

pub(super) fn run(tools: &FileTools, input: &Value, ports: &RunPorts<'_>) -> Result<String, String> {
    let asked = input::text(input, "pattern")?;
    let start = input::path(input)?;
    let folder = tools.workspace.root().join(start.beneath());
    let pattern = PathPattern::of_paths(asked, folder.to_string_lossy().trim_end_matches('/'))?;
    let root = tools.open()?;
    match root.is_folder(&start) {
        Ok(true) => {}
        Ok(false) => {
            return Err(format!("{} is a file; glob takes the folder to look in as `path`", shown(start.as_str())));
        }
        Err(failure) => return Err(tools.explain(&root, &start, &failure, ports)),
    }
    let list = |pattern: &PathPattern, max_paths| {
        let mut listing = Listing {
            tools,
            root: &root,
            ports,
            start: &start,
            pattern,
            max_paths,
            paths: Vec::new(),
            is_cut: false,
            unnamed: 0,
        };
        let walked = root.walk(&tools.workspace, &start, MAX_WALKED_ENTRIES, &mut listing);
        let walked = walked.map_err(|failure: Failure| tools.explain(&root, &start, &failure, ports))?;
        if ports.cancel.is_cancelled() {
            return Err("the search was cancelled".to_string());
        }
        Ok((listing.paths, listing.is_cut, listing.unnamed, walked))
    };
    let (mut lines, is_cut, unnamed, walked) = list(&pattern, MAX_PATHS)?;
    let place = shown(start.as_str());
    if lines.is_empty() {
        lines.push(format!("no file in {place} matches {}; what .gitignore names is left out", shown(asked)));
        // Where nothing is in the folder itself, it is worth a look whether anything is below.
        if let Some(deeper) = deeper(asked)
            && !list(&deeper, 1)?.0.is_empty()
        {
            lines.push(format!("[files in folders below match {}]", shown(&format!("**/{asked}"))));
        }
    }
    if is_cut {
        lines.push(format!(
            "[the search ended after {MAX_PATHS} paths, and there may be more; narrow the pattern or the path]"
        ));
    }
    if unnamed > 0 {
        lines.push(format!("[{unnamed} with names that are not UTF-8 text are left out]"));
    }
    lines.extend(walk_notes(&walked).into_iter().map(|note| format!("[{note}]")));
    Ok(cut::middle(lines.join("\n"), "narrow the pattern or the path"))
}

/// What may have been meant by a pattern for one folder alone.
fn deeper(asked: &str) -> Option<PathPattern> {
    if asked.contains('/') || asked.starts_with("**") {
        None
    } else {
        PathPattern::of_names(&format!("**/{asked}")).ok()
    }
}

struct Listing<'a> {
    tools: &'a FileTools,
    root: &'a Root,
    ports: &'a RunPorts<'a>,
    start: &'a CanonicalPath,
    pattern: &'a PathPattern,
    max_paths: usize,
    paths: Vec<String>,
    is_cut: bool,
    unnamed: u64,
}

impl Listing<'_> {
    /// Whether a link leads to a file that may be read.
    fn leads_to_file(&self, link: &str) -> bool {
        let Ok(target) = self.tools.workspace.resolve(link) else { return false };
        (self.ports.visible)(target.as_str()) && self.root.is_folder(&target) == Ok(false)
    }
}

impl Visitor for Listing<'_> {
    fn enters(&mut self, path: &[u8]) -> bool {
        let Ok(path) = std::str::from_utf8(path) else {
            self.unnamed += 1;
            return false;
        };
        self.pattern.may_match_below(below(self.start, path))
    }

    fn visit(&mut self, batch: FileBatch) -> ControlFlow<()> {
        for entry in batch.entries() {
            let path = batch.path(entry);
            let Ok(path) = std::str::from_utf8(&path) else {
                self.unnamed += 1;
                continue;
            };
            if !self.pattern.matches(below(self.start, path)) {
                continue;
            }
            let is_shown = match entry.kind {
                EntryKind::File => (self.ports.visible)(path),
                _ => (self.ports.visible)(path) && self.leads_to_file(path),
            };
            if !is_shown {
                continue;
            }
            if self.paths.len() >= self.max_paths {
                self.is_cut = true;
                return ControlFlow::Break(());
            }
            self.paths.push(listed(path));
        }
        ControlFlow::Continue(())
    }

    fn is_stopped(&self) -> bool {
        self.ports.cancel.is_cancelled()
    }
}
