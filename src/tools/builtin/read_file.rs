//! `read_file`: the text of a file, or some of its lines. Changes nothing.

use serde_json::Value;

use super::{FileTools, MAX_FILE_BYTES, RunPorts, input, page, text};
use crate::workspace::{Failure, shown};

pub(super) fn run(tools: &FileTools, input: &Value, ports: &RunPorts<'_>) -> Result<String, String> {
    let path = input::path(input)?;
    let offset = input::count(input, "offset")?.unwrap_or(1);
    let limit = input::count(input, "limit")?.unwrap_or(usize::MAX);
    let root = tools.open()?;
    let read = root.read(&path, MAX_FILE_BYTES).map_err(|failure| match failure {
        Failure::Folder { .. } => format!("{failure}; glob lists what is in it"),
        Failure::TooLarge { .. } => format!("{failure}; grep finds lines in it"),
        _ => tools.explain(&root, &path, &failure, ports),
    })?;
    let text = text::of(&read.bytes, path.as_str())?;
    page::of(text, offset, limit).map_err(|problem| format!("{}: {problem}", shown(path.as_str())))
}
