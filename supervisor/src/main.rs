//! The supervisor: owns one command, whatever becomes of the host, and leaves nothing of it behind.
//!
//! It is two processes. The guardian, which the runner starts, reads the request and waits for the control pipe to
//! close. Below it the keeper starts the command, reaps and kills. A command sees the keeper as its parent: if it kills
//! or stops that one, all that is left becomes the guardian's, which kills it.

// What is here for one platform only has no use on another.
#![cfg_attr(not(target_os = "linux"), allow(unused))]

#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod guardian;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tree;

#[cfg(target_os = "linux")]
fn main() {
    guardian::guard()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("lite-agent-supervisor works on Linux only so far");
}
