//! Why definitions cannot be used. Knows nothing of what is in them.

use std::path::Path;

use thiserror::Error;

/// A file or a folder of definitions that cannot be used: what JS throws as a `ConfigError`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct DefinitionFailure {
    /// Begins with `Invalid agent definition <file>: ` or `Invalid skill <file>: `; says where and what was expected.
    pub message: String,
    /// The path under which it was looked for; a folder's, where it is the folder that cannot be used.
    pub file: String,
}

impl DefinitionFailure {
    /// `noun` is what the file should have been: an agent definition, a skill.
    pub(super) fn new(noun: &str, file: &Path, problem: &str) -> DefinitionFailure {
        let file = file.display().to_string();
        DefinitionFailure { message: format!("Invalid {noun} {file}: {problem}"), file }
    }
}
