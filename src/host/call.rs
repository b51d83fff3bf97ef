//! A pending call of the host, as a future; with a deadline where the callee has one.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

use super::effect::AbortReason;
use super::port::Host;
use crate::types::CallId;

/// What kind of failure the host reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostErrorKind {
    /// Host code threw; the thrown value is kept under the call's id.
    Thrown,
    /// What the host was given, or gave, is not valid; the message says how.
    Invalid,
}

/// A failure that the host reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    pub kind: HostErrorKind,
    /// The name of what was thrown, such as `TypeError`.
    pub name: String,
    pub message: String,
}

/// An answer, and how long the host says that the callee took.
#[derive(Debug)]
pub struct Answer {
    pub elapsed: Duration,
    /// JSON text, empty where the call has no answer but that it is over.
    pub outcome: Result<String, HostError>,
}

/// The future of one answer.
pub struct Call {
    host: Host,
    id: CallId,
}

impl Call {
    pub(super) fn new(host: Host, id: CallId) -> Call {
        Call { host, id }
    }

    /// The key under which the host keeps the answer's value.
    pub fn id(&self) -> CallId {
        self.id
    }

    /// Gives the call a deadline that runs from when the host began it; none waits for ever.
    pub fn within(self, timeout: Option<Duration>) -> TimedCall {
        TimedCall { call: self, deadline: timeout.map(|timeout| Deadline { timeout, sleep: None }) }
    }
}

impl Future for Call {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        self.host.poll_slot(self.id, context.waker())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.host.give_up(self.id, AbortReason::Cancel);
    }
}

/// How a call with a deadline ended.
#[derive(Debug)]
pub enum Timed {
    Answered(Answer),
    /// The deadline passed: the call was aborted, or its callee returned too late.
    TimedOut {
        elapsed: Duration,
    },
}

/// A deadline that has not begun until the host says so: the time that a callee waits for its turn does not count.
pub struct Deadline {
    timeout: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

/// A call with a deadline.
pub struct TimedCall {
    call: Call,
    deadline: Option<Deadline>,
}

impl TimedCall {
    pub fn id(&self) -> CallId {
        self.call.id
    }
}

impl Future for TimedCall {
    type Output = Timed;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Timed> {
        let this = &mut *self;
        if let Poll::Ready(answer) = Pin::new(&mut this.call).poll(context) {
            return Poll::Ready(match &this.deadline {
                // A callee that blocked the thread past its deadline is late, whatever it returned.
                Some(deadline) if answer.elapsed >= deadline.timeout => Timed::TimedOut { elapsed: answer.elapsed },
                _ => Timed::Answered(answer),
            });
        }
        let Some(deadline) = &mut this.deadline else { return Poll::Pending };
        if deadline.sleep.is_none() {
            let Some(started) = this.call.host.started_at(this.call.id) else { return Poll::Pending };
            deadline.sleep = Some(Box::pin(tokio::time::sleep_until(started + deadline.timeout)));
        }
        if let Some(sleep) = &mut deadline.sleep
            && sleep.as_mut().poll(context).is_ready()
        {
            let elapsed = this.call.host.started_at(this.call.id).map_or(deadline.timeout, |at| at.elapsed());
            this.call.host.give_up(this.call.id, AbortReason::Timeout);
            return Poll::Ready(Timed::TimedOut { elapsed });
        }
        Poll::Pending
    }
}
