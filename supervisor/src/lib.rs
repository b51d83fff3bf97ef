//! What the supervisor and the runner say to each other. The program itself is in `main.rs`; this half calls no system.

pub mod protocol;
