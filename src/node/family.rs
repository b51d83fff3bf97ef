//! One family as JS holds it. Each function is one turn of its driver and returns the effects that came of it.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use napi::bindgen_prelude::{Error, External, Result, within_runtime_if_available};
use napi_derive::napi;

use super::policy::PolicyHandle;
use super::text::Text;
use super::waker::Waker;
use crate::agent::Family;
use crate::error::CoreError;
use crate::host::{Driver, Host, HostError, HostErrorKind};
use crate::permission::redact::redact_text;
use crate::tools::builtin;
use crate::types::{CallId, HandlerId, HookName, OperationKey, RunKey};

type Fault = Error<&'static str>;

struct Core {
    driver: Driver,
    family: Rc<Family>,
}

/// A family and its executor, on the JS thread of its environment.
pub struct FamilyHandle {
    core: RefCell<Option<Core>>,
    host: Host,
    poisoned: Cell<bool>,
}

impl FamilyHandle {
    /// One turn. A panic in it leaves the family poisoned: nothing of it runs again.
    fn turn(&self, input: impl FnOnce(&Rc<Family>)) -> Result<Text> {
        let mut held = self.core.try_borrow_mut().map_err(|_| Error::from_reason("a turn within a turn"))?;
        let Some(core) = held.as_mut().filter(|_| !self.poisoned.get()) else {
            return Err(Error::from_reason("the agent was closed by an internal error"));
        };
        self.poisoned.set(true);
        let Core { driver, family } = core;
        // Inside the runtime, so that timers can be made while tasks are polled on this thread.
        let turned = within_runtime_if_available(|| catch_unwind(AssertUnwindSafe(|| driver.turn(|| input(family)))));
        match turned {
            Ok(effects) => {
                self.poisoned.set(false);
                Ok(Text(effects))
            }
            Err(panic) => {
                // What it has started must not outlive it.
                let core = held.take();
                drop(held);
                within_runtime_if_available(|| abandon(core));
                resume_unwind(panic)
            }
        }
    }

    fn family<T>(&self, ask: impl FnOnce(&Rc<Family>) -> T) -> Result<T> {
        let core = self.core.try_borrow().map_err(|_| Error::from_reason("a call within a turn"))?;
        match core.as_ref() {
            Some(core) if !self.poisoned.get() => Ok(ask(&core.family)),
            _ => Err(Error::from_reason("the agent was closed by an internal error")),
        }
    }
}

impl Drop for FamilyHandle {
    fn drop(&mut self) {
        // Not inside the runtime: at the end of the process it may be gone, and dropping needs none.
        abandon(self.core.take());
    }
}

/// Lets go of a family, whatever state it is in, and with it of all that it has started. A finalizer that panics aborts the
/// process; what a panic left behind may panic again when it is dropped.
fn abandon(core: Option<Core>) {
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        if let Some(core) = &core {
            core.family.abandon();
        }
        drop(core);
    }));
    if dropped.is_err() {
        tracing::error!("dropping a family panicked");
    }
}

fn thrown(error: CoreError) -> Fault {
    // What has more than a message crosses as JSON text.
    if let CoreError::HookFile { message, file, path } = &error {
        let data = serde_json::json!({ "message": redact_text(message), "file": file,
            "path": path.as_deref().map(redact_text) });
        return Error::new("hook_file", data.to_string());
    }
    Error::new(error.code(), error.to_string())
}

fn internal(error: impl std::fmt::Display) -> Fault {
    Error::new("internal", error.to_string())
}

/// JS numbers are at least 0 here: they are keys and ids that only grow.
fn key(number: i64) -> u64 {
    number.unsigned_abs()
}

fn elapsed(milliseconds: f64) -> Duration {
    Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default()
}

fn hook_name(name: &str) -> std::result::Result<HookName, Fault> {
    HookName::parse(name).ok_or_else(|| internal(format!("no such hook: {name}")))
}

/// Makes a family from the JSON text of `FamilyOptions`; `number` is what its wakes carry.
#[napi(catch_unwind)]
pub fn family_new(
    options: String,
    number: i64,
    waker: &External<Waker>,
    policy: Option<&External<PolicyHandle>>,
    subagent_policy: Option<&External<PolicyHandle>>,
) -> std::result::Result<External<FamilyHandle>, Fault> {
    let options = serde_json::from_str(&options).map_err(internal)?;
    let waker: &Waker = waker;
    let waker = waker.clone();
    let driver = Driver::new(Box::new(move || waker.wake(number)));
    let host = driver.host();
    let native = |policy: Option<&External<PolicyHandle>>| policy.map(|policy| policy.policy());
    let family = Family::new(driver.host(), driver.spawner(), options, native(policy), native(subagent_policy))
        .map_err(thrown)?;
    Ok(External::new(FamilyHandle {
        core: RefCell::new(Some(Core { driver, family })),
        host,
        poisoned: Cell::new(false),
    }))
}

/// The built-in tools as a model is shown them: JSON text of `{ name, description, parameters }[]`.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn builtin_tools() -> Text {
    Text(builtin::specifications().into_bytes())
}

