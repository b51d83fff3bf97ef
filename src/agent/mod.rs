//! The loop: a family of agents, its runs, their turns and tool calls, and how it all ends. The only module that knows
//! hooks, sessions, tools and models together; it knows the host by its port alone.

mod admission;
mod bash;
mod builtin;
mod close;
mod command;
mod compaction;
mod family;
mod file_tool;
mod flow;
mod gate;
mod hold;
mod hook_command;
mod input;
mod kept_output;
mod record;
mod run;
mod snapshot;
mod steering;
mod tool_call;
mod turn;

pub use family::Family;
pub use input::{FamilyOptions, MiddlewareOptions, StartOptions};
