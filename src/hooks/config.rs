//! The format of hooks.json: its types, each of which reads itself and describes itself for the JSON Schema. Knows no
//! file names and no file system (`files` does), and nothing of how commands run.

use std::time::Duration;

use serde_json::{Value as Schema, json};

use super::registry::{DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS};
use crate::glob::Glob;
use crate::json::{Data, Described, Document, Field, JsonError, Place, Readable, Record, quote, record_schema};
use crate::types::HookName;

/// The one version that there is.
const VERSION: i64 = 1;

/// What one file says: for each event its commands, in order.
#[derive(Debug)]
pub struct Configuration {
    pub events: Vec<(HookName, Vec<Entry>)>,
}

/// One command.
#[derive(Debug)]
pub struct Entry {
    /// For tool events: which tools it is for. None: all.
    pub tools: Option<Glob>,
    pub command: String,
    pub timeout: Duration,
}

impl Configuration {
    /// # Errors
    /// The document is no configuration of hooks.
    pub fn read(document: &Document<'_>) -> Result<Configuration, JsonError> {
        Readable::read(&Place::root(document))
    }
}

/// The JSON Schema of hooks.json, as the package ships it: text that ends with a line break.
pub fn hooks_schema() -> String {
    let mut schema = Configuration::schema();
    if let Schema::Object(members) = &mut schema {
        members.insert("$schema".to_string(), "https://json-schema.org/draft/2020-12/schema".into());
        members.insert("title".to_string(), "hooks.json of lite-agent".into());
        members.insert(
            "description".to_string(),
            "Commands that run at fixed points of an agent's runs. Keys must not be given twice.".into(),
        );
    }
    format!("{schema:#}\n")
}

static SCHEMA: Field<SchemaLink> = Field::optional("$schema", "Where this schema is, for editors. Ignored otherwise.");
static FORMAT_VERSION: Field<Version> = Field::required("version", "The version of this format.");
static HOOKS: Field<Events> = Field::required("hooks", "Commands by event. They run one after another, in this order.");

impl Readable for Configuration {
    fn schema() -> Schema {
        record_schema(&[&SCHEMA, &FORMAT_VERSION, &HOOKS])
    }

    fn read(place: &Place<'_>) -> Result<Configuration, JsonError> {
        let record = Record::of(place, &[&SCHEMA, &FORMAT_VERSION, &HOOKS], "key")?;
        record.get(&SCHEMA)?;
        record.require(&FORMAT_VERSION)?;
        Ok(Configuration { events: record.require(&HOOKS)?.0 })
    }
}

struct SchemaLink;

impl Readable for SchemaLink {
    fn schema() -> Schema {
        json!({ "type": "string" })
    }

    fn read(place: &Place<'_>) -> Result<SchemaLink, JsonError> {
        match place.data() {
            Data::String(_) => Ok(SchemaLink),
            _ => Err(place.expected("a string")),
        }
    }
}

struct Version;

impl Readable for Version {
    fn schema() -> Schema {
        json!({ "const": VERSION })
    }

    fn read(place: &Place<'_>) -> Result<Version, JsonError> {
        match place.data() {
            Data::Number(number) if number.as_integer() == Some(VERSION) => Ok(Version),
            _ => Err(place.expected(&format!("the number {VERSION}"))),
        }
    }
}

struct Events(Vec<(HookName, Vec<Entry>)>);

/// The field of an event: those of tools know a key more.
enum EventField {
    Tool(HookName, Field<Vec<ToolEntry>>),
    Other(HookName, Field<Vec<PlainEntry>>),
}

fn event_fields() -> [EventField; HookName::ALL.len()] {
    HookName::ALL.map(|event| {
        let about = match event {
            HookName::RunStart => "A run begins: before any model call.",
            HookName::RunEnd => "A run has ended, however it did.",
            HookName::ToolStart => "The model called a tool, which may yet be denied.",
            HookName::ToolEnd => "A tool call has ended, however it did; its result is not stored yet.",
            HookName::CompactStart => "A compaction begins.",
            HookName::CompactEnd => "A compaction has ended, however it did.",
        };
        match event {
            HookName::ToolStart | HookName::ToolEnd => EventField::Tool(event, Field::optional(event.as_str(), about)),
            _ => EventField::Other(event, Field::optional(event.as_str(), about)),
        }
    })
}

impl EventField {
    fn described(&self) -> &dyn Described {
        match self {
            EventField::Tool(_, field) => field,
            EventField::Other(_, field) => field,
        }
    }

    fn read(&self, record: &Record<'_>) -> Result<Option<(HookName, Vec<Entry>)>, JsonError> {
        Ok(match self {
            EventField::Tool(event, field) => {
                record.get(field)?.map(|entries| (*event, entries.into_iter().map(|ToolEntry(entry)| entry).collect()))
            }
            EventField::Other(event, field) => {
                record.get(field)?.map(|entries| (*event, entries.into_iter().map(|PlainEntry(entry)| entry).collect()))
            }
        })
    }
}

