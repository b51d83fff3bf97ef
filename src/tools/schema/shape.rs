//! What the structure of a JSON Schema costs: how far its subschemas multiply over one value, and how deep an input may
//! be before explaining a mistake in it could take for ever. Refuses references that nothing here can resolve.
//!
//! Reads the schema as a graph; knows nothing of inputs, and validates nothing.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::problem::shorten;

/// Subschemas in a row that may apply to one value: `$ref` to `allOf` to `$ref` …. Each takes stack for each level of an
/// input.
const MAX_IN_PLACE_DEPTH: usize = 32;
/// Subschemas that may apply to one value altogether.
const MAX_IN_PLACE_COUNT: u64 = 4_096;
/// Subschemas that explaining one input may visit, for each of its values.
const MAX_EXPLAINED: u64 = 20_000;
/// Levels that an input may have.
const MAX_INPUT_DEPTH: usize = 128;
/// Length of a place in a message.
const MAX_PLACE_BYTES: usize = 200;

/// Keywords that apply a subschema, or an array or object of them, to the very same value.
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// What is known of a schema beside its validator.
pub(super) struct Shape {
    explainable_depth: usize,
    may_backtrack: bool,
}

impl Shape {
    /// # Errors
    /// What cannot be resolved, or what multiplies, and where.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let graph = Graph::of(schema)?;
        let order = graph.in_place_order()?;
        Ok(Self { explainable_depth: graph.explainable_depth(&order), may_backtrack: graph.may_backtrack })
    }

    /// The deepest input whose mistakes can be explained.
    pub(super) fn explainable_depth(&self) -> usize {
        self.explainable_depth
    }

    /// Whether a pattern looks around or back, so that matching it is not linear.
    pub(super) fn may_backtrack(&self) -> bool {
        self.may_backtrack
    }
}

/// One subschema; the numbers are places in `Graph::nodes`.
#[derive(Default)]
struct Node {
    place: String,
    in_place: Vec<usize>,
    /// Of these one applies to any one member: a named property or what stands for the others.
    members: Vec<usize>,
    /// Each of these may apply to a member beside the others.
    more_members: Vec<usize>,
    items: Vec<usize>,
    more_items: Vec<usize>,
}

struct Graph<'s> {
    root: &'s Value,
    nodes: Vec<Node>,
    /// Subschemas by their address.
    numbers: HashMap<*const Value, usize>,
    anchors: HashMap<&'s str, &'s Value>,
    /// A subschema has its own `$id`: references may be relative to it, and are left to the validator.
    has_identifiers: bool,
    may_backtrack: bool,
    waiting: Vec<(&'s Value, usize)>,
}

impl<'s> Graph<'s> {
    fn of(root: &'s Value) -> Result<Self, String> {
        let mut graph = Graph {
            root,
            nodes: Vec::new(),
            numbers: HashMap::new(),
            anchors: HashMap::new(),
            has_identifiers: false,
            may_backtrack: false,
            waiting: Vec::new(),
        };
        graph.find_names(root);
        graph.number(root, "");
        while let Some((schema, number)) = graph.waiting.pop() {
            if let Value::Object(keywords) = schema {
                graph.read(keywords, number)?;
            }
        }
        Ok(graph)
    }

