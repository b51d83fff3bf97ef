//! The loop: a family of agents, its runs, their turns and tool calls, and how it all ends. The only module that knows
//! hooks, sessions, tools and models together; it knows the host by its port alone.

mod admission;
mod close;
mod family;
mod flow;
mod gate;
mod input;
mod run;
mod steering;
mod tool_call;
mod turn;

pub use family::Family;
pub use input::{FamilyOptions, MiddlewareOptions, StartOptions};
