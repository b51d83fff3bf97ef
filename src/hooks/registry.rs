//! The registrations of one family. A dispatch takes a snapshot, so what is registered or removed meanwhile counts from
//! the next one on.

use std::rc::Rc;
use std::time::Duration;

use crate::host::{Effect, Host};
use crate::types::{HandlerId, HookName};

/// A handler's deadline where it names none.
pub const DEFAULT_TIMEOUT_MS: u32 = 10_000;
/// The longest deadline that a handler may have.
pub const MAX_TIMEOUT_MS: u32 = 120_000;

/// One registration. When the last snapshot that holds it is gone, the host may forget the handler.
pub struct Registration {
    pub(super) handler: HandlerId,
    pub(super) timeout: Duration,
    host: Host,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.host.emit(&Effect::ReleaseHandler { handler: self.handler });
    }
}

/// The registrations of one event at one moment, in order.
pub type Snapshot = Rc<Vec<Rc<Registration>>>;

/// All registrations of a family.
pub struct Registry {
    host: Host,
    by_event: [Snapshot; HookName::ALL.len()],
    last_id: u64,
}

impl Registry {
    pub fn new(host: Host) -> Registry {
        Registry { host, by_event: Default::default(), last_id: 0 }
    }

    /// Adds a registration at the end of the event's and returns its id, which no other registration ever has.
    pub fn register(&mut self, event: HookName, timeout: Duration) -> HandlerId {
        self.last_id += 1;
        let handler = HandlerId(self.last_id);
        if let Some(list) = self.by_event.get_mut(event as usize) {
            Rc::make_mut(list).push(Rc::new(Registration { handler, timeout, host: self.host.clone() }));
        }
        handler
    }

    /// Removes one registration; nothing happens if it is gone already.
    pub fn unregister(&mut self, event: HookName, handler: HandlerId) {
        let Some(list) = self.by_event.get_mut(event as usize) else { return };
        if list.iter().any(|entry| entry.handler == handler) {
            Rc::make_mut(list).retain(|entry| entry.handler != handler);
        }
    }

    /// Removes all registrations.
    pub fn clear(&mut self) {
        self.by_event = Default::default();
    }

    /// The event's registrations now; `None` where there are none, so that a dispatch costs nothing.
    pub fn snapshot(&self, event: HookName) -> Option<Snapshot> {
        self.by_event.get(event as usize).filter(|list| !list.is_empty()).cloned()
    }
}
