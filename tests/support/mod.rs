//! A scripted host: performs the core's effects by rules that a test sets, and records what it was told.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use lite_agent::agent::{Family, FamilyOptions, StartOptions};
use lite_agent::host::{Driver, Host, HostError, HostErrorKind};
use lite_agent::types::{CallId, RunKey};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What the host does with a call of the core.
pub enum Reaction {
    Answer(Value),
    Throw(&'static str),
    /// Says that it began, and never answers.
    Hang,
}

type Rule = Box<dyn FnMut(&Value) -> Reaction>;

pub struct ScriptedHost {
    pub family: Rc<Family>,
    driver: Driver,
    host: Host,
    rule: Rule,
    woken: Arc<Notify>,
    /// Every effect, in the order in which it was performed.
    pub log: Vec<Value>,
}

impl ScriptedHost {
    pub fn new(options: Value, rule: impl FnMut(&Value) -> Reaction + 'static) -> ScriptedHost {
        let woken = Arc::new(Notify::new());
        let notify = woken.clone();
        let driver = Driver::new(Box::new(move || notify.notify_one()));
        let mut full = json!({
            "modelName": "scripted", "maxTurns": 50, "maxParallelTools": 10, "maxParallelSubagents": 5, "background": false, "nameSeed": "seed",
            "backgroundLimits": { "maxTotal": 100, "maxDetached": 20, "bufferBytes": 1024 }, "tools": [], "hostRedacts": false,
            "workdir": ".", "builtinTools": [], "denySymlinks": false, "stores": false, "compaction": { "automatic": false, "host": false }, "commands": { "addonFolder": "/none", "environment": [], "timeoutMs": 1000, "maxOutputBytes": 1000, "sandboxed": false }, "recovers": true, "audits": false, "hostPolicy": false, "dryRun": false,
            "hasApproval": false,
            "middleware": { "beforeAgent": false, "beforeModel": false, "afterAgent": false, "wrapToolCall": false },
        });
        for (name, value) in options.as_object().unwrap() {
            full[name] = value.clone();
        }
        let options: FamilyOptions = serde_json::from_value(full).unwrap();
        let family = Family::new(driver.host(), driver.spawner(), options, None, None).unwrap();
        ScriptedHost { host: driver.host(), family, driver, rule: Box::new(rule), woken, log: Vec::new() }
    }

    /// Starts a run of one text message in session `s`.
    pub fn start(&mut self, run: u64) {
        let options = json!({ "run": run, "sessionId": "s", "stream": true, "aborted": false, "steer": false });
        let options: StartOptions = serde_json::from_value(options).unwrap();
        let family = self.family.clone();
        self.enter(move |_| family.start(options).unwrap());
    }

    pub fn cancel(&mut self, run: u64) {
        let family = self.family.clone();
        self.enter(move |_| family.cancel(RunKey(run)));
    }

    pub fn answer(&mut self, id: u64, answer: Value) {
        self.enter(move |host| host.answer(CallId(id), Duration::ZERO, Ok(text(answer))));
    }

    pub fn enter(&mut self, input: impl FnOnce(&Host)) {
        let host = self.host.clone();
        let mut queue = self.turn(|| input(&host));
        while let Some(effect) = queue.pop_front() {
            self.log.push(effect.clone());
            let tag = effect["t"].as_str().unwrap();
            if tag == "abort" || effect["id"].is_null() {
                continue;
            }
            let id = CallId(effect["id"].as_u64().unwrap());
            let reaction = (self.rule)(&effect);
            let more = self.turn(|| match reaction {
                Reaction::Answer(value) => host.answer(id, Duration::ZERO, Ok(text(value))),
                Reaction::Throw(message) => {
                    let error =
                        HostError { kind: HostErrorKind::Thrown, name: "Error".into(), message: message.into() };
                    host.answer(id, Duration::ZERO, Err(error));
                }
                Reaction::Hang => host.started(id, Duration::ZERO),
            });
            queue.extend(more);
        }
    }

    fn turn(&mut self, input: impl FnOnce()) -> VecDeque<Value> {
        let effects = self.driver.turn(input);
        if effects.is_empty() { VecDeque::new() } else { serde_json::from_slice(&effects).unwrap() }
    }

    /// Waits for timers of the core until the run is over.
    pub async fn until_done(&mut self, run: u64) -> Value {
        loop {
            if let Some(done) = self.log.iter().find(|effect| effect["t"] == "done" && effect["run"] == run) {
                return done.clone();
            }
            let woken = self.woken.clone();
            tokio::time::timeout(Duration::from_secs(600), woken.notified()).await.expect("the run hangs");
            self.enter(|_| {});
        }
    }

    pub fn is_done(&self, run: u64) -> bool {
        self.log.iter().any(|effect| effect["t"] == "done" && effect["run"] == run)
    }

    /// Names of the hook events that were dispatched, with their status.
    pub fn hooks(&self) -> Vec<String> {
        self.log
            .iter()
            .filter(|effect| effect["t"] == "hook" && !effect["make"].is_null())
            .map(|effect| {
                let make = &effect["make"];
                match make["status"].as_str() {
                    Some(status) => format!("{} {status}", make["event"].as_str().unwrap()),
                    None => make["event"].as_str().unwrap().to_string(),
                }
            })
            .collect()
    }

    pub fn events(&self, kind: &str) -> Vec<&Value> {
        self.log
            .iter()
            .filter(|effect| effect["t"] == "event")
            .map(|effect| &effect["event"])
            .filter(|e| e["type"] == kind)
            .collect()
    }

    pub fn tags(&self) -> Vec<&str> {
        self.log.iter().map(|effect| effect["t"].as_str().unwrap()).collect()
    }
}

/// Answers cross as JSON text; nothing crosses as nothing.
fn text(value: Value) -> String {
    if value.is_null() { String::new() } else { value.to_string() }
}

/// A model's answer of one text.
pub fn says(words: &str) -> Value {
    json!({
        "message": { "role": "assistant", "content": [{ "type": "text", "text": words }] },
        "usage": { "inputTokens": 1, "outputTokens": 1 },
    })
}

/// A model's answer of calls without input, by tool name.
pub fn calls(names: &[&str]) -> Value {
    let content: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(index, name)| json!({ "type": "tool_call", "id": format!("call_{index}"), "name": name, "input": {} }))
        .collect();
    json!({ "message": { "role": "assistant", "content": content }, "usage": { "inputTokens": 1, "outputTokens": 1 } })
}
