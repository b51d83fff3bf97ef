//! Operations that run on a thread which may block: when one is over, a number is woken, and JS takes what came of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::spawn_blocking;
use serde_json::{Value, json};

use super::text::Text;
use super::waker::Waker;

/// What came of the operations of one object.
pub struct Outcomes {
    waker: Waker,
    number: i64,
    /// JSON text of what came of operations.
    over: Mutex<Vec<String>>,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outcomes {
    /// `number` is what the wakes carry.
    pub fn new(number: i64, waker: Waker) -> Arc<Outcomes> {
        Arc::new(Outcomes { waker, number, over: Mutex::default() })
    }

    /// Starts an operation. `work` answers JSON text, or what is wrong: `{ code, message, … }`.
    pub fn start(self: &Arc<Outcomes>, operation: i64, work: impl FnOnce() -> Result<String, Value> + Send + 'static) {
        let outcomes = self.clone();
        spawn_blocking(move || {
            let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_panic| {
                Err(json!({ "code": "internal", "message": "an internal error of an operation on the disk" }))
            });
            let told = match outcome {
                Ok(value) => format!("{{\"op\":{operation},\"ok\":{value}}}"),
                Err(error) => json!({ "op": operation, "error": error }).to_string(),
            };
            lock(&outcomes.over).push(told);
            outcomes.waker.wake(outcomes.number);
        });
    }

    /// What came of operations since the last call: JSON text of `({ op, ok } | { op, error })[]`.
    pub fn take(&self) -> Text {
        let over = std::mem::take(&mut *lock(&self.over));
        Text(format!("[{}]", over.join(",")).into_bytes())
    }
}
