//! Has batches worked on by several threads, and takes their results in the order of the batches. Knows nothing of files.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

const MAX_THREADS: usize = 8;
/// How far work may be ahead of the results that were taken: bounds memory and open folders.
const MAX_AHEAD: usize = 32;

struct State<B, R> {
    waiting: VecDeque<(usize, B)>,
    done: BTreeMap<usize, R>,
    /// How many batches there were so far.
    given: usize,
    /// How many results were taken.
    taken: usize,
    is_all_given: bool,
    is_stopped: bool,
}

/// What the threads share. Each kind of waiting has its own signal, so that none wakes for another.
struct Shared<B, R> {
    state: Mutex<State<B, R>>,
    has_work: Condvar,
    has_result: Condvar,
    has_room: Condvar,
}

/// Where batches are handed in.
pub(super) struct Feed<'a, B, R> {
    shared: &'a Shared<B, R>,
}

impl<B, R> Feed<'_, B, R> {
    /// Hands in a batch, when there is room. `Break`: no more are wanted.
    pub(super) fn give(&self, batch: B) -> ControlFlow<()> {
        let mut state = self.shared.lock();
        while !state.is_stopped && state.given >= state.taken + MAX_AHEAD {
            state = wait(&self.shared.has_room, state);
        }
        if state.is_stopped {
            return ControlFlow::Break(());
        }
        let number = state.given;
        state.given += 1;
        state.waiting.push_back((number, batch));
        drop(state);
        self.shared.has_work.notify_one();
        ControlFlow::Continue(())
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.shared.lock().is_stopped
    }
}

/// Runs `produce` and `work` on threads of their own and `take` on this one, with the results in order, until it breaks or
/// there are no more. `equip` makes what a worker keeps from one batch to the next. Answers what `produce` did.
///
/// # Errors
/// The system has no threads to give.
pub(super) fn in_order<B: Send, R: Send, W, T: Send>(
    produce: impl FnOnce(&Feed<'_, B, R>) -> T + Send,
    equip: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, B) -> R + Sync,
    mut take: impl FnMut(R) -> ControlFlow<()>,
) -> io::Result<T> {
    let shared = Shared::new();
    let (shared, equip, work) = (&shared, &equip, &work);
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    thread::scope(|scope| {
        let _stop = StopAtTheEnd(shared);
        for number in 0..threads {
            let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                let _stop = StopOnPanic(shared);
                let mut equipment = equip();
                while let Some((number, batch)) = shared.next_batch() {
                    let result = work(&mut equipment, batch);
                    shared.finish(number, result);
                }
            });
            match spawned {
                // Fewer do as well, if more slowly.
                Err(_) if number > 0 => break,
                spawned => spawned?,
            };
        }
        let producer = thread::Builder::new().spawn_scoped(scope, move || {
            let _stop = StopOnPanic(shared);
            let produced = produce(&Feed { shared });
            shared.lock().is_all_given = true;
            shared.has_work.notify_all();
            shared.has_result.notify_all();
            produced
        })?;
        while let Some(result) = shared.next_result() {
            if take(result).is_break() {
                break;
            }
        }
        shared.stop();
        match producer.join() {
            Ok(produced) => Ok(produced),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

impl<B, R> Shared<B, R> {
    fn new() -> Shared<B, R> {
        let state = State {
            waiting: VecDeque::new(),
            done: BTreeMap::new(),
            given: 0,
            taken: 0,
            is_all_given: false,
            is_stopped: false,
        };
        let [has_work, has_result, has_room] = [Condvar::new(), Condvar::new(), Condvar::new()];
        Shared { state: Mutex::new(state), has_work, has_result, has_room }
    }

    // Nothing panics while the state is locked.
    fn lock(&self) -> MutexGuard<'_, State<B, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_batch(&self) -> Option<(usize, B)> {
        let mut state = self.lock();
        loop {
            if state.is_stopped {
                return None;
            }
            if let Some(batch) = state.waiting.pop_front() {
                return Some(batch);
            }
            if state.is_all_given {
                return None;
            }
            state = wait(&self.has_work, state);
        }
    }

    fn finish(&self, number: usize, result: R) {
        let mut state = self.lock();
        state.done.insert(number, result);
        let is_awaited = number == state.taken;
        drop(state);
        if is_awaited {
            self.has_result.notify_one();
        }
    }

    fn next_result(&self) -> Option<R> {
        let mut state = self.lock();
        loop {
            if state.is_stopped {
                return None;
            }
            let next = state.taken;
            if let Some(result) = state.done.remove(&next) {
                state.taken += 1;
                drop(state);
                self.has_room.notify_one();
                return Some(result);
            }
            if state.is_all_given && next == state.given {
                return None;
            }
            state = wait(&self.has_result, state);
        }
    }

    fn stop(&self) {
        self.lock().is_stopped = true;
        self.has_work.notify_all();
        self.has_result.notify_all();
        self.has_room.notify_all();
    }
}

fn wait<'a, T>(signal: &Condvar, state: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    signal.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// A thread that panics would be waited for without end.
struct StopOnPanic<'a, B, R>(&'a Shared<B, R>);

impl<B, R> Drop for StopOnPanic<'_, B, R> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

/// So would the threads wait if `take` panicked.
struct StopAtTheEnd<'a, B, R>(&'a Shared<B, R>);

impl<B, R> Drop for StopAtTheEnd<'_, B, R> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::in_order;

    #[test]
    fn results_come_in_the_order_of_their_batches() {
        let mut taken = Vec::new();
        let produced = in_order(
            |feed| {
                for number in 0..1_000_u64 {
                    assert!(feed.give(number).is_continue());
                }
                "done"
            },
            || (),
            |(), number| {
                // Work of very different length.
                let turns = (number * 7_919) % 1_000;
                (0..turns).fold(number, |sum, turn| std::hint::black_box(sum ^ turn ^ turn))
            },
            |number| {
                taken.push(number);
                ControlFlow::Continue(())
            },
        )
        .unwrap();
        assert_eq!(produced, "done");
        assert_eq!(taken, (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_break_ends_it_all() {
        let mut taken = 0;
        in_order(
            |feed| while feed.give(1).is_continue() {},
            || (),
            |(), batch| batch,
            |_| {
                taken += 1;
                if taken == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        )
        .unwrap();
        assert_eq!(taken, 10);
    }

    #[test]
    #[should_panic(expected = "scoped thread panicked")]
    fn a_worker_that_panics_ends_it_all() {
        in_order(
            |feed| while feed.give(1).is_continue() {},
            || (),
            |(), _| -> u8 { panic!("on purpose") },
            |_| ControlFlow::Continue(()),
        )
        .unwrap();
    }

    #[test]
    #[should_panic(expected = "on purpose")]
    fn a_taker_that_panics_ends_it_all() {
        in_order(|feed| while feed.give(1).is_continue() {}, || (), |(), batch| batch, |_| panic!("on purpose"))
            .unwrap();
    }
}
