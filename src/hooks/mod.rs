//! Lifecycle hooks: who is registered, and how one event reaches them. Knows no process, permission or run: whoever
//! dispatches says what the event is about and what to do with a failure.

mod dispatch;
mod registry;

pub use dispatch::{Abandoned, Dispatch, failure_message};
pub use registry::{DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS, Registry, Snapshot};
