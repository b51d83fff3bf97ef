//! What a session's log is made of: ids, events, batches of them. An event is the host's JSON text, kept byte for byte; it
//! is never written anew, for it may hold half a surrogate pair, which Rust strings cannot. Knows no store.

mod batch;
mod event;
mod id;
mod timestamp;

pub use batch::{EventBatch, StoredEvent};
pub use event::{EventKind, NewEvent};
pub use id::SessionId;
pub use timestamp::iso_timestamp;
