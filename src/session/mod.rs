//! One session: its place in line and how its messages join the next request. The messages themselves live with the
//! host; stores come later.

mod conversation;
mod queue;

pub use conversation::Conversation;
pub use queue::{Session, Turn};
