//! How long a thread has worked: time on a processor, which goes on only while it has one. For bounds on work that must not
//! depend on what else the machine does.

use std::time::Duration;

/// What this thread has worked so far; to be compared with what the same thread is told later.
#[cfg(unix)]
pub fn work_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct lives, and is only written to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The time that has passed, where no other is known.
#[cfg(not(unix))]
pub fn work_time() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_and_waiting_does_not() {
        let before = work_time();
        let (_tell, hear) = std::sync::mpsc::channel::<()>();
        assert!(hear.recv_timeout(Duration::from_millis(50)).is_err());
        let waited = work_time() - before;
        let mut sum = 0_u64;
        while work_time() - before < waited + Duration::from_millis(5) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(waited < Duration::from_millis(50), "{waited:?}");
    }
}
