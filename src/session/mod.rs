//! One session: its place in line, how its messages join the next request, and its log in a store. The messages themselves
//! live with the host.

mod conversation;
pub mod log;
mod queue;
pub mod store;

pub use conversation::Conversation;
pub use queue::{Presence, Session, Turn};
