//! One event, one snapshot of registrations: each is awaited in order, within its own deadline. A failure is reported
//! and changes nothing else.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::command::{CommandFailure, CommandPort, CommandReport, CommandRequest, Commands, EventRequest};
use super::failure::{HookDiagnostic, MAX_LISTED_PATHS, MAX_REPORTED_OUTPUT_BYTES, in_words, last};
use super::files::CommandHook;
use super::payload::{MAX_PAYLOAD_BYTES, Payload, PayloadError};
use super::registry::{Entry, Registration, Snapshot};
use crate::event::{HookError, HookFailure, HookFailureReason, HookOrigin};
use crate::host::{Effect, HookSubject, Host, Timed};
use crate::types::{CallId, RunKey};

/// The run was cancelled while a start hook was going: what had not begun was skipped.
#[derive(Debug, PartialEq, Eq)]
pub struct Abandoned;

/// What one dispatch needs.
pub struct Dispatch<'a> {
    pub host: &'a Host,
    pub run: RunKey,
    pub subject: HookSubject,
    /// For start events: abandons what is in flight and skips the rest. End events have none.
    pub cancel: Option<&'a CancellationToken>,
    /// Without it, commands of the snapshot fail.
    pub commands: Option<Commands<'a>>,
    /// Masks the secrets of a text.
    pub redact: &'a dyn Fn(&str) -> String,
    /// The host masks them itself, and is asked.
    pub host_redacts: bool,
    /// Told of each failure as it happens.
    pub report: &'a dyn Fn(HookDiagnostic),
}

/// The event of one dispatch: made by the host when it is first needed.
struct SharedEvent {
    key: CallId,
    is_made: bool,
    /// For commands: written once.
    payload: Option<Result<Payload, NoPayload>>,
}

/// Why commands of this dispatch cannot run.
#[derive(Clone)]
struct NoPayload {
    reason: HookFailureReason,
    message: String,
}

impl Dispatch<'_> {
    /// Awaits every registration of the snapshot.
    ///
    /// # Errors
    /// `Abandoned` when `cancel` fired first.
    pub async fn run(self, registrations: Snapshot) -> Result<(), Abandoned> {
        let mut event = SharedEvent { key: self.host.reserve(1), is_made: false, payload: None };
        let last = registrations.len().saturating_sub(1);
        for (index, entry) in registrations.iter().enumerate() {
            if self.cancel.is_some_and(CancellationToken::is_cancelled) {
                return Err(Abandoned);
            }
            match entry {
                Entry::Command(command) => {
                    if !command.is_for(self.commands.and_then(|commands| commands.tool)) {
                        continue;
                    }
                    let handlers_follow = matches!(registrations.last(), Some(Entry::Handler(_)));
                    // In a box, so that a dispatch without commands stays small.
                    let running = Box::pin(self.command(index, command, &mut event, handlers_follow));
                    self.unless_cancelled(running).await?;
                }
                Entry::Handler(registration) => {
                    self.unless_cancelled(self.handler(index, registration, &mut event, index == last)).await?;
                }
            }
        }
        Ok(())
    }

    async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Result<T, Abandoned> {
        match self.cancel {
            None => Ok(future.await),
            Some(cancel) => tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Abandoned),
                output = future => Ok(output),
            },
        }
    }

    async fn handler(&self, index: usize, registration: &Registration, event: &mut SharedEvent, last: bool) {
        let make = (!event.is_made).then_some(&self.subject);
        event.is_made = true;
        let call = self.host.call(|id| Effect::Hook {
            id,
            run: self.run,
            handler: registration.handler,
            key: event.key,
            make,
            last,
        });
        let ended = call.within(Some(registration.timeout)).await;
        self.judge(index, registration.timeout, ended).await;
    }

    async fn judge(&self, index: usize, timeout: Duration, ended: Timed) {
        let (reason, elapsed, thrown) = match ended {
            Timed::Answered(answer) => match answer.outcome {
                Ok(_) => return,
                Err(error) => (
                    HookFailureReason::Error,
                    answer.elapsed,
                    Some(HookError { name: error.name, message: error.message }),
                ),
            },
            Timed::TimedOut { elapsed } => (HookFailureReason::Timeout, elapsed.max(timeout), None),
        };
        let failure = HookFailure {
            event: self.subject.event,
            source: HookOrigin::Programmatic,
            config_file: None,
            index,
            reason,
            exit_code: None,
            duration_ms: elapsed.as_secs_f64() * 1000.0,
            output: None,
        };
        let words = match &thrown {
            Some(error) => {
                let [words] = self.masked([in_words(error)]).await;
                Some(words)
            }
            None => None,
        };
        (self.report)(HookDiagnostic::of_handler(failure, words.as_deref()));
    }

    async fn command(&self, index: usize, command: &CommandHook, event: &mut SharedEvent, handlers_follow: bool) {
        let failure = match self.run_command(command, event, handlers_follow).await {
            CommandReport::Ran => return,
            CommandReport::Denied(reason) => not_run(HookFailureReason::Denied, reason),
            CommandReport::Failed(failure) => failure,
        };
        let output = last(&failure.output, MAX_REPORTED_OUTPUT_BYTES).to_string();
        let texts = [output, failure.message.clone(), command.command.to_string()];
        let [output, message, words] = self.masked(texts).await;
        let failure = CommandFailure { output, message, ..failure };
        (self.report)(HookDiagnostic::of_command(self.subject.event, index, command, failure, &words));
    }

    /// The texts with their secrets masked, by the host where it does so itself.
    async fn masked<const N: usize>(&self, texts: [String; N]) -> [String; N] {
        if self.host_redacts && texts.iter().any(|text| !text.is_empty()) {
            let call = self.host.call(|id| Effect::Redact { id, run: self.run, texts: &texts });
            let masked = call.await.outcome.ok().and_then(|json| serde_json::from_str::<Vec<String>>(&json).ok());
            if let Some(masked) = masked.and_then(|masked| <[String; N]>::try_from(masked).ok()) {
                return masked;
            }
        }
        texts.map(|text| (self.redact)(&text))
    }

    async fn run_command(
        &self,
        command: &CommandHook,
        event: &mut SharedEvent,
        handlers_follow: bool,
    ) -> CommandReport {
        let Some(Commands { port, .. }) = self.commands else {
            let message = "nothing here can run commands".to_string();
            return CommandReport::Failed(not_run(HookFailureReason::Spawn, message));
        };
        if event.payload.is_none() {
            event.payload = Some(self.payload(event, port, handlers_follow).await);
        }
        let input = match &event.payload {
            Some(Ok(payload)) => payload.bytes.clone(),
            Some(Err(NoPayload { reason, message })) => {
                return CommandReport::Failed(not_run(*reason, message.clone()));
            }
            None => return CommandReport::Failed(not_run(HookFailureReason::Error, String::new())),
        };
        port.run(CommandRequest {
            event: self.subject.event,
            source: command.source,
            config_file: command.config_file.clone(),
            command: command.command.clone(),
            timeout: command.timeout,
            input,
            cancel: self.cancel.cloned(),
        })
        .await
    }
}

