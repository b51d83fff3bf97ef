//! What the core asks of whoever embeds it. The core awaits `Host::call(Effect::…)` and tells with `Host::emit`; a
//! `Driver` polls the core's tasks and hands the queued effects over. In Node the effects are performed by
//! `lib/effects.js`; in Rust tests by a scripted host. Nothing here knows N-API, runs or hooks.

mod call;
mod driver;
mod effect;
mod port;

pub use call::{Answer, Call, HostError, HostErrorKind, Timed, TimedCall};
pub use driver::{Driver, Spawner};
pub use effect::{
    AbortReason, ChildReport, CommandReport, CompactionChange, CompactionSizes, CompactionSubject, Completion,
    CompletionStatus, Effect, HookSubject, MadeCall, MiddlewarePoint, Placement, Recorded, RunSummary, SteerKind,
};
pub use port::Host;
