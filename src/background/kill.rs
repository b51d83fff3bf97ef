//! Waiting for the end of a background command that was asked to end. Knows of no other.

use tokio::sync::watch;

use super::end::{JobStatus, Over};

/// What came of the wish to kill a command.
#[derive(Debug)]
pub enum Kill {
    /// It had ended before. The sentence says how.
    Over(String),
    /// It is being killed, with all that it started.
    Asked(Killing),
}

/// A command that is being killed. Dropping this changes nothing of that.
#[derive(Debug)]
pub struct Killing {
    id: String,
    end: watch::Receiver<Option<Over>>,
}

impl Killing {
    pub(super) fn new(id: &str, end: watch::Receiver<Option<Over>>) -> Killing {
        Killing { id: id.to_string(), end }
    }

    /// Waits until the command has ended. The sentence says how: it may have ended by itself meanwhile.
    pub async fn over(mut self) -> String {
        let id = &self.id;
        match wait(&mut self.end).await {
            Some(Over { status: JobStatus::Cancelled, how }) => format!("{id} was {how}"),
            Some(Over { how, .. }) => format!("{id} ended before it could be killed: {how}"),
            None => format!("{id} is being killed"),
        }
    }
}

/// The end of a command; none when nobody will tell of it, because the register is gone.
pub(super) async fn wait(end: &mut watch::Receiver<Option<Over>>) -> Option<Over> {
    end.wait_for(Option::is_some).await.ok().and_then(|over| over.clone())
}
