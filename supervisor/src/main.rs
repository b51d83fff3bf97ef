//! The supervisor: owns one command, whatever becomes of the host, and leaves nothing of it behind.
//!
//! It is two processes. The guardian, which the runner starts, reads the request and waits for the control pipe to
//! close. Below it the keeper starts the command, reaps and kills. A command sees the keeper as its parent: if it kills
//! or stops that one, all that is left becomes the guardian's, which kills it.

// Without the start of Rust's runtime, which looks for the guard page of the stack in /proc and sets up handlers: a
// fifth of the time that starting takes. Nothing here needs it.
#![cfg_attr(all(target_os = "linux", not(test)), no_main)]

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

#[cfg(all(target_os = "linux", not(test)))]
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    guardian::guard()
}

#[cfg(all(target_os = "linux", test))]
fn main() {
    guardian::guard()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("lite-agent-supervisor works on Linux only so far");
}