    /// Anchors may stand anywhere, before or after what refers to them.
    fn find_names(&mut self, value: &'s Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.find_names(item)),
            Value::Object(members) => {
                for name in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(anchor)) = members.get(name) {
                        self.anchors.insert(anchor, value);
                    }
                }
                self.has_identifiers |=
                    ["$id", "id"].iter().any(|name| members.get(*name).is_some_and(Value::is_string));
                members.values().for_each(|member| self.find_names(member));
            }
            _ => {}
        }
    }

    fn number(&mut self, schema: &'s Value, place: &str) -> usize {
        if let Some(known) = self.numbers.get(&std::ptr::from_ref(schema)) {
            return *known;
        }
        let number = self.nodes.len();
        self.numbers.insert(std::ptr::from_ref(schema), number);
        self.nodes.push(Node { place: place.to_owned(), ..Node::default() });
        self.waiting.push((schema, number));
        number
    }

    fn read(&mut self, keywords: &'s Map<String, Value>, number: usize) -> Result<(), String> {
        let place = self.nodes.get(number).map(|node| node.place.clone()).unwrap_or_default();
        let mut node = Node { place: place.clone(), ..Node::default() };
        for (keyword, value) in keywords {
            let here = below(&place, keyword);
            match keyword.as_str() {
                name if REFERENCES.contains(&name) => {
                    if let Some(target) = self.resolve(value, &here)? {
                        node.in_place.push(self.number(target, &here));
                    }
                }
                name if IN_PLACE.contains(&name) => node.in_place.push(self.number(value, &here)),
                name if IN_PLACE_LISTS.contains(&name) => self.number_all(value, &here, &mut node.in_place),
                "dependentSchemas" | "dependencies" => self.number_all(value, &here, &mut node.in_place),
                "properties" => self.number_all(value, &here, &mut node.members),
                "additionalProperties" | "unevaluatedProperties" => node.members.push(self.number(value, &here)),
                "patternProperties" => {
                    let patterns = value.as_object().into_iter().flat_map(Map::keys);
                    self.may_backtrack |= patterns.into_iter().any(|pattern| looks_around(pattern));
                    self.number_all(value, &here, &mut node.more_members);
                }
                "propertyNames" => node.more_members.push(self.number(value, &here)),
                "items" | "prefixItems" if value.is_array() => self.number_all(value, &here, &mut node.items),
                "items" | "additionalItems" | "unevaluatedItems" => node.items.push(self.number(value, &here)),
                "contains" => node.more_items.push(self.number(value, &here)),
                // Not applied where they stand, but their references must resolve as well.
                "$defs" | "definitions" => self.number_all(value, &here, &mut Vec::new()),
                "pattern" => self.may_backtrack |= value.as_str().is_some_and(looks_around),
                _ => {}
            }
        }
        if let Some(known) = self.nodes.get_mut(number) {
            *known = node;
        }
        Ok(())
    }

    fn number_all(&mut self, schemas: &'s Value, place: &str, numbers: &mut Vec<usize>) {
        match schemas {
            Value::Array(schemas) => {
                for (index, schema) in schemas.iter().enumerate() {
                    numbers.push(self.number(schema, &below(place, &index.to_string())));
                }
            }
            Value::Object(schemas) => {
                for (name, schema) in schemas.iter().filter(|(_, schema)| schema.is_object() || schema.is_boolean()) {
                    numbers.push(self.number(schema, &below(place, &shorten(name))));
                }
            }
            _ => {}
        }
    }

    /// The subschema that a reference names; `None` where only the validator can tell.
    fn resolve(&self, reference: &Value, place: &str) -> Result<Option<&'s Value>, String> {
        // A reference of another type is the meta-schema's to refuse.
        let Some(reference) = reference.as_str() else {
            return Ok(None);
        };
        let Some(fragment) = reference.strip_prefix('#') else {
            if self.has_identifiers || is_meta_schema(reference) {
                return Ok(None);
            }
            return Err(format!(
                "{place}: '{}' is another document, and none is fetched; put that schema under $defs and refer to it as '#/$defs/<name>'",
                shorten(reference)
            ));
        };
        let fragment = percent_decoded(fragment);
        let target = if fragment.is_empty() || fragment.starts_with('/') {
            self.root.pointer(&fragment)
        } else {
            self.anchors.get(fragment.as_str()).copied()
        };
        match target {
            Some(target) => Ok(Some(target)),
            None if self.has_identifiers => Ok(None),
            None => Err(format!("{place}: '{}' is not in the schema", shorten(reference))),
        }
    }

    /// Every node after those that apply to the same value, loops aside; refuses what multiplies.
    fn in_place_order(&self) -> Result<Vec<usize>, String> {
        let mut walk = InPlaceWalk { graph: self, entered: HashSet::new(), sizes: HashMap::new(), order: Vec::new() };
        for number in 0..self.nodes.len() {
            walk.visit(number, 0)?;
        }
        Ok(walk.order)
    }

    /// For inputs of one level after the other: how many subschemas explaining visits. An input's value is an object or
    /// an array, never both, so that alternatives of different kinds do not multiply.
    fn explainable_depth(&self, order: &[usize]) -> usize {
        let mut below = vec![1_u64; self.nodes.len()];
        for depth in 0..MAX_INPUT_DEPTH {
            let costs = self.costs(order, &below);
            if costs.iter().any(|cost| *cost > MAX_EXPLAINED) {
                return depth;
            }
            if costs == below {
                break;
            }
            below = costs;
        }
        MAX_INPUT_DEPTH
    }

    fn costs(&self, order: &[usize], below: &[u64]) -> Vec<u64> {
        let at = |costs: &[u64], number: &usize| costs.get(*number).copied().unwrap_or(1);
        let sum = |costs: &[u64], numbers: &[usize]| {
            numbers.iter().fold(0_u64, |sum, number| sum.saturating_add(at(costs, number)))
        };
        let max = |costs: &[u64], numbers: &[usize]| numbers.iter().map(|number| at(costs, number)).max().unwrap_or(0);
        // A node that is still missing here closes a loop, which the validator cuts as well.
        let mut as_object = vec![1_u64; self.nodes.len()];
        let mut as_array = vec![1_u64; self.nodes.len()];
        for number in order {
            let Some(node) = self.nodes.get(*number) else {
                continue;
            };
            let members = max(below, &node.members).saturating_add(sum(below, &node.more_members));
            let items = max(below, &node.items).saturating_add(sum(below, &node.more_items));
            let object = sum(&as_object, &node.in_place).saturating_add(members).saturating_add(1);
            let array = sum(&as_array, &node.in_place).saturating_add(items).saturating_add(1);
            if let Some(cost) = as_object.get_mut(*number) {
                *cost = object;
            }
            if let Some(cost) = as_array.get_mut(*number) {
                *cost = array;
            }
        }
        as_object.into_iter().zip(as_array).map(|(object, array)| object.max(array)).collect()
    }
}

