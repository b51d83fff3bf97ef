//! Definitions of child agents (`agents/*.md`) and of skills (`skills/*/SKILL.md`): markdown files that begin with YAML
//! front matter. Finds and reads them, once, when an agent is made; one file that cannot be used fails the whole. Never
//! waits: what is no regular file is refused before anything is read of it. Knows nothing of who runs a child or loads
//! a skill, and no tool or model by name.

mod agent;
mod failure;
mod field;
mod file;
mod folder;
mod front_matter;
mod load;
mod skill;
mod yaml;

pub use agent::{AgentDefinition, GENERAL_PURPOSE, load_agents};
pub use failure::DefinitionFailure;
pub use load::MAX_DEFINITIONS;
pub use skill::{Skill, load_skills};
