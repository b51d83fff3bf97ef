//! The shortener: what it makes always fits, is JSON, and differs from the event in the strings that it lists alone.
//! `LITE_AGENT_LONG=1` makes it ten times as long.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod long;

use std::collections::BTreeSet;
use std::time::Instant;

use lite_agent::hooks::{MAX_PAYLOAD_BYTES, Payload, PayloadError};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn shortened(event: &Value) -> (Vec<u8>, Vec<String>) {
    let payload = Payload::shortened(&event.to_string()).unwrap();
    (payload.bytes.to_vec(), payload.truncated)
}

fn length_at(payload: &[u8], pointer: &str) -> usize {
    let value: Value = serde_json::from_slice(payload).unwrap();
    value.pointer(pointer).unwrap().as_str().unwrap().len()
}

#[test]
fn a_big_result_is_cut_to_fit_to_the_byte() {
    let event =
        json!({ "event": "tool:end", "runId": "r", "result": { "content": "x".repeat(300_000) }, "durationMs": 1 });
    let (bytes, truncated) = shortened(&event);
    assert_eq!(bytes.len(), MAX_PAYLOAD_BYTES);
    assert_eq!(truncated, ["result.content"]);
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(value["truncated"], json!(["result.content"]));
    assert!(bytes.ends_with(b"]}\n") && bytes.iter().filter(|byte| **byte == b'\n').count() == 1);
}

#[test]
fn what_fits_is_left_alone_up_to_the_last_byte() {
    let whole = |length: usize| {
        let event = json!({ "event": "run:start", "input": "x".repeat(length) }).to_string();
        (event.len() + 1, Payload::shortened(&event).unwrap())
    };
    let around = whole(0).0;
    let (bytes, payload) = whole(MAX_PAYLOAD_BYTES - around);
    assert_eq!((bytes, payload.bytes.len(), payload.truncated.len()), (MAX_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES, 0));
    let (bytes, payload) = whole(MAX_PAYLOAD_BYTES - around + 1);
    assert_eq!(
        (bytes, payload.bytes.len(), payload.truncated),
        (MAX_PAYLOAD_BYTES + 1, MAX_PAYLOAD_BYTES, vec!["input".to_string()])
    );
}

#[test]
fn the_longest_are_cut_first_and_no_more_than_needed() {
    let event = json!({
        "event": "tool:end",
        "call": { "id": "c", "name": "write_file", "input": { "content": "a".repeat(200_000), "path": "p" } },
        "result": { "content": "b".repeat(150_000) },
    });
    let (bytes, truncated) = shortened(&event);
    assert_eq!(truncated, ["call.input.content"]);
    assert_eq!(length_at(&bytes, "/result/content"), 150_000);
    // Nothing is cut to almost nothing while another is whole.
    let event = json!({ "event": "e", "a": "a".repeat(262_000), "b": "b".repeat(270_000), "c": "c".repeat(100) });
    let (bytes, truncated) = shortened(&event);
    assert_eq!(truncated, ["b", "a"]);
    assert_eq!(length_at(&bytes, "/a"), length_at(&bytes, "/b"));
    assert_eq!(length_at(&bytes, "/c"), 100);
}

#[test]
fn paths_have_dots_and_indexes() {
    let long = "x".repeat(260_000);
    let event = json!({ "event": "run:start", "input": [{ "content": long }, { "content": [1, long] }] });
    let (_, truncated) = shortened(&event);
    assert_eq!(truncated, ["input.0.content", "input.1.content.1"]);
    let many: Vec<String> = (0..1_200).map(|_| "y".repeat(300)).collect();
    let (bytes, truncated) = shortened(&json!({ "event": "run:start", "input": many }));
    assert!(bytes.len() <= MAX_PAYLOAD_BYTES && bytes.len() > MAX_PAYLOAD_BYTES - truncated.len());
    assert!(truncated.len() < 400, "no more are cut than must be: {}", truncated.len());
    assert!(truncated[0] == "input.0" && truncated[9] == "input.9" && truncated[100] == "input.100");
}

