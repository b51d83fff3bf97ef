//! The `load_skill` tool: a skill's instructions as they are now, and where its other files are.

use serde_json::Value;

use super::run::Run;
use crate::definitions::Skill;
use crate::tools::builtin::ToolOutcome;
use crate::types::nearest::nearest;

impl Run {
    pub(super) async fn load_skill(&self, input: &Value) -> ToolOutcome {
        match self.read_skill(input).await {
            Ok(content) => ToolOutcome { content, is_error: false },
            Err(problem) => ToolOutcome { content: format!("Error: {problem}"), is_error: true },
        }
    }

    async fn read_skill(&self, input: &Value) -> Result<String, String> {
        let name = input.get("name").and_then(Value::as_str).unwrap_or_default();
        let skills = &self.family.options.skills;
        let Some(skill) = skills.iter().find(|skill| skill.name == name) else {
            let shown: String = name.chars().take(80).collect();
            let names = || skills.iter().map(|skill| skill.name.as_str());
            let hint = match nearest(name, names()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(format!("there is no skill '{shown}'; {hint}"));
        };
        let (name, folder) = (skill.name.clone(), skill.folder.clone());
        let read = move || Skill { name, description: String::new(), tags: Vec::new(), folder }.read();
        let body = self.blocking(read).await??;
        Ok(format!("{body}\n\n[the files of this skill are in {}]", skill.folder.display()))
    }
}
