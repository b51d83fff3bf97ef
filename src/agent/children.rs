//! The `Agent` tool: reads the tasks of a call, refuses what cannot be started, and hands the rest to a group. Nothing of a
//! call is started unless all of it can be.

use std::collections::HashSet;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;

use super::group::{Group, Task};
use super::run::Run;
use crate::tools::builtin::ToolOutcome;
use crate::types::nearest::nearest;

/// What a definition or a task says where it does not choose a model.
const INHERIT: &str = "inherit";
/// The tiers of `models`; where a host has one model, each means that one.
const TIERS: [&str; 3] = ["simple", "medium", "complex"];
/// Names are shown, and are part of what the model is told.
const MAX_NAME_CHARACTERS: usize = 120;

#[derive(Deserialize)]
struct AgentInput {
    tasks: Vec<TaskInput>,
}

#[derive(Deserialize)]
struct TaskInput {
    display_name: String,
    subagent_type: String,
    prompt: String,
    model: Option<String>,
    resume: Option<String>,
}

impl Run {
    /// Starts the children of a call; answers before any of them has begun.
    pub(super) fn run_agent_tool(&self, input: &Value) -> ToolOutcome {
        match self.start_group(input) {
            Ok(content) => ToolOutcome { content, is_error: false },
            Err(problem) => ToolOutcome { content: format!("Error: {problem}"), is_error: true },
        }
    }

    fn start_group(&self, input: &Value) -> Result<String, String> {
        let AgentInput { tasks } = AgentInput::deserialize(input).map_err(|error| error.to_string())?;
        let mut resumed = HashSet::new();
        let tasks =
            tasks.into_iter().map(|task| self.plan(task, &mut resumed)).collect::<Result<Vec<Task>, String>>()?;
        if let Some((used, limit)) = self.budget.exceeded() {
            return Err(format!(
                "no agents were started, for {used} tokens were used, over the maxTotalTokens of {limit} that they would share"
            ));
        }
        self.family.admit_group()?;
        let group = Group::new(self, &tasks);
        let mut content = format!(
            "Accepted: {} with {}. They work in the background, and what they come to arrives as a message of its own \
             when all of them are over: go on with something else, or end your turn.",
            group.id,
            if tasks.len() == 1 { "1 agent".to_string() } else { format!("{} agents", tasks.len()) },
        );
        for task in &tasks {
            content.push_str(&format!("\n- {} (agentId: {})", task.name, task.agent));
        }
        group.start(tasks);
        Ok(content)
    }

    fn plan(&self, task: TaskInput, resumed: &mut HashSet<String>) -> Result<Task, String> {
        let TaskInput { display_name, subagent_type, prompt, model, resume } = task;
        let name = one_line(&display_name);
        let definitions = &self.family.options.definitions;
        let Some(definition) = definitions.iter().position(|definition| definition.name == subagent_type) else {
            let names = || definitions.iter().map(|definition| definition.name.as_str());
            let hint = match nearest(&subagent_type, names()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(format!("task '{name}': there is no subagent_type '{}'; {hint}", shown(&subagent_type)));
        };
        let own = definitions.get(definition).and_then(|definition| definition.model.as_deref());
        let model = match (model.as_deref(), own) {
            (Some(INHERIT), _) | (None, None | Some(INHERIT)) => None,
            (Some(model), _) => self.choose_model(&name, model)?,
            // Definitions are shared with other hosts: one that this host cannot follow is warned of, and inherits.
            (None, Some(own)) => self.choose_model(&name, own).unwrap_or(None),
        };
        let resumes = resume.is_some();
        let agent: Rc<str> = match resume {
            None => self.family.new_agent_id(&self.owner).into(),
            Some(agent) => {
                self.check_resume(&name, &agent)?;
                if !resumed.insert(agent.clone()) {
                    return Err(format!("task '{name}': another task of this call resumes {agent} as well"));
                }
                agent.into()
            }
        };
        Ok(Task { name, agent, resumes, definition, model, prompt })
    }

    /// The choice that the host is told; nothing where it is the parent's own model.
    fn choose_model(&self, name: &str, model: &str) -> Result<Option<String>, String> {
        let tiers = TIERS.contains(&model);
        match (self.family.options.has_tiers, tiers) {
            (true, true) => Ok(Some(model.to_string())),
            (true, false) => {
                let hint = nearest(model, TIERS).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
                Err(format!(
                    "task '{name}': model must be {}, or {INHERIT}, got '{}'{hint}",
                    TIERS.join(", "),
                    shown(model)
                ))
            }
            (false, true) => Ok(None),
            (false, false) => Ok(Some(model.to_string())),
        }
    }

    fn check_resume(&self, name: &str, agent: &str) -> Result<(), String> {
        if !self.family.is_agent_of(agent, &self.owner) {
            return Err(format!("task '{name}': this session has no agent '{}' to resume", shown(agent)));
        }
        if self.family.live_agents.borrow().contains(agent) {
            return Err(format!("task '{name}': {agent} is still at work; resume it when it is over"));
        }
        Ok(())
    }
}

/// Whether it chooses a model where there are tiers.
pub(super) fn is_model(name: &str) -> bool {
    name == INHERIT || TIERS.contains(&name)
}

/// A name on one line, of bounded length.
fn one_line(name: &str) -> String {
    // Control characters end a line as well, for some readers.
    let words = name.split(|character: char| character.is_whitespace() || character.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(MAX_NAME_CHARACTERS).collect();
    if cut.is_empty() { "agent".to_string() } else { cut }
}

/// The start of what a model wrote, for a message.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