#[test]
fn no_character_and_no_escape_is_parted() {
    // Four bytes; an escape of two, of six, of twelve, half a pair.
    for unit in ["😀", "\\n", "\\u0001", "\\ud83d\\ude00", "\\ud800"] {
        for shift in 0..12 {
            let text = format!("{}{}", "x".repeat(shift), unit.repeat(400_000 / unit.len()));
            let event = format!(r#"{{"event":"tool:end","result":{{"content":"{text}"}}}}"#);
            let payload = Payload::shortened(&event).unwrap();
            let out = std::str::from_utf8(&payload.bytes).unwrap();
            let content = out.strip_prefix(r#"{"event":"tool:end","result":{"content":""#).unwrap();
            let content = content.strip_suffix("\"},\"truncated\":[\"result.content\"]}\n").unwrap();
            assert_eq!(content.len(), shift + (content.len() - shift) / unit.len() * unit.len(), "{unit}");
            assert!(text.starts_with(content) && MAX_PAYLOAD_BYTES - out.len() < 12, "{unit}");
        }
    }
}

#[test]
fn keys_and_what_identifies_the_event_are_never_cut() {
    let id = "i".repeat(200_000);
    let event = json!({ "event": "tool:end", "runId": id, "sessionId": "s", "text": "x".repeat(70_000) });
    let (bytes, truncated) = shortened(&event);
    assert_eq!(truncated, ["text"]);
    assert_eq!(length_at(&bytes, "/runId"), 200_000);
    // The same names further down are data.
    let event = json!({ "event": "tool:end", "call": { "runId": "x".repeat(300_000) } });
    assert_eq!(shortened(&event).1, ["call.runId"]);
    let key = "k".repeat(200_000);
    let (bytes, truncated) = shortened(&json!({ "event": "e", key.clone(): { "a": "x" }, "b": "x".repeat(100_000) }));
    assert_eq!(truncated, ["b"]);
    assert!(serde_json::from_slice::<Value>(&bytes).unwrap()[key]["a"] == "x");
    let impossible = json!({ "event": "e", "k".repeat(300_000): "x".repeat(300_000) });
    assert_eq!(Payload::shortened(&impossible.to_string()), Err(PayloadError::TooLong));
}

#[test]
fn keys_are_listed_as_they_are_written() {
    let event = format!(r#"{{"event":"e","a\"b\u00e9":{{"":"{}"}}}}"#, "x".repeat(300_000));
    let payload = Payload::shortened(&event).unwrap();
    let value: Value = serde_json::from_slice(&payload.bytes).unwrap();
    assert_eq!(value["truncated"], json!(["a\"bé."]));
}

#[test]
fn what_cannot_be_made_to_fit_is_refused() {
    for event in [
        json!({ "event": "e", "list": vec![1; 200_000] }),
        // Each would cost more in the list than it gives.
        json!({ "event": "e", "list": vec!["short"; 60_000] }),
        json!({ "event": "x".repeat(300_000) }),
    ] {
        assert_eq!(Payload::shortened(&event.to_string()), Err(PayloadError::TooLong));
    }
    for text in ["", "[]", "{", "{} {}", "\"a\"", "{\"a\" 1}", "{\"a\":'x'}"] {
        assert!(matches!(Payload::shortened(text), Err(PayloadError::NoObject(_))), "{text}");
    }
}

#[test]
fn nesting_and_numbers_of_strings_cost_no_stack_and_no_square() {
    let began = Instant::now();
    let deep = format!(
        r#"{{"event":"e","input":{}"{}"{}}}"#,
        r#"{"a":["#.repeat(500_000),
        "x".repeat(300_000),
        "]}".repeat(500_000)
    );
    assert_eq!(Payload::shortened(&deep), Err(PayloadError::TooLong));
    let level = 20_000;
    let deep = format!(
        r#"{{"event":"e","input":{}"{}"{}}}"#,
        r#"{"a":["#.repeat(level),
        "x".repeat(300_000),
        "]}".repeat(level)
    );
    assert_eq!(Payload::shortened(&deep).unwrap().truncated[0].len(), "input".len() + level * ".a.0".len());
    let wide = json!({ "event": "e", "input": vec!["x".repeat(40); 200_000] });
    assert_eq!(Payload::shortened(&wide.to_string()), Err(PayloadError::TooLong));
    let nested_strings =
        format!(r#"{{"event":"e","input":{}1{}}}"#, r#"{"s":"0123456789","a":"#.repeat(100_000), "}".repeat(100_000));
    assert_eq!(Payload::shortened(&nested_strings), Err(PayloadError::TooLong));
    // Not a benchmark: what grows with the square would take minutes.
    assert!(began.elapsed().as_secs() < 30);
}

/// Strings, each of them with its path; and whether it says which event it is.
fn strings<'a>(value: &'a Value, path: &str, found: &mut Vec<(String, &'a str)>) {
    let below = |step: &str| if path.is_empty() { step.to_string() } else { format!("{path}.{step}") };
    match value {
        Value::String(text) => found.push((path.to_string(), text)),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(index, value)| strings(value, &below(&index.to_string()), found));
        }
        Value::Object(members) => members.iter().for_each(|(key, value)| strings(value, &below(key), found)),
        _ => {}
    }
}

fn written_length(text: &str) -> usize {
    Value::from(text).to_string().len() - 2
}

const IDENTITY: [&str; 3] = ["event", "runId", "sessionId"];

fn text() -> impl Strategy<Value = String> {
    let unit = prop::sample::select(vec!["x", "é", "😀", "\n", "\u{1}", "\"", "\\", "\u{2028}", "ab\n😀", "}"]);
    let length = prop_oneof![6 => 0..200_usize, 2 => 200..20_000_usize, 1 => 20_000..150_000_usize];
    (unit, length).prop_map(|(unit, length)| unit.repeat(length))
}

fn event() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![8 => text().prop_map(Value::from), 1 => Just(json!(1.5)), 1 => Just(json!(null))];
    // Keys without dots, so that no two paths are the same.
    let key = prop_oneof![9 => "[a-c\"é]{0,2}", 1 => "[a-c]{40,4000}"];
    let value = leaf.prop_recursive(4, 40, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..8).prop_map(|members| json!(members)),
        ]
    });
    prop::collection::btree_map("[d-z]{1,3}", value, 0..8).prop_map(|members: std::collections::BTreeMap<_, _>| {
        let mut event: Map<String, Value> = members.into_iter().collect();
        for key in IDENTITY {
            event.insert(key.to_string(), format!("{key} {}", "i".repeat(100)).into());
        }
        Value::Object(event)
    })
}

