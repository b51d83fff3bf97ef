//! Compactions of a session's conversation: when one is due, its stages with their hooks and events, and what is done when
//! a model says that the request was too long. What may go is planned by `context`; messages are the host's.

use serde::Deserialize;

use super::run::{Failure, Run, Stopped};
use crate::context::{self, Cut, Piece, plan_cut, plan_references};
use crate::error::CoreError;
use crate::event::{CompactionPhase, Event, Level};
use crate::host::{CompactionChange, CompactionSizes, CompactionSubject, Effect, HookSubject};
use crate::types::{CallId, CompactionKind, HookName, HookStatus, Usage};

/// How often the model is asked for a summary.
const SUMMARY_ATTEMPTS: usize = 2;
/// Where the window is not known, and the request was too long: what the next may come to, of what it was.
const OVERFLOW_SHARE: f64 = 0.5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    tokens: f64,
    window: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outlined {
    pieces: Vec<Piece>,
    /// Tokens of a request beside its messages.
    fixed: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Compacted {
    after: f64,
    messages: usize,
    last_is_assistant: Option<bool>,
}

/// What the host's compactor answered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Nothing where it changed nothing.
    compacted: Option<Compacted>,
    told: Told,
}

/// What the host's compactor says of what it did: for whoever hears of it. What is due is measured.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    kind: Option<ToldKind>,
    before: Option<f64>,
    after: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToldKind {
    Micro,
    Auto,
}

/// What a stage came to.
struct Outcome {
    /// Tokens.
    after: f64,
    told: Told,
}

impl From<f64> for Outcome {
    fn from(after: f64) -> Outcome {
        Outcome { after, told: Told::default() }
    }
}

/// A stage as hooks and events have it at its end.
#[derive(Clone, Copy)]
struct Ending {
    kind: CompactionKind,
    sizes: CompactionSizes,
}

impl Run {
    /// Compacts before a model call, if the conversation is near the end of the window. One that fails is told, and the
    /// run goes on.
    ///
    /// # Errors
    /// The run was cancelled.
    pub(super) async fn compact_if_due(&self) -> Result<(), Stopped> {
        let options = self.family.options.compaction;
        if !options.automatic {
            return Ok(());
        }
        let Measured { tokens, window } = self.measure().await?;
        let due = match window {
            Some(window) => context::is_due(tokens, window) && tokens >= self.session.quiet_below.get(),
            // A host's compactor decides for itself.
            None => options.host,
        };
        if !due {
            return Ok(());
        }
        let compacted = if options.host {
            let asked = self.ask_compactor(tokens, None);
            let ending = self.stage(CompactionKind::Auto, tokens, None, asked).await;
            ending.map(|(after, _ending)| context::quiet_below(tokens, after))
        } else {
            let budget = context::budget(window.unwrap_or(tokens));
            self.compact_own(tokens, budget, window).await.map(|after| context::quiet_below_own(tokens, after, budget))
        };
        match compacted {
            Ok(quiet_below) => {
                self.session.quiet_below.set(quiet_below);
                Ok(())
            }
            Err(Stopped::Failed(_told)) => {
                self.session.quiet_below.set(context::quiet_below(tokens, tokens));
                Ok(())
            }
            Err(Stopped::Cancelled) => Err(Stopped::Cancelled),
        }
    }

    /// A model call failed: if the request was too long, compacts once. Answers whether it is worth another try.
    pub(super) async fn compact_after_overflow(&self, call: CallId) -> Result<bool, Stopped> {
        let options = self.family.options.compaction;
        if !options.automatic {
            return Ok(false);
        }
        let asked = self.family.host.call(|id| Effect::IsOverflow { id, run: self.key, call });
        if self.answered(asked).await? != "true" {
            return Ok(false);
        }
        let Measured { tokens, window } = self.measure().await?;
        let compacted = if options.host {
            let asked = self.ask_compactor(tokens, None);
            self.stage(CompactionKind::Auto, tokens, None, asked).await.map(|(after, _ending)| after)
        } else {
            let most = window.map_or(tokens, |window| window.min(tokens));
            self.compact_own(tokens, most * OVERFLOW_SHARE, window).await
        };
        match compacted {
            Ok(after) => Ok(after < tokens),
            Err(Stopped::Failed(_told)) => Ok(false),
            Err(Stopped::Cancelled) => Err(Stopped::Cancelled),
        }
    }

