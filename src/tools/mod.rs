//! Tools that the agent was given: what the core must know of each. Executing them is the host's work.

pub mod schema;
mod specification;

pub use specification::{Tool, ToolSet, ToolSpecification};
