//! Whether a request is one that the model APIs would take: who speaks when, which results answer which calls, what a
//! block holds. Reads JSON alone; knows no provider, and nothing of how requests come about.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::types::nearest::nearest;

const BLOCK_TYPES: [&str; 7] = ["text", "reasoning", "image", "tool_call", "tool_result", "native", "compaction"];

/// Checks `{ system?, messages, tools? }`.
///
/// # Errors
/// The first problem, as a sentence that begins with its place: `messages[3].content[0].id …`.
pub fn check_request(json: &str) -> Result<(), String> {
    let request: Value = serde_json::from_str(json).map_err(|error| format!("the request is not JSON: {error}"))?;
    let Value::Object(request) = request else { return Err("the request must be an object".to_string()) };
    if request.get("system").is_some_and(|system| !system.is_string()) {
        return Err("system must be a string".to_string());
    }
    if let Some(tools) = request.get("tools") {
        check_tools(tools)?;
    }
    let Some(Value::Array(messages)) = request.get("messages") else {
        return Err("messages must be an array".to_string());
    };
    check_conversation(messages)
}

fn check_tools(tools: &Value) -> Result<(), String> {
    let tools = tools.as_array().ok_or("tools must be an array")?;
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        let tool = tool.as_object().ok_or_else(|| format!("{place} must be an object"))?;
        let name = filled_string(tool, "name", &place)?;
        string(tool, "description", &place)?;
        if !tool.get("parameters").is_some_and(Value::is_object) {
            return Err(format!("{place}.parameters must be a JSON Schema object"));
        }
        if !names.insert(name) {
            return Err(format!("{place}.name \"{}\" is the name of an earlier tool", start_of(name)));
        }
    }
    Ok(())
}

/// The two sides of a conversation. Messages of the role `tool` are on the user's.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    User,
    Assistant,
}

fn check_conversation(messages: &[Value]) -> Result<(), String> {
    if messages.is_empty() {
        return Err("messages must not be empty".to_string());
    }
    let mut expected = Side::User;
    let mut open_calls: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        let message = message.as_object().ok_or_else(|| format!("{place} must be an object"))?;
        let role = string(message, "role", &place)?;
        let side = side(role, &place)?;
        if side != expected {
            return Err(out_of_turn(&place, role, index));
        }
        let found = check_content(message.get("content"), side, &place)?;
        if role == "tool" && found.results.is_empty() {
            return Err(format!("{place}.content must hold a tool_result, as its role is tool"));
        }
        check_answers(&open_calls, &found.results, &place)?;
        open_calls = found.calls;
        expected = if side == Side::User { Side::Assistant } else { Side::User };
    }
    match open_calls.first() {
        Some(id) => Err(format!(
            "messages[{}] holds the tool_call \"{}\", and no message with its tool_result follows",
            messages.len() - 1,
            start_of(id)
        )),
        None => Ok(()),
    }
}

fn side(role: &str, place: &str) -> Result<Side, String> {
    match role {
        "user" | "tool" => Ok(Side::User),
        "assistant" => Ok(Side::Assistant),
        "system" => Err(format!("{place}.role is system: the system prompt belongs in request.system")),
        other => {
            let other = start_of(other);
            Err(format!("{place}.role must be user, assistant or tool, got \"{other}\""))
        }
    }
}

fn out_of_turn(place: &str, role: &str, index: usize) -> String {
    if index == 0 {
        return format!("{place}.role must be user, as the first message is the user's, got {role}");
    }
    format!(
        "{place}.role is {role}, but user and assistant must alternate and messages[{}] is of the same side",
        index - 1
    )
}

/// The ids in one message, in order.
#[derive(Default)]
struct Found<'a> {
    calls: Vec<&'a str>,
    results: Vec<&'a str>,
}

fn check_content<'a>(content: Option<&'a Value>, side: Side, place: &str) -> Result<Found<'a>, String> {
    let mut found = Found::default();
    let blocks = match content {
        Some(Value::String(text)) if text.is_empty() => return Err(format!("{place}.content is empty")),
        Some(Value::String(_)) => return Ok(found),
        Some(Value::Array(blocks)) if blocks.is_empty() => return Err(format!("{place}.content is empty")),
        Some(Value::Array(blocks)) => blocks,
        _ => return Err(format!("{place}.content must be a string or an array of blocks")),
    };
    for (index, block) in blocks.iter().enumerate() {
        let place = format!("{place}.content[{index}]");
        let block = block.as_object().ok_or_else(|| format!("{place} must be a block"))?;
        match check_block(block, &place)? {
            Kind::Call(_) if side == Side::User => {
                return Err(format!("{place} is a tool_call, which only an assistant message may hold"));
            }
            Kind::Result(_) if side == Side::Assistant => {
                return Err(format!("{place} is a tool_result, which only a user or tool message may hold"));
            }
            Kind::Result(_) if found.results.len() < index => {
                return Err(format!("{place} is a tool_result behind another block: results come first"));
            }
            Kind::Call(id) => remember(&mut found.calls, id, "tool_call", &place)?,
            Kind::Result(id) => remember(&mut found.results, id, "tool_result", &place)?,
            Kind::Other => {}
        }
    }
    Ok(found)
}

