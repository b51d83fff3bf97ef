//! Definitions of child agents: `*.md` files whose body is the child's system prompt, and the one that is built in.
//! Knows nothing of which tools and models there are.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::failure::DefinitionFailure;
use super::field::Fields;
use super::load::{Definition, load};
use super::{file, folder, front_matter, yaml};

/// The name of the definition that is there without a file.
pub const GENERAL_PURPOSE: &str = "general-purpose";

const GENERAL_PURPOSE_DESCRIPTION: &str =
    "Works on any task of several steps on its own, such as searching, analysing or changing files, and reports.";

const GENERAL_PURPOSE_PROMPT: &str = "\
You are an agent that works on one task, on its own, for another agent.

- The task is all that you know: you do not see the conversation that it comes from, and nobody answers questions. \
Where something is open, decide what serves the task best, and say in your report what you assumed.
- Do the task to its end with the tools that you have: all of what was asked, and nothing that was not. Look before \
you change something, and check what you did.
- When something fails, find out why and try another way. If it cannot be done, say so, with the reason and what you \
tried.
- Your last message is your report, and the only one that is read. Make it complete without the others: what you did \
and found, with names of files, lines, figures and exact words where they matter, and what is left open. State only \
what you saw.";

/// A kind of child agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// What it is for, as the model reads it. Not empty, and possibly of several lines.
    pub description: String,
    /// The only tools that it may have of its parent's, each once; none: all of them.
    pub tools: Option<Vec<String>>,
    /// As the file says it; none: the parent's.
    pub model: Option<String>,
    /// The body of the file, which is the child's system prompt. No blanks around it, and not empty.
    pub prompt: String,
}

/// Reads the `*.md` files that are directly in the folders, less those whose name begins with a dot. Folders must be
/// absolute; one that is missing has nothing. Of definitions with one name that of the last folder counts. Sorted by
/// name; [`GENERAL_PURPOSE`] is always among them, from a file or else built in. Blocks.
///
/// # Errors
/// A folder or a file is there and cannot be used, two files of one folder define the same name, or there are more than
/// [`MAX_DEFINITIONS`](super::MAX_DEFINITIONS).
pub fn load_agents(folders: &[PathBuf]) -> Result<Vec<AgentDefinition>, DefinitionFailure> {
    let mut agents = load::<AgentDefinition>(folders)?;
    agents.entry(GENERAL_PURPOSE.to_string()).or_insert_with(general_purpose);
    Ok(agents.into_values().collect())
}

fn general_purpose() -> AgentDefinition {
    AgentDefinition {
        name: GENERAL_PURPOSE.to_string(),
        description: GENERAL_PURPOSE_DESCRIPTION.to_string(),
        tools: None,
        model: None,
        prompt: GENERAL_PURPOSE_PROMPT.to_string(),
    }
}

impl Definition for AgentDefinition {
    const NOUN: &'static str = "agent definition";

    fn files(folder: &Path) -> Result<Vec<PathBuf>, (PathBuf, String)> {
        let names = folder::names(folder, |entry| entry.file_name().as_bytes().ends_with(b".md"));
        let names = names.map_err(|problem| (folder.to_path_buf(), problem))?;
        Ok(names.into_iter().map(|name| folder.join(name)).collect())
    }

    fn read(file: &Path) -> Result<AgentDefinition, String> {
        let text = file::read(file)?;
        let parts = front_matter::parts(&text)?;
        let fields = Fields::new(yaml::read(parts.front_matter)?, &["name", "description", "tools", "model"])?;
        let definition = AgentDefinition {
            name: fields.required_name()?.to_string(),
            description: fields.required_text("description")?.to_string(),
            tools: fields.words("tools")?,
            model: fields.text("model")?.map(str::to_string),
            prompt: parts.body.to_string(),
        };
        if definition.prompt.is_empty() {
            return Err("expected the agent's system prompt behind the front matter, got nothing".to_string());
        }
        Ok(definition)
    }

    fn name(&self) -> &str {
        &self.name
    }
}