impl Dispatch<'_> {
    /// Writes the event for commands, shortened if it must be.
    async fn payload(&self, event: &mut SharedEvent, port: &dyn CommandPort, keep: bool) -> Result<Payload, NoPayload> {
        let request = EventRequest { key: event.key, make: &self.subject, keep };
        let fault = |message| NoPayload { reason: HookFailureReason::Error, message };
        let text = port.event(request).await;
        let text = text.map_err(|error| fault(format!("its event could not be written: {}", in_words(&error))))?;
        event.is_made = true;
        let event_bytes = text.len() + 1;
        if event_bytes <= MAX_PAYLOAD_BYTES {
            return Ok(Payload::whole(text));
        }
        // It may be many megabytes: not on the thread that drives the family.
        let shortened = tokio::task::spawn_blocking(move || Payload::shortened(&text)).await;
        match shortened {
            Ok(Ok(payload)) => {
                let subject = self.subject.event;
                let count = payload.truncated.len();
                let mut listed = Vec::new();
                for path in payload.truncated.iter().take(MAX_LISTED_PATHS) {
                    listed.extend(self.masked([path.clone()]).await);
                }
                (self.report)(HookDiagnostic::of_shortened(subject, event_bytes, &listed, count));
                Ok(payload)
            }
            Ok(Err(PayloadError::TooLong)) => Err(NoPayload {
                reason: HookFailureReason::InputLimit,
                message: format!(
                    "its event has {event_bytes} bytes, at most {MAX_PAYLOAD_BYTES} are allowed, and it cannot be \
                     shortened to fit; nothing was started"
                ),
            }),
            Ok(Err(PayloadError::NoObject(problem))) => Err(fault(format!("its event is no JSON object: {problem}"))),
            Err(error) => Err(fault(format!("its event could not be shortened: {error}"))),
        }
    }
}

/// A command that was never started.
fn not_run(reason: HookFailureReason, message: String) -> CommandFailure {
    CommandFailure { reason, exit_code: None, output: String::new(), duration: Duration::ZERO, message }
}
