//! Finds and reads both hooks.json files, once, when an agent is made. One bad entry fails its file: there is no partial
//! load. Never waits. Knows nothing of who runs what.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use thiserror::Error;

use super::config::{Configuration, Entry};
use crate::config_file::ConfigFile;
use crate::event::HookOrigin;
use crate::glob::Glob;
use crate::json::{JsonError, decode_text, read};
use crate::types::HookName;

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
            && !first.is_some_and(|first| first.is_same(&second))
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

    fn add(&mut self, source: HookOrigin, path: &Path, opened: &ConfigFile) -> Result<(), ConfigFailure> {
        let bytes = opened.read().map_err(|problem| ConfigFailure::of_file(path, &problem))?;
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let read = decode_text(bytes).and_then(read).and_then(|document| Configuration::read(&document));
        let configuration = read.map_err(|mut error| {
            if is_other_text(bytes) {
                error.problem = "expected a JSON object, got other text".to_string();
            }
            ConfigFailure::of_json(path, error)
        })?;
        let file: Rc<str> = path.display().to_string().into();
        for (event, entries) in configuration.events {
            let hooks = entries.into_iter().map(|entry| (event, Rc::new(CommandHook::new(source, &file, entry))));
            self.commands.extend(hooks);
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<Option<ConfigFile>, ConfigFailure> {
    ConfigFile::open(path).map_err(|problem| ConfigFailure::of_file(path, &problem))
}

/// Whether this is some other kind of file: a project may have a link here that leads to one with a secret, and nothing of
/// that is to be in an error.
fn is_other_text(bytes: &[u8]) -> bool {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    first.is_some_and(|byte| byte.is_ascii_alphanumeric())
}
