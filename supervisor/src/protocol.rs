//! One request, which the runner writes into the control pipe, and the lines that come back through the status pipe.
//! Both ends are built from this file. It knows bytes only: no file, no process.

use std::fmt;

/// Raised whenever the form of the request or of a line changes: an addon and a supervisor that are not of one build
/// refuse each other instead of misreading.
pub const VERSION: u32 = 1;

/// The supervisor reads its request here. Once it is written nothing else is sent: closing it means "kill".
pub const CONTROL_FD: i32 = 3;
/// The supervisor writes its lines here.
pub const STATUS_FD: i32 = 4;

/// What the kernel takes for arguments and environment together is far less.
const MAX_REQUEST_BYTES: usize = 64 << 20;

/// One command and its bounds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The working folder.
    pub cwd: Vec<u8>,
    /// The program and its arguments. A program without a slash is looked for in the `PATH` of `env`.
    pub argv: Vec<Vec<u8>>,
    /// The whole environment, as `NAME=value`.
    pub env: Vec<Vec<u8>>,
    /// How long the tree has between SIGTERM and SIGKILL.
    pub kill_grace_ms: u64,
    pub limits: Limits,
    pub confinement: Confinement,
}

/// Bounds of the whole process tree; `None` is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    pub memory_bytes: Option<u64>,
    pub cpu_seconds: Option<u64>,
    pub max_processes: Option<u64>,
}

/// How the command is shut in. The place for a sandbox's namespaces and rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Confinement {
    /// The command sees the host as any child would.
    #[default]
    None,
}

/// What the supervisor tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The command's main process and its parent, the keeper, are there.
    Started { keeper: i32, main: i32 },
    /// A filter refuses the command signals to its supervisor and the host.
    Guarded,
    /// The main process exited with this code.
    Exit(i32),
    /// The main process was killed by this signal.
    Signal(i32),
    /// The command could not be started.
    Failed { stage: Stage, errno: i32 },
    /// A bound was passed: the tree is being killed.
    Limit(Bound),
    /// The keeper was killed or stopped, and the rest of the tree was killed for it.
    Lost,
    /// No process of the tree is left.
    Clean,
}

/// Where a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The request could not be understood.
    Request,
    /// A pipe or a descriptor could not be made.
    Setup,
    /// A process could not be made.
    Fork,
    /// A limit could not be set.
    Limits,
    /// The tree cannot be measured, and a bound was asked for.
    Proc,
    /// The working folder could not be entered.
    Cwd,
    /// The program could not be executed.
    Exec,
}

/// Which bound was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    Memory,
    Cpu,
    Processes,
}

const STAGES: [(Stage, &str); 7] = [
    (Stage::Request, "request"),
    (Stage::Setup, "setup"),
    (Stage::Fork, "fork"),
    (Stage::Limits, "limits"),
    (Stage::Proc, "proc"),
    (Stage::Cwd, "cwd"),
    (Stage::Exec, "exec"),
];

const BOUNDS: [(Bound, &str); 3] = [(Bound::Memory, "memory"), (Bound::Cpu, "cpu"), (Bound::Processes, "processes")];

