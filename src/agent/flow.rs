//! Backpressure: the host holds a run while its reader is far behind.

use std::cell::Cell;

use tokio::sync::Notify;

/// Whether a run may go on.
#[derive(Default)]
pub struct Flow {
    held: Cell<bool>,
    released: Notify,
}

impl Flow {
    pub fn hold(&self, held: bool) {
        self.held.set(held);
        if !held {
            self.released.notify_waiters();
        }
    }

    /// Resolves when the run is not held.
    pub async fn ready(&self) {
        while self.held.get() {
            self.released.notified().await;
        }
    }
}