struct InPlaceWalk<'g, 's> {
    graph: &'g Graph<'s>,
    entered: HashSet<usize>,
    /// Depth and count of what applies to the same value.
    sizes: HashMap<usize, (usize, u64)>,
    order: Vec<usize>,
}

impl InPlaceWalk<'_, '_> {
    fn visit(&mut self, number: usize, above: usize) -> Result<(usize, u64), String> {
        if let Some(known) = self.sizes.get(&number) {
            return Ok(*known);
        }
        let Some(node) = self.graph.nodes.get(number) else {
            return Ok((0, 0));
        };
        if above > MAX_IN_PLACE_DEPTH {
            return Err(too_deep(node));
        }
        if !self.entered.insert(number) {
            return Ok((0, 1));
        }
        let (mut depth, mut count) = (0, 1_u64);
        for next in &node.in_place {
            let (depth_below, count_below) = self.visit(*next, above + 1)?;
            depth = depth.max(depth_below + 1);
            count = count.saturating_add(count_below);
        }
        if depth > MAX_IN_PLACE_DEPTH {
            return Err(too_deep(node));
        }
        if count > MAX_IN_PLACE_COUNT {
            return Err(format!(
                "{}: refers to so many subschemas that checking one value would take too long",
                named(node)
            ));
        }
        self.sizes.insert(number, (depth, count));
        self.order.push(number);
        Ok((depth, count))
    }
}

/// A place in the schema; of a long one the beginning, so that long chains of references take no more than their number.
fn below(place: &str, name: &str) -> String {
    match place {
        "" => name.to_owned(),
        long if long.len() > MAX_PLACE_BYTES => long.to_owned(),
        _ => format!("{place}.{name}"),
    }
}

fn too_deep(node: &Node) -> String {
    format!("{}: more than {MAX_IN_PLACE_DEPTH} subschemas in a row apply to the same value", named(node))
}

fn named(node: &Node) -> &str {
    if node.place.is_empty() { "the schema" } else { &node.place }
}

/// Errs on the side of true: a class or an escaped bracket may look alike.
fn looks_around(pattern: &str) -> bool {
    let back_reference =
        pattern.as_bytes().windows(2).any(|pair| matches!(pair, [b'\\', b'1'..=b'9' | b'k' | b'G' | b'K']));
    back_reference || ["(?=", "(?!", "(?<", "(?>", "(?(", "++", "*+", "?+"].iter().any(|part| pattern.contains(part))
}

/// The validator carries these itself.
fn is_meta_schema(reference: &str) -> bool {
    reference.starts_with("http://json-schema.org/") || reference.starts_with("https://json-schema.org/")
}

fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
