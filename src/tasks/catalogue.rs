//! What a model is told of the task tools. Knows nothing of how they work.

/// One tool as a model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskToolDescription {
    pub name: &'static str,
    pub description: &'static str,
    /// JSON text of the JSON Schema of its input.
    pub parameters: &'static str,
}

/// All task tools.
pub const TASK_TOOLS: &[TaskToolDescription] = &[
    TaskToolDescription {
        name: "TaskCreate",
        description: "Adds a task to the task list, as pending, and answers its id. For work of several steps: write down the \
                      steps first, then go through them with TaskUpdate. At most 1000 tasks can be in the list.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "subject": { "type": "string", "minLength": 1, "maxLength": 500, "description": "What is to be done, in one line." },
    "description": { "type": "string", "description": "All that whoever does it needs to know: at most 16 KiB." }
  },
  "required": ["subject", "description"],
  "additionalProperties": false
}"#,
    },
    TaskToolDescription {
        name: "TaskUpdate",
        description: "Changes a task: all of what is given, or nothing where something of it cannot be. Set in_progress when \
                      you begin with it and completed when it is done; deleted takes it off the list. Tasks wait for each \
                      other by addBlocks and addBlockedBy, never in a circle.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "taskId": { "type": "string", "description": "Which task, as TaskList shows it: \"3\"." },
    "status": { "type": "string", "enum": ["pending", "in_progress", "completed", "deleted"] },
    "subject": { "type": "string", "minLength": 1, "maxLength": 500, "description": "A new subject, in one line." },
    "description": { "type": "string", "description": "A new description, in place of the old one: at most 16 KiB." },
    "addBlocks": {
      "type": "array",
      "items": { "type": "string" },
      "maxItems": 1000,
      "description": "Ids of tasks that are to wait for this one."
    },
    "addBlockedBy": {
      "type": "array",
      "items": { "type": "string" },
      "maxItems": 1000,
      "description": "Ids of tasks that this one is to wait for."
    }
  },
  "required": ["taskId"],
  "additionalProperties": false
}"#,
    },
    TaskToolDescription {
        name: "TaskGet",
        description: "Reads one task whole: its description, its status, what it waits for and what waits for it.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "taskId": { "type": "string", "description": "Which task, as TaskList shows it: \"3\"." }
  },
  "required": ["taskId"],
  "additionalProperties": false
}"#,
    },
    TaskToolDescription {
        name: "TaskList",
        description: "Lists all tasks, one a line, in order of ids: id, status, subject, and the tasks that it waits for and \
                      that are not completed.",
        parameters: r#"{
  "type": "object",
  "properties": {},
  "additionalProperties": false
}"#,
    },
];