    /// The compaction that the host asked for.
    pub(super) async fn compact_now(&self, instructions: Option<&str>) -> Result<CompactionSizes, Stopped> {
        self.load_session().await?;
        let Measured { tokens: before, .. } = self.measure().await?;
        let kind = CompactionKind::Manual;
        let (_after, ending) = if self.family.options.compaction.host {
            self.stage(kind, before, instructions, self.ask_compactor(before, instructions)).await?
        } else {
            self.stage(kind, before, instructions, self.cut(before, before, true, instructions)).await?
        };
        self.session.quiet_below.set(0.0);
        Ok(ending.sizes)
    }

    /// Old results first; if that is not enough, old turns. Says so where even that is not enough for the window.
    async fn compact_own(&self, tokens: f64, budget: f64, window: Option<f64>) -> Result<f64, Stopped> {
        let mut now = tokens;
        let results = plan_references(&self.outline().await?.pieces);
        if !results.is_empty() {
            let change = CompactionChange::References { results: &results, before: now };
            let stage = async { self.apply(change).await.map(Outcome::from) };
            now = self.stage(CompactionKind::Micro, now, None, stage).await?.0;
        }
        if now < budget {
            return Ok(now);
        }
        now = self.stage(CompactionKind::Auto, now, None, self.cut(now, budget, false, None)).await?.0;
        if let Some(window) = window.filter(|window| context::is_due(now, *window)) {
            let message = format!(
                "the conversation does not fit: with all compacted that could go it comes to about {now} tokens, over {} \
                 (80 % of the model's window of {window}), for the newest user message, the system prompt and the tools stay \
                 as they are; send a shorter message, or use a model with a larger window",
                context::budget(window),
            );
            self.family.diagnose(self.key, Level::Warning, "context_full", &message, None);
        }
        Ok(now)
    }

    /// One stage, with its hooks and events. Answers the tokens after it as they were measured, and what was told.
    async fn stage(
        &self,
        kind: CompactionKind,
        before: f64,
        instructions: Option<&str>,
        work: impl Future<Output = Result<Outcome, Stopped>>,
    ) -> Result<(f64, Ending), Stopped> {
        let number = self.compactions.get() + 1;
        self.compactions.set(number);
        let begun = Ending { kind, sizes: CompactionSizes { before, after: before } };
        let subject = |event, ending: Ending, after, instructions| {
            let mut subject = HookSubject::of(event);
            let Ending { kind, sizes: CompactionSizes { before, .. } } = ending;
            subject.compaction = Some(CompactionSubject { number, kind, before, after, instructions });
            subject
        };
        let tell = |ending: Ending, phase, message| {
            let Ending { kind, sizes: CompactionSizes { before, after } } = ending;
            self.tell(Event::Compaction { kind, before, after, phase, message });
        };
        tell(begun, CompactionPhase::Start, None);
        let start = subject(HookName::CompactStart, begun, None, instructions.map(str::to_string));
        let ended = match self.dispatch(start, None, true).await {
            Ok(()) => self.cancellable(work).await.and_then(|ended| ended),
            Err(stopped) => Err(stopped),
        };
        let ending = ended.as_ref().map_or(begun, |outcome| begun.with(outcome));
        let mut end = subject(HookName::CompactEnd, ending, Some(ending.sizes.after), None);
        let (status, phase) = match &ended {
            Ok(_) => (HookStatus::Completed, CompactionPhase::Done),
            Err(Stopped::Cancelled) => (HookStatus::Cancelled, CompactionPhase::Cancelled),
            Err(Stopped::Failed(failure)) => {
                end.error = Some(failure.thrown.clone());
                (HookStatus::Failed, CompactionPhase::Error)
            }
        };
        end.status = Some(status);
        // End hooks are never abandoned.
        let _ = self.dispatch(end, None, false).await;
        let message = match &ended {
            Err(Stopped::Failed(Failure { thrown, .. })) => Some(thrown.message.as_str()),
            _ => None,
        };
        tell(ending, phase, message);
        ended.map(|outcome| (outcome.after, ending))
    }