impl Readable for Events {
    fn schema() -> Schema {
        record_schema(&event_fields().each_ref().map(EventField::described))
    }

    fn read(place: &Place<'_>) -> Result<Events, JsonError> {
        let fields = event_fields();
        let record = Record::of(place, &fields.each_ref().map(EventField::described), "event")?;
        fields.iter().filter_map(|field| field.read(&record).transpose()).collect::<Result<_, _>>().map(Events)
    }
}

static MATCH: Field<ToolGlob> = Field::optional(
    "match",
    "Glob over the tool's name, case-sensitive: *, ?, [...] and {a,b}. Without it the command is for all tools.",
);
static COMMAND: Field<Command> = Field::required(
    "command",
    "What /bin/sh runs in the agent's workdir. The event comes as one line of JSON on its standard input.",
);
static TIMEOUT: Field<TimeoutMs> =
    Field::optional("timeoutMs", "How long the command may take, in milliseconds; then it is killed.");

/// An entry of a tool event.
struct ToolEntry(Entry);

impl Readable for ToolEntry {
    fn schema() -> Schema {
        record_schema(&[&MATCH, &COMMAND, &TIMEOUT])
    }

    fn read(place: &Place<'_>) -> Result<ToolEntry, JsonError> {
        let record = Record::of(place, &[&MATCH, &COMMAND, &TIMEOUT], "key")?;
        let tools = record.get(&MATCH)?.map(|ToolGlob(glob)| glob);
        entry(&record, tools).map(ToolEntry)
    }
}

/// An entry of any other event.
struct PlainEntry(Entry);

impl Readable for PlainEntry {
    fn schema() -> Schema {
        record_schema(&[&COMMAND, &TIMEOUT])
    }

    fn read(place: &Place<'_>) -> Result<PlainEntry, JsonError> {
        if let Data::Object(members) = place.data()
            && let Some(member) = members.iter().find(|member| member.key == "match")
        {
            return Err(place.key_error(member, "\"match\" is only accepted on \"tool:start\" and \"tool:end\""));
        }
        let record = Record::of(place, &[&COMMAND, &TIMEOUT], "key")?;
        entry(&record, None).map(PlainEntry)
    }
}

fn entry(record: &Record<'_>, tools: Option<Glob>) -> Result<Entry, JsonError> {
    let Command(command) = record.require(&COMMAND)?;
    let TimeoutMs(timeout) = record.get(&TIMEOUT)?.unwrap_or(TimeoutMs(DEFAULT_TIMEOUT_MS));
    Ok(Entry { tools, command, timeout: Duration::from_millis(timeout.into()) })
}

struct ToolGlob(Glob);

impl Readable for ToolGlob {
    fn schema() -> Schema {
        // Whether a glob compiles is more than a schema can say.
        json!({ "type": "string", "minLength": 1 })
    }

    fn read(place: &Place<'_>) -> Result<ToolGlob, JsonError> {
        let Data::String(text) = place.data() else { return Err(place.expected("a glob in a string")) };
        match Glob::of_name(text) {
            Ok(glob) => Ok(ToolGlob(glob)),
            Err(problem) => Err(place.error(format!("expected a glob, but {} is none: {problem}", quote(text)))),
        }
    }
}

struct Command(String);

impl Readable for Command {
    fn schema() -> Schema {
        // Something that is no blank, and no NUL anywhere.
        json!({ "type": "string", "pattern": "^[^\\u0000]*[^\\s\\u0000\\u0085][^\\u0000]*$" })
    }

    fn read(place: &Place<'_>) -> Result<Command, JsonError> {
        let Data::String(text) = place.data() else { return Err(place.expected("a command in a string")) };
        // What is a blank to Unicode or to JavaScript.
        if text.chars().all(|character| character.is_whitespace() || character == '\u{feff}') {
            return Err(place.expected("a command that is not blank"));
        }
        if text.contains('\0') {
            return Err(place.error("expected a command, which cannot hold the character U+0000"));
        }
        Ok(Command(text.clone()))
    }
}

struct TimeoutMs(u32);

impl Readable for TimeoutMs {
    fn schema() -> Schema {
        json!({ "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS, "default": DEFAULT_TIMEOUT_MS })
    }

    fn read(place: &Place<'_>) -> Result<TimeoutMs, JsonError> {
        let integer = match place.data() {
            Data::Number(number) => number.as_integer(),
            _ => None,
        };
        match integer.and_then(|integer| u32::try_from(integer).ok()) {
            Some(timeout @ 1..=MAX_TIMEOUT_MS) => Ok(TimeoutMs(timeout)),
            _ => Err(place.expected(&format!("an integer from 1 to {MAX_TIMEOUT_MS}"))),
        }
    }
}
