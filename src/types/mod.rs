//! Data that every layer speaks: identities, messages, usage, statuses. No behaviour beyond reading and writing it.

mod ids;
pub mod message;
pub mod nearest;
mod outcome;

pub use ids::{CallId, GroupKey, HandlerId, OperationKey, RunKey};
pub use message::{MessageOutline, Role, ToolCall};
pub use outcome::{CompactionKind, Decision, HookName, HookStatus, RunStopReason, StopReason, Usage};
