//! The one error enum of the crate. Every error has a stable `code()`, which crosses to JS as data.

use thiserror::Error;

/// What can go wrong in the core.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CoreError {
    /// An option that cannot be used; the message begins with the option's name.
    #[error("{0}")]
    Config(String),
    /// A hooks.json that cannot be used.
    #[error("{message}")]
    HookFile {
        message: String,
        file: String,
        /// JSON path of what is wrong.
        path: Option<String>,
    },
    /// A model answered in a form that the contract does not allow.
    #[error("{0}")]
    Provider(String),
    /// The agent is closed, or closing.
    #[error("{0}")]
    Closed(String),
    /// A fault of ours.
    #[error("{0}")]
    Internal(String),
}

impl CoreError {
    /// The stable code that the JS half maps to a class.
    pub fn code(&self) -> &'static str {
        match self {
            CoreError::Config(_) | CoreError::HookFile { .. } => "config_error",
            CoreError::Provider(_) => "provider_error",
            CoreError::Closed(_) => "closed",
            CoreError::Internal(_) => "internal",
        }
    }
}