/// Starts a run from the JSON text of `StartOptions`.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_start(handle: &External<FamilyHandle>, options: String) -> std::result::Result<Text, Fault> {
    let options = serde_json::from_str(&options).map_err(internal)?;
    let mut started = Ok(());
    let effects = handle.turn(|family| started = family.start(options)).map_err(internal)?;
    started.map_err(thrown)?;
    Ok(effects)
}

/// A turn because a timer or another thread woke the family.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_poll(handle: &External<FamilyHandle>) -> Result<Text> {
    handle.turn(|_| {})
}

/// The answer of a call: JSON text, or nothing where there is nothing to say.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_answer(handle: &External<FamilyHandle>, id: i64, elapsed_ms: f64, json: String) -> Result<Text> {
    handle.turn(|_| handle.host.answer(CallId(key(id)), elapsed(elapsed_ms), Ok(json)))
}

/// Host code threw, or (`invalid`) what it gave is not valid.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_fail(
    handle: &External<FamilyHandle>,
    id: i64,
    elapsed_ms: f64,
    invalid: bool,
    name: String,
    message: String,
) -> Result<Text> {
    let kind = if invalid { HostErrorKind::Invalid } else { HostErrorKind::Thrown };
    let error = HostError { kind, name, message };
    handle.turn(|_| handle.host.answer(CallId(key(id)), elapsed(elapsed_ms), Err(error)))
}

/// A call began `elapsed_ms` ago and will be answered later: its deadline runs from then.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_started(handle: &External<FamilyHandle>, id: i64, elapsed_ms: f64) -> Result<Text> {
    handle.turn(|_| handle.host.started(CallId(key(id)), elapsed(elapsed_ms)))
}

/// The innermost `next()` of a wrapToolCall onion was called; false when the onion's call is over.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_wrap_next(handle: &External<FamilyHandle>, wrap: i64, index: u32) -> Result<Text> {
    handle.turn(|family| {
        family.wrap_next(CallId(key(wrap)), index);
    })
}

#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_cancel(handle: &External<FamilyHandle>, run: i64) -> Result<Text> {
    handle.turn(|family| family.cancel(RunKey(key(run))))
}

/// Cancels a session's runs, and the children that they have started.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_cancel_session(handle: &External<FamilyHandle>, session_id: String) -> Result<Text> {
    handle.turn(|family| family.cancel_session(&session_id))
}

/// Holds or releases a run whose reader is behind.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_hold(handle: &External<FamilyHandle>, run: i64, held: bool) -> Result<Text> {
    handle.turn(|family| family.hold(RunKey(key(run)), held))
}

/// Nobody pulls this run's events any more.
#[napi(catch_unwind)]
pub fn family_stop_streaming(handle: &External<FamilyHandle>, run: i64) -> Result<()> {
    handle.family(|family| family.stop_streaming(RunKey(key(run))))
}

/// Whether anybody is subscribed.
#[napi(catch_unwind)]
pub fn family_listen(handle: &External<FamilyHandle>, subscribed: bool) -> Result<()> {
    handle.family(|family| family.listen(subscribed))
}

/// Registers a handler and returns its id.
#[napi(catch_unwind)]
pub fn family_hook(handle: &External<FamilyHandle>, event: String, timeout_ms: u32) -> std::result::Result<i64, Fault> {
    let event = hook_name(&event)?;
    let handler = handle.family(|family| family.hook(event, timeout_ms)).map_err(internal)?.map_err(thrown)?;
    Ok(handler.0 as i64)
}

#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_unhook(handle: &External<FamilyHandle>, event: String, handler: i64) -> std::result::Result<Text, Fault> {
    let event = hook_name(&event)?;
    handle.turn(|family| family.unhook(event, HandlerId(key(handler)))).map_err(internal)
}

/// Tells by an operation effect when the session is idle.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_await_idle(handle: &External<FamilyHandle>, session_id: String, operation: i64) -> Result<Text> {
    handle.turn(|family| family.await_idle(&session_id, OperationKey(key(operation))))
}

/// Holds a session for the host; tells by an operation effect when it is held.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_hold_session(
    handle: &External<FamilyHandle>,
    session_id: String,
    cancel: bool,
    operation: i64,
) -> std::result::Result<Text, Fault> {
    let operation = OperationKey(key(operation));
    let mut held = Ok(());
    let effects = handle.turn(|family| held = family.hold_session(&session_id, cancel, operation)).map_err(internal)?;
    held.map_err(thrown)?;
    Ok(effects)
}

/// Gives a held session back.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_release_session(
    handle: &External<FamilyHandle>,
    session_id: String,
    changed: bool,
    operation: i64,
) -> Result<Text> {
    handle.turn(|family| family.release_session(&session_id, changed, OperationKey(key(operation))))
}

/// Closes; tells by an operation effect when all is over.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_close(handle: &External<FamilyHandle>, operation: i64) -> Result<Text> {
    handle.turn(|family| family.close(OperationKey(key(operation))))
}

/// Panics within a turn. It stands for a fault of ours in the test that nothing of it reaches the host.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn family_panic(handle: &External<FamilyHandle>) -> Result<Text> {
    handle.turn(|_| panic_as_asked())
}

#[expect(clippy::panic, reason = "that is its purpose")]
fn panic_as_asked() {
    panic!("asked to panic");
}
