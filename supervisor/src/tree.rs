//! The process tree below this process: who is in it, and ending all of it. Knows no request and no runner.

use std::collections::HashSet;
use std::fs;

use crate::sys::{self, Reaped};

/// A storm of forks is frozen in so many looks or not at all; what is left over is killed in the next round.
const MAX_FREEZING_LOOKS: usize = 200;
/// No Linux has pids above this.
const MAX_PID: i32 = 1 << 22;
const FIRST_PAUSE_US: u64 = 500;
const LONGEST_PAUSE_US: u64 = 100_000;

/// How the tree can be seen on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The kernel lists the children of a process.
    Children,
    /// It does not, but each process names its parent.
    Parents,
    /// There is no /proc, or one of another pid namespace. Only our own children can be told, one pid after another.
    Blind,
}

impl Sight {
    pub fn find() -> Sight {
        let own = sys::own_pid();
        if stat(own).is_none() || !fs::read_link("/proc/self").is_ok_and(|path| path.as_os_str() == &*own.to_string()) {
            return Sight::Blind;
        }
        if fs::metadata(format!("/proc/self/task/{own}/children")).is_ok() { Sight::Children } else { Sight::Parents }
    }

    /// All below `root`, parents first, itself not among them. Where blind, only the children of this process.
    pub fn below(self, root: i32) -> Vec<i32> {
        self.some_below(root, usize::MAX)
    }

    /// The same, but no longer looked for once there are more than `enough`.
    pub fn some_below(self, root: i32, enough: usize) -> Vec<i32> {
        match self {
            Sight::Children => by_children(root, enough),
            Sight::Parents => by_parents(root),
            Sight::Blind => (2..MAX_PID).filter(|pid| sys::is_child(*pid)).collect(),
        }
    }
}

fn by_children(root: i32, enough: usize) -> Vec<i32> {
    let mut found = Vec::new();
    let mut next = Some(root);
    let mut index = 0;
    while let Some(pid) = next {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let Ok(list) = fs::read_to_string(task.path().join("children")) else { continue };
            found.extend(list.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()));
        }
        next = if found.len() > enough { None } else { found.get(index).copied() };
        index += 1;
    }
    found
}

fn by_parents(root: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parents: Vec<(i32, i32)> = pids.filter_map(|pid| Some((pid, stat(pid)?.parent))).collect();
    let mut found = vec![root];
    let mut index = 0;
    while let Some(parent) = found.get(index).copied() {
        found.extend(parents.iter().filter(|(_, theirs)| *theirs == parent).map(|(pid, _)| *pid));
        index += 1;
    }
    found.split_off(1)
}

/// What one line of /proc says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub zombie: bool,
    pub parent: i32,
    /// Its own, and that of the children which it has waited for.
    pub cpu_ticks: u64,
}

pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name stands in brackets and may hold anything, brackets too.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(line.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let times = fields.skip(9).take(4).filter_map(|field| field.parse::<i64>().ok());
    Some(Stat { zombie, parent, cpu_ticks: times.map(|ticks| u64::try_from(ticks).unwrap_or(0)).sum() })
}

/// Asks every process to end. One that is stopped could not hear.
pub fn ask_to_end(main: Option<i32>) {
    let sight = Sight::find();
    if let (Sight::Blind, Some(main)) = (sight, main) {
        // Its own session: most of the tree, and without a search.
        sys::send(-main, libc::SIGTERM);
        sys::send(-main, libc::SIGCONT);
    }
    for pid in sight.below(sys::own_pid()) {
        sys::send(pid, libc::SIGTERM);
        sys::send(pid, libc::SIGCONT);
    }
}

/// Kills everything below this process and reaps it; `reaped` sees each. `main`: the command, if it was not reaped yet.
/// Comes back when nothing is left: a process that we may not kill (it became another user's) is tried again for as long
/// as it lives.
pub fn destroy(main: Option<i32>, mut reaped: impl FnMut(Reaped)) {
    let own = sys::own_pid();
    if let Some(main) = main {
        // Its group, at one stroke and without a search: a bomb of forks is one group as a rule.
        sys::send(-main, libc::SIGKILL);
    }
    let mut sight = None;
    let mut pause_us = FIRST_PAUSE_US;
    loop {
        // Before any look: where blind, one takes a second.
        loop {
            match sys::reap() {
                Reaped::NoChildren => return,
                Reaped::Nothing => break,
                one @ Reaped::One { .. } => {
                    pause_us = FIRST_PAUSE_US;
                    reaped(one);
                }
            }
        }
        let sight = *sight.get_or_insert_with(|| {
            sys::hurry();
            let sight = Sight::find();
            if sight != Sight::Blind {
                freeze(sight, own);
            }
            sight
        });
        // Whoever loses its parent by this is our child at the next look, or when that parent is gone.
        signal_groups(&sight.below(own), &mut HashSet::new(), libc::SIGKILL);
        sys::pause_us(pause_us);
        pause_us = (pause_us * 2).min(LONGEST_PAUSE_US);
    }
}

/// Stops all, until a look finds nobody new: what is stopped cannot fork away from its killer.
fn freeze(sight: Sight, own: i32) {
    let mut seen = HashSet::new();
    for _ in 0..MAX_FREEZING_LOOKS {
        if !signal_groups(&sight.below(own), &mut seen, libc::SIGSTOP) {
            return;
        }
    }
}

/// Signals these processes, but those whose group or who themselves were `seen`; whether there were any. A group is
/// signalled as one, between two forks of its members, and holds nobody but ours: the command began a session of its
/// own, and groups do not span sessions.
fn signal_groups(pids: &[i32], seen: &mut HashSet<i32>, signal: i32) -> bool {
    let own_group = sys::group_of(sys::own_pid());
    let mut any = false;
    for pid in pids {
        let group = sys::group_of(*pid);
        if group > 1 && group != own_group && seen.insert(-group) {
            sys::send(-group, signal);
            seen.insert(*pid);
            any = true;
        } else if seen.insert(*pid) {
            sys::send(*pid, signal);
            any = true;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_does_not_mislead() {
        let line = b"12 (a) Z (b\xff) R 7 1 1 0 -1 4194304 100 0 0 0 5 6 -1 8 20 0 1 0 999 0 0";
        assert_eq!(parse_stat(line), Some(Stat { zombie: false, parent: 7, cpu_ticks: 19 }));
        assert_eq!(parse_stat(b"12 (a) Z 1 0"), Some(Stat { zombie: true, parent: 1, cpu_ticks: 0 }));
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn children_and_parents_see_the_same_tree() {
        // The test's own threads and siblings come and go, but whoever is below us is seen either way.
        let own = sys::own_pid();
        assert_eq!(by_children(own, usize::MAX), by_parents(own));
        assert_ne!(Sight::find(), Sight::Blind);
        let parent = stat(own).map(|stat| stat.parent);
        assert!(
            parent.is_some_and(
                |parent| by_parents(parent).contains(&own) && by_children(parent, usize::MAX).contains(&own)
            )
        );
    }
}
