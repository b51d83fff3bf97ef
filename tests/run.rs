//! The loop under a scripted host: no JavaScript, and time is a paused clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use lite_agent::types::HookName;
use serde_json::{Value, json};
use support::{Reaction, ScriptedHost, calls, says};

fn tools() -> Value {
    json!({ "tools": [{ "name": "look" }, { "name": "slow", "timeoutMs": 50 }] })
}

/// A model that makes these calls in its first turn and then stops.
fn calling(names: &'static [&'static str], mut tool: impl FnMut(&Value) -> Reaction + 'static) -> ScriptedHost {
    ScriptedHost::new(tools(), move |effect| match effect["t"].as_str().unwrap() {
        "model" if effect["turn"] == 1 => Reaction::Answer(calls(names)),
        "model" => Reaction::Answer(says("done")),
        "tool" => tool(effect),
        _ => Reaction::Answer(Value::Null),
    })
}

fn hook_all(host: &ScriptedHost) {
    for event in HookName::ALL {
        host.family.hook(event, 10_000).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_pairs_its_hooks_and_ends_with_done() {
    let mut host = calling(&["look", "look"], |_| Reaction::Answer(json!(false)));
    hook_all(&host);
    host.start(1);
    let done = host.until_done(1).await;
    assert_eq!(done["result"], json!({ "usage": { "inputTokens": 2, "outputTokens": 2 }, "stopReason": "stop" }));
    assert_eq!(
        host.hooks(),
        ["run:start", "tool:start", "tool:start", "tool:end completed", "tool:end completed", "run:end completed"]
    );
    assert_eq!(host.tags().last(), Some(&"done"));
}

#[tokio::test(start_paused = true)]
async fn without_registrations_no_hook_crosses() {
    let mut host = calling(&["look"], |_| Reaction::Answer(json!(false)));
    host.start(1);
    host.until_done(1).await;
    assert!(!host.tags().contains(&"hook"));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_fails_its_call_with_the_near_miss_and_pairs_its_hooks() {
    let mut host = calling(&["lock"], |_| panic!("nothing is executed"));
    hook_all(&host);
    host.start(1);
    host.until_done(1).await;
    let failed = host.log.iter().find(|effect| effect["t"] == "result").unwrap();
    assert_eq!(failed["content"], "Error: unknown tool 'lock'; did you mean 'look'?");
    assert_eq!(host.hooks()[2], "tool:end failed");
}

#[tokio::test(start_paused = true)]
async fn a_tool_over_its_deadline_is_aborted_and_the_run_goes_on() {
    let mut host = calling(&["slow"], |_| Reaction::Hang);
    host.start(1);
    let done = host.until_done(1).await;
    assert_eq!(done["result"]["stopReason"], "stop");
    let abort = host.log.iter().find(|effect| effect["t"] == "abort").unwrap();
    assert_eq!(abort["why"], "timeout");
    let failed = host.log.iter().find(|effect| effect["t"] == "result").unwrap();
    assert_eq!(failed["content"], "timed out after 50 ms");
}

#[tokio::test(start_paused = true)]
async fn a_handler_over_its_deadline_is_reported_and_the_next_still_runs() {
    let mut host = ScriptedHost::new(json!({}), |effect| match effect["t"].as_str().unwrap() {
        "model" => Reaction::Answer(says("x")),
        "hook" if effect["handler"] == 1 => Reaction::Hang,
        _ => Reaction::Answer(Value::Null),
    });
    host.family.hook(HookName::RunStart, 20).unwrap();
    host.family.hook(HookName::RunStart, 20).unwrap();
    host.start(1);
    host.until_done(1).await;
    let diagnostics = host.events("diagnostic");
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0]["hook"]["reason"], "timeout");
    assert_eq!(diagnostics[0]["hook"]["index"], 0);
    assert_eq!(host.log.iter().filter(|effect| effect["t"] == "hook").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_waits_for_its_turn_has_no_deadline_yet() {
    let mut host = ScriptedHost::new(json!({}), |effect| match effect["t"].as_str().unwrap() {
        "model" => Reaction::Answer(says("x")),
        _ => Reaction::Answer(Value::Null),
    });
    host.family.hook(HookName::RunEnd, 1).unwrap();
    host.start(1);
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    host.until_done(1).await;
    assert!(host.events("diagnostic").is_empty());
}

#[tokio::test(start_paused = true)]
async fn cancelling_during_tools_interrupts_open_calls_and_still_ends_every_hook() {
    let mut host = calling(&["look", "look"], |_| Reaction::Hang);
    hook_all(&host);
    host.start(1);
    assert!(!host.is_done(1));
    host.cancel(1);
    let done = host.until_done(1).await;
    assert_eq!(done["result"]["stopReason"], "aborted");
    assert_eq!(
        host.hooks(),
        ["run:start", "tool:start", "tool:start", "tool:end cancelled", "tool:end cancelled", "run:end cancelled"]
    );
    let contents: Vec<&Value> =
        host.log.iter().filter(|effect| effect["t"] == "result").map(|effect| &effect["content"]).collect();
    assert_eq!(contents, ["interrupted", "interrupted"]);
    assert!(host.tags().contains(&"append_results"), "the conversation stays well formed");
}

#[tokio::test(start_paused = true)]
async fn cancelling_during_a_start_hook_abandons_it_and_skips_the_rest() {
    let mut host = ScriptedHost::new(json!({}), |effect| match effect["t"].as_str().unwrap() {
        "hook" if effect["handler"] == 1 => Reaction::Hang,
        "model" => panic!("the model is not asked"),
        _ => Reaction::Answer(Value::Null),
    });
    host.family.hook(HookName::RunStart, 10_000).unwrap();
    host.family.hook(HookName::RunStart, 10_000).unwrap();
    host.family.hook(HookName::RunEnd, 10_000).unwrap();
    host.start(1);
    host.cancel(1);
    host.until_done(1).await;
    assert_eq!(host.hooks(), ["run:start", "run:end cancelled"]);
    assert_eq!(host.log.iter().filter(|effect| effect["t"] == "hook").count(), 2);
    assert!(host.events("diagnostic").is_empty());
    assert!(!host.tags().contains(&"append"), "nothing was stored");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_throws_fails_the_run_and_its_end_hook_says_so() {
    let mut host = ScriptedHost::new(json!({}), |effect| match effect["t"].as_str().unwrap() {
        "model" => Reaction::Throw("boom"),
        _ => Reaction::Answer(Value::Null),
    });
    hook_all(&host);
    host.start(1);
    let done = host.until_done(1).await;
    assert!(done["error"]["key"].is_u64(), "the host rethrows what it kept");
    assert_eq!(host.hooks(), ["run:start", "run:end failed"]);
    assert_eq!(host.events("error").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_answer_fails_the_run_as_an_error_of_the_provider() {
    let mut host = ScriptedHost::new(json!({}), |effect| match effect["t"].as_str().unwrap() {
        "model" => Reaction::Answer(json!({ "message": { "role": "assistant", "content": 3 }, "usage": {} })),
        _ => Reaction::Answer(Value::Null),
    });
    host.start(1);
    let done = host.until_done(1).await;
    assert_eq!(done["error"]["code"], "provider_error");
    assert!(done["error"]["message"].as_str().unwrap().contains("message.content"), "{done}");
}

#[tokio::test(start_paused = true)]
async fn runs_of_one_session_wait_for_one_another() {
    let mut host = ScriptedHost::new(json!({}), |effect| match effect["t"].as_str().unwrap() {
        "model" if effect["run"] == 1 => Reaction::Hang,
        "model" => Reaction::Answer(says("x")),
        _ => Reaction::Answer(Value::Null),
    });
    host.start(1);
    host.start(2);
    let model = host.log.iter().find(|effect| effect["t"] == "model").unwrap()["id"].as_u64().unwrap();
    assert!(!host.is_done(2));
    host.answer(model, says("first"));
    assert!(host.is_done(1) && host.is_done(2));
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_the_last_turn_are_run() {
    let mut host = ScriptedHost::new(json!({ "maxTurns": 2, "tools": [{ "name": "look" }] }), |effect| {
        match effect["t"].as_str().unwrap() {
            "model" => Reaction::Answer(calls(&["look"])),
            "tool" => Reaction::Answer(json!(false)),
            _ => Reaction::Answer(Value::Null),
        }
    });
    hook_all(&host);
    host.start(1);
    let done = host.until_done(1).await;
    assert_eq!(done["result"]["stopReason"], "max_turns");
    assert_eq!(host.tags().iter().filter(|tag| **tag == "tool").count(), 2);
    assert_eq!(host.hooks().last().unwrap(), "run:end max_turns");
}