fn remember<'a>(ids: &mut Vec<&'a str>, id: &'a str, kind: &str, place: &str) -> Result<(), String> {
    if ids.contains(&id) {
        return Err(format!("{place}.id \"{}\" is the id of an earlier {kind} of the same message", start_of(id)));
    }
    ids.push(id);
    Ok(())
}

fn check_answers(calls: &[&str], results: &[&str], place: &str) -> Result<(), String> {
    if let Some(id) = calls.iter().find(|id| !results.contains(id)) {
        return Err(format!(
            "{place} holds no tool_result for the tool_call \"{}\" of the message before",
            start_of(id)
        ));
    }
    match results.iter().position(|id| !calls.contains(id)) {
        Some(index) => {
            let id = results.get(index).copied().unwrap_or("");
            Err(format!(
                "{place}.content[{index}] is a tool_result for \"{}\", which is no tool_call of the message before",
                start_of(id)
            ))
        }
        None => Ok(()),
    }
}

enum Kind<'a> {
    Call(&'a str),
    Result(&'a str),
    Other,
}

fn check_block<'a>(block: &'a Map<String, Value>, place: &str) -> Result<Kind<'a>, String> {
    match string(block, "type", place)? {
        "text" => filled_string(block, "text", place).map(|_| Kind::Other),
        "image" => {
            filled_string(block, "mediaType", place)?;
            filled_string(block, "data", place).map(|_| Kind::Other)
        }
        "reasoning" => check_reasoning(block, place).map(|()| Kind::Other),
        "tool_call" => {
            let id = filled_string(block, "id", place)?;
            filled_string(block, "name", place)?;
            present(block, "input", place)?;
            Ok(Kind::Call(id))
        }
        "tool_result" => {
            let id = filled_string(block, "id", place)?;
            check_result_content(block.get("content"), place)?;
            if block.get("isError").is_some_and(|is_error| !is_error.is_boolean()) {
                return Err(format!("{place}.isError must be a boolean"));
            }
            Ok(Kind::Result(id))
        }
        "native" => {
            filled_string(block, "provider", place)?;
            present(block, "data", place)?;
            Ok(Kind::Other)
        }
        "compaction" => match block.get("content") {
            Some(Value::Null) => Ok(Kind::Other),
            _ => filled_string(block, "content", place).map(|_| Kind::Other),
        },
        other => Err(unknown_type(other, place)),
    }
}

/// A provider may hide what a model thought and give its signature alone.
fn check_reasoning(block: &Map<String, Value>, place: &str) -> Result<(), String> {
    let text = string(block, "text", place)?;
    if block.contains_key("signature") {
        filled_string(block, "signature", place)?;
    } else if text.is_empty() {
        return Err(format!("{place}.text is empty"));
    }
    Ok(())
}

/// An empty result is an answer; an empty block in one is none.
fn check_result_content(content: Option<&Value>, place: &str) -> Result<(), String> {
    let blocks = match content {
        Some(Value::String(_)) => return Ok(()),
        Some(Value::Array(blocks)) => blocks,
        _ => return Err(format!("{place}.content must be a string or an array of text and image blocks")),
    };
    for (index, block) in blocks.iter().enumerate() {
        let place = format!("{place}.content[{index}]");
        let block = block.as_object().ok_or_else(|| format!("{place} must be a block"))?;
        let kind = string(block, "type", &place)?;
        if !matches!(kind, "text" | "image") {
            return Err(format!("{place}.type must be text or image in a tool_result, got \"{}\"", start_of(kind)));
        }
        check_block(block, &place)?;
    }
    Ok(())
}

fn unknown_type(kind: &str, place: &str) -> String {
    let meant = nearest(kind, BLOCK_TYPES).map(|meant| format!("; did you mean \"{meant}\"?")).unwrap_or_default();
    format!("{place}.type must be one of {}, got \"{}\"{meant}", BLOCK_TYPES.join(", "), start_of(kind))
}

fn present(object: &Map<String, Value>, field: &str, place: &str) -> Result<(), String> {
    if object.contains_key(field) { Ok(()) } else { Err(format!("{place}.{field} is missing")) }
}

fn string<'a>(object: &'a Map<String, Value>, field: &str, place: &str) -> Result<&'a str, String> {
    match object.get(field) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("{place}.{field} must be a string")),
        None => Err(format!("{place}.{field} is missing")),
    }
}

fn filled_string<'a>(object: &'a Map<String, Value>, field: &str, place: &str) -> Result<&'a str, String> {
    let text = string(object, field, place)?;
    if text.is_empty() { Err(format!("{place}.{field} is empty")) } else { Ok(text) }
}

/// The start of foreign text, for an error message.
fn start_of(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
#[path = "well_formed_test.rs"]
mod tests;
