//! From a command to a running supervisor and our ends of its pipes. Never waits.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use lite_agent_supervisor::protocol::{self, Request};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::command::{Command, Confinement, Streams};
use super::failure;
use super::pipes::{Ends, number, pipe, write_now};
use super::spawn::{Descriptors, spawn};
use super::supervisor::Supervisor;

/// A supervisor that was started.
pub(super) struct Started {
    pub process: Supervisor,
    pub request: Vec<u8>,
    /// How much of the request is in the pipe.
    pub sent: usize,
    pub control: Sender,
    pub status: Receiver,
    /// How much of the input is in the pipe. When all is, the pipe is closed.
    pub written: usize,
    pub stdin: Option<Sender>,
    pub stdout: Receiver,
    /// None: it comes through stdout.
    pub stderr: Option<Receiver>,
    /// The numbers that the system has for the command's pipes.
    pub pipes: Vec<u64>,
    pub held: Duration,
}

/// # Errors
/// Why it could not be started, in words for people.
pub(super) fn start(supervisor: &Path, command: &Command) -> Result<Started, String> {
    let request = encode(command)?;
    let program = CString::new(supervisor.as_os_str().as_bytes())
        .map_err(|_| format!("the path of the supervisor holds a zero byte: {}", supervisor.display()))?;
    let of_pipes = |cause| failure::of_pipes(&cause);
    let [stdin, stdout, control, status] =
        [pipe().map_err(of_pipes)?, pipe().map_err(of_pipes)?, pipe().map_err(of_pipes)?, pipe().map_err(of_pipes)?];
    let stderr = match command.streams {
        Streams::Apart => Some(pipe().map_err(of_pipes)?),
        Streams::Joined => None,
    };
    let (stderr_read, stderr_write) = stderr.map_or((None, None), |Ends { read, write }| (Some(read), Some(write)));
    let theirs = Descriptors {
        stdin: stdin.read,
        stdout: stdout.write,
        stderr: stderr_write,
        control: control.read,
        status: status.write,
    };
    // What fits is there before anybody reads: nobody has to wait for it.
    let sent = write_now(&control.write, &request);
    let written = write_now(&stdin.write, &command.stdin);
    let numbers = [Some(&stdin.write), Some(&stdout.read), stderr_read.as_ref()];
    let pipes = numbers.into_iter().flatten().filter_map(number).collect();
    // Ours before the process: if the runtime takes no more of them, nothing was started.
    let control = Sender::from_owned_fd(control.write).map_err(of_pipes)?;
    let status = Receiver::from_owned_fd(status.read).map_err(of_pipes)?;
    let stdin = (written < command.stdin.len()).then(|| Sender::from_owned_fd(stdin.write));
    let stdin = stdin.transpose().map_err(of_pipes)?;
    let stdout = Receiver::from_owned_fd(stdout.read).map_err(of_pipes)?;
    let stderr = stderr_read.map(Receiver::from_owned_fd).transpose().map_err(of_pipes)?;
    let before = Instant::now();
    let pid = spawn(&program, &theirs).map_err(|cause| failure::of_spawn(&cause, supervisor))?;
    let held = before.elapsed();
    Ok(Started {
        process: Supervisor::new(pid),
        request,
        sent,
        control,
        status,
        written,
        stdin,
        stdout,
        stderr,
        pipes,
        held,
    })
}

fn encode(command: &Command) -> Result<Vec<u8>, String> {
    if command.argv.is_empty() {
        return Err("there is no program to run: argv is empty".to_string());
    }
    if let Some((name, _)) = command.env.iter().find(|(name, _)| name.is_empty() || name.contains('=')) {
        return Err(format!("the environment has a variable whose name is empty or holds an equals sign: {name:?}"));
    }
    let request = Request {
        cwd: command.cwd.as_os_str().as_bytes().to_vec(),
        argv: command.argv.iter().map(|word| word.as_bytes().to_vec()).collect(),
        env: command.env.iter().map(|(name, value)| format!("{name}={value}").into_bytes()).collect(),
        kill_grace_ms: u64::try_from(command.kill_grace.as_millis()).unwrap_or(u64::MAX),
        limits: protocol::Limits {
            memory_bytes: command.limits.memory_bytes,
            cpu_seconds: command.limits.cpu_seconds,
            max_processes: command.limits.max_processes,
        },
        confinement: match command.confinement {
            Confinement::None => protocol::Confinement::None,
        },
    };
    if request.argv.iter().chain(&request.env).chain([&request.cwd]).any(|bytes| bytes.contains(&0)) {
        return Err("the command, its folder or its environment holds a zero byte, which no system takes".to_string());
    }
    request.encode().map_err(|_| "the command and its environment are longer than any system takes".to_string())
}
