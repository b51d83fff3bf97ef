//! Places for commands that are being started. Starting one is work for the processor; where hundreds are started at once,
//! all of them would have their turn before the thread that waits for them. Knows nothing of what they are.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// After so long a command has its place no longer, whatever became of it: one that hangs must not keep others waiting, and
/// a machine that does other things as well takes longer for each.
pub(super) const LONGEST_START: Duration = Duration::from_millis(20);

/// For half of the processors: starting costs nothing but their time, so more places would not make it quicker, and the
/// other half is for the threads that wait for what is started.
static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new((processors / 2).max(1)))
});

/// A place, first come first served. Dropping it gives it back.
pub(super) async fn place() -> Option<OwnedSemaphorePermit> {
    // It is never closed.
    PLACES.clone().acquire_owned().await.ok()
}
