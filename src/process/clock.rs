//! The moments that one command waits for, on one timer.

use std::time::Duration;

use tokio::time::Instant;

/// What is to be done when its time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The command's deadline.
    Deadline,
    /// The grace of those who hold the output open is over.
    PipeGrace,
    /// The caller has waited long enough for a tree that is being killed.
    MoveOn,
    /// The supervisor has not done its work: do it for it.
    Backstop,
    /// Note who is in the tree.
    Look,
    /// It has been starting for long enough.
    Starting,
}

const COUNT: usize = 6;

#[derive(Debug)]
pub(super) struct Clock([Option<Instant>; COUNT]);

impl Clock {
    pub(super) fn new() -> Clock {
        Clock([None; COUNT])
    }

    /// A time that is too far away to be said never comes.
    pub(super) fn set(&mut self, alarm: Alarm, delay: Duration) {
        let at = Instant::now().checked_add(delay);
        if let Some(entry) = self.0.get_mut(alarm as usize) {
            *entry = at;
        }
    }

    pub(super) fn clear(&mut self, alarm: Alarm) {
        if let Some(entry) = self.0.get_mut(alarm as usize) {
            *entry = None;
        }
    }

    /// The next moment.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.iter().flatten().min().copied()
    }

    /// Takes an alarm whose time has come.
    pub(super) fn due(&mut self) -> Option<Alarm> {
        let now = Instant::now();
        let alarms = [Alarm::Deadline, Alarm::PipeGrace, Alarm::MoveOn, Alarm::Backstop, Alarm::Look, Alarm::Starting];
        let due = alarms.into_iter().zip(self.0).find(|(_, at)| at.is_some_and(|at| at <= now))?.0;
        self.clear(due);
        Some(due)
    }
}

/// Waits until then; for ever without.
pub(super) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn alarms_come_once_and_in_their_order() {
        let mut clock = Clock::new();
        clock.set(Alarm::Backstop, Duration::from_millis(20));
        clock.set(Alarm::Deadline, Duration::from_millis(10));
        clock.set(Alarm::Look, Duration::from_millis(5));
        clock.set(Alarm::PipeGrace, Duration::MAX);
        clock.clear(Alarm::Look);
        assert_eq!(clock.due(), None);
        until(clock.next()).await;
        assert_eq!((clock.due(), clock.due()), (Some(Alarm::Deadline), None));
        until(clock.next()).await;
        assert_eq!((clock.due(), clock.next()), (Some(Alarm::Backstop), None));
    }
}
