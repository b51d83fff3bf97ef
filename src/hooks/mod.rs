//! Lifecycle hooks: who is registered, in code and in hooks.json, and how one event reaches them. Knows no process,
//! permission or run: whoever dispatches says what the event is about, runs commands, and takes the diagnostics.

mod command;
mod config;
mod dispatch;
mod failure;
mod files;
mod outline;
mod payload;
mod registry;

pub use command::{CommandFailure, CommandPort, CommandReport, CommandRequest, Commands, EventRequest};
pub use config::hooks_schema;
pub use dispatch::{Abandoned, Dispatch};
pub use failure::{HookDiagnostic, MAX_OUTPUT_BYTES, MAX_OUTPUT_TAIL_BYTES, MAX_REPORTED_OUTPUT_BYTES};
pub use files::{CommandHook, ConfigFailure, HookFiles};
pub use payload::{MAX_PAYLOAD_BYTES, Payload, PayloadError};
pub use registry::{DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS, Registry, Snapshot};