    /// Summarises old turns. Where the model cannot, they are dropped behind a marker, unless the host asked.
    async fn cut(&self, before: f64, budget: f64, asked: bool, instructions: Option<&str>) -> Result<Outcome, Stopped> {
        let Outlined { mut pieces, mut fixed } = self.outline().await?;
        // A summary is cut by estimate; where the provider counts fewer tokens than that, it may not be longer for it.
        let scale = context::scale_to(before, &mut pieces, &mut fixed).max(1.0);
        let summary_tokens = context::summary_tokens(&pieces, fixed, budget, scale);
        let room = if asked { f64::INFINITY } else { budget };
        let Some(Cut { keep_from: to, keep_user: except }) =
            plan_cut(&pieces, fixed, summary_tokens * scale, room, asked)
        else {
            return Ok(before.into());
        };
        let mut summary = None;
        for attempt in 1..=SUMMARY_ATTEMPTS {
            let max_tokens = summary_tokens as u32;
            let call = self.family.host.call(|id| Effect::Summarise {
                id,
                run: self.key,
                to,
                except,
                instructions,
                max_tokens,
            });
            let key = call.id();
            match self.answered(call).await {
                Ok(usage) => {
                    self.spend(read::<Usage>(&usage)?);
                    summary = Some(key);
                    break;
                }
                Err(Stopped::Failed(failure)) if asked && attempt == SUMMARY_ATTEMPTS => {
                    return Err(Stopped::Failed(failure));
                }
                Err(Stopped::Failed(_tried)) => {}
                Err(Stopped::Cancelled) => return Err(Stopped::Cancelled),
            }
        }
        self.apply(CompactionChange::Cut { to, except, summary, before }).await.map(Outcome::from)
    }

    async fn apply(&self, change: CompactionChange<'_>) -> Result<f64, Stopped> {
        let call = self.family.host.call(|id| Effect::Compact { id, run: self.key, change });
        Ok(self.take_up(read(&self.stored(call).await?)?))
    }

    async fn ask_compactor(&self, before: f64, instructions: Option<&str>) -> Result<Outcome, Stopped> {
        let call = self.family.host.call(|id| Effect::AskCompactor { id, run: self.key, instructions });
        let Asked { compacted, told } = read(&self.stored(call).await?)?;
        let after = compacted.map_or(before, |compacted| self.take_up(compacted));
        Ok(Outcome { after, told })
    }

    /// Takes up the conversation that was put in the place of the old. Answers its tokens.
    fn take_up(&self, Compacted { after, messages, last_is_assistant }: Compacted) -> f64 {
        self.session.conversation.borrow_mut().restore(messages, last_is_assistant);
        after
    }

    async fn measure(&self) -> Result<Measured, Stopped> {
        let call = self.family.host.call(|id| Effect::Measure { id, run: self.key });
        read(&self.answered(call).await?)
    }

    async fn outline(&self) -> Result<Outlined, Stopped> {
        let call = self.family.host.call(|id| Effect::Outline { id, run: self.key });
        read(&self.answered(call).await?)
    }
}

impl Ending {
    /// With what was told of it: a compaction that was asked for stays one.
    fn with(self, &Outcome { after, told }: &Outcome) -> Ending {
        let kind = match told.kind {
            Some(ToldKind::Micro) if self.kind != CompactionKind::Manual => CompactionKind::Micro,
            Some(ToldKind::Auto) if self.kind != CompactionKind::Manual => CompactionKind::Auto,
            _ => self.kind,
        };
        let before = told.before.unwrap_or(self.sizes.before);
        Ending { kind, sizes: CompactionSizes { before, after: told.after.unwrap_or(after) } }
    }
}

fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Stopped> {
    serde_json::from_str(json).map_err(|error| CoreError::Internal(format!("compaction: {error}")).into())
}
