//! The loop: a family of agents, its runs, their turns and tool calls, and how it all ends. The only module that knows
//! hooks, sessions, tools and models together; it knows the host by its port alone.

mod admission;
mod background;
mod bash;
mod builtin;
mod children;
mod close;
mod command;
mod compaction;
mod family;
mod file_tool;
mod flow;
mod gate;
mod group;
mod hold;
mod hook_command;
mod identity;
mod input;
mod kept_output;
mod profile;
mod record;
mod run;
mod skill;
mod snapshot;
mod steering;
mod task_lists;
mod tool_call;
mod turn;

pub use family::Family;
pub use identity::agent_prefix;
pub use input::{FamilyOptions, MiddlewareOptions, StartOptions};
