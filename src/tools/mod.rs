//! The tools of an agent: what the core must know of each, and the built-in ones themselves.

pub mod builtin;
pub mod schema;
mod specification;

pub use specification::{Executor, Tool, ToolSet, ToolSpecification};
