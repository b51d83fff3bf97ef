//! Finds and reads both hooks.json files, once, when an agent is made. One bad entry fails its file: there is no partial
//! load. Never waits: what is no regular file is refused before anything is read of it. Knows nothing of who runs what.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use thiserror::Error;

use super::config::{Configuration, Entry};
use crate::event::HookOrigin;
use crate::glob::Glob;
use crate::json::{JsonError, decode_text, read};
use crate::types::HookName;

/// The longest hooks.json that is read.
pub const MAX_FILE_BYTES: usize = 256 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A hooks.json that cannot be used: what JS throws as a `ConfigError`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ConfigFailure {
    /// Begins with `Invalid hooks configuration <file>`; says where and what was expected.
    pub message: String,
    pub file: String,
    /// The JSON path, where the file could be read.
    pub path: Option<String>,
}

impl ConfigFailure {
    fn of_file(file: &Path, problem: &str) -> ConfigFailure {
        let file = file.display().to_string();
        ConfigFailure { message: format!("Invalid hooks configuration {file}: {problem}"), file, path: None }
    }

    fn of_json(file: &Path, error: JsonError) -> ConfigFailure {
        let file = file.display().to_string();
        ConfigFailure { message: format!("Invalid hooks configuration {file}: {error}"), file, path: Some(error.path) }
    }
}

/// One command of one event, as a file says it.
#[derive(Debug)]
pub struct CommandHook {
    /// Global or project.
    pub source: HookOrigin,
    /// The path under which the file was looked for.
    pub config_file: Rc<str>,
    pub command: Rc<str>,
    pub timeout: Duration,
    tools: Option<Glob>,
}

/// No tool has a longer name.
const MAX_NAME_BYTES: usize = 256;

impl CommandHook {
    fn new(source: HookOrigin, config_file: &Rc<str>, entry: Entry) -> CommandHook {
        let Entry { tools, command, timeout } = entry;
        CommandHook { source, config_file: config_file.clone(), command: command.into(), timeout, tools }
    }

    /// Whether the command is for an event of this tool; for an event of none, whatever the command's `match`.
    pub fn is_for(&self, tool: Option<&str>) -> bool {
        match (&self.tools, tool) {
            // A model may make up a name of any length.
            (Some(tools), Some(tool)) => {
                tools.matches(tool.get(..tool.floor_char_boundary(MAX_NAME_BYTES)).unwrap_or(tool))
            }
            _ => true,
        }
    }
}

/// The commands of both files: for each event the global ones, then the project's.
#[derive(Debug, Default)]
pub struct HookFiles {
    commands: Vec<(HookName, Rc<CommandHook>)>,
}

impl HookFiles {
    /// Reads `<home>/hooks.json` and `<workdir>/.lite-agent/hooks.json`, where they are. Both folders must be absolute.
    ///
    /// # Errors
    /// A file is there and cannot be used.
    pub fn load(home_dir: &Path, workdir: &Path) -> Result<HookFiles, ConfigFailure> {
        let global = home_dir.join("hooks.json");
        let project = workdir.join(".lite-agent").join("hooks.json");
        let mut files = HookFiles::default();
        let first = open(&global)?;
        if let Some(opened) = &first {
            files.add(HookOrigin::Global, &global, opened)?;
        }
        if let Some(second) = open(&project)?
            && !first.is_some_and(|first| first.identity == second.identity)
        {
            files.add(HookOrigin::Project, &project, &second)?;
        }
        Ok(files)
    }

    /// Whether neither file has a command.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// All commands, those of one event in the order in which they run.
    pub fn commands(&self) -> impl Iterator<Item = (HookName, Rc<CommandHook>)> {
        self.commands.iter().cloned()
    }

    fn add(&mut self, source: HookOrigin, path: &Path, opened: &Opened) -> Result<(), ConfigFailure> {
        let bytes = opened.read(path)?;
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let read = decode_text(bytes).and_then(read).and_then(|document| Configuration::read(&document));
        let configuration = read.map_err(|error| ConfigFailure::of_json(path, error))?;
        let file: Rc<str> = path.display().to_string().into();
        for (event, entries) in configuration.events {
            let hooks = entries.into_iter().map(|entry| (event, Rc::new(CommandHook::new(source, &file, entry))));
            self.commands.extend(hooks);
        }
        Ok(())
    }
}

