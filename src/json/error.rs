//! What is wrong with a JSON text, and where. Knows no file: whoever read one puts its name before.

use thiserror::Error;

use super::position::Position;

/// A fault in a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path} ({position}): {problem}")]
pub struct JsonError {
    /// Of what is wrong, or of what it is in: `$.hooks["tool:end"][0]`.
    pub path: String,
    pub position: Position,
    /// What was expected, and what is there instead.
    pub problem: String,
}
