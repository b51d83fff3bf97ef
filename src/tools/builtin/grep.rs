//! `grep`: the lines that match a regular expression, below a folder or in a file. Reads files side by side and answers in
//! the order of their paths.

use std::fmt::Write;
use std::io;
use std::ops::ControlFlow;

use grep_regex::RegexMatcher;
use serde_json::Value;

use super::matches::{self, Altered, Ended, FileSearch, Lines, listed};
use super::parallel::{Feed, in_order};
use super::pattern::PathPattern;
use super::{FileTools, MAX_WALKED_ENTRIES, RunPorts, cut, input};
use crate::workspace::{CanonicalPath, EntryKind, Failure, FileBatch, Root, Visitor, Walked, shown};

const MAX_LINES: usize = 2_000;
const MAX_BYTES: usize = 512 * 1024;
/// Files that one thread searches before it asks for more, and folders that are kept open for that.
const MAX_GROUP_FILES: usize = 48;
const MAX_GROUP_FOLDERS: usize = 8;
/// Files that a note names at most.
const MAX_NAMED_FILES: usize = 5;

pub(super) fn run(tools: &FileTools, input: &Value, ports: &RunPorts<'_>) -> Result<String, String> {
    let pattern = input::text(input, "pattern")?;
    let path = input::path(input)?;
    let filter = input::optional_text(input, "glob")?.map(PathPattern::of_names).transpose()?;
    let matcher = matches::matcher(pattern)?;
    let root = tools.open()?;
    let search = Search { matcher: &matcher, filter: filter.as_ref(), start: &path, ports };
    let is_folder = root.is_folder(&path).map_err(|failure| tools.explain(&root, &path, &failure, ports))?;
    let searched = if is_folder {
        search.folder(tools, &root).map_err(|error| format!("the search could not begin: {error}"))?
    } else {
        search.file(&root).map(|outcome| (outcome, Walked::default()))
    };
    let (outcome, walked) = searched.map_err(|failure| tools.explain(&root, &path, &failure, ports))?;
    if ports.cancel.is_cancelled() {
        return Err("the search was cancelled".to_string());
    }
    Ok(cut::middle(outcome.told(&search, &walked), "narrow the pattern, the path or the glob"))
}

struct Search<'a> {
    matcher: &'a RegexMatcher,
    filter: Option<&'a PathPattern>,
    start: &'a CanonicalPath,
    ports: &'a RunPorts<'a>,
}

/// What came of a batch, or of all of them.
struct Outcome {
    lines: Lines,
    /// There are more lines than are wanted.
    is_cut: bool,
    binary_files: u64,
    unreadable_files: u64,
    too_large: Vec<String>,
    long_line: Vec<String>,
}

impl Search<'_> {
    fn file(&self, root: &Root) -> Result<Outcome, Failure> {
        let opened = root.open_regular(self.start)?;
        let mut outcome = Outcome::new();
        self.add_file(&mut FileSearch::new(self.matcher, self.ports.cancel), opened, self.start.as_str(), &mut outcome);
        Ok(outcome)
    }

    fn folder(&self, tools: &FileTools, root: &Root) -> io::Result<Result<(Outcome, Walked), Failure>> {
        let mut all = Outcome::new();
        let walked = in_order(
            |feed| {
                let mut folders = Folders { search: self, feed, group: Vec::new(), files: 0 };
                let walked = root.walk(&tools.workspace, self.start, MAX_WALKED_ENTRIES, &mut folders);
                // Breaks only where no more is wanted.
                let _ = folders.give();
                walked
            },
            || FileSearch::new(self.matcher, self.ports.cancel),
            |file_search, group: Vec<FileBatch>| self.group(file_search, &group),
            |outcome| {
                all.add(outcome);
                if all.is_cut || self.ports.cancel.is_cancelled() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        )?;
        Ok(walked.map(|walked| (all, walked)))
    }

    fn group(&self, file_search: &mut FileSearch<'_>, group: &[FileBatch]) -> Outcome {
        let mut outcome = Outcome::new();
        for batch in group {
            self.batch(file_search, batch, &mut outcome);
        }
        outcome
    }

    fn batch(&self, file_search: &mut FileSearch<'_>, batch: &FileBatch, outcome: &mut Outcome) {
        for entry in batch.entries() {
            if self.ports.cancel.is_cancelled() || outcome.is_cut {
                break;
            }
            // A link leads to a file that is met on its own, or may not be read.
            if entry.kind != EntryKind::File {
                continue;
            }
            let path = batch.path(entry);
            let Ok(path) = std::str::from_utf8(&path) else {
                outcome.unreadable_files += 1;
                continue;
            };
            if !self.filter.is_none_or(|filter| filter.matches(self.below(path))) {
                continue;
            }
            match batch.open(entry) {
                Ok(opened) => self.add_file(file_search, opened, path, outcome),
                // Gone, or something else by now.
                Err(
                    Failure::Missing { .. }
                    | Failure::Changed { .. }
                    | Failure::Special { .. }
                    | Failure::Folder { .. },
                ) => {}
                Err(_) => outcome.unreadable_files += 1,
            }
        }
    }

    fn add_file(
        &self,
        file_search: &mut FileSearch<'_>,
        opened: (std::fs::File, u64),
        path: &str,
        outcome: &mut Outcome,
    ) {
        let may_show = self.ports.visible;
        match file_search.search(opened, path, &mut outcome.lines, &may_show) {
            Ended::Whole => outcome.is_cut |= outcome.lines.is_full(),
            Ended::Binary => outcome.binary_files += 1,
            Ended::Unreadable => outcome.unreadable_files += 1,
            Ended::TooLarge if may_show(path) => outcome.too_large.push(path.to_string()),
            Ended::LongLine if may_show(path) => outcome.long_line.push(path.to_string()),
            Ended::TooLarge | Ended::LongLine => {}
        }
    }

    /// The path relative to where the search begins.
    fn below<'p>(&self, path: &'p str) -> &'p str {
        below(self.start, path)
    }
}

