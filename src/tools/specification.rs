//! The tools of an agent by name, with their native validators and who executes them.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;

use super::builtin::BUILTIN_TOOLS;
use super::schema::JsonSchema;
use crate::types::nearest::nearest;

/// What the host says of one tool of its own.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolSpecification {
    pub name: String,
    /// JSON text of a plain JSON Schema, validated here. Absent: the host validates.
    pub schema: Option<String>,
    pub timeout_ms: Option<u32>,
}

/// Who executes a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    /// The host: position in its list.
    Host(usize),
    /// The core: the built-in tool of this name.
    Builtin(&'static str),
}

/// One tool, ready to be called.
pub struct Tool {
    pub executor: Executor,
    pub schema: Option<JsonSchema>,
    pub timeout: Option<Duration>,
}

/// All tools of an agent.
#[derive(Default)]
pub struct ToolSet {
    by_name: HashMap<String, Tool>,
}

impl ToolSet {
    /// Compiles the schemas. A tool of the host replaces the built-in one of its name.
    ///
    /// # Errors
    /// A sentence that names the tool whose schema cannot be used, or that is no built-in one.
    pub fn new(specifications: Vec<ToolSpecification>, builtin: &[String]) -> Result<ToolSet, String> {
        let mut by_name = HashMap::with_capacity(specifications.len() + builtin.len());
        for name in builtin {
            let Some(tool) = BUILTIN_TOOLS.iter().find(|tool| tool.name == name) else {
                return Err(format!("tools: there is no built-in tool '{name}'"));
            };
            let schema = JsonSchema::compile(tool.parameters)
                .map_err(|problem| format!("tools: the schema of '{name}': {problem}"))?;
            let executor = Executor::Builtin(tool.name);
            by_name.insert(name.clone(), Tool { executor, schema: Some(schema), timeout: None });
        }
        for (index, specification) in specifications.into_iter().enumerate() {
            let schema = match &specification.schema {
                None => None,
                Some(text) => Some(
                    JsonSchema::compile(text)
                        .map_err(|problem| format!("tools: the schema of '{}': {problem}", specification.name))?,
                ),
            };
            let timeout = specification.timeout_ms.map(|milliseconds| Duration::from_millis(milliseconds.into()));
            by_name.insert(specification.name, Tool { executor: Executor::Host(index), schema, timeout });
        }
        Ok(ToolSet { by_name })
    }

    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name)
    }

    /// What the model is told of a tool that is not there.
    pub fn unknown(&self, name: &str) -> String {
        let shown: String = name.chars().take(80).collect();
        match nearest(name, self.by_name.keys().map(String::as_str)) {
            Some(near) => format!("Error: unknown tool '{shown}'; did you mean '{near}'?"),
            None => format!("Error: unknown tool '{shown}'"),
        }
    }
}
