//! The built-in tools as a model is told of them; and the file tools among them, from the input of a call to its result. Knows nothing of agents, sessions and permission: who
//! calls asks `permission_input` what a rule is to see, decides, and has `run` act on just that.

mod catalogue;
mod catalogue_agent;
mod cut;
mod delete_file;
mod edit_file;
mod edit_hint;
mod elsewhere;
mod glob;
mod grep;
mod input;
mod line_ends;
mod matches;
mod page;
mod parallel;
mod pattern;
mod read_file;
mod text;
mod write_file;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use crate::workspace::{Before, Opener};
use crate::workspace::{CanonicalPath, Failure, Keeper, Links, Root, Workspace, shown};
pub use catalogue::{BuiltinTool, builtin_tools, specifications};
pub use catalogue_agent::AGENT_TOOL;

/// Files of more bytes are neither read nor written by a tool; grep reads them line by line.
const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;
/// Entries that one search looks at.
const MAX_WALKED_ENTRIES: u64 = 2_000_000;

/// `fileTools` of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileToolOptions {
    /// Refuse links, rather than follow those that stay inside.
    pub deny_symlinks: bool,
    /// Of files of more bytes it is not told what they held before a change.
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
pub type Visible<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// Takes what the file at this path held, and what it will hold: nothing where it is to be deleted. An error keeps the file
/// as it is.
pub type BeforeChange<'a> = &'a (dyn Fn(&str, Before<'_>, Option<&[u8]>) -> Result<(), String> + Send + Sync);

/// What a run of a tool asks of whoever calls it.
#[derive(Clone, Copy)]
pub struct RunPorts<'a> {
    /// Whether glob, grep and hints may name a path. May be slow: asked only about paths that would be shown.
    pub visible: Visible<'a>,
    /// Looked at between files, and while a large one is searched.
    pub cancel: &'a CancellationToken,
    /// Told just before a file is written or deleted, while nothing is changed yet. None: nobody wants to know.
    pub before_change: Option<BeforeChange<'a>>,
}

/// The file tools of one working folder.
#[derive(Debug, Clone)]
pub struct FileTools {
    workspace: Arc<Workspace>,
    max_snapshot_bytes: u64,
}

impl FileTools {
    /// Takes the working folder, which must exist.
    ///
    /// # Errors
    /// Says why the folder cannot be used.
    pub fn new(root: &Path, options: FileToolOptions) -> Result<FileTools, String> {
        let links = if options.deny_symlinks { Links::Deny } else { Links::Inside };
        let workspace = Arc::new(Workspace::new(root, links)?);
        Ok(FileTools { workspace, max_snapshot_bytes: options.max_snapshot_bytes })
    }

    /// The same tools, with folders opened in this way.
    #[must_use]
    pub fn with_opener(self, opener: Opener) -> FileTools {
        FileTools { workspace: Arc::new(Workspace::clone(&self.workspace).with_opener(opener)), ..self }
    }

    /// What a permission rule sees in place of the model's input, and what `run` takes: `path` canonical, that is relative
    /// to the root, parted by `/`, links and letter case resolved, `.` for the root, which searches without a path begin
    /// at. Everything else stays as it is. Touches the disk.
    ///
    /// # Errors
    /// What the failed result is to say: the path leads outside, or is none.
    pub fn permission_input(&self, tool: &str, input: &Value) -> Result<Value, String> {
        let Some(fields) = input.as_object() else { return Err(input::NO_OBJECT.to_string()) };
        let is_search = matches!(tool, "glob" | "grep");
        let path = match fields.get("path") {
            None | Some(Value::Null) if is_search => ".",
            Some(Value::String(path)) if is_search && path.is_empty() => ".",
            Some(Value::String(path)) => path,
            _ => return Err(input::missing("path")),
        };
        let resolved = self.workspace.resolve(path).map_err(|failure| failure.to_string())?;
        if tool == "write_file" && (path.ends_with('/') || path.ends_with("/.")) {
            return Err(format!("{} names a folder, not a file", shown(path)));
        }
        let mut fields = fields.clone();
        fields.insert("path".to_string(), Value::String(resolved.as_str().to_string()));
        Ok(Value::Object(fields))
    }

    /// Runs a tool to its end on the calling thread, which may block. `input` is what `permission_input` answered: the tool
    /// acts on that very path and follows no link, so that what was decided on is what is done.
    pub fn run(&self, tool: &str, input: &Value, ports: &RunPorts<'_>) -> ToolOutcome {
        let result = match tool {
            "read_file" => read_file::run(self, input, ports),
            "write_file" => write_file::run(self, input, ports),
            "edit_file" => edit_file::run(self, input, ports),
            "delete_file" => delete_file::run(self, input, ports),
            "glob" => glob::run(self, input, ports),
            "grep" => grep::run(self, input, ports),
            other => Err(format!("there is no file tool {}", shown(other))),
        };
        match result {
            Ok(content) => ToolOutcome { content, is_error: false },
            Err(problem) => {
                let content = cut::middle(format!("Error: {problem}"), "this message is longer than a result may be");
                ToolOutcome { content, is_error: true }
            }
        }
    }

    fn open(&self) -> Result<Root, String> {
        self.workspace.open().map_err(|failure| format!("the working folder cannot be used: {failure}"))
    }

    /// Has `change` done with whoever is to know what the file held before.
    fn keeping<T>(
        &self,
        path: &CanonicalPath,
        ports: &RunPorts<'_>,
        change: impl FnOnce(Option<&Keeper<'_>>) -> T,
    ) -> T {
        let Some(tell) = ports.before_change else { return change(None) };
        let keep = |before: Before<'_>, after: Option<&[u8]>| tell(path.as_str(), before, after);
        change(Some(&Keeper { max_bytes: self.max_snapshot_bytes, keep: &keep }))
    }

    /// What a failure means for the model: what exists in place of a path that does not.
    fn explain(&self, root: &Root, path: &CanonicalPath, failure: &Failure, ports: &RunPorts<'_>) -> String {
        match failure {
            Failure::Missing { .. } | Failure::NotFolder { .. } => {
                let nearest = root.nearest(path, &ports.visible);
                let meant = nearest.meant.map(|meant| meant.as_str().to_string());
                match meant.or_else(|| elsewhere::find(self, root, path, ports)) {
                    Some(meant) => format!("{failure}; did you mean {}?", shown(&meant)),
                    None if nearest.folder.is_root() => format!("{failure}, nor does a path like it; glob finds files"),
                    None => format!("{failure}; the nearest folder that exists is {}", shown(nearest.folder.as_str())),
                }
            }
            Failure::Denied { .. } => format!("{failure}; check the owner and the mode of the file and its folders"),
            _ => failure.to_string(),
        }
    }
}
