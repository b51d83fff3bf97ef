//! The protocol between the core and `lib/effects.js`: both halves know the same effects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeSet;

use lite_agent::event::{ErrorReference, Event};
use lite_agent::host::{
    AbortReason, CompactionChange, Completion, CompletionStatus, Effect, HookSubject, MadeCall, MiddlewarePoint,
    Placement, RunSummary, SteerKind,
};
use lite_agent::types::{CallId, GroupKey, HandlerId, HookName, OperationKey, RunKey, RunStopReason, Usage};

fn summary() -> RunSummary {
    RunSummary { usage: Usage::default(), stop_reason: RunStopReason::Stop, answer: None }
}

/// One of each variant, in the order of the enum. The match makes a new variant fail to compile until it is here.
fn one_of_each(subject: &HookSubject) -> Vec<Effect<'_>> {
    let (id, run, call, group) = (CallId(1), RunKey(1), CallId(2), GroupKey(1));
    let all = vec![
        Effect::Model { id, run, turn: 1, reminder: None },
        Effect::Check { id, run, call, tool: 0 },
        Effect::Tool { id, run, call, tool: 0, timed: false },
        Effect::WrapTool { id, run, call },
        Effect::WrapNext { run, wrap: id, index: 1, result: call },
        Effect::AskedCall { run, key: id, call, path: "a" },
        Effect::Measure { id, run },
        Effect::Outline { id, run },
        Effect::Summarise { id, run, to: 1, except: None, instructions: None, max_tokens: 1 },
        Effect::Compact { id, run, change: CompactionChange::Cut { to: 1, except: None, summary: None, before: 1.0 } },
        Effect::AskCompactor { id, run, instructions: None },
        Effect::IsOverflow { id, run, call },
        Effect::HostTool { id, run, call, name: "context" },
        Effect::Load { id, run, recover: true },
        Effect::Record { id, run, events: &[] },
        Effect::ForgetSession { session: "a" },
        Effect::KeepCall {
            run,
            key: id,
            call: MadeCall { id: "hook_1", name: "hook", input: &serde_json::Value::Null },
        },
        Effect::WrapCommand { id, run, command: "true" },
        Effect::HookEvent { id, run, key: call, make: subject, keep: true },
        Effect::Redact { id, run, texts: &[] },
        Effect::Policy { id, run, call, enforced: false },
        Effect::Visible { id, run, call, path: "a" },
        Effect::Approval { id, run, call },
        Effect::Middleware { id, run, point: MiddlewarePoint::BeforeModel, turn: 1 },
        Effect::Steer { id, run, kind: SteerKind::Steer },
        Effect::Hook { id, run, handler: HandlerId(1), key: call, make: Some(subject), last: true },
        Effect::Abort { id, why: AbortReason::Timeout },
        Effect::ReleaseHandler { handler: HandlerId(1) },
        Effect::Calls { run, message: id, first: call },
        Effect::Result { run, key: id, call, content: "x", is_error: true },
        Effect::Append { run, from: None, index: Some(0), place: Placement::Push, leave_out: &[] },
        Effect::AppendResults { run, keys: &[], place: Placement::Push },
        Effect::Event { run, event: Event::TurnStart { turn: 1 } },
        Effect::TurnOver { run },
        Effect::Done { run, result: summary(), error: Some(ErrorReference::Host { key: id }), compaction: None },
        Effect::GroupBegan { run, group },
        Effect::MakeRun { id, group, agent: "agent-1", definition: 0, model: None, prompt: "do" },
        Effect::GroupOver {
            id,
            group,
            completion: Completion { id: "group_1", label: "a", status: CompletionStatus::Partial, children: vec![] },
            told: true,
            starts: true,
        },
        Effect::CommandBegan { run, command: "bg_1" },
        Effect::CommandOver { command: "bg_1", completion: None },
        Effect::Operation { operation: OperationKey(1) },
    ];
    for effect in &all {
        match effect {
            Effect::Model { .. }
            | Effect::Check { .. }
            | Effect::Tool { .. }
            | Effect::WrapTool { .. }
            | Effect::WrapNext { .. }
            | Effect::AskedCall { .. }
            | Effect::Measure { .. }
            | Effect::Outline { .. }
            | Effect::Summarise { .. }
            | Effect::Compact { .. }
            | Effect::AskCompactor { .. }
            | Effect::IsOverflow { .. }
            | Effect::HostTool { .. }
            | Effect::Load { .. }
            | Effect::Record { .. }
            | Effect::ForgetSession { .. }
            | Effect::KeepCall { .. }
            | Effect::WrapCommand { .. }
            | Effect::HookEvent { .. }
            | Effect::Redact { .. }
            | Effect::Policy { .. }
            | Effect::Visible { .. }
            | Effect::Approval { .. }
            | Effect::Middleware { .. }
            | Effect::Steer { .. }
            | Effect::Hook { .. }
            | Effect::Abort { .. }
            | Effect::ReleaseHandler { .. }
            | Effect::Calls { .. }
            | Effect::Result { .. }
            | Effect::Append { .. }
            | Effect::AppendResults { .. }
            | Effect::Event { .. }
            | Effect::TurnOver { .. }
            | Effect::Done { .. }
            | Effect::GroupBegan { .. }
            | Effect::MakeRun { .. }
            | Effect::GroupOver { .. }
            | Effect::CommandBegan { .. }
            | Effect::CommandOver { .. }
            | Effect::Operation { .. } => {}
        }
    }
    all
}

#[test]
fn the_tags_are_those_that_serialisation_writes() {
    let subject = HookSubject::of(HookName::RunStart);
    let written: Vec<String> = one_of_each(&subject)
        .iter()
        .map(|effect| serde_json::to_value(effect).unwrap()["t"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(written, Effect::TAGS);
}

#[test]
fn the_js_half_has_one_case_for_each_effect_and_no_other() {
    let source = include_str!("../lib/effects.js");
    let cases: Vec<&str> =
        source.lines().filter_map(|line| line.trim().strip_prefix("case \"")?.strip_suffix("\":")).collect();
    let unique: BTreeSet<&str> = cases.iter().copied().collect();
    assert_eq!(unique.len(), cases.len(), "a case stands twice");
    assert_eq!(unique, Effect::TAGS.into_iter().collect::<BTreeSet<_>>());
}
