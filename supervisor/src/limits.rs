//! Whether the tree stays within its bounds. Looks at /proc; what to do about it is the keeper's.

use std::fs;

use lite_agent_supervisor::protocol::{Bound, Limits};

use crate::sys::{self, Errno};
use crate::tree::{Sight, stat};

/// How often the tree is measured, and how often when it holds half of the memory that it may: what fills memory at full
/// speed takes the other half within tens of milliseconds.
pub const LOOK_EVERY_MS: u64 = 50;
const CLOSE_LOOK_EVERY_MS: u64 = 10;

/// The kernel's own limits are a brake for what outruns the looks, and lie above the bounds: who passes a bound is to be
/// killed with that reason, not to fail with one of its own.
const DATA_SLACK_BYTES: u64 = 64 << 20;
/// Node from 24 on reserves over half a gigabyte of what counts as data before it does anything.
const LEAST_DATA_BYTES: u64 = 1 << 30;
const CPU_SLACK_SECONDS: u64 = 1;

/// Sets what the kernel can watch by itself; in the command's process, before it becomes the command.
pub fn set(limits: Limits) -> Result<(), Errno> {
    sys::set_limit(libc::RLIMIT_CORE, 0, 0)?;
    if let Some(bytes) = limits.memory_bytes {
        // Not RLIMIT_AS: what a program reserves and never touches is no memory, and Node reserves gigabytes.
        let data = bytes.saturating_mul(2).saturating_add(DATA_SLACK_BYTES).max(LEAST_DATA_BYTES);
        sys::set_limit(libc::RLIMIT_DATA, data, data)?;
    }
    if let Some(seconds) = limits.cpu_seconds {
        let soft = seconds.saturating_add(CPU_SLACK_SECONDS);
        sys::set_limit(libc::RLIMIT_CPU, soft, soft.saturating_add(1))?;
    }
    Ok(())
}

pub fn is_any(limits: Limits) -> bool {
    limits != Limits::default()
}

/// What a look at the tree found.
pub enum Measure {
    Within { next_look_ms: u64 },
    Passed(Bound),
}

/// Measures the tree below this process.
pub fn measure(limits: Limits) -> Measure {
    let (own, sight) = (sys::own_pid(), Sight::find());
    // A bomb of forks is not looked through to its end.
    if let Some(most) = limits.max_processes {
        let enough = usize::try_from(most).unwrap_or(usize::MAX);
        let some = sight.some_below(own, enough);
        if some.len() > enough && (running(&some) > most || running(&sight.below(own)) > most) {
            return Measure::Passed(Bound::Processes);
        }
    }
    if limits.memory_bytes.is_none() && limits.cpu_seconds.is_none() {
        return Measure::Within { next_look_ms: LOOK_EVERY_MS };
    }
    let (page_bytes, tick_ms) = sys::units();
    let tree = sight.below(own);
    let (mut cpu_ticks, mut bytes) = (0, 0);
    for pid in &tree {
        cpu_ticks += stat(*pid).map_or(0, |stat| stat.cpu_ticks);
        if limits.memory_bytes.is_some() {
            bytes += own_pages(*pid).unwrap_or(0) * page_bytes;
        }
    }
    // Pages that processes share after a fork were counted for each: only if that is too much, count them right, which
    // takes the kernel a walk over all of them.
    let over = |most: u64| bytes > most && tree.iter().map(|pid| proportional_bytes(*pid)).sum::<u64>() > most;
    if limits.memory_bytes.is_some_and(over) {
        return Measure::Passed(Bound::Memory);
    }
    let cpu_ms = cpu_ticks * tick_ms + sys::reaped_cpu_ms();
    if limits.cpu_seconds.is_some_and(|most| cpu_ms > most.saturating_mul(1000)) {
        return Measure::Passed(Bound::Cpu);
    }
    let close = limits.memory_bytes.is_some_and(|most| bytes > most / 2);
    Measure::Within { next_look_ms: if close { CLOSE_LOOK_EVERY_MS } else { LOOK_EVERY_MS } }
}

/// How many of them have not ended.
fn running(pids: &[i32]) -> u64 {
    pids.iter().map(|pid| u64::from(stat(*pid).is_some_and(|stat| !stat.zombie))).sum()
}

/// Resident pages without those of files.
fn own_pages(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut fields = text.split_ascii_whitespace().skip(1).map(|field| field.parse::<u64>().ok());
    let (resident, shared) = (fields.next()??, fields.next()??);
    Some(resident.saturating_sub(shared) + shared_memory_pages(pid))
}

/// Shared memory counts as shared in `statm`, with files, though nothing can write it back to anywhere.
fn shared_memory_pages(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    kilobytes(&text, "RssShmem:") / 4
}

/// Memory of the process where each shared page counts in parts.
fn proportional_bytes(pid: i32) -> u64 {
    match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
        Ok(text) => (kilobytes(&text, "Pss_Anon:") + kilobytes(&text, "Pss_Shmem:")) * 1024,
        // It has ended, or is another user's.
        Err(_) => 0,
    }
}

fn kilobytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Whether what the main process's end shows means that a bound was passed between two looks.
pub fn passed_at_end(limits: Limits, killed_by: Option<i32>, failed: bool, peak_bytes: u64) -> Option<Bound> {
    if limits.cpu_seconds.is_some() && killed_by == Some(libc::SIGXCPU) {
        return Some(Bound::Cpu);
    }
    // A peak alone may hold pages of files: it counts when the process came to grief.
    limits.memory_bytes.is_some_and(|most| failed && peak_bytes > most).then_some(Bound::Memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_holds_memory() {
        let own = sys::own_pid();
        assert!(own_pages(own).is_some_and(|pages| pages > 10));
        assert!(proportional_bytes(own) > 10_000);
    }

    #[test]
    fn kilobytes_are_found_by_their_name() {
        let text = "Pss:    9 kB\nPss_Anon:              12 kB\nPss_File: 3 kB\n";
        assert_eq!(kilobytes(text, "Pss_Anon:"), 12);
        assert_eq!(kilobytes(text, "Pss_Shmem:"), 0);
    }

    #[test]
    fn an_end_tells_of_a_bound_only_when_there_is_one() {
        let none = Limits::default();
        assert_eq!(passed_at_end(none, Some(libc::SIGXCPU), true, u64::MAX), None);
        let limits = Limits { memory_bytes: Some(100), cpu_seconds: Some(1), max_processes: None };
        assert_eq!(passed_at_end(limits, Some(libc::SIGXCPU), true, 0), Some(Bound::Cpu));
        assert_eq!(passed_at_end(limits, None, true, 101), Some(Bound::Memory));
        assert_eq!(passed_at_end(limits, None, false, 101), None);
        assert_eq!(passed_at_end(limits, Some(libc::SIGKILL), true, 100), None);
    }
}
