//! `delete_file`: one file. Never a folder, never more than one name.

use serde_json::Value;

use super::{FileTools, RunPorts, input};
use crate::workspace::{Failure, shown};

pub(super) fn run(tools: &FileTools, input: &Value, ports: &RunPorts<'_>) -> Result<String, String> {
    let path = input::path(input)?;
    let root = tools.open()?;
    let deleted = match path.split() {
        Some(_) => tools.keeping(&path, ports, |keeper| root.delete(&path, keeper)),
        None => Err(Failure::Folder { path: path.as_str().to_string() }),
    };
    match deleted {
        Ok(()) => Ok(format!("deleted {}", shown(path.as_str()))),
        Err(failure @ Failure::Folder { .. }) => Err(format!("{failure}, and only files are deleted")),
        Err(failure) => Err(tools.explain(&root, &path, &failure, ports)),
    }
}
