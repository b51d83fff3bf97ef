//! `write_file`: a file as a whole. Does not read what it replaces, but for whoever wants to keep it.

use serde_json::Value;

use super::{FileTools, MAX_FILE_BYTES, RunPorts, input};
use crate::workspace::{Failure, WriteOutcome, shown};

pub(super) fn run(tools: &FileTools, input: &Value, ports: &RunPorts<'_>) -> Result<String, String> {
    let path = input::path(input)?;
    let content = input::text(input, "content")?;
    let name = shown(path.as_str());
    if u64::try_from(content.len()).unwrap_or(u64::MAX) > MAX_FILE_BYTES {
        return Err(format!(
            "{name} was not written: the content has {} bytes, and at most {MAX_FILE_BYTES} can be written",
            content.len()
        ));
    }
    let root = tools.open()?;
    let written = tools.keeping(&path, ports, |keeper| root.write(&path, content.as_bytes(), keeper));
    match written {
        Ok(WriteOutcome::Created) => Ok(format!("created {name} with {} bytes", content.len())),
        Ok(WriteOutcome::Replaced) => Ok(format!("replaced the content of {name} with {} bytes", content.len())),
        Err(failure @ Failure::Folder { .. }) => Err(format!("{failure}, so no file can be written there")),
        Err(failure) => Err(tools.explain(&root, &path, &failure, ports)),
    }
}