/// The length of what is left when everything that gains by it is cut to nothing.
fn least(event: &Value) -> usize {
    let mut all = Vec::new();
    strings(event, "", &mut all);
    let gains: usize = all
        .iter()
        .filter(|(path, _)| !IDENTITY.contains(&path.as_str()))
        .map(|(path, text)| written_length(text).saturating_sub(written_length(path) + 3))
        .sum();
    event.to_string().len() + r#","truncated":[]"#.len() + 1 - gains
}

fn holds(event: &Value) -> Result<(), TestCaseError> {
    let text = event.to_string();
    let payload = match Payload::shortened(&text) {
        Ok(payload) => payload,
        Err(error) => {
            prop_assert_eq!(error, PayloadError::TooLong);
            prop_assert!(text.len() >= MAX_PAYLOAD_BYTES && least(event) > MAX_PAYLOAD_BYTES);
            return Ok(());
        }
    };
    prop_assert!(payload.bytes.len() <= MAX_PAYLOAD_BYTES);
    prop_assert_eq!(Payload::shortened(&text).unwrap(), payload.clone());
    let line = std::str::from_utf8(&payload.bytes).unwrap().strip_suffix('\n').unwrap();
    prop_assert!(!line.contains('\n'));
    let mut value: Value = serde_json::from_str(line).unwrap();
    let listed = value.as_object_mut().unwrap().remove("truncated");
    if text.len() < MAX_PAYLOAD_BYTES {
        prop_assert_eq!((listed, &value), (None, event));
        return Ok(());
    }
    let listed: Vec<String> = serde_json::from_value(listed.unwrap()).unwrap();
    prop_assert!(!listed.is_empty());
    let listed: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    strings(event, "", &mut before);
    strings(&value, "", &mut after);
    let (mut shortest_cut, mut longest_whole) = (usize::MAX, 0);
    let mut put_back = value.clone();
    prop_assert_eq!(before.len(), after.len());
    for ((path, was), (_, is)) in before.iter().zip(&after) {
        if listed.contains(path.as_str()) {
            prop_assert!(was.starts_with(is) && is.len() < was.len(), "{} is cut", path);
            prop_assert!(!IDENTITY.contains(&path.as_str()));
            shortest_cut = shortest_cut.min(written_length(was));
        } else {
            prop_assert_eq!(was, is);
            if written_length(was) > written_length(path) + 3 && !IDENTITY.contains(&path.as_str()) {
                longest_whole = longest_whole.max(written_length(was));
            }
        }
    }
    prop_assert!(longest_whole <= shortest_cut, "the longest are cut first");
    restore(event, &mut put_back);
    prop_assert_eq!(&put_back, event);
    Ok(())
}

/// Takes all strings from the event: the rest must be the same already.
fn restore(event: &Value, value: &mut Value) {
    match (event, value) {
        (Value::String(text), Value::String(cut)) => cut.clone_from(text),
        (Value::Array(from), Value::Array(to)) => from.iter().zip(to).for_each(|(from, to)| restore(from, to)),
        (Value::Object(from), Value::Object(to)) => {
            for (key, value) in to {
                restore(&from[key], value);
            }
        }
        _ => {}
    }
}

#[test]
fn whatever_the_event_it_fits_is_json_and_differs_in_listed_strings_alone() {
    let big = std::cell::Cell::new(0);
    let cases = long::cases(100);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(cases));
    runner
        .run(&event(), |event| {
            big.set(big.get() + u32::from(event.to_string().len() >= MAX_PAYLOAD_BYTES));
            holds(&event)
        })
        .unwrap();
    assert!(big.get() > cases / 10, "only {} of the events were too long", big.get());
}
