//! Definitions of child agents and skills as JS reads them, once for each agent that is made.

use std::path::PathBuf;

use napi::bindgen_prelude::Error;
use napi_derive::napi;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::text::Text;
use crate::agent::agent_prefix;
use crate::definitions::{AgentDefinition, DefinitionFailure, load_agents, load_skills};
use crate::hooks::HookFiles;
use crate::permission::redact::redact_text;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Folders {
    /// Absent: there are no agents.
    agents: Option<Vec<PathBuf>>,
    skills: Vec<PathBuf>,
}

/// An agent as JS reads it.
#[derive(Serialize)]
struct ToldAgent<'a> {
    name: &'a str,
    description: &'a str,
    prompt: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
}

impl ToldAgent<'_> {
    fn of(agent: &AgentDefinition) -> ToldAgent<'_> {
        let AgentDefinition { name, description, prompt, tools, model } = agent;
        ToldAgent { name, description, prompt, tools: tools.as_deref(), model: model.as_deref() }
    }
}

/// Reads what is in the folders, given as JSON text of `{ agents?: string[], skills: string[] }`; later ones win. Answers
/// `{ agents, skills }` as JSON text.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn load_definitions(folders: String) -> Result<Text, Error<&'static str>> {
    let Folders { agents, skills } =
        serde_json::from_str(&folders).map_err(|error| Error::new("internal", error.to_string()))?;
    let agents = agents.map(|folders| load_agents(&folders)).transpose().map_err(thrown)?.unwrap_or_default();
    let skills = load_skills(&skills).map_err(thrown)?;
    let agents: Vec<_> = agents.iter().map(ToldAgent::of).collect();
    let skills: Vec<_> = skills
        .iter()
        .map(|skill| {
            json!({
                "name": skill.name, "description": skill.description, "tags": skill.tags,
                "folder": skill.folder.to_string_lossy(),
            })
        })
        .collect();
    Ok(Text(json!({ "agents": agents, "skills": skills }).to_string().into_bytes()))
}

/// What has more than a message crosses as JSON text.
fn thrown(failure: DefinitionFailure) -> Error<&'static str> {
    // What was found instead is quoted, and a link may lead to a file of secrets.
    let message = redact_text(&failure.message);
    Error::new("definition", json!({ "message": message, "file": failure.file }).to_string())
}

/// Reads hooks.json files as a family does, for what is wrong with them alone.
#[napi(catch_unwind)]
pub fn check_hook_files(home: String, workdir: String) -> Result<(), Error<&'static str>> {
    HookFiles::load(&PathBuf::from(home), &PathBuf::from(workdir)).map(|_files| ()).map_err(|failure| {
        let data = json!({ "message": redact_text(&failure.message), "file": failure.file,
            "path": failure.path.as_deref().map(redact_text) });
        Error::new("hook_file", data.to_string())
    })
}

/// How the ids of all children of a session begin.
#[napi(catch_unwind)]
pub fn agent_id_prefix(session_id: String) -> String {
    agent_prefix(&session_id)
}
