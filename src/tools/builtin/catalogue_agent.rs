//! What a model is told of the built-in tools that are about the agent itself: children, background commands, skills,
//! questions to the user. Knows nothing of how they work.

use super::catalogue::BuiltinTool;

/// Starts children.
pub const AGENT_TOOL: &str = "Agent";

pub const AGENT_TOOLS: &[BuiltinTool] = &[
    BuiltinTool {
        name: AGENT_TOOL,
        // The host adds which kinds of agents there are.
        description: "Starts agents that work on tasks of their own in the background, at the same time. Each sees its prompt \
                      alone, so say all that it needs to know, and what it is to report. The call answers at once; what \
                      they come to arrives as a message of its own when all of them are over.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "tasks": {
      "type": "array",
      "minItems": 1,
      "maxItems": 64,
      "items": {
        "type": "object",
        "properties": {
          "display_name": { "type": "string", "minLength": 1, "description": "A few words that tell the agent apart." },
          "subagent_type": { "type": "string", "minLength": 1, "description": "The kind of agent." },
          "prompt": { "type": "string", "minLength": 1, "description": "The whole task." },
          "model": { "type": "string", "minLength": 1, "description": "A model other than the kind's own." },
          "resume": { "type": "string", "minLength": 1, "description": "The agentId of an agent that is over: it goes on with what it knows." }
        },
        "required": ["display_name", "subagent_type", "prompt"],
        "additionalProperties": false
      }
    }
  },
  "required": ["tasks"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "BashOutput",
        description: "Reads what a command in the background has written since the last time, and says whether it still \
                      runs. With filter: only lines that match a regular expression (Rust syntax); the others are skipped \
                      for good.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "id": { "type": "string", "minLength": 1, "description": "The id that bash answered with." },
    "filter": { "type": "string", "minLength": 1, "description": "The regular expression." }
  },
  "required": ["id"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "KillBackground",
        description: "Ends a command in the background and all that it started.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "id": { "type": "string", "minLength": 1, "description": "The id that bash answered with." }
  },
  "required": ["id"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "load_skill",
        description: "Reads the instructions of a skill that the system prompt lists.",
        parameters: r#"{
  "type": "object",
  "properties": { "name": { "type": "string", "minLength": 1, "description": "The skill." } },
  "required": ["name"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "ask_user",
        description: "Asks the user a question and waits for the answer. Only for what cannot be found out, and changes what \
                      you do.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "question": { "type": "string", "minLength": 1, "description": "One clear question." },
    "options": {
      "type": "array",
      "minItems": 1,
      "maxItems": 20,
      "items": { "type": "string", "minLength": 1 },
      "description": "Answers to choose from."
    },
    "multiSelect": { "type": "boolean", "description": "More than one option may be chosen. Default false." }
  },
  "required": ["question"],
  "additionalProperties": false
}"#,
    },
];
