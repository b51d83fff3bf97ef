//! What the diagnostics of hooks say. What a hook threw, wrote or was given comes here with its secrets masked, and whole:
//! what was cut before could have parted a secret. Knows nothing of how redaction works.

use super::command::CommandFailure;
use super::files::CommandHook;
use super::payload::MAX_PAYLOAD_BYTES;
use crate::event::{HookError, HookFailure, HookFailureReason, Level};
use crate::json::escape_invisible;
use crate::types::HookName;

/// How much of a command's output a failure shows, from its end.
pub const MAX_OUTPUT_TAIL_BYTES: usize = 2 * 1024;

/// How much of the output is looked at: more than is shown, so that a secret is whole when it is looked for.
pub const MAX_REPORTED_OUTPUT_BYTES: usize = 12 * 1024;

/// How much of a line of output, or of a command, a message shows.
const MAX_QUOTED_CHARS: usize = 200;

/// How much a command may write; the runner is told the same.
pub const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// How many paths a message lists.
pub(super) const MAX_LISTED_PATHS: usize = 5;

/// How much of what a handler threw a message shows.
const MAX_THROWN_BYTES: usize = 16 * 1024;

/// One diagnostic about a hook, secrets masked.
#[derive(Debug, Clone, PartialEq)]
pub struct HookDiagnostic {
    pub level: Level,
    pub code: &'static str,
    pub message: String,
    /// With the code `hook_failed`.
    pub failure: Option<HookFailure>,
}

impl HookDiagnostic {
    fn failed(message: String, failure: HookFailure) -> HookDiagnostic {
        HookDiagnostic { level: Level::Error, code: "hook_failed", message, failure: Some(failure) }
    }

    /// A handler failed; `thrown`: in words, masked.
    pub(super) fn of_handler(failure: HookFailure, thrown: Option<&str>) -> HookDiagnostic {
        let event = failure.event.as_str();
        let place = failure.index;
        let message = match failure.reason {
            HookFailureReason::Timeout => format!(
                "{event} hook #{place} (programmatic) failed: timeout, it had not settled after {:.0} ms; its signal was \
                 aborted and the run went on",
                failure.duration_ms
            ),
            reason => {
                let thrown = thrown.map_or("nothing", |words| first(words, MAX_THROWN_BYTES));
                format!("{event} hook #{place} (programmatic) failed: {}, it threw {thrown}", reason.as_str())
            }
        };
        HookDiagnostic::failed(message, failure)
    }

    /// A command failed, at this place among the registrations of its event. `words`: the command, masked, as all texts of
    /// the failure are.
    pub(super) fn of_command(
        event: HookName,
        index: usize,
        command: &CommandHook,
        failed: CommandFailure,
        words: &str,
    ) -> HookDiagnostic {
        let CommandFailure { reason, exit_code, output, duration, message } = failed;
        let output = last(&output, MAX_OUTPUT_TAIL_BYTES).to_string();
        let what = what_happened(reason, exit_code, &message, &output, command.timeout.as_millis());
        let message = format!(
            "{event} hook #{index} ({source}, {file}) failed: {reason}, {what}; the command is {words}",
            event = event.as_str(),
            source = command.source.as_str(),
            file = command.config_file,
            reason = reason.as_str(),
            words = quoted(words),
        );
        let failure = HookFailure {
            event,
            source: command.source,
            config_file: Some(command.config_file.to_string()),
            index,
            reason,
            exit_code,
            duration_ms: duration.as_secs_f64() * 1000.0,
            output: (!output.is_empty()).then_some(output),
        };
        HookDiagnostic::failed(message, failure)
    }

    /// The event was shortened for the commands of one dispatch, at so many places; `listed`: the paths of the first of
    /// them, masked.
    pub(super) fn of_shortened(event: HookName, bytes: usize, listed: &[String], count: usize) -> HookDiagnostic {
        let names = listed.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(", ");
        let more = match count.saturating_sub(listed.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "{} hooks: the event has {bytes} bytes, and commands get at most {MAX_PAYLOAD_BYTES}; shortened for them: \
             {names}{more}",
            event.as_str()
        );
        HookDiagnostic { level: Level::Warning, code: "hook_input_truncated", message, failure: None }
    }
}

/// What happened to a command, and what to do where that is not plain.
fn what_happened(
    reason: HookFailureReason,
    exit_code: Option<i32>,
    said: &str,
    output: &str,
    timeout_ms: u128,
) -> String {
    let or = |otherwise: &str| if said.is_empty() { otherwise.to_string() } else { said.to_string() };
    match reason {
        HookFailureReason::Denied => format!(
            "nothing was started: {}; to let it run, allow the tool \"hook\" for it in the permission policy",
            or("permission did not allow it")
        ),
        HookFailureReason::Timeout => or(&format!("it was not over after {timeout_ms} ms and was killed")),
        HookFailureReason::Exit => {
            let code = match exit_code {
                Some(code) => or(&format!("it exited with code {code}")),
                None => or("its exit code was not 0"),
            };
            match output.lines().rev().find(|line| !line.trim().is_empty()) {
                Some(line) => format!("{code}, and last wrote {}", quoted(line.trim())),
                None => format!("{code}, and wrote nothing"),
            }
        }
        HookFailureReason::Signal => or("a signal killed it"),
        HookFailureReason::Spawn => or("it could not be started"),
        HookFailureReason::Sandbox => or("the sandbox could not be set up, so nothing was started"),
        HookFailureReason::InputLimit => {
            or("its event is too long, and cannot be shortened to fit, so nothing was started")
        }
        HookFailureReason::OutputLimit => {
            or(&format!("it wrote more than the {MAX_OUTPUT_BYTES} bytes that it may and was killed"))
        }
        HookFailureReason::MemoryLimit => or("it took more memory than bash.memoryBytes allows and was killed"),
        HookFailureReason::Error => or("something failed that was not the command"),
    }
}

/// The error as a message says it.
pub(super) fn in_words(error: &HookError) -> String {
    format!("{}: {}", error.name, error.message)
}

/// The longest beginning of the text that fits into `max_bytes` and ends between characters.
fn first(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or(text)
}

/// The longest end of the text that fits into `max_bytes` and begins between characters.
pub(super) fn last(text: &str, max_bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(max_bytes))..).unwrap_or(text)
}

/// In double quotes, in one line, and cut where it is long.
fn quoted(text: &str) -> String {
    let end = text.char_indices().nth(MAX_QUOTED_CHARS).map_or(text.len(), |(at, _)| at);
    let cut = if end < text.len() { "…" } else { "" };
    escape_invisible(&serde_json::Value::from(format!("{}{cut}", text.get(..end).unwrap_or(text))).to_string())
}
