//! The process that becomes the command: everything between its fork and its exec.

use std::ffi::{CStr, CString, c_char};

use lite_agent_supervisor::protocol::{Confinement, Limits, Request, STATUS_FD, Stage, Status};

use crate::guard::{self, Wards};
use crate::limits;
use crate::sys::{self, Errno};

/// Where programs without a slash are looked for when the environment has no PATH.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// A request in the form that the kernel takes, made before the fork.
pub struct Prepared {
    cwd: CString,
    /// Where the program may be, in the order in which to try.
    programs: Vec<CString>,
    argv: Vec<CString>,
    env: Vec<CString>,
    limits: Limits,
    confinement: Confinement,
}

impl Prepared {
    /// `None` if something in it has a zero byte.
    pub fn new(request: &Request) -> Option<Prepared> {
        Some(Prepared {
            cwd: CString::new(request.cwd.as_slice()).ok()?,
            programs: programs(request.argv.first()?, &request.env)?,
            argv: strings(&request.argv)?,
            env: strings(&request.env)?,
            limits: request.limits,
            confinement: request.confinement,
        })
    }
}

fn strings(list: &[Vec<u8>]) -> Option<Vec<CString>> {
    list.iter().map(|item| CString::new(item.as_slice()).ok()).collect()
}

fn programs(name: &[u8], env: &[Vec<u8>]) -> Option<Vec<CString>> {
    if name.contains(&b'/') {
        return Some(vec![CString::new(name).ok()?]);
    }
    let path = env.iter().find_map(|entry| entry.strip_prefix(b"PATH=")).unwrap_or(DEFAULT_PATH);
    path.split(|byte| *byte == b':')
        .map(|folder| if folder.is_empty() { &b"."[..] } else { folder })
        .map(|folder| CString::new([folder, b"/", name].concat()).ok())
        .collect()
}

/// Becomes the command. What cannot be done is told, and ends the process. `wards`: for root, whom to guard from it.
pub fn become_command(prepared: &Prepared, wards: Option<Wards>) -> ! {
    sys::own_session();
    or_fail(Stage::Limits, limits::set(prepared.limits));
    or_fail(Stage::Cwd, sys::change_folder(&prepared.cwd));
    match prepared.confinement {
        // A sandbox's namespaces were entered by the keeper; its rules would be set here.
        Confinement::None => {}
        _ => fail(Stage::Request, Errno(libc::EINVAL)),
    }
    sys::close_from_on_exec(3);
    let argv = pointers(&prepared.argv);
    let env = pointers(&prepared.env);
    if wards.is_some_and(guard::set) {
        sys::tell(STATUS_FD, Status::Guarded);
    }
    sys::reset_signals();
    let mut error = Errno(libc::ENOENT);
    for program in &prepared.programs {
        error = execute(program, &argv, &env, error);
    }
    fail(Stage::Exec, error)
}

/// Comes back only if it failed, with the error that tells most so far.
fn execute(program: &CStr, argv: &[*const c_char], env: &[*const c_char], before: Errno) -> Errno {
    // SAFETY: both arrays end with a null pointer, and what they point to lives.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    match sys::last_error() {
        // It is not in this folder: an error of one where it was, says more.
        Errno(libc::ENOENT | libc::ENOTDIR) => before,
        error => error,
    }
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}

fn or_fail(stage: Stage, result: Result<(), Errno>) {
    if let Err(error) = result {
        fail(stage, error);
    }
}

fn fail(stage: Stage, Errno(errno): Errno) -> ! {
    sys::tell(STATUS_FD, Status::Failed { stage, errno });
    sys::leave(127)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_in_the_path_of_the_command() {
        let texts = |name: &[u8], env: &[&[u8]]| {
            let env: Vec<Vec<u8>> = env.iter().map(|entry| entry.to_vec()).collect();
            programs(name, &env).map(|all| all.iter().map(|one| one.to_str().unwrap().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(texts(b"/bin/sh", &[b"PATH=/x"]).unwrap(), ["/bin/sh"]);
        assert_eq!(texts(b"sh", &[b"A=b", b"PATH=/x::/y"]).unwrap(), ["/x/sh", "./sh", "/y/sh"]);
        assert_eq!(texts(b"sh", &[]).unwrap().len(), 3);
        assert_eq!(texts(b"s\0h", &[]), None);
    }
}
