//! Commands of hooks.json in a dispatch: order, matching, input, failures, cancellation; with a scripted port on a paused
//! clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod folder;
mod stage;

use std::time::Duration;

use lite_agent::event::HookFailureReason;
use lite_agent::hooks::{CommandReport, MAX_PAYLOAD_BYTES};
use lite_agent::types::HookName;
use serde_json::{Value, json};
use stage::{Script, Stage, failed, takes};
use tokio_util::sync::CancellationToken;

const TOOL_HOOKS: &str = r#"{ "version": 1, "hooks": { "tool:start": [
    { "match": "read_*", "command": "reads" }, { "command": "all", "timeoutMs": 500 } ],
  "tool:end": [ { "match": "write_file", "command": "writes" } ],
  "run:end": [ { "command": "first" }, { "command": "second" } ] } }"#;

fn project(name: &str) -> Stage {
    Stage::new(name, None, Some(TOOL_HOOKS))
}

#[tokio::test(start_paused = true)]
async fn global_commands_run_first_then_the_project_s_then_handlers_one_after_another() {
    let file = |name: &str| {
        format!(r#"{{"version":1,"hooks":{{"run:end":[{{"command":"{name}1"}},{{"command":"{name}2"}}]}}}}"#)
    };
    let mut stage = Stage::new("order", Some(&file("g")), Some(&file("p")));
    stage.register(HookName::RunEnd);
    stage.register(HookName::RunEnd);
    let script = Script::new(|_| takes(50));
    stage.dispatch(HookName::RunEnd, None, &script, None).await.unwrap();
    let began = ["begin g1", "end g1", "begin g2", "end g2", "begin p1", "end p1", "begin p2", "end p2"];
    assert_eq!(stage.log(&script), [&["event"][..], &began, &["handler 1", "handler 2"]].concat());
    assert_eq!(stage.diagnostics(), Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn a_command_gets_what_its_entry_says_and_the_event() {
    let mut stage = project("request");
    let script = Script::new(|_| takes(1));
    stage.dispatch(HookName::ToolStart, Some("read_file"), &script, None).await.unwrap();
    let requests = script.requests.borrow();
    let file = stage.folders.project().display().to_string();
    let seen: Vec<Value> = requests
        .iter()
        .map(|request| {
            json!([
                request.event.as_str(),
                request.source.as_str(),
                *request.config_file,
                *request.command,
                request.timeout.as_millis() as u64
            ])
        })
        .collect();
    assert_eq!(
        seen,
        [json!(["tool:start", "project", file, "reads", 10_000]), json!(["tool:start", "project", file, "all", 500])]
    );
    for request in requests.iter() {
        assert_eq!(&*request.input, format!("{}\n", script.event).as_bytes());
    }
}

#[tokio::test(start_paused = true)]
async fn a_match_is_for_the_tools_that_it_matches_and_the_event_is_written_once_if_at_all() {
    let mut stage = project("match");
    let script = Script::new(|_| takes(1));
    stage.dispatch(HookName::ToolStart, Some("read_file"), &script, None).await.unwrap();
    assert_eq!(stage.log(&script), ["event", "begin reads", "end reads", "begin all", "end all"]);
    let script = Script::new(|_| takes(1));
    stage.dispatch(HookName::ToolStart, Some("Read_file"), &script, None).await.unwrap();
    assert_eq!(stage.log(&script), ["event", "begin all", "end all"]);
    let script = Script::new(|_| takes(1));
    stage.register(HookName::ToolEnd);
    stage.dispatch(HookName::ToolEnd, Some("bash"), &script, None).await.unwrap();
    assert_eq!(stage.log(&script), ["handler 1"], "nothing matches: the event is not written");
}

#[tokio::test(start_paused = true)]
async fn without_registrations_there_is_no_dispatch() {
    let stage = project("nothing");
    assert!(stage.registry.snapshot(HookName::CompactStart).is_none());
    assert!(stage.registry.snapshot(HookName::RunStart).is_none());
    let mut stage = project("cleared");
    assert!(stage.registry.snapshot(HookName::RunEnd).is_some());
    stage.registry.clear();
    assert!(stage.registry.snapshot(HookName::RunEnd).is_none());
}

#[tokio::test(start_paused = true)]
async fn the_host_makes_the_event_once_for_commands_and_handlers() {
    let mut stage = project("event");
    stage.register(HookName::RunEnd);
    stage.register(HookName::RunEnd);
    let script = Script::new(|_| takes(1));
    stage.dispatch(HookName::RunEnd, None, &script, None).await.unwrap();
    assert_eq!(*script.kept.borrow(), [true]);
    let hooks = stage.effects("hook");
    assert!(hooks.iter().all(|hook| hook["make"].is_null() && hook["key"] == hooks[0]["key"]));
    assert_eq!((hooks[0]["last"].clone(), hooks[1]["last"].clone()), (json!(false), json!(true)));
    // Without a command that matches, the first handler's effect has it made.
    let mut stage = project("event-handlers");
    stage.register(HookName::ToolEnd);
    let script = Script::new(|_| takes(1));
    stage.dispatch(HookName::ToolEnd, Some("bash"), &script, None).await.unwrap();
    assert_eq!(stage.effects("hook")[0]["make"]["event"], "tool:end");
    // And without handlers, the host keeps nothing.
    let mut stage = project("event-commands");
    let script = Script::new(|_| takes(1));
    stage.dispatch(HookName::RunEnd, None, &script, None).await.unwrap();
    assert_eq!(*script.kept.borrow(), [false]);
}

#[tokio::test(start_paused = true)]
async fn each_failure_is_one_diagnostic_and_the_rest_run() {
    let mut stage = project("failures");
    stage.register(HookName::RunEnd);
    let script = Script::new(|request| match &*request.command {
        "first" => {
            let mut failure = failed(HookFailureReason::Exit, 120);
            failure.exit_code = Some(3);
            failure.output = "working\nno such token=hunter2\n\n".to_string();
            (Duration::ZERO, CommandReport::Failed(failure))
        }
        _ => (Duration::ZERO, CommandReport::Denied("hooks are not for token=hunter2".to_string())),
    });
    stage.dispatch(HookName::RunEnd, None, &script, None).await.unwrap();
    assert_eq!(
        stage.log(&script),
        ["event", "begin first", "end first", "diagnostic", "begin second", "end second", "diagnostic", "handler 1"]
    );
    let file = stage.folders.project().display().to_string();
    let diagnostics = stage.diagnostics();
    assert_eq!(
        diagnostics[0],
        json!({
            "level": "error", "code": "hook_failed",
            "message": format!(
                "run:end hook #0 (project, {file}) failed: exit, it exited with code 3, and last wrote \"no such \
                 token=***\"; the command is \"first\""
            ),
            "hook": {
                "event": "run:end", "source": "project", "configFile": file, "index": 0, "reason": "exit",
                "exitCode": 3, "durationMs": 120.0, "output": "working\nno such token=***\n\n",
            },
        })
    );
    assert_eq!(
        diagnostics[1],
        json!({
            "level": "error", "code": "hook_failed",
            "message": format!(
                "run:end hook #1 (project, {file}) failed: denied, nothing was started: hooks are not for token=***; \
                 to let it run, allow the tool \"hook\" for it in the permission policy; the command is \"second\""
            ),
            "hook": {
                "event": "run:end", "source": "project", "configFile": file, "index": 1, "reason": "denied",
                "durationMs": 0.0,
            },
        })
    );
}

#[tokio::test(start_paused = true)]
async fn an_index_counts_every_registration_of_the_event() {
    let mut stage = project("index");
    stage.register(HookName::ToolStart);
    stage.throwing = true;
    let script = Script::new(|_| (Duration::ZERO, CommandReport::Failed(failed(HookFailureReason::Spawn, 1))));
    stage.dispatch(HookName::ToolStart, Some("bash"), &script, None).await.unwrap();
    let places: Vec<Value> = stage.diagnostics().iter().map(|found| found["hook"]["index"].clone()).collect();
    assert_eq!(places, [1, 2], "the command at 0 is for other tools, and keeps its place");
    assert!(stage.diagnostics()[1]["message"].as_str().unwrap().ends_with("error, it threw Error: boom"));
}

#[tokio::test(start_paused = true)]
async fn every_reason_has_words_of_its_own() {
    use HookFailureReason::{Error, Exit, MemoryLimit, OutputLimit, Sandbox, Signal, Spawn, Timeout};
    for (reason, said, expected) in [
        (Timeout, "", "timeout, it was not over after 500 ms and was killed;"),
        (Spawn, "the folder /gone does not exist", "spawn, the folder /gone does not exist;"),
        (Exit, "", "exit, its exit code was not 0, and wrote nothing;"),
        (Signal, "SIGKILL killed it", "signal, SIGKILL killed it;"),
        (OutputLimit, "", "output_limit, it wrote more than the 65536 bytes that it may and was killed;"),
        (MemoryLimit, "", "memory_limit, it took more memory than bash.memoryBytes allows and was killed;"),
        (Sandbox, "", "sandbox, the sandbox could not be set up, so nothing was started;"),
        (Error, "", "error, something failed that was not the command;"),
    ] {
        let mut stage = project("reasons");
        let script = Script::new(move |_| {
            let mut failure = failed(reason, 1);
            failure.message = said.to_string();
            (Duration::ZERO, CommandReport::Failed(failure))
        });
        stage.dispatch(HookName::ToolStart, Some("bash"), &script, None).await.unwrap();
        let message = stage.diagnostics()[0]["message"].as_str().unwrap().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_shows_the_last_2_kib_of_the_output_masked_before_it_is_cut() {
    let mut stage = project("tail");
    // The cut is within the secret, and within the character before it.
    let secret = format!("token={}", "s".repeat(1_500));
    let output = format!("{}{secret}{}\n", "é".repeat(10_000), "x".repeat(1_000));
    let script = Script::new(move |_| {
        let mut failure = failed(HookFailureReason::Exit, 1);
        failure.output = output.clone();
        (Duration::ZERO, CommandReport::Failed(failure))
    });
    stage.dispatch(HookName::ToolStart, Some("bash"), &script, None).await.unwrap();
    let shown = stage.diagnostics()[0]["hook"]["output"].as_str().unwrap().to_string();
    assert!(shown.len() <= 2048 && shown.len() > 2040, "{}", shown.len());
    assert!(shown.starts_with("é") && shown.contains("étoken=***") && !shown.contains("ss"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn cancellation_of_a_start_event_drops_the_command_in_flight_and_skips_the_rest() {
    let mut stage = project("cancel");
    stage.register(HookName::ToolStart);
    let cancel = CancellationToken::new();
    let firing = cancel.clone();
    let script = Script::new(move |_| {
        firing.cancel();
        takes(60_000)
    });
    let ended = stage.dispatch(HookName::ToolStart, Some("read_file"), &script, Some(&cancel)).await;
    assert!(ended.is_err());
    assert_eq!(stage.log(&script), ["event", "begin reads", "dropped reads"]);
    assert!(script.requests.borrow()[0].cancel.as_ref().unwrap().is_cancelled());
    assert_eq!(stage.diagnostics(), Vec::<Value>::new());
    // What was cancelled before it began asks for nothing at all.
    let script = Script::new(|_| takes(1));
    assert!(stage.dispatch(HookName::ToolStart, Some("read_file"), &script, Some(&cancel)).await.is_err());
    assert_eq!(stage.log(&script), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn commands_of_an_end_event_know_no_cancellation() {
    let mut stage = project("end");
    let script = Script::new(|_| takes(5_000));
    stage.dispatch(HookName::RunEnd, None, &script, None).await.unwrap();
    assert!(script.requests.borrow().iter().all(|request| request.cancel.is_none()));
    assert_eq!(script.requests.borrow().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_too_long_is_shortened_once_with_a_warning() {
    let mut stage = project("long");
    let mut script = Script::new(|_| takes(1));
    let event = json!({ "event": "run:end", "result": { "content": "é\n".repeat(150_000) } });
    script.event = event.to_string();
    stage.dispatch(HookName::RunEnd, None, &script, None).await.unwrap();
    assert_eq!(stage.log(&script), ["event", "diagnostic", "begin first", "end first", "begin second", "end second"]);
    assert_eq!(
        stage.diagnostics(),
        [json!({
            "level": "warning", "code": "hook_input_truncated",
            "message": format!(
                "run:end hooks: the event has {} bytes, and commands get at most 262144; shortened for them: \
                 \"result.content\"",
                script.event.len() + 1
            ),
        })]
    );
    let requests = script.requests.borrow();
    assert!(std::sync::Arc::ptr_eq(&requests[0].input, &requests[1].input));
    assert!(requests[0].input.len() <= MAX_PAYLOAD_BYTES && requests[0].input.len() > MAX_PAYLOAD_BYTES - 8);
    let got: Value = serde_json::from_slice(&requests[0].input).unwrap();
    assert_eq!(got["truncated"], json!(["result.content"]));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_shortened_runs_no_command_and_all_handlers() {
    let mut stage = project("input-limit");
    stage.register(HookName::RunEnd);
    let mut script = Script::new(|_| takes(1));
    script.event = json!({ "event": "run:end", "list": vec![1; 200_000] }).to_string();
    stage.dispatch(HookName::RunEnd, None, &script, None).await.unwrap();
    assert_eq!(stage.log(&script), ["event", "diagnostic", "diagnostic", "handler 1"]);
    for (index, found) in stage.diagnostics().iter().enumerate() {
        assert_eq!((&found["hook"]["reason"], &found["hook"]["index"]), (&json!("input_limit"), &json!(index)));
        assert!(found["message"].as_str().unwrap().contains("at most 262144 are allowed, and it cannot be shortened"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_written_fails_commands_and_is_made_again_for_handlers() {
    let mut stage = project("unwritten");
    stage.register(HookName::RunEnd);
    let mut script = Script::new(|_| takes(1));
    script.event = String::new();
    stage.dispatch(HookName::RunEnd, None, &script, None).await.unwrap();
    assert_eq!(stage.log(&script), ["event", "diagnostic", "diagnostic", "handler 1"]);
    let found = stage.diagnostics();
    assert_eq!(found[0]["hook"]["reason"], "error");
    assert!(found[0]["message"].as_str().unwrap().contains("its event could not be written: TypeError: no text"));
    assert_eq!(stage.effects("hook")[0]["make"]["event"], "run:end");
}

#[tokio::test(start_paused = true)]
async fn without_a_port_commands_fail_and_say_so() {
    let mut stage = project("no-port");
    stage.dispatch_without_port(HookName::RunEnd).await.unwrap();
    let found = stage.diagnostics();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["hook"]["reason"], "spawn");
}