/// A regular file, and which one it is.
struct Opened {
    file: File,
    identity: Identity,
}

impl Opened {
    fn read(&self, path: &Path) -> Result<Vec<u8>, ConfigFailure> {
        let mut bytes = Vec::new();
        // One byte more than may be there, however long the file has become meanwhile.
        let most = MAX_FILE_BYTES as u64 + 1;
        (&self.file).take(most).read_to_end(&mut bytes).map_err(|error| {
            ConfigFailure::of_file(path, &format!("expected a file that can be read, got: {error}"))
        })?;
        if bytes.len() > MAX_FILE_BYTES {
            let problem = format!("expected at most {MAX_FILE_BYTES} bytes (256 KiB), got more");
            return Err(ConfigFailure::of_file(path, &problem));
        }
        Ok(bytes)
    }
}

/// Opens the file; none where there is none.
fn open(path: &Path) -> Result<Option<Opened>, ConfigFailure> {
    let refuse = |problem: &str| Err(ConfigFailure::of_file(path, problem));
    // Looked at first, because to open a device can do something.
    let found = fs::metadata(path).and_then(|metadata| {
        if !metadata.is_file() {
            return Ok(Err(metadata));
        }
        let file = regular_file_options().open(path)?;
        let metadata = file.metadata()?;
        Ok(if metadata.is_file() { Ok((file, metadata)) } else { Err(metadata) })
    });
    match found {
        Ok(Ok((file, metadata))) => {
            let identity = Identity::of(&metadata, path);
            Ok(Some(Opened { file, identity }))
        }
        Ok(Err(metadata)) => refuse(&format!("expected a regular file, got {}", kind_of(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match dangling_link(path) {
            Some(link) if link == path => refuse("expected a file, got a link whose target does not exist"),
            Some(link) => {
                refuse(&format!("expected a file, but {} is a link whose target does not exist", link.display()))
            }
            None => Ok(None),
        },
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => match file_among_ancestors(path) {
            Some(file) => refuse(&format!("expected a folder at {}, which is none", file.display())),
            None => refuse(&format!("expected a file that can be read, got: {error}")),
        },
        Err(error) => refuse(&format!("expected a file that can be read, got: {error}")),
    }
}

/// The part of the path, itself or the nearest ancestor that there is, that is a link to nowhere.
fn dangling_link(path: &Path) -> Option<PathBuf> {
    let found = path.ancestors().find(|part| fs::symlink_metadata(part).is_ok())?;
    fs::metadata(found).is_err().then(|| found.to_path_buf())
}

/// The ancestor that should be a folder.
fn file_among_ancestors(path: &Path) -> Option<PathBuf> {
    let found = path.ancestors().skip(1).find(|part| fs::metadata(part).is_ok())?;
    (!found.is_dir()).then(|| found.to_path_buf())
}

fn kind_of(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() { "a folder" } else { "a pipe, a socket or a device" }
}

#[cfg(unix)]
fn regular_file_options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = OpenOptions::new();
    // A pipe that took the file's place meanwhile must not make the agent wait for its other end.
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}

#[cfg(not(unix))]
fn regular_file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options
}

/// What tells one physical file from another.
#[cfg(unix)]
#[derive(PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

#[cfg(unix)]
impl Identity {
    fn of(metadata: &Metadata, _path: &Path) -> Identity {
        use std::os::unix::fs::MetadataExt;

        Identity { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// What tells one physical file from another: its path, once links are resolved.
#[cfg(not(unix))]
#[derive(PartialEq, Eq)]
struct Identity(PathBuf);

#[cfg(not(unix))]
impl Identity {
    fn of(_metadata: &Metadata, path: &Path) -> Identity {
        Identity(fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()))
    }
}
