//! The JSON Schema of hooks.json that the package ships is the one that the code makes, and says what the reader does.
//! To write it anew: `LITE_AGENT_WRITE_SCHEMA=1 cargo test --no-default-features --test hooks_schema`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod folder;

use std::fs;
use std::path::Path;

use folder::Folders;
use lite_agent::hooks::hooks_schema;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
#[expect(clippy::disallowed_methods, reason = "a switch of this test, read before anything else")]
fn the_schema_in_the_package_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/hooks.schema.json");
    if std::env::var_os("LITE_AGENT_WRITE_SCHEMA").is_some() {
        fs::write(&path, hooks_schema()).unwrap();
    }
    let shipped = fs::read_to_string(&path).unwrap_or_default();
    assert!(shipped == hooks_schema(), "write it anew with LITE_AGENT_WRITE_SCHEMA=1, see the head of this test");
}

/// Pieces of configurations, good and bad, of which nothing is beyond what a schema can say.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => prop_oneof![Just("node a.mjs"), Just("write_file"), Just("a*"), Just(""), Just(" \t\n"), Just("a\0b")]
            .prop_map(Value::from),
        3 => prop_oneof![
            Just("1"), Just("0"), Just("1.0"), Just("1.5"), Just("2"), Just("-1"), Just("1e3"), Just("120000"),
            Just("120001"), Just("12e4"), Just("1e400"), Just("0.1e1")
        ]
        .prop_filter_map("a number that serde_json can hold", |text| serde_json::from_str(text).ok()),
        1 => prop_oneof![Just(json!(null)), Just(json!(true)), Just(json!([])), Just(json!({}))],
    ]
}

fn key(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![
        20 => prop::sample::select(names).prop_map(str::to_string),
        1 => prop::sample::select(vec!["x", "Match", "comand"]).prop_map(str::to_string),
    ]
}

fn entry() -> impl Strategy<Value = Value> {
    let entry =
        prop::collection::btree_map(key(&["match", "command", "command", "command", "timeoutMs"]), value(), 0..4)
            .prop_map(|members| json!(members));
    prop_oneof![9 => Just(json!({ "command": "true" })), 9 => entry, 1 => value()]
}

fn configuration() -> impl Strategy<Value = Value> {
    let entries = prop_oneof![9 => prop::collection::vec(entry(), 0..3).prop_map(Value::from), 1 => value()];
    let names = &["run:start", "run:end", "tool:start", "tool:end", "compact:start", "compact:end"];
    let events = prop::collection::btree_map(key(names), entries, 0..3).prop_map(|members| json!(members));
    let hooks = prop_oneof![9 => events, 1 => value()];
    (hooks, prop_oneof![5 => Just(json!(1)), 1 => value()], prop::option::of(value()), 0..10_u32).prop_map(
        |(hooks, version, link, odd)| {
            let mut file = json!({ "version": version, "hooks": hooks });
            if let Some(link) = link {
                file["$schema"] = link;
            }
            match odd {
                0 => drop(file.as_object_mut().unwrap().remove("hooks")),
                1 => drop(file.as_object_mut().unwrap().remove("version")),
                2 => file["extra"] = json!(1),
                _ => {}
            }
            file
        },
    )
}

#[test]
fn the_schema_accepts_what_the_reader_accepts() {
    let schema: Value = serde_json::from_str(&hooks_schema()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let folders = Folders::new("schema");
    let accepted = std::cell::Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(2_000));
    runner
        .run(&configuration(), |file| {
            folders.write_global(file.to_string());
            let read = folders.load();
            accepted.set(accepted.get() + u32::from(read.is_ok()));
            prop_assert_eq!(read.is_ok(), validator.is_valid(&file), "{} {:?}", file, read.err());
            Ok(())
        })
        .unwrap();
    assert!(accepted.get() > 200, "only {} of the configurations were good", accepted.get());
}
