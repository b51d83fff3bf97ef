//! The built-in file tools, from the input of a call to its result. Knows nothing of agents, sessions and permission: who
//! calls asks `permission_input` what a rule is to see, decides, and has `run` act on just that.

mod catalogue;
mod cut;
mod edit_file;
mod glob;
mod grep;
mod input;
mod lines;
mod read_file;
mod search;
mod write_file;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::workspace::{CanonicalPath, Failure, Links, Opener, Root, Workspace, shown};
pub use catalogue::{BUILTIN_TOOLS, BuiltinTool, specifications};

/// Files of more bytes are neither read nor written by a tool; grep reads them line by line.
const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// `fileTools` of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileToolOptions {
    /// Refuse links, rather than follow those that stay inside.
    pub deny_symlinks: bool,
    /// Files of more bytes are changed without a snapshot of what they held.
    pub max_snapshot_bytes: u64,
}

impl Default for FileToolOptions {
    fn default() -> FileToolOptions {
        FileToolOptions { deny_symlinks: false, max_snapshot_bytes: 1024 * 1024 }
    }
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    pub content: String,
    pub is_error: bool,
}

/// Whether the file at this path may be shown.
type Visible<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// The file tools of one working folder.
#[derive(Debug, Clone)]
pub struct FileTools {
    workspace: Arc<Workspace>,
}

impl FileTools {
    /// Takes the working folder, which must exist.
    ///
    /// # Errors
    /// Says why the folder cannot be used.
    pub fn new(root: &Path, options: FileToolOptions) -> Result<FileTools, String> {
        let links = if options.deny_symlinks { Links::Deny } else { Links::Inside };
        Ok(FileTools { workspace: Arc::new(Workspace::new(root, links)?) })
    }

    /// The same tools, with folders opened in this way.
    #[must_use]
    pub fn with_opener(self, opener: Opener) -> FileTools {
        FileTools { workspace: Arc::new(Workspace::clone(&self.workspace).with_opener(opener)) }
    }

    /// What a permission rule sees in place of the model's input, and what `run` takes: `path` canonical, that is relative
    /// to the root, parted by `/`, links and letter case resolved, `.` for the root. Everything else stays as it is. Touches
    /// the disk.
    ///
    /// # Errors
    /// What the failed result is to say: the path leads outside, or is none.
    pub fn permission_input(&self, tool: &str, input: &Value) -> Result<Value, String> {
        let Some(path) = input.get("path").and_then(Value::as_str) else { return Ok(input.clone()) };
        let resolved = match tool {
            "glob" | "grep" if path.is_empty() => Ok(CanonicalPath::root()),
            // A link is deleted itself, so that is what is decided on.
            "delete_file" => self.workspace.resolve_entry(path),
            _ => self.workspace.resolve(path),
        };
        let resolved = resolved.map_err(|failure| failure.to_string())?;
        let mut input = input.clone();
        if let Some(path) = input.get_mut("path") {
            *path = Value::String(resolved.as_str().to_string());
        }
        Ok(input)
    }

    /// Runs a tool to its end on the calling thread, which may block. `input` is what `permission_input` answered: the tool
    /// acts on that very path and follows no link, so that what was decided on is what is done. `visible(path)`: whether
    /// glob, grep and hints may name a path. `cancel` is looked at between files.
    pub fn run(&self, tool: &str, input: &Value, visible: Visible<'_>, cancel: &CancellationToken) -> ToolOutcome {
        let result = match tool {
            "read_file" => read_file::run(self, input, visible),
            "write_file" => write_file::write(self, input),
            "edit_file" => edit_file::run(self, input, visible),
            "delete_file" => write_file::delete(self, input, visible),
            "glob" => glob::run(self, input, visible, cancel),
            "grep" => grep::run(self, input, visible, cancel),
            other => Err(format!("there is no file tool {}", shown(other))),
        };
        match result {
            Ok(content) => ToolOutcome { content: cut::middle(content), is_error: false },
            Err(problem) => ToolOutcome { content: cut::middle(format!("Error: {problem}")), is_error: true },
        }
    }

    fn open(&self) -> Result<Root, String> {
        self.workspace.open().map_err(|failure| format!("the working folder cannot be used: {failure}"))
    }

    /// What a failure means for the model: what exists in place of a path that does not.
    fn explain(&self, root: &Root, path: &CanonicalPath, failure: &Failure, visible: Visible<'_>) -> String {
        match failure {
            Failure::Missing { .. } | Failure::NotFolder { .. } => {
                let nearest = root.nearest(path, visible);
                match nearest.meant {
                    Some(meant) => format!("{failure}; did you mean {}?", shown(meant.as_str())),
                    None if nearest.folder.is_root() => format!("{failure}, nor does a path like it"),
                    None => format!("{failure}; the nearest folder that exists is {}", shown(nearest.folder.as_str())),
                }
            }
            Failure::Denied { .. } | Failure::TooLarge { .. } | Failure::Folder { .. } => failure.to_string(),
            _ => failure.to_string(),
        }
    }
}
