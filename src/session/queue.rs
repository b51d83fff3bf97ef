//! Runs of one session are one after another, first come first served.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::Conversation;

/// One session of a family.
pub struct Session {
    id: String,
    gate: std::sync::Arc<Semaphore>,
    waiting: Cell<usize>,
    /// How many things are going on that will want a run.
    attended: Cell<usize>,
    idle: Notify,
    pub conversation: RefCell<Conversation>,
    /// Whether the conversation is what the log holds. Where there is no log, it always is.
    pub loaded: Cell<bool>,
    /// It is a child's.
    pub is_child: Cell<bool>,
    /// It was there before this process: whatever belongs to it may be as well.
    pub was_stored: Cell<bool>,
    /// The size, in tokens, below which no compaction is tried.
    pub quiet_below: Cell<f64>,
    /// When a run last ended here, by the family's count.
    pub used: Cell<u64>,
}

/// A run's stay in its session: from when it lined up until it is dropped.
pub struct Turn {
    session: Rc<Session>,
    permit: Option<OwnedSemaphorePermit>,
}

/// Something that goes on for the session and will want a run when it is over.
pub struct Presence(Rc<Session>);

impl Session {
    pub fn new(id: String, loaded: bool) -> Session {
        Session {
            id,
            gate: std::sync::Arc::new(Semaphore::new(1)),
            waiting: Cell::new(0),
            attended: Cell::new(0),
            idle: Notify::new(),
            conversation: RefCell::default(),
            loaded: Cell::new(loaded),
            is_child: Cell::new(false),
            was_stored: Cell::new(false),
            quiet_below: Cell::new(0.0),
            used: Cell::new(0),
        }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Lines up. The session is not idle from now on.
    pub fn line_up(self: &Rc<Session>) -> Turn {
        self.waiting.set(self.waiting.get() + 1);
        Turn { session: self.clone(), permit: None }
    }

    /// The session is not idle for as long as the presence lasts.
    pub fn attend(self: &Rc<Session>) -> Presence {
        self.attended.set(self.attended.get() + 1);
        Presence(self.clone())
    }

    /// Resolves when no run of the session is going or waiting, and nothing goes on that will want one.
    pub async fn idle(&self) {
        while !self.is_idle() {
            self.idle.notified().await;
        }
    }

    /// Resolves when nothing goes on that will want a run, whatever runs there are.
    pub async fn unattended(&self) {
        while self.attended.get() > 0 {
            self.idle.notified().await;
        }
    }

    /// Whether no run of the session is going or waiting, and nothing goes on that will want one.
    pub fn is_idle(&self) -> bool {
        self.waiting.get() == 0 && self.attended.get() == 0
    }

    /// Whether nothing would be lost if the session were forgotten.
    pub fn is_blank(&self) -> bool {
        self.is_idle() && self.conversation.borrow().messages() == 0
    }
}

impl Turn {
    /// Waits until the runs before it are over.
    pub async fn begin(&mut self) {
        self.permit = self.session.gate.clone().acquire_owned().await.ok();
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.attended.set(self.0.attended.get().saturating_sub(1));
        if self.0.attended.get() == 0 {
            self.0.idle.notify_waiters();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.permit = None;
        self.session.waiting.set(self.session.waiting.get().saturating_sub(1));
        if self.session.waiting.get() == 0 {
            self.session.idle.notify_waiters();
        }
    }
}
