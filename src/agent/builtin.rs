//! Calls of built-in tools: which part of the core executes which tool, and what permission sees of its input.

use serde_json::Value;

use super::run::{Run, Stopped};
use super::tool_call::Ended;
use crate::host::Effect;
use crate::tasks::TaskTool;
use crate::tools::builtin::{AGENT_TOOL, ToolOutcome};
use crate::types::CallId;

/// Who executes a built-in tool.
enum Work {
    Files,
    Bash,
    BackgroundOutput,
    KillBackground,
    Agent,
    Skill,
    Tasks(TaskTool),
    /// The host has what it is about.
    Host,
}

impl Work {
    fn of(tool: &str) -> Work {
        match tool {
            "bash" => Work::Bash,
            "BashOutput" => Work::BackgroundOutput,
            "KillBackground" => Work::KillBackground,
            AGENT_TOOL => Work::Agent,
            "load_skill" => Work::Skill,
            "TaskCreate" => Work::Tasks(TaskTool::Create),
            "TaskUpdate" => Work::Tasks(TaskTool::Update),
            "TaskGet" => Work::Tasks(TaskTool::Get),
            "TaskList" => Work::Tasks(TaskTool::List),
            "context" | "ask_user" => Work::Host,
            _ => Work::Files,
        }
    }
}

impl Run {
    /// The input of a built-in tool as permission sees it, and as the tool gets it: a file's path is canonical.
    ///
    /// # Errors
    /// Content of the failed result: the path leads outside, or cannot be resolved.
    pub(super) async fn canonical_input(&self, tool: &'static str, input: Value) -> Result<Value, String> {
        match Work::of(tool) {
            Work::Files => self.canonical_file_input(tool, input).await,
            _ => Ok(input),
        }
    }

    /// Executes a built-in tool on the input that permission saw.
    ///
    /// # Errors
    /// The session's log could not be written.
    pub(super) async fn run_builtin(
        &self,
        tool: &'static str,
        input: &Value,
        call: CallId,
        turn: u32,
    ) -> Result<Ended, Stopped> {
        let ToolOutcome { content, is_error } = match Work::of(tool) {
            Work::Host => return Ok(self.run_host_tool(tool, call).await),
            Work::Files => self.run_file_tool(tool, input.clone(), call, turn).await?,
            Work::Bash => self.run_bash(input).await,
            Work::BackgroundOutput => self.read_background(input).await,
            Work::KillBackground => self.kill_background(input).await,
            Work::Agent => self.run_agent_tool(input),
            Work::Skill => self.load_skill(input).await,
            Work::Tasks(kind) => self.run_task_tool(kind, input).await,
        };
        Ok(Ended { result: self.keep_result(call, &content, is_error), is_error, thrown: None })
    }

    async fn run_host_tool(&self, tool: &'static str, call: CallId) -> Ended {
        let pending = self.family.host.call(|id| Effect::HostTool { id, run: self.key, call, name: tool });
        let result = pending.id();
        let answer = pending.await;
        match answer.outcome {
            Ok(is_error) => Ended { result, is_error: is_error == "true", thrown: None },
            Err(error) => self.failed(call, &format!("Error: {}", error.message)),
        }
    }
}
