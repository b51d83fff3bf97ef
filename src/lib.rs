//! lite-agent: the core of an agent SDK, in Rust.
//!
//! With the `node` feature this crate is the Node addon; without it, a pure library that knows no JavaScript. See
//! ARCHITECTURE.md for the code map and for who may import whom (`tests/architecture.rs` checks it).

pub mod agent;
pub mod background;
pub mod config_file;
pub mod context;
pub mod definitions;
pub mod error;
pub mod event;
pub mod glob;
pub mod hooks;
pub mod host;
pub mod json;
pub mod model;
pub mod permission;
pub mod process;
pub mod session;
pub mod tasks;
pub mod tools;
pub mod types;
pub mod work_time;
pub mod workspace;

#[cfg(feature = "node")]
mod node;
