//! The tools of an agent by name, with their native validators and who executes them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use serde::Deserialize;

use super::builtin::{AGENT_TOOL, BuiltinTool, builtin_tools};
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
    /// A valid call of it ends the run.
    #[serde(default)]
    pub is_final: bool,
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
    /// A valid call of it ends the run. It does nothing else.
    pub is_final: bool,
}

thread_local! {
    static COMPILED: RefCell<HashMap<&'static str, JsonSchema>> = RefCell::default();
}

/// The schema of a built-in tool, which is the same for all agents of a thread: compiled when the first has it.
fn compiled(tool: &BuiltinTool) -> Result<JsonSchema, String> {
    COMPILED.with_borrow_mut(|known| {
        if let Some(schema) = known.get(tool.name) {
            return Ok(schema.clone());
        }
        let schema = JsonSchema::compile(tool.parameters)?;
        known.insert(tool.name, schema.clone());
        Ok(schema)
    })
}

/// All tools of an agent.
#[derive(Default)]
pub struct ToolSet {
    by_name: HashMap<String, Rc<Tool>>,
    has_final: bool,
}

impl ToolSet {
    /// Compiles the schemas. A tool of the host replaces the built-in one of its name.
    ///
    /// # Errors
    /// A sentence that names the tool whose schema cannot be used, or that is no built-in one.
    pub fn new(specifications: Vec<ToolSpecification>, builtin: &[String]) -> Result<ToolSet, String> {
        let mut by_name = HashMap::with_capacity(specifications.len() + builtin.len());
        for name in builtin {
            let Some(tool) = builtin_tools().find(|tool| tool.name == name) else {
                return Err(format!("tools: there is no built-in tool '{name}'"));
            };
            let schema = compiled(&tool).map_err(|problem| format!("tools: the schema of '{name}': {problem}"))?;
            let executor = Executor::Builtin(tool.name);
            let built_in = Tool { executor, schema: Some(schema), timeout: None, is_final: false };
            by_name.insert(name.clone(), Rc::new(built_in));
        }
        for (index, specification) in specifications.into_iter().enumerate() {
            let schema = match &specification.schema {
                None => None,
                Some(text) => Some(JsonSchema::compile(text).map_err(|problem| match specification.is_final {
                    true => format!("outputSchema: {problem}"),
                    false => format!("tools: the schema of '{}': {problem}", specification.name),
                })?),
            };
            let timeout = specification.timeout_ms.map(|milliseconds| Duration::from_millis(milliseconds.into()));
            let own = Tool { executor: Executor::Host(index), schema, timeout, is_final: specification.is_final };
            by_name.insert(specification.name, Rc::new(own));
        }
        let has_final = by_name.values().any(|tool| tool.is_final);
        Ok(ToolSet { by_name, has_final })
    }

    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).map(Rc::as_ref)
    }

    /// Whether the built-in tool of this name is there, and no other in its place.
    pub fn has_builtin(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| matches!(tool.executor, Executor::Builtin(_)))
    }

    /// Whether there is a tool that ends the run.
    pub fn has_final(&self) -> bool {
        self.has_final
    }

    /// The tools of a child: those of its parent that its definition names, all if it names none; never those that are the
    /// root's alone.
    pub fn for_child(&self, names: Option<&[String]>) -> ToolSet {
        let has = |name: &str, tool: &Tool| {
            tool.executor != Executor::Builtin(AGENT_TOOL)
                && !tool.is_final
                && names.is_none_or(|names| names.iter().any(|named| named == name))
        };
        let by_name = self.by_name.iter().filter(|(name, tool)| has(name, tool));
        ToolSet { by_name: by_name.map(|(name, tool)| (name.clone(), tool.clone())).collect(), has_final: false }
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