fn word_of<T: PartialEq>(table: &[(T, &'static str)], value: T) -> &'static str {
    table.iter().find(|(entry, _)| *entry == value).map_or("", |(_, word)| word)
}

fn value_of<T: Copy>(table: &[(T, &'static str)], word: &str) -> Option<T> {
    table.iter().find(|(_, entry)| *entry == word).map(|(value, _)| *value)
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word_of(&STAGES, *self))
    }
}

impl Status {
    /// The line, with its newline; short enough to be written in one piece.
    pub fn to_line(self) -> String {
        match self {
            Status::Started { keeper, main } => format!("started {keeper} {main}\n"),
            Status::Guarded => "guarded\n".to_string(),
            Status::Exit(code) => format!("exit {code}\n"),
            Status::Signal(number) => format!("signal {number}\n"),
            Status::Failed { stage, errno } => format!("failed {} {errno}\n", word_of(&STAGES, stage)),
            Status::Limit(bound) => format!("limit {}\n", word_of(&BOUNDS, bound)),
            Status::Lost => "lost\n".to_string(),
            Status::Clean => "clean\n".to_string(),
        }
    }

    /// Reads a line without its newline; `None` for one that no supervisor of this version writes.
    pub fn from_line(line: &str) -> Option<Status> {
        let mut words = line.split(' ');
        let status = match words.next()? {
            "started" => Status::Started { keeper: words.next()?.parse().ok()?, main: words.next()?.parse().ok()? },
            "guarded" => Status::Guarded,
            "exit" => Status::Exit(words.next()?.parse().ok()?),
            "signal" => Status::Signal(words.next()?.parse().ok()?),
            "failed" => Status::Failed { stage: value_of(&STAGES, words.next()?)?, errno: words.next()?.parse().ok()? },
            "limit" => Status::Limit(value_of(&BOUNDS, words.next()?)?),
            "lost" => Status::Lost,
            "clean" => Status::Clean,
            _ => return None,
        };
        words.next().is_none().then_some(status)
    }
}

/// The bytes before a request's body: the version, and the body's length.
pub const HEADER_BYTES: usize = 8;

/// Reads a header.
///
/// # Errors
/// Another version, or a length that no request has.
pub fn body_length(header: [u8; HEADER_BYTES]) -> Result<usize, BadRequest> {
    let [a, b, c, d, e, f, g, h] = header;
    let length = usize::try_from(u32::from_le_bytes([e, f, g, h])).map_err(|_| BadRequest)?;
    let right = u32::from_le_bytes([a, b, c, d]) == VERSION && length <= MAX_REQUEST_BYTES;
    right.then_some(length).ok_or(BadRequest)
}

/// What was read is no request of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadRequest;

impl Request {
    /// Header and body.
    ///
    /// # Errors
    /// The request is larger than any that can be run.
    pub fn encode(&self) -> Result<Vec<u8>, BadRequest> {
        let mut body = Vec::new();
        put_bytes(&mut body, &self.cwd)?;
        put_list(&mut body, &self.argv)?;
        put_list(&mut body, &self.env)?;
        body.extend_from_slice(&self.kill_grace_ms.to_le_bytes());
        for limit in [self.limits.memory_bytes, self.limits.cpu_seconds, self.limits.max_processes] {
            body.push(u8::from(limit.is_some()));
            body.extend_from_slice(&limit.unwrap_or(0).to_le_bytes());
        }
        body.push(match self.confinement {
            Confinement::None => 0,
        });
        if body.len() > MAX_REQUEST_BYTES {
            return Err(BadRequest);
        }
        let mut whole = VERSION.to_le_bytes().to_vec();
        whole.extend_from_slice(&length_of(body.len())?);
        whole.append(&mut body);
        Ok(whole)
    }

    /// Reads a body.
    ///
    /// # Errors
    /// It is not one that `encode` wrote.
    pub fn decode(body: &[u8]) -> Result<Request, BadRequest> {
        let mut rest = Rest(body);
        let request = Request {
            cwd: rest.bytes()?,
            argv: rest.list()?,
            env: rest.list()?,
            kill_grace_ms: rest.number()?,
            limits: Limits { memory_bytes: rest.limit()?, cpu_seconds: rest.limit()?, max_processes: rest.limit()? },
            confinement: match rest.take::<1>()? {
                [0] => Confinement::None,
                _ => return Err(BadRequest),
            },
        };
        if rest.0.is_empty() && !request.argv.is_empty() { Ok(request) } else { Err(BadRequest) }
    }
}

fn length_of(length: usize) -> Result<[u8; 4], BadRequest> {
    u32::try_from(length).map(u32::to_le_bytes).map_err(|_| BadRequest)
}

fn put_bytes(body: &mut Vec<u8>, bytes: &[u8]) -> Result<(), BadRequest> {
    body.extend_from_slice(&length_of(bytes.len())?);
    body.extend_from_slice(bytes);
    Ok(())
}

fn put_list(body: &mut Vec<u8>, list: &[Vec<u8>]) -> Result<(), BadRequest> {
    body.extend_from_slice(&length_of(list.len())?);
    list.iter().try_for_each(|item| put_bytes(body, item))
}

/// What of a body has not been read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], BadRequest> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(BadRequest)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn length(&mut self) -> Result<usize, BadRequest> {
        usize::try_from(u32::from_le_bytes(self.take()?)).map_err(|_| BadRequest)
    }

    fn number(&mut self) -> Result<u64, BadRequest> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn limit(&mut self) -> Result<Option<u64>, BadRequest> {
        let [given] = self.take()?;
        let value = self.number()?;
        Ok((given != 0).then_some(value))
    }

    fn bytes(&mut self) -> Result<Vec<u8>, BadRequest> {
        let length = self.length()?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(BadRequest)?;
        self.0 = rest;
        Ok(taken.to_vec())
    }

    fn list(&mut self) -> Result<Vec<Vec<u8>>, BadRequest> {
        let length = self.length()?;
        (0..length).map(|_| self.bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            cwd: b"/work".to_vec(),
            argv: vec![b"/bin/sh".to_vec(), b"-c".to_vec(), b"echo \xff".to_vec()],
            env: vec![b"A=1".to_vec(), b"B=".to_vec()],
            kill_grace_ms: 200,
            limits: Limits { memory_bytes: Some(5), cpu_seconds: None, max_processes: Some(0) },
            confinement: Confinement::None,
        }
    }

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let whole = request().encode().unwrap();
        let (header, body) = whole.split_first_chunk::<HEADER_BYTES>().unwrap();
        assert_eq!(body_length(*header), Ok(body.len()));
        assert_eq!(Request::decode(body), Ok(request()));
    }

    #[test]
    fn a_request_that_was_cut_or_is_too_long_is_refused() {
        let whole = request().encode().unwrap();
        let (_, body) = whole.split_first_chunk::<HEADER_BYTES>().unwrap();
        for end in 0..body.len() {
            assert_eq!(Request::decode(&body[..end]), Err(BadRequest), "cut at {end}");
        }
        assert_eq!(Request::decode(&[body, &[0]].concat()), Err(BadRequest));
    }

    #[test]
    fn another_version_is_refused() {
        assert_eq!(body_length([9, 0, 0, 0, 1, 0, 0, 0]), Err(BadRequest));
        assert_eq!(body_length([1, 0, 0, 0, 255, 255, 255, 255]), Err(BadRequest));
    }

    #[test]
    fn every_status_is_read_as_it_was_written() {
        let mut all = vec![
            Status::Started { keeper: 5, main: 6 },
            Status::Guarded,
            Status::Exit(255),
            Status::Signal(9),
            Status::Lost,
            Status::Clean,
        ];
        all.extend(STAGES.map(|(stage, _)| Status::Failed { stage, errno: 2 }));
        all.extend(BOUNDS.map(|(bound, _)| Status::Limit(bound)));
        for status in all {
            assert_eq!(Status::from_line(status.to_line().trim_end()), Some(status));
        }
    }

    #[test]
    fn what_no_supervisor_writes_is_no_status() {
        for line in ["", "exit", "exit x", "exit 1 2", "failed nowhere 2", "limit", "clean up", "hello"] {
            assert_eq!(Status::from_line(line), None, "{line}");
        }
    }
}
