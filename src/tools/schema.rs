//! Checks a tool's input against the tool's plain JSON Schema, and says which field is wrong.
//!
//! A schema is compiled once per thread and text, whatever number of agents use it. Nothing is ever fetched: a schema
//! that refers to another document does not compile. Neither a schema nor an input can overflow the stack or run for
//! ever: `shape` refuses schemas that multiply, patterns run in linear time or under a limit, and explaining, the one
//! step whose cost can explode with the depth of an input, is left out where it would.
//!
//! Knows nothing of tools, calls, agents or JavaScript; it takes text and answers text.

mod problem;
mod shape;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use jsonschema::{PatternOptions, Validator, ValidatorMap};
use serde_json::Value;

use shape::Shape;

/// Problems that one message lists at most.
const MAX_PROBLEMS: usize = 5;
/// Schemas in one generation of the cache; there are two.
const MAX_CACHED_SCHEMAS: usize = 128;
/// A longer schema is not cached: its text is kept as the key.
const MAX_CACHED_TEXT_BYTES: usize = 256 * 1024;
/// What one compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// One backtracking step may scan a whole string, at about a nanosecond a byte: inputs over this size get the lower
/// limit, so that the worst pattern on the worst input takes about half a second, and a second for a megabyte.
const LARGE_INPUT_BYTES: usize = 16 * 1024;
/// Enough for a look-around at each character of an input that is not large.
const BACKTRACK_LIMIT: usize = 20_000;
const BACKTRACK_LIMIT_FOR_LARGE_INPUTS: usize = 250;

/// A compiled JSON Schema. Cloning shares it.
#[derive(Clone)]
pub struct JsonSchema {
    compiled: Rc<Compiled>,
}

struct Compiled {
    schema: Value,
    validator: Validator,
    shape: Shape,
    /// The same schema with the lower backtracking limit; made when a large input comes, if a pattern can backtrack.
    for_large_inputs: OnceCell<Option<Validator>>,
    /// A validator for each subschema; made when an input is wrong too deep down to be explained.
    by_pointer: OnceCell<Option<ValidatorMap>>,
}

#[derive(Default)]
struct Cache {
    current: HashMap<Rc<str>, JsonSchema>,
    previous: HashMap<Rc<str>, JsonSchema>,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

impl JsonSchema {
    /// Compiles a schema, or takes the one that this thread compiled from the same text before.
    ///
    /// # Errors
    /// What is wrong and where in the schema: `properties.a.type: …`.
    pub fn compile(text: &str) -> Result<JsonSchema, String> {
        if let Some(known) = CACHE.with(|cache| cache.borrow_mut().get(text)) {
            return Ok(known);
        }
        let schema = JsonSchema { compiled: Rc::new(Compiled::new(text)?) };
        if text.len() <= MAX_CACHED_TEXT_BYTES {
            CACHE.with(|cache| cache.borrow_mut().put(Rc::from(text), schema.clone()));
        }
        Ok(schema)
    }

    /// Checks an input, given as JSON text at most 100 levels deep.
    ///
    /// # Errors
    /// At most five problems, each with its field: `path: is required; options.0.count: 3.5 is not of type "integer"`.
    pub fn check(&self, input: &str) -> Result<(), String> {
        // The reader refuses what is nested over 127 levels: recursion below is bounded by that.
        let value: Value =
            serde_json::from_str(input).map_err(|error| format!("input: is not usable JSON: {error}"))?;
        let compiled = &*self.compiled;
        let validator = compiled.validator_for(input.len());
        if validator.is_valid(&value) {
            return Ok(());
        }
        if depth(&value) > compiled.shape.explainable_depth() {
            return Err(compiled.name_top_fields(&value));
        }
        Err(problem::list(validator.iter_errors(&value), MAX_PROBLEMS))
    }
}

impl fmt::Debug for JsonSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("JsonSchema").field(&self.compiled.schema).finish()
    }
}

impl Compiled {
    fn new(text: &str) -> Result<Self, String> {
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("the schema is not usable JSON: {error}"))?;
        if !schema.is_object() && !schema.is_boolean() {
            return Err("the schema must be a JSON object".to_owned());
        }
        let shape = Shape::of(&schema)?;
        let validator = options(BACKTRACK_LIMIT).build(&schema).map_err(|error| problem::in_schema(&error))?;
        Ok(Self { schema, validator, shape, for_large_inputs: OnceCell::new(), by_pointer: OnceCell::new() })
    }

    fn validator_for(&self, input_bytes: usize) -> &Validator {
        if input_bytes <= LARGE_INPUT_BYTES || !self.shape.may_backtrack() {
            return &self.validator;
        }
        self.for_large_inputs
            .get_or_init(|| options(BACKTRACK_LIMIT_FOR_LARGE_INPUTS).build(&self.schema).ok())
            .as_ref()
            .unwrap_or(&self.validator)
    }

    /// For an input so deep that comparing it with each alternative could take for ever: the fields at the top alone.
    fn name_top_fields(&self, input: &Value) -> String {
        const PROBLEM: &str = "does not match the schema (nested too deeply to say where)";
        let validators = self.by_pointer.get_or_init(|| options(BACKTRACK_LIMIT).build_map(&self.schema).ok());
        let wrong: Vec<String> = input
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, value)| {
                let pointer = format!("#/properties/{}", problem::pointer_segment(name));
                let validator = validators.as_ref().and_then(|validators| validators.get(&pointer));
                validator.is_some_and(|validator| !validator.is_valid(value))
            })
            .take(MAX_PROBLEMS)
            .map(|(name, _)| format!("{}: {PROBLEM}", problem::shorten(name)))
            .collect();
        if wrong.is_empty() { format!("input: {PROBLEM}") } else { wrong.join("; ") }
    }
}

impl Cache {
    fn get(&mut self, text: &str) -> Option<JsonSchema> {
        if let Some(known) = self.current.get(text) {
            return Some(known.clone());
        }
        let (text, known) = self.previous.remove_entry(text)?;
        self.put(text, known.clone());
        Some(known)
    }

    fn put(&mut self, text: Rc<str>, schema: JsonSchema) {
        if self.current.len() >= MAX_CACHED_SCHEMAS {
            self.previous = std::mem::take(&mut self.current);
        }
        self.current.insert(text, schema);
    }
}

/// `fancy_regex` hands every pattern without look-around and back references to the linear-time engine.
fn options(backtrack_limit: usize) -> jsonschema::ValidationOptions<'static> {
    jsonschema::options().offline().with_pattern_options(
        PatternOptions::fancy_regex()
            .backtrack_limit(backtrack_limit)
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES),
    )
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;
