//! The task tools, from the input of a call to its answer. Knows nothing of agents, sessions and permission.

use serde_json::Value;

use super::failure::TaskFailure;
use super::graph::unknown;
use super::task::{Status, TaskId, check_description, check_subject};
use super::update::{Act, Change, NewStatus, Update};
use super::{TaskList, lines};
use crate::json::quote;

/// As many as a list can have.
const MAX_IDS: usize = 1_000;

/// Which tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskTool {
    Create,
    Update,
    Get,
    List,
}

impl TaskTool {
    /// The tool of this name, as the catalogue has it.
    pub fn named(name: &str) -> Option<TaskTool> {
        match name {
            "TaskCreate" => Some(TaskTool::Create),
            "TaskUpdate" => Some(TaskTool::Update),
            "TaskGet" => Some(TaskTool::Get),
            "TaskList" => Some(TaskTool::List),
            _ => None,
        }
    }
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskAnswer {
    pub content: String,
    pub is_error: bool,
}

/// Runs a tool to its end on the calling thread, which may block: on the disk, and at most five seconds on others who use
/// the list. `input` is what the tool's schema allows; what no schema can say is checked here.
pub fn run_task_tool(tool: TaskTool, input: &Value, list: &TaskList) -> TaskAnswer {
    let answered = match tool {
        _ if !input.is_object() => Err(TaskFailure::Refused("the input must be an object".to_string())),
        TaskTool::Create => create(input, list),
        TaskTool::Update => update(input, list),
        TaskTool::Get => get(input, list),
        TaskTool::List => list.load().map(|graph| lines::all(&graph)),
    };
    match answered {
        Ok(content) => TaskAnswer { content, is_error: false },
        Err(failure) => TaskAnswer { content: format!("Error: {failure}"), is_error: true },
    }
}

fn create(input: &Value, list: &TaskList) -> Result<String, TaskFailure> {
    let subject = required_text(input, "subject")?;
    let description = required_text(input, "description")?;
    check_subject(subject).and_then(|()| check_description(description)).map_err(TaskFailure::Refused)?;
    let id = list.create(subject, description)?;
    Ok(format!("created task {id}: {}", lines::one_line(subject)))
}

fn update(input: &Value, list: &TaskList) -> Result<String, TaskFailure> {
    let update = Update {
        id: task_id(input)?,
        status: optional_text(input, "status")?.map(new_status).transpose()?,
        subject: optional_text(input, "subject")?.map(str::to_string),
        description: optional_text(input, "description")?.map(str::to_string),
        add_blocks: ids(input, "addBlocks")?,
        add_blocked_by: ids(input, "addBlockedBy")?,
    };
    let given = given(&update);
    if given.is_empty() {
        return Err(TaskFailure::Refused(
            "nothing to change was given: status, subject, description, addBlocks or addBlockedBy".to_string(),
        ));
    }
    let (graph, change) = list.update(&update)?;
    let Change { id, act, started_despite, .. } = change;
    let mut answer = match act {
        Act::Keep => format!("task {id} is like that already: {}", given.join(", ")),
        Act::Write => format!("updated task {id}: {}", given.join(", ")),
        Act::Remove => format!("deleted task {id}"),
    };
    if !started_despite.is_empty() {
        let blockers: Vec<String> = started_despite.iter().map(|id| lines::with_status(&graph, *id)).collect();
        answer
            .push_str(&format!("\nnote: it is started, but blocked by what is not completed: {}", blockers.join(", ")));
    }
    Ok(answer)
}

/// What an update gives, in words.
fn given(update: &Update) -> Vec<String> {
    let status = update.status.map(|status| match status {
        NewStatus::Kept(status) => format!("status {}", status.as_str()),
        NewStatus::Deleted => "status deleted".to_string(),
    });
    let subject = update.subject.as_ref().map(|_| "subject".to_string());
    let description = update.description.as_ref().map(|_| "description".to_string());
    let edges = |word: &str, ids: &[TaskId]| (!ids.is_empty()).then(|| format!("{word} {}", lines::joined(ids)));
    let blocks = edges("blocks", &update.add_blocks);
    let blocked_by = edges("blocked by", &update.add_blocked_by);
    [status, subject, description, blocks, blocked_by].into_iter().flatten().collect()
}

fn get(input: &Value, list: &TaskList) -> Result<String, TaskFailure> {
    let id = task_id(input)?;
    let graph = list.load()?;
    let task = graph.get(id)?;
    Ok(lines::whole(&graph, task))
}

fn task_id(input: &Value) -> Result<TaskId, TaskFailure> {
    let text = required_text(input, "taskId")?;
    TaskId::parse(text).ok_or_else(|| unknown(text))
}

fn new_status(word: &str) -> Result<NewStatus, TaskFailure> {
    match word {
        "pending" => Ok(NewStatus::Kept(Status::Pending)),
        "in_progress" => Ok(NewStatus::Kept(Status::InProgress)),
        "completed" => Ok(NewStatus::Kept(Status::Completed)),
        "deleted" => Ok(NewStatus::Deleted),
        other => Err(TaskFailure::Refused(format!(
            "'status' must be pending, in_progress, completed or deleted, got {}",
            quote(other)
        ))),
    }
}

fn ids(input: &Value, field: &str) -> Result<Vec<TaskId>, TaskFailure> {
    let refused = || TaskFailure::Refused(format!("'{field}' must be an array of at most {MAX_IDS} ids of tasks"));
    let values = match input.get(field) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(values)) if values.len() <= MAX_IDS => values,
        Some(_) => return Err(refused()),
    };
    let id = |value: &Value| {
        let text = value.as_str().ok_or_else(refused)?;
        TaskId::parse(text).ok_or_else(|| unknown(text))
    };
    values.iter().map(id).collect()
}

fn required_text<'a>(input: &'a Value, field: &str) -> Result<&'a str, TaskFailure> {
    optional_text(input, field)?.ok_or_else(|| must_be_text(field))
}

fn optional_text<'a>(input: &'a Value, field: &str) -> Result<Option<&'a str>, TaskFailure> {
    match input.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(must_be_text(field)),
    }
}

fn must_be_text(field: &str) -> TaskFailure {
    TaskFailure::Refused(format!("'{field}' must be given as a string"))
}

#[cfg(test)]
#[path = "tool_test.rs"]
mod tests;
