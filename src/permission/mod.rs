//! Permission: policies, which say what a call may do, and the redaction of what may be shown of it. Pure: nothing here
//! asks anybody or touches a disk.

mod backtracking;
mod condition;
mod path_glob;
mod pattern;
pub mod policy;
pub mod redact;
pub mod shell;

pub use crate::types::Decision;
pub use pattern::ShellPattern;
pub use policy::{Policy, Verdict, default_policy, parse_input};
