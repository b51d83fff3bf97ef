//! Brings wakes from tokio's threads back to the JS thread: one weak ThreadsafeFunction an environment, which never
//! keeps Node alive.

use std::sync::Arc;

use napi::Status;
use napi::bindgen_prelude::External;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;

type WakeFunction = ThreadsafeFunction<i64, (), i64, Status, false, true>;

/// Wakes families of one environment by their number.
#[derive(Clone)]
pub struct Waker(Arc<WakeFunction>);

impl Waker {
    /// Asks for a turn of the family. After the environment has ended there is nobody to ask, and nothing happens.
    pub fn wake(&self, family: i64) {
        self.0.call(family, ThreadsafeFunctionCallMode::NonBlocking);
    }
}

/// Made at module load, in no run's async context: `wake` is called with the number of a family that wants a turn.
#[napi(catch_unwind)]
pub fn create_waker(wake: WakeFunction) -> External<Waker> {
    External::new(Waker(Arc::new(wake)))
}
