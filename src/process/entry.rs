//! Places for commands that are being started. Starting one is work for the processor; where hundreds are started at once,
//! all of them would have their turn before the thread that waits for them. Knows nothing of what they are.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// After so long a command has its place no longer, whatever became of it: one that hangs must not keep others waiting.
pub(super) const LONGEST_START: Duration = Duration::from_millis(100);
/// For each processor.
const PLACES_EACH: usize = 2;
const FEWEST_PLACES: usize = 4;

static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(FEWEST_PLACES.max(processors * PLACES_EACH)))
});

/// A place, first come first served. Dropping it gives it back.
pub(super) async fn place() -> Option<OwnedSemaphorePermit> {
    // It is never closed.
    PLACES.clone().acquire_owned().await.ok()
}
