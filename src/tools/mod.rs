//! Tools that the agent was given: what the core must know of each. Executing them is the host's work, but for the built-in
//! ones.

pub mod builtin;
pub mod schema;
mod specification;

pub use specification::{Tool, ToolSet, ToolSpecification};