/// A path from the root as a path from a folder that it is in.
pub(super) fn below<'p>(folder: &CanonicalPath, path: &'p str) -> &'p str {
    path.strip_prefix(folder.beneath()).map_or(path, |rest| rest.strip_prefix('/').unwrap_or(rest))
}

struct Folders<'a> {
    search: &'a Search<'a>,
    feed: &'a Feed<'a, Vec<FileBatch>, Outcome>,
    /// Batches of small folders go together.
    group: Vec<FileBatch>,
    files: usize,
}

impl Folders<'_> {
    fn give(&mut self) -> ControlFlow<()> {
        self.files = 0;
        let group = std::mem::take(&mut self.group);
        if group.is_empty() { ControlFlow::Continue(()) } else { self.feed.give(group) }
    }
}

impl Visitor for Folders<'_> {
    fn enters(&mut self, path: &[u8]) -> bool {
        match (self.search.filter, std::str::from_utf8(path)) {
            (Some(filter), Ok(path)) => filter.may_match_below(self.search.below(path)),
            _ => true,
        }
    }

    fn visit(&mut self, batch: FileBatch) -> ControlFlow<()> {
        self.files += batch.entries().len();
        self.group.push(batch);
        if self.files >= MAX_GROUP_FILES || self.group.len() >= MAX_GROUP_FOLDERS {
            self.give()
        } else {
            ControlFlow::Continue(())
        }
    }

    fn is_stopped(&self) -> bool {
        self.search.ports.cancel.is_cancelled() || self.feed.is_stopped()
    }
}

impl Outcome {
    fn new() -> Outcome {
        Outcome {
            // One more than is shown: then it is known that there is more.
            lines: Lines::new(MAX_LINES + 1, MAX_BYTES),
            is_cut: false,
            binary_files: 0,
            unreadable_files: 0,
            too_large: Vec::new(),
            long_line: Vec::new(),
        }
    }

    /// Takes in what came of the next batch.
    fn add(&mut self, next: Outcome) {
        for line in next.lines.text.split_inclusive('\n') {
            if self.lines.is_full() {
                break;
            }
            self.lines.text.push_str(line);
            self.lines.count += 1;
        }
        self.is_cut |= next.is_cut || self.lines.is_full();
        self.lines.altered.cut_lines |= next.lines.altered.cut_lines;
        self.lines.altered.replaced_bytes |= next.lines.altered.replaced_bytes;
        self.binary_files += next.binary_files;
        self.unreadable_files += next.unreadable_files;
        self.too_large.extend(next.too_large);
        self.long_line.extend(next.long_line);
    }

    fn told(mut self, search: &Search<'_>, walked: &Walked) -> String {
        if self.lines.count > MAX_LINES {
            let kept = self.lines.text.match_indices('\n').nth(MAX_LINES - 1).map_or(0, |(at, _)| at + 1);
            self.lines.text.truncate(kept);
            self.lines.count = MAX_LINES;
        }
        let mut text = std::mem::take(&mut self.lines.text);
        if text.is_empty() {
            text = format!("no line matches in {}\n", shown(search.start.as_str()));
        }
        let Altered { cut_lines, replaced_bytes } = self.lines.altered;
        let mut notes: Vec<String> = Vec::new();
        if self.is_cut {
            let count = self.lines.count;
            notes.push(format!(
                "the search ended after {count} lines, and there may be more; narrow the pattern, the path or the glob"
            ));
        }
        if cut_lines {
            notes.push(format!("of lines over {} bytes, … stands for what is left out", matches::MAX_SHOWN_BYTES));
        }
        if replaced_bytes {
            notes.push("� stands for bytes that are not UTF-8 text".to_string());
        }
        if self.binary_files > 0 {
            notes.push(format!("{} not searched", counted(self.binary_files, "binary file was", "binary files were")));
        }
        if self.unreadable_files > 0 {
            notes.push(counted(self.unreadable_files, "file could not be read", "files could not be read"));
        }
        notes.extend(named(&self.too_large, &format!("not searched, over {} bytes", matches::MAX_FILE_BYTES)));
        notes.extend(named(
            &self.long_line,
            &format!("searched only up to a line over {} bytes", matches::MAX_LINE_BYTES),
        ));
        notes.extend(walk_notes(walked));
        for note in notes {
            // Writing to a string does not fail.
            let _ = writeln!(text, "[{note}]");
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn named(paths: &[String], what: &str) -> Option<String> {
    let first = paths.iter().take(MAX_NAMED_FILES).map(|path| listed(path)).collect::<Vec<_>>().join(", ");
    let more = if paths.len() > MAX_NAMED_FILES {
        format!(" and {} more", paths.len() - MAX_NAMED_FILES)
    } else {
        String::new()
    };
    (!paths.is_empty()).then(|| format!("{what}: {first}{more}"))
}

/// What a walk did not look at.
pub(super) fn walk_notes(walked: &Walked) -> Vec<String> {
    let mut notes = Vec::new();
    if walked.is_cut {
        notes.push(format!("only the first {MAX_WALKED_ENTRIES} entries were looked at; give a folder as `path`"));
    }
    if walked.unreadable_folders > 0 {
        notes.push(counted(walked.unreadable_folders, "folder could not be read", "folders could not be read"));
    }
    notes
}
