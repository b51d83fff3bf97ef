//! Kills a tree whose supervisor cannot: the command killed or stopped both of its processes. Every process is known by
//! its pid and its start time, and is signalled through a descriptor, so that no stranger who got the pid is hit.

use std::collections::HashSet;
use std::fs;

use super::supervisor::{process_descriptor, signal_through};

/// A process, and no other that may get its pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Process {
    pid: i32,
    /// In ticks since boot.
    start: u64,
}

/// Who was seen in one tree.
#[derive(Debug, Default)]
pub(super) struct Seen {
    alive: HashSet<Process>,
    /// The command's pipes, as /proc shows them.
    pipes: Vec<String>,
    /// Who held one of the pipes at the last search.
    holders: HashSet<Process>,
    /// Killed by us; where the host is pid 1, what lost its parent is the host's child, and nobody else reaps it.
    killed: HashSet<Process>,
}

impl Seen {
    /// Notes who is below the supervisor now. A few files of /proc for each process.
    pub(super) fn look(&mut self, supervisor: i32) {
        self.alive.retain(Process::is_alive);
        self.alive.extend(below(supervisor).into_iter().filter_map(Process::of));
    }

    /// Notes a process that the supervisor named.
    pub(super) fn note(&mut self, pid: i32) {
        self.alive.extend(Process::of(pid));
    }

    /// Kills everybody who was ever seen, and those below them. Whether nobody is left.
    pub(super) fn kill(&mut self, supervisor: i32) -> bool {
        self.alive.retain(Process::is_alive);
        // Whoever lost its parent is below none of ours any more, but may have children.
        let roots: Vec<i32> = self.alive.iter().map(|process| process.pid).chain([supervisor]).collect();
        self.alive.extend(roots.into_iter().flat_map(below).filter_map(Process::of));
        for process in &self.alive {
            process.kill();
        }
        self.killed.extend(&self.alive);
        self.bury();
        self.alive.retain(Process::is_alive);
        self.alive.is_empty()
    }

    /// The command's pipes, by the numbers that the system has for them.
    pub(super) fn note_pipes(&mut self, numbers: &[u64]) {
        self.pipes = numbers.iter().map(|number| format!("pipe:[{number}]")).collect();
    }

    /// Adds those who hold the command's pipes, whoever their parents were. Only for a tree that has fallen apart. Whether
    /// there are none.
    pub(super) fn find_by_pipes(&mut self, since: u64) -> bool {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let found = pids.filter(|pid| *pid != own && self.holds_a_pipe(*pid)).filter_map(Process::of);
        let found: HashSet<Process> = found.filter(|process| process.start >= since).collect();
        // Only who still holds one at the next search: a child that the host has just forked holds all that is the
        // host's, until it executes its program.
        self.alive.extend(found.intersection(&self.holders));
        self.holders = found;
        self.holders.is_empty()
    }

    fn holds_a_pipe(&self, pid: i32) -> bool {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
        links.any(|link| self.pipes.iter().any(|pipe| link.as_os_str() == pipe.as_str()))
    }

    /// Reaps those of the killed who became children of this process.
    pub(super) fn bury(&mut self) {
        self.killed.retain(|process| !process.bury());
    }
}

impl Process {
    /// One that has not ended.
    fn of(pid: i32) -> Option<Process> {
        let stat = stat(pid)?;
        (!stat.ended).then_some(Process { pid, start: stat.start })
    }

    fn is_alive(&self) -> bool {
        Process::of(self.pid) == Some(*self)
    }

    fn kill(&self) {
        // The descriptor is of whoever has the pid now, and that stays so: if it started when ours did, it is ours.
        let Some(descriptor) = process_descriptor(self.pid) else { return };
        if self.is_alive() {
            signal_through(&descriptor, libc::SIGKILL);
        }
    }

    /// Whether nothing of it is left, or nothing that we could reap.
    fn bury(&self) -> bool {
        match stat(self.pid) {
            Some(stat) if stat.start == self.start && !stat.ended => false,
            Some(stat) if stat.start == self.start => {
                // SAFETY: fills nothing. It is a process of a command, and no child that the host started.
                let found = unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) };
                found == self.pid
            }
            _ => true,
        }
    }
}

/// When a process was started, in ticks since boot.
pub(super) fn start_of(pid: i32) -> Option<u64> {
    stat(pid).map(|stat| stat.start)
}

/// All below a process.
fn below(root: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut next = Some(root);
    let mut index = 0;
    while let Some(pid) = next {
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let Ok(list) = fs::read_to_string(task.path().join("children")) else { continue };
            found.extend(list.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()));
        }
        next = found.get(index).copied();
        index += 1;
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    /// A zombie, or about to be nothing.
    ended: bool,
    start: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name stands in brackets and may hold anything, brackets too.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(line.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    Some(Stat { ended, start: fields.nth(18)?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_read_behind_any_name() {
        let fields = (1..=20).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        let read = |state: &str| parse_stat(format!("5 (a) S (b) {state} {fields}").as_bytes());
        assert_eq!(read("R"), Some(Stat { ended: false, start: 19 }));
        assert_eq!(read("Z"), Some(Stat { ended: true, start: 19 }));
        assert_eq!(parse_stat(b"5 (a"), None);
    }

    #[test]
    fn a_process_that_has_another_start_is_no_more_ours() {
        let own = i32::try_from(std::process::id()).unwrap();
        let real = Process::of(own).unwrap();
        let other = Process { start: real.start + 1, ..real };
        other.kill();
        assert!(real.is_alive() && !other.is_alive());
        let mut seen = Seen { alive: HashSet::from([other]), ..Seen::default() };
        assert!(seen.kill(i32::MAX));
    }

    #[test]
    fn this_process_holds_its_own_pipes_and_is_not_found_by_them() {
        use std::os::fd::AsRawFd;
        let (read, _write) = std::io::pipe().unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", read.as_raw_fd())).unwrap();
        let mut seen = Seen { pipes: vec![link.to_str().unwrap().to_string()], ..Seen::default() };
        assert!(seen.holds_a_pipe(i32::try_from(std::process::id()).unwrap()));
        assert!(seen.find_by_pipes(0));
    }
}
