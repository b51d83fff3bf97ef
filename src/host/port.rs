//! `Host`: the core's end of the bridge. Queues effects, and keeps the slots in which answers arrive.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use super::call::{Answer, Call, HostError};
use super::effect::{AbortReason, Effect};
use crate::types::CallId;

/// What is known of a call that the host has not been told to forget.
enum Slot {
    Waiting { waker: Option<Waker>, started: Option<Instant> },
    Answered(Answer),
}

#[derive(Default)]
struct Shared {
    /// The body of a JSON array of effects.
    queue: Vec<u8>,
    slots: HashMap<CallId, Slot>,
    last_id: u64,
}

/// A handle to the host; clones are the same host.
#[derive(Clone, Default)]
pub struct Host(Rc<RefCell<Shared>>);

impl Host {
    /// Asks for something and returns the future of its answer. Dropping the future aborts what was asked.
    pub fn call<'a>(&self, effect: impl FnOnce(CallId) -> Effect<'a>) -> Call {
        let id = self.reserve(1);
        self.0.borrow_mut().slots.insert(id, Slot::Waiting { waker: None, started: None });
        self.emit(&effect(id));
        Call::new(self.clone(), id)
    }

    /// Tells the host something.
    pub fn emit(&self, effect: &Effect<'_>) {
        let mut shared = self.0.borrow_mut();
        if !shared.queue.is_empty() {
            shared.queue.push(b',');
        }
        let start = shared.queue.len();
        if let Err(error) = serde_json::to_writer(&mut shared.queue, effect) {
            // Effects hold strings and numbers alone, so this is a fault of ours: the queue stays whole without it.
            shared.queue.truncate(start.saturating_sub(usize::from(start > 0)));
            tracing::error!(%error, "an effect could not be written");
        }
    }

    /// Reserves `count` keys in a row and returns the first.
    pub fn reserve(&self, count: u64) -> CallId {
        let mut shared = self.0.borrow_mut();
        let first = shared.last_id + 1;
        shared.last_id += count;
        CallId(first)
    }

    /// The host answers a call. Late answers, of calls that were given up, are dropped.
    pub fn answer(&self, id: CallId, elapsed: Duration, answer: Result<String, HostError>) {
        let mut shared = self.0.borrow_mut();
        let Some(slot @ Slot::Waiting { .. }) = shared.slots.get_mut(&id) else { return };
        let before = std::mem::replace(slot, Slot::Answered(Answer { elapsed, outcome: answer }));
        drop(shared);
        if let Slot::Waiting { waker: Some(waker), .. } = before {
            waker.wake();
        }
    }

    /// The host began a call `elapsed` ago, and will answer later: its deadline runs from then.
    pub fn started(&self, id: CallId, elapsed: Duration) {
        let mut shared = self.0.borrow_mut();
        let Some(Slot::Waiting { waker, started }) = shared.slots.get_mut(&id) else { return };
        let now = Instant::now();
        *started = Some(now.checked_sub(elapsed).unwrap_or(now));
        let waker = waker.clone();
        drop(shared);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The answer if there is one; else since when the call has been going, if it has begun.
    pub(super) fn poll_slot(&self, id: CallId, waker: &Waker) -> Poll<Answer> {
        let mut shared = self.0.borrow_mut();
        match shared.slots.get_mut(&id) {
            Some(Slot::Waiting { waker: kept, .. }) => {
                match kept {
                    Some(kept) => kept.clone_from(waker),
                    None => *kept = Some(waker.clone()),
                }
                Poll::Pending
            }
            Some(Slot::Answered(_)) => match shared.slots.remove(&id) {
                Some(Slot::Answered(answer)) => Poll::Ready(answer),
                _ => Poll::Pending,
            },
            None => Poll::Pending,
        }
    }

    pub(super) fn started_at(&self, id: CallId) -> Option<Instant> {
        match self.0.borrow().slots.get(&id) {
            Some(Slot::Waiting { started, .. }) => *started,
            _ => None,
        }
    }

    /// Forgets a call; tells the host if it is still at it.
    pub(super) fn give_up(&self, id: CallId, why: AbortReason) {
        let slot = self.0.borrow_mut().slots.remove(&id);
        if let Some(Slot::Waiting { .. }) = slot {
            self.emit(&Effect::Abort { id, why });
        }
    }

    /// Takes the queued effects: a JSON array, or an empty string when there are none.
    pub(super) fn take_effects(&self) -> Vec<u8> {
        let mut shared = self.0.borrow_mut();
        if shared.queue.is_empty() {
            return Vec::new();
        }
        let mut array = Vec::with_capacity(shared.queue.len() + 2);
        array.push(b'[');
        array.append(&mut shared.queue);
        array.push(b']');
        array
    }
}
