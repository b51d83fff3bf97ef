//! Says why a command could not be started, so that whoever reads it knows what to mend.

use std::io;
use std::path::Path;

use lite_agent_supervisor::protocol::Stage;

use super::command::Command;

/// What the supervisor told.
pub(super) fn at_stage(stage: Stage, errno: i32, command: &Command, supervisor: &Path) -> String {
    let cause = io::Error::from_raw_os_error(errno);
    let program = command.argv.first().map_or("", String::as_str);
    let cwd = command.cwd.display();
    match (stage, errno) {
        (Stage::Cwd, libc::ENOENT) => format!("the working folder {cwd} does not exist"),
        (Stage::Cwd, libc::ENOTDIR) => format!("the working folder {cwd} is not a folder"),
        (Stage::Cwd, _) => format!("the working folder {cwd} cannot be entered: {cause}"),
        (Stage::Exec, libc::ENOENT) => format!("the program {program}, or what it is run by, was not found"),
        (Stage::Exec, libc::E2BIG) => {
            format!("the program {program} cannot be started: its arguments and environment are too long: {cause}")
        }
        (Stage::Exec, _) => format!("the program {program} cannot be started: {cause}"),
        (Stage::Fork, _) => no_process(&cause),
        (Stage::Limits, _) => format!("the limits of the command cannot be set: {cause}"),
        (Stage::Proc, _) => {
            "limits of memory, processor time or processes need /proc, which is not mounted here, or belongs to another \
             pid namespace: mount it, or leave the limits out"
                .to_string()
        }
        (Stage::Request, libc::EPROTO) => format!(
            "the supervisor at {} is of another version than the addon: install lite-agent again (in a checkout, `npm \
             run build`)",
            supervisor.display()
        ),
        (Stage::Request | Stage::Setup, _) => format!("the supervisor of the command cannot work: {cause}"),
    }
}

/// The supervisor itself could not be started.
pub(super) fn of_spawn(cause: &io::Error, supervisor: &Path) -> String {
    match cause.raw_os_error() {
        Some(libc::EAGAIN | libc::ENOMEM) => no_process(cause),
        _ => format!("the supervisor at {} cannot be started: {cause}", supervisor.display()),
    }
}

pub(super) fn of_pipes(cause: &io::Error) -> String {
    format!("no pipe can be made for a command: {cause}")
}

fn no_process(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(libc::EAGAIN) => format!(
            "no process can be made for a command, the system's table or the user's limit of processes is full: {cause}"
        ),
        _ => format!("no process can be made for a command: {cause}"),
    }
}
