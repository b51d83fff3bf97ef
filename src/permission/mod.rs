//! Permission: policies (pure: rules in, verdict out) and the redaction of what may be shown of a call. Asking people and
//! telling of decisions is the agent's.

mod condition;
mod pattern;
mod policy;
pub mod redact;
mod shell;
mod shell_words;

pub use crate::types::Decision;
pub use policy::{Policy, Verdict, default_policy};
