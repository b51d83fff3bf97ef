//! The executor of one family: polls its tasks on the thread that calls it, until nothing moves, and hands back the
//! effects that queued up. Wakes from other threads go through `notify`, once until the next turn.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, Stream};

use super::port::Host;

const IDLE: u8 = 0;
const WOKEN: u8 = 1;
const POLLING: u8 = 2;

/// Bit 0: something is to be polled. Bit 1: a turn is going on, and will look again before it ends.
struct TurnWaker {
    state: AtomicU8,
    notify: Box<dyn Fn() + Send + Sync>,
}

impl Wake for TurnWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.fetch_or(WOKEN, Ordering::AcqRel) == IDLE {
            (self.notify)();
        }
    }
}

/// Adds tasks to a driver.
#[derive(Clone)]
pub struct Spawner {
    incoming: Rc<RefCell<Vec<LocalBoxFuture<'static, ()>>>>,
    waker: Waker,
}

impl Spawner {
    /// The task is polled for the first time before the current turn ends, or in the next one.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.incoming.borrow_mut().push(Box::pin(task));
        self.waker.wake_by_ref();
    }
}

/// The executor of one family.
pub struct Driver {
    host: Host,
    tasks: FuturesUnordered<LocalBoxFuture<'static, ()>>,
    incoming: Rc<RefCell<Vec<LocalBoxFuture<'static, ()>>>>,
    turn: Arc<TurnWaker>,
    waker: Waker,
}

impl Driver {
    /// `notify` is called, on any thread, when a task wants to be polled and no turn is going on.
    pub fn new(notify: Box<dyn Fn() + Send + Sync>) -> Driver {
        let turn = Arc::new(TurnWaker { state: AtomicU8::new(IDLE), notify });
        Driver {
            host: Host::default(),
            tasks: FuturesUnordered::new(),
            incoming: Rc::default(),
            waker: Waker::from(turn.clone()),
            turn,
        }
    }

    pub fn host(&self) -> Host {
        self.host.clone()
    }

    pub fn spawner(&self) -> Spawner {
        Spawner { incoming: self.incoming.clone(), waker: self.waker.clone() }
    }

    /// Lets `input` change the core (answer a call, start a run), polls until nothing moves, and returns the effects:
    /// JSON text of an array, or nothing.
    pub fn turn(&mut self, input: impl FnOnce()) -> Vec<u8> {
        self.turn.state.fetch_or(POLLING, Ordering::AcqRel);
        input();
        // Once nothing woke a task, the turn ends; a wake after that notifies.
        while self.turn.state.compare_exchange(POLLING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_err() {
            self.turn.state.store(POLLING, Ordering::Release);
            self.poll_tasks();
        }
        self.host.take_effects()
    }

    fn poll_tasks(&mut self) {
        let mut context = Context::from_waker(&self.waker);
        loop {
            self.tasks.extend(self.incoming.borrow_mut().drain(..));
            match Pin::new(&mut self.tasks).poll_next(&mut context) {
                Poll::Ready(Some(())) => {}
                Poll::Ready(None) | Poll::Pending => {
                    if self.incoming.borrow().is_empty() {
                        return;
                    }
                }
            }
        }
    }
}
