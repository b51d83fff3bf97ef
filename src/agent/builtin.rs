//! Calls of built-in tools: which part of the core executes which tool, and what permission sees of its input.

use serde_json::Value;

use super::run::{Run, Stopped};
use super::tool_call::Ended;
use crate::host::Effect;
use crate::tools::builtin::ToolOutcome;
use crate::types::CallId;

/// Runs commands. What is not named here is about files.
const BASH: &str = "bash";
/// Reads archived results, which the host has.
const CONTEXT: &str = "context";

impl Run {
    /// The input of a built-in tool as permission sees it, and as the tool gets it: a file's path is canonical.
    ///
    /// # Errors
    /// Content of the failed result: the path leads outside, or cannot be resolved.
    pub(super) async fn canonical_input(&self, tool: &'static str, input: Value) -> Result<Value, String> {
        if matches!(tool, BASH | CONTEXT) { Ok(input) } else { self.canonical_file_input(tool, input).await }
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
        if tool == CONTEXT {
            let pending = self.family.host.call(|id| Effect::HostTool { id, run: self.key, call, name: tool });
            let result = pending.id();
            let answer = pending.await;
            return Ok(match answer.outcome {
                Ok(is_error) => Ended { result, is_error: is_error == "true", thrown: None },
                Err(error) => self.failed(call, &format!("Error: {}", error.message)),
            });
        }
        let ToolOutcome { content, is_error } = if tool == BASH {
            self.run_bash(input).await
        } else {
            self.run_file_tool(tool, input.clone(), call, turn).await?
        };
        Ok(Ended { result: self.keep_result(call, &content, is_error), is_error, thrown: None })
    }
}
