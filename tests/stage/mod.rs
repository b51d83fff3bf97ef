//! A registry with hooks.json files, a host whose handlers answer at once, and a port that runs scripts: what a dispatch
//! needs, and a log of what it did.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lite_agent::event::{HookError, HookFailureReason};
use lite_agent::hooks::{
    Abandoned, CommandFailure, CommandPort, CommandReport, CommandRequest, Commands, Dispatch, EventRequest,
    HookDiagnostic, Registry,
};
use lite_agent::host::{Driver, HookSubject, Host, HostError, HostErrorKind};
use lite_agent::types::{CallId, HookName, RunKey};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::folder::Folders;

type Log = Rc<RefCell<Vec<String>>>;
type Reaction = Box<dyn Fn(&CommandRequest) -> (Duration, CommandReport)>;

/// A command that ends well after so many milliseconds.
pub fn takes(milliseconds: u64) -> (Duration, CommandReport) {
    (Duration::from_millis(milliseconds), CommandReport::Ran)
}

pub fn failed(reason: HookFailureReason, milliseconds: u64) -> CommandFailure {
    let duration = Duration::from_millis(milliseconds);
    CommandFailure { reason, exit_code: None, output: String::new(), duration, message: String::new() }
}

/// A port whose commands do as a test says.
pub struct Script {
    /// What events are written as; nothing: they cannot be.
    pub event: String,
    pub requests: RefCell<Vec<CommandRequest>>,
    /// For each event that was written, whether handlers follow.
    pub kept: RefCell<Vec<bool>>,
    reaction: Reaction,
    log: Log,
}

impl Script {
    pub fn new(reaction: impl Fn(&CommandRequest) -> (Duration, CommandReport) + 'static) -> Script {
        Script {
            event: r#"{"event":"run:end","text":"é"}"#.to_string(),
            requests: RefCell::default(),
            kept: RefCell::default(),
            reaction: Box::new(reaction),
            log: Log::default(),
        }
    }

    fn note(&self, what: &str, command: &str) {
        self.log.borrow_mut().push(format!("{what} {command}"));
    }
}

/// Notes a command whose future was dropped.
struct Running<'a> {
    script: &'a Script,
    command: Rc<str>,
    over: Cell<bool>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.script.note(if self.over.get() { "end" } else { "dropped" }, &self.command);
    }
}

impl CommandPort for Script {
    fn event<'a>(&'a self, request: EventRequest<'a>) -> LocalBoxFuture<'a, Result<String, HookError>> {
        self.log.borrow_mut().push("event".to_string());
        self.kept.borrow_mut().push(request.keep);
        let text = match &*self.event {
            "" => Err(HookError { name: "TypeError".to_string(), message: "no text".to_string() }),
            text => Ok(text.to_string()),
        };
        async { text }.boxed_local()
    }

    fn run(&self, request: CommandRequest) -> LocalBoxFuture<'_, CommandReport> {
        self.note("begin", &request.command);
        let (duration, report) = (self.reaction)(&request);
        let running = Running { script: self, command: request.command.clone(), over: Cell::new(false) };
        self.requests.borrow_mut().push(request);
        async move {
            tokio::time::sleep(duration).await;
            running.over.set(true);
            report
        }
        .boxed_local()
    }
}

pub struct Stage {
    pub folders: Folders,
    pub registry: Registry,
    /// Whether handlers throw.
    pub throwing: bool,
    host: Host,
    driver: Driver,
    log: Log,
    diagnostics: Vec<HookDiagnostic>,
    effects: Vec<Value>,
}

impl Stage {
    pub fn new(name: &str, global: Option<&str>, project: Option<&str>) -> Stage {
        let folders = Folders::new(name);
        if let Some(global) = global {
            folders.write_global(global);
        }
        if let Some(project) = project {
            folders.write_project(project);
        }
        let driver = Driver::new(Box::new(|| {}));
        let registry = Registry::new(driver.host(), &folders.load().unwrap());
        Stage {
            folders,
            registry,
            throwing: false,
            host: driver.host(),
            driver,
            log: Log::default(),
            diagnostics: Vec::new(),
            effects: Vec::new(),
        }
    }

    pub fn register(&mut self, event: HookName) {
        self.registry.register(event, Duration::from_secs(10));
    }

    pub async fn dispatch(
        &mut self,
        event: HookName,
        tool: Option<&str>,
        script: &Script,
        cancel: Option<&CancellationToken>,
    ) -> Result<(), Abandoned> {
        self.log = script.log.clone();
        self.perform(event, Some(Commands { port: script, tool }), cancel).await
    }

    pub async fn dispatch_without_port(&mut self, event: HookName) -> Result<(), Abandoned> {
        self.perform(event, None, None).await
    }

    async fn perform(
        &mut self,
        event: HookName,
        commands: Option<Commands<'_>>,
        cancel: Option<&CancellationToken>,
    ) -> Result<(), Abandoned> {
        self.diagnostics.clear();
        let Stage { host, driver, registry, throwing, log, diagnostics, effects, .. } = self;
        let diagnostics = RefCell::new(diagnostics);
        let snapshot = registry.snapshot(event).unwrap();
        let dispatch = Dispatch {
            host,
            run: RunKey(1),
            subject: HookSubject::of(event),
            cancel,
            commands,
            redact: &|text| mask(text),
            host_redacts: false,
            report: &|diagnostic| {
                log.borrow_mut().push("diagnostic".to_string());
                diagnostics.borrow_mut().push(diagnostic);
            },
        };
        let answering = answer(host, driver, *throwing, log, effects);
        tokio::select! {
            biased;
            ended = dispatch.run(snapshot) => ended,
            () = answering => unreachable!(),
        }
    }

    pub fn log(&self, script: &Script) -> Vec<String> {
        script.log.borrow().clone()
    }

    pub fn effects(&self, tag: &str) -> Vec<&Value> {
        self.effects.iter().filter(|effect| effect["t"] == tag).collect()
    }

    /// As they will cross.
    pub fn diagnostics(&self) -> Vec<Value> {
        self.diagnostics
            .iter()
            .map(|HookDiagnostic { level, code, message, failure }| {
                let mut json = json!({ "level": level, "code": code, "message": message });
                if let Some(failure) = failure {
                    json["hook"] = json!(failure);
                }
                json
            })
            .collect()
    }
}

/// Performs effects, for ever.
async fn answer(host: &Host, driver: &mut Driver, throwing: bool, log: &Log, effects: &mut Vec<Value>) {
    loop {
        let queued = driver.turn(|| {});
        let queued: Vec<Value> = if queued.is_empty() { Vec::new() } else { serde_json::from_slice(&queued).unwrap() };
        for effect in queued {
            if effect["t"] == "hook" {
                log.borrow_mut().push(format!("handler {}", effect["handler"]));
                let error = HostError { kind: HostErrorKind::Thrown, name: "Error".into(), message: "boom".into() };
                let answer = if throwing { Err(error) } else { Ok(String::new()) };
                host.answer(CallId(effect["id"].as_u64().unwrap()), Duration::ZERO, answer);
            }
            effects.push(effect);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// `token=…` is all that is secret here.
fn mask(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("token=") {
        masked.push_str(&rest[..at]);
        masked.push_str("token=***");
        let value = &rest[at + 6..];
        rest = value.trim_start_matches(|character: char| character.is_ascii_alphanumeric() && character != 'x');
    }
    masked + rest
}
