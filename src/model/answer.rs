//! What a model answered, checked. A provider is foreign code: whatever it yields either fits the contract or fails the
//! run with a sentence that names the place.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::CoreError;
use crate::types::{MessageOutline, Role, StopReason, Usage, message};

/// One complete answer.
#[derive(Debug)]
pub struct ModelAnswer {
    pub message: MessageOutline,
    pub usage: Usage,
    pub stop_reason: StopReason,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerWire<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    /// Calls, by position among the message's calls, whose input the host could not take, and why.
    #[serde(default)]
    refused: Vec<(usize, String)>,
}

/// Checks what came with `message_done`.
///
/// # Errors
/// `CoreError::Provider` that names the field.
pub fn read_answer(json: &str) -> Result<ModelAnswer, CoreError> {
    read(json).map_err(|problem| CoreError::Provider(format!("the model's message_done chunk: {problem}")))
}

fn read(json: &str) -> Result<ModelAnswer, String> {
    let wire: AnswerWire<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let mut message = message::outline(wire.message.ok_or("message is missing")?.get()).map_err(|problem| {
        if problem.starts_with("must") { format!("message {problem}") } else { format!("message.{problem}") }
    })?;
    if message.role != Role::Assistant {
        return Err("message.role must be \"assistant\"".to_string());
    }
    for (position, reason) in wire.refused {
        if let Some(call) = message.calls.get_mut(position) {
            call.refused = Some(reason);
        }
    }
    let usage = read_usage(wire.usage.ok_or("usage is missing; give { inputTokens, outputTokens }")?.get())?;
    let stop_reason = match wire.stop_reason {
        Some(reason) => serde_json::from_str(reason.get())
            .map_err(|_| "stopReason must be \"stop\", \"tool_use\" or \"max_tokens\"".to_string())?,
        None if message.calls.is_empty() => StopReason::Stop,
        None => StopReason::ToolUse,
    };
    Ok(ModelAnswer { message, usage, stop_reason })
}

fn read_usage(json: &str) -> Result<Usage, String> {
    let usage: Usage = serde_json::from_str(json).map_err(|_| {
        "usage must be { inputTokens, outputTokens, cacheReadTokens?, cacheCreationTokens? } of numbers".to_string()
    })?;
    for (name, value) in [
        ("inputTokens", Some(usage.input_tokens)),
        ("outputTokens", Some(usage.output_tokens)),
        ("cacheReadTokens", usage.cache_read_tokens),
        ("cacheCreationTokens", usage.cache_creation_tokens),
    ] {
        if value.is_some_and(|value| value < 0.0) {
            return Err(format!("usage.{name} must not be negative"));
        }
    }
    Ok(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infers_the_stop_reason_and_marks_refused_calls() {
        let answer = read_answer(
            r#"{"message":{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_call","id":"1","name":"a","input":"[nested too deeply]"}]},
            "usage":{"inputTokens":1,"outputTokens":2},"refused":[[0,"too deep"]]}"#,
        );
        let Ok(answer) = answer else { panic!("{answer:?}") };
        assert_eq!(answer.stop_reason, StopReason::ToolUse);
        assert_eq!(answer.message.calls.first().and_then(|call| call.refused.as_deref()), Some("too deep"));
    }

    #[test]
    fn names_what_is_wrong() {
        let message = r#""message":{"role":"assistant","content":[]}"#;
        let usage = r#""usage":{"inputTokens":0,"outputTokens":0}"#;
        for (json, expected) in [
            (format!("{{{usage}}}"), "message is missing"),
            (format!("{{\"message\":3,{usage}}}"), "message must be an object"),
            (format!("{{{message}}}"), "usage is missing"),
            (format!("{{{message},\"usage\":3}}"), "usage must be"),
            (
                format!("{{{message},\"usage\":{{\"inputTokens\":-1,\"outputTokens\":0}}}}"),
                "usage.inputTokens must not",
            ),
            (format!("{{{message},{usage},\"stopReason\":\"done\"}}"), "stopReason must be"),
            (format!("{{\"message\":{{\"role\":\"user\",\"content\":\"\"}},{usage}}}"), "message.role must be"),
        ] {
            let problem = read_answer(&json).map(|_| ()).map_err(|error| error.to_string());
            assert!(matches!(&problem, Err(text) if text.contains(expected)), "{json}: {problem:?}");
        }
    }
}
