//! What a model is told of the built-in tools. Knows nothing of how they work.

use serde_json::{Value, json};

use super::catalogue_agent::AGENT_TOOLS;
use crate::tasks::{TASK_TOOLS, TaskToolDescription};

/// One tool as a model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinTool {
    pub name: &'static str,
    pub description: &'static str,
    /// JSON text of the JSON Schema of its input.
    pub parameters: &'static str,
}

/// All built-in tools.
pub fn builtin_tools() -> impl Iterator<Item = BuiltinTool> {
    let of_tasks = TASK_TOOLS.iter().map(|&TaskToolDescription { name, description, parameters }| BuiltinTool {
        name,
        description,
        parameters,
    });
    WORK_TOOLS.iter().chain(AGENT_TOOLS).copied().chain(of_tasks)
}

/// What works in the folder.
const WORK_TOOLS: &[BuiltinTool] = &[
    BuiltinTool {
        name: "context",
        description: "Reads tool results that were too long to be shown whole, or that made room for newer ones. Without ref: \
                      lists them. With ref: reads that one, from offset on. With query: the lines that hold it.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "ref": { "type": "string", "description": "Which result, as its note says." },
    "query": { "type": "string", "minLength": 1, "description": "Text to look for, in that result or in all." },
    "offset": { "type": "integer", "minimum": 0, "description": "The first character to read, from 0." },
    "limit": { "type": "integer", "minimum": 1, "maximum": 16000, "description": "How many characters to read. Default 8000." }
  },
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "bash",
        description: "Runs a command with the shell, in the working folder, and answers what it wrote on both streams and its \
                      exit code. Nothing that it starts outlives it: processes that it leaves behind are ended with it.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "command": { "type": "string", "minLength": 1, "description": "The command line." },
    "timeoutMs": { "type": "integer", "minimum": 1, "maximum": 2147483647, "description": "After so many milliseconds it is killed." },
    "run_in_background": { "type": "boolean", "description": "Answer at once with an id, and leave it running: BashOutput reads what it writes, KillBackground ends it." }
  },
  "required": ["command"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "read_file",
        description: "Reads a text file in the working folder. Answers its exact text, without line numbers. A long text \
                      comes with its middle left out and a note that says where to go on: use offset (first line, from 1) \
                      and limit (number of lines). Files of up to 10 MiB of UTF-8 text.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "The file, relative to the working folder." },
    "offset": { "type": "integer", "minimum": 1, "description": "The first line to read, from 1." },
    "limit": { "type": "integer", "minimum": 1, "description": "How many lines to read." }
  },
  "required": ["path"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "write_file",
        description: "Writes a whole file in the working folder, creating it and its folders, or replacing what it held. To \
                      change a part of a file, use edit_file.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "The file, relative to the working folder." },
    "content": { "type": "string", "description": "All that the file is to hold." }
  },
  "required": ["path", "content"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "edit_file",
        description: "Replaces old_text by new_text in a file. old_text must be the exact text, spaces and line breaks \
                      included, and occur exactly once, unless replace_all is true; else nothing is changed. Take in lines \
                      around it to make it unique.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "The file, relative to the working folder." },
    "old_text": { "type": "string", "minLength": 1, "description": "The exact text to replace." },
    "new_text": { "type": "string", "description": "What takes its place." },
    "replace_all": { "type": "boolean", "description": "Replace every occurrence. Default false." }
  },
  "required": ["path", "old_text", "new_text"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "delete_file",
        description: "Deletes a file in the working folder. Where the path is a link, the file that it leads to is deleted. \
                      Folders are not deleted.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "The file, relative to the working folder." }
  },
  "required": ["path"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "glob",
        description: "Lists the files whose path matches a pattern, one a line, in order. * and ? stop at /, ** does not: \
                      '*.ts' lists those directly in the folder, '**/*.ts' those below it as well. [abc] and {a,b} work. What \
                      .gitignore names is left out; dot files are not.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "pattern": { "type": "string", "minLength": 1, "description": "Matched against paths relative to `path`." },
    "path": { "type": "string", "description": "The folder to look in. Default: the working folder." }
  },
  "required": ["pattern"],
  "additionalProperties": false
}"#,
    },
    BuiltinTool {
        name: "grep",
        description: "Searches files line by line for a regular expression (Rust syntax; (?i) at its start ignores letter \
                      case). Answers `path:line:text` for each line that matches. What .gitignore names is left out, and so \
                      are binary files.",
        parameters: r#"{
  "type": "object",
  "properties": {
    "pattern": { "type": "string", "minLength": 1, "description": "The regular expression." },
    "path": { "type": "string", "description": "The file or folder to search. Default: the working folder." },
    "glob": {
      "type": "string",
      "minLength": 1,
      "description": "Search only files that match: '*.ts' in any folder, 'src/**/*.ts' relative to `path`; '!*.ts' all but those."
    }
  },
  "required": ["pattern"],
  "additionalProperties": false
}"#,
    },
];

/// All of them as JSON text: `[{ "name", "description", "parameters" }]`.
pub fn specifications() -> String {
    let tools = builtin_tools().map(|tool| {
        let parameters: Value = serde_json::from_str(tool.parameters).unwrap_or_default();
        json!({ "name": tool.name, "description": tool.description, "parameters": parameters })
    });
    Value::Array(tools.collect()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{builtin_tools, specifications};
    use crate::tools::schema::JsonSchema;

    #[test]
    fn each_schema_compiles_and_is_told_whole() {
        let told: Vec<Value> = serde_json::from_str(&specifications()).unwrap();
        assert_eq!(told.len(), builtin_tools().count());
        for (tool, told) in builtin_tools().zip(&told) {
            JsonSchema::compile(tool.parameters).unwrap();
            assert_eq!(told["name"], tool.name);
            assert_eq!(told["parameters"], serde_json::from_str::<Value>(tool.parameters).unwrap());
            assert!(!tool.description.contains("  "), "{}", tool.description);
        }
    }
}
