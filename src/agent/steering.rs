//! Input for a run that is already going, taken at turn boundaries.

use super::input::read_messages;
use super::run::{Run, Stopped};
use crate::event::Event;
use crate::host::{Effect, Recorded, SteerKind};

impl Run {
    /// Takes what was steered before a model call.
    pub(super) async fn take_steered(&self) -> Result<(), Stopped> {
        self.take(SteerKind::Steer).await.map(|_taken| ())
    }

    /// Takes what waits when the run would stop; returns whether there was anything.
    pub(super) async fn take_follow_ups(&self) -> Result<bool, Stopped> {
        self.take(SteerKind::FollowUp).await
    }

    /// Whether anything waits, without taking it.
    pub(super) async fn steering_waits(&self) -> Result<bool, Stopped> {
        if !self.has_steering {
            return Ok(false);
        }
        let call = self.family.host.call(|id| Effect::Steer { id, run: self.key, kind: SteerKind::Waiting });
        Ok(self.answered(call).await? == "true")
    }

    async fn take(&self, kind: SteerKind) -> Result<bool, Stopped> {
        if !self.has_steering {
            return Ok(false);
        }
        let call = self.family.host.call(|id| Effect::Steer { id, run: self.key, kind });
        let messages = call.id();
        let json = self.answered(call).await?;
        if json.is_empty() {
            return Ok(false);
        }
        let taken = read_messages(&json)?;
        let recorded: Vec<_> = (0..taken.len()).map(|index| Recorded::User { from: Some(messages), index }).collect();
        self.record(&recorded).await?;
        for (index, message) in taken.iter().enumerate() {
            self.append(message, Some(messages), Some(index));
        }
        self.tell(Event::Steer { messages });
        Ok(true)
    }
}
