//! The registrations of one family: the commands of its hook files, then handlers. A dispatch takes a snapshot, so what is
//! registered or removed meanwhile counts from the next one on.

use std::rc::Rc;
use std::time::Duration;

use super::files::{CommandHook, HookFiles};
use crate::host::{Effect, Host};
use crate::types::{HandlerId, HookName};

/// The deadline of a handler or a command that names none.
pub const DEFAULT_TIMEOUT_MS: u32 = 10_000;
/// The longest deadline that a handler or a command may have.
pub const MAX_TIMEOUT_MS: u32 = 120_000;

/// One registered handler. When the last snapshot that holds it is gone, the host may forget the handler.
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

/// One thing that a dispatch awaits.
#[derive(Clone)]
pub enum Entry {
    Command(Rc<CommandHook>),
    Handler(Rc<Registration>),
}

impl Entry {
    fn is_handler(&self, id: HandlerId) -> bool {
        matches!(self, Entry::Handler(registration) if registration.handler == id)
    }
}

/// The registrations of one event at one moment, in order: no command comes after a handler.
pub type Snapshot = Rc<Vec<Entry>>;

/// All registrations of a family.
pub struct Registry {
    host: Host,
    by_event: [Snapshot; HookName::ALL.len()],
    last_id: u64,
}

impl Registry {
    pub fn new(host: Host, files: &HookFiles) -> Registry {
        let mut registry = Registry { host, by_event: Default::default(), last_id: 0 };
        for (event, command) in files.commands() {
            registry.push(event, Entry::Command(command));
        }
        registry
    }

    /// Adds a registration at the end of the event's and returns its id, which no other registration ever has.
    pub fn register(&mut self, event: HookName, timeout: Duration) -> HandlerId {
        self.last_id += 1;
        let handler = HandlerId(self.last_id);
        let registration = Registration { handler, timeout, host: self.host.clone() };
        self.push(event, Entry::Handler(Rc::new(registration)));
        handler
    }

    fn push(&mut self, event: HookName, entry: Entry) {
        if let Some(list) = self.by_event.get_mut(event as usize) {
            Rc::make_mut(list).push(entry);
        }
    }

    /// Removes one registration; nothing happens if it is gone already.
    pub fn unregister(&mut self, event: HookName, handler: HandlerId) {
        let Some(list) = self.by_event.get_mut(event as usize) else { return };
        if list.iter().any(|entry| entry.is_handler(handler)) {
            Rc::make_mut(list).retain(|entry| !entry.is_handler(handler));
        }
    }

    /// Removes all registrations, commands included.
    pub fn clear(&mut self) {
        self.by_event = Default::default();
    }

    /// The event's registrations now; `None` where there are none, so that a dispatch costs nothing.
    pub fn snapshot(&self, event: HookName) -> Option<Snapshot> {
        self.by_event.get(event as usize).filter(|list| !list.is_empty()).cloned()
    }
}
