//! What a schema's author and a model are told, and that neither can make checking hang or overflow.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CACHE, JsonSchema, MAX_CACHED_SCHEMAS};
use crate::work_time::work_time;

fn compile(schema: &Value) -> Result<JsonSchema, String> {
    JsonSchema::compile(&schema.to_string())
}

fn problem(schema: &Value, input: &Value) -> String {
    compile(schema).unwrap().check(&input.to_string()).unwrap_err()
}

fn nested(levels: usize, innermost: Value) -> Value {
    (0..levels).fold(innermost, |inner, _| json!({ "x": inner }))
}

fn within(limit: Duration, work: impl FnOnce()) {
    let start = work_time();
    work();
    let took = work_time() - start;
    assert!(took < limit, "took {took:?}");
}

#[test]
fn a_problem_names_the_field_and_what_is_wrong_with_it() {
    let object = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "minLength": 1 },
            "mode": { "enum": ["a", "b"] },
            "kind": { "const": "file" },
            "name": { "type": "string", "pattern": "^[a-z]+$" },
            "options": { "type": "array", "items": {
                "type": "object", "properties": { "count": { "type": "integer" } }, "required": ["count"],
            } },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let cases = [
        (json!({}), "path: is required"),
        (json!({ "path": 3 }), r#"path: 3 is not of type "string""#),
        (json!({ "path": "" }), r#"path: "" is shorter than 1 character"#),
        (json!({ "path": "p", "options": [{ "count": 3.5 }] }), r#"options.0.count: 3.5 is not of type "integer""#),
        (json!({ "path": "p", "options": [{ "count": 1 }, {}] }), "options.1.count: is required"),
        (json!({ "path": "p", "mode": "c" }), r#"mode: "c" is not one of "a" or "b""#),
        (json!({ "path": "p", "kind": "dir" }), r#"kind: must be "file""#),
        (json!({ "path": "p", "name": "A" }), r#"name: "A" does not match "^[a-z]+$""#),
        (json!({ "path": "p", "pth": 1 }), "pth: is not a field of the schema"),
        (json!([]), r#"input: [] is not of type "object""#),
        (json!("x"), r#"input: "x" is not of type "object""#),
    ];
    for (input, expected) in cases {
        assert_eq!(problem(&object, &input), expected, "{input}");
    }
}

#[test]
fn several_problems_are_listed_and_no_more_than_five() {
    let two = json!({ "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    assert_eq!(
        problem(&two, &json!({ "a": 1, "b": 2 })),
        r#"a: 1 is not of type "string"; b: 2 is not of type "string""#
    );
    let many = problem(&json!({ "items": { "type": "string" } }), &json!([1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(many.matches("is not of type").count(), 5);
    assert!(many.ends_with("; and more"), "{many}");
}

#[test]
fn values_names_and_whole_problems_are_cut() {
    let long = "é".repeat(100_000);
    let by_value = problem(&json!({ "properties": { "a": { "type": "integer" } } }), &json!({ "a": [{ "b": long }] }));
    assert!(by_value.chars().count() < 130 && by_value.contains('…') && by_value.starts_with("a: [{"), "{by_value}");
    let by_name = problem(&json!({ "additionalProperties": false }), &json!({ long.clone(): 1 }));
    assert!(by_name.chars().count() < 130, "{by_name}");
    let options: Vec<String> = (0..1_000).map(|index| format!("option {index}")).collect();
    let by_options = problem(&json!({ "properties": { "a": { "enum": options } } }), &json!({ "a": "x" }));
    assert!(by_options.chars().count() < 260, "{by_options}");
    let by_pattern = problem(
        &json!({ "properties": { "a": { "pattern": format!("^{}$", "b".repeat(5_000)) } } }),
        &json!({ "a": "x" }),
    );
    assert!(by_pattern.chars().count() < 260, "{by_pattern}");
    let deep = problem(&json!({ "properties": { "x": { "$ref": "#" } }, "type": "object" }), &nested(99, json!(1)));
    assert!(deep.chars().count() < 300, "{deep}");
}

#[test]
fn the_values_that_are_allowed_are_listed_up_to_a_dozen() {
    let options = |count: usize| (1..=count).map(|index| format!("value {index:02} {}", "x".repeat(40)));
    let of = |count: usize| json!({ "properties": { "a": { "enum": options(count).collect::<Vec<_>>() } } });
    let dozen = problem(&of(12), &json!({ "a": "y" }));
    for value in options(12) {
        assert!(dozen.contains(&format!("{value:?}")), "{dozen}");
    }
    assert!(!dozen.contains("other") && dozen.starts_with(r#"a: "y" is not one of "value 01 "#), "{dozen}");
    assert!(problem(&of(13), &json!({ "a": "y" })).ends_with(" or 1 other value"));
    assert!(problem(&of(20), &json!({ "a": "y" })).ends_with(" or 8 other values"));
    let one = json!({ "properties": { "a": { "enum": ["b"] } } });
    assert_eq!(problem(&one, &json!({ "a": 1 })), r#"a: 1 is not one of "b""#);
    let literals = json!({ "properties": { "a": { "anyOf": [
        { "type": "string", "const": "b" }, { "const": 2 }, { "enum": [true, null] },
    ] } } });
    assert_eq!(problem(&literals, &json!({ "a": 3 })), r#"a: 3 is not one of "b", 2, true or null"#);
}

#[test]
fn of_alternatives_the_closest_is_explained() {
    let shapes = json!({ "properties": { "shape": { "oneOf": [
        { "type": "object", "properties": { "kind": { "const": "circle" }, "radius": { "type": "number" } }, "required": ["kind", "radius"] },
        { "type": "array", "items": { "type": "number" } },
        { "type": "null" },
    ] } } });
    assert_eq!(problem(&shapes, &json!({ "shape": { "kind": "circle" } })), "shape.radius: is required");
    assert_eq!(problem(&shapes, &json!({ "shape": [1, "x"] })), r#"shape.1: "x" is not of type "number""#);
    assert_eq!(problem(&shapes, &json!({ "shape": true })), "shape: true matches none of 3 alternatives");
    let both = json!({ "oneOf": [{ "type": "number" }, { "type": "integer" }] });
    assert_eq!(problem(&both, &json!(1)), "input: 1 matches more than one alternative");
}

#[test]
fn a_wrong_schema_says_what_and_where() {
    let cases = [
        (json!({ "properties": { "a": { "type": "strin" } } }), r#"properties.a.type: "strin" is not a JSON type"#),
        (
            json!({ "properties": { "a": { "pattern": "(" } } }),
            r#"properties.a.pattern: "(" is no regular expression, or too large a one"#,
        ),
        (json!({ "properties": { "a": { "pattern": "((a{1000}){1000}){1000}" } } }), "properties.a.pattern:"),
        (
            json!({ "properties": { "a": { "required": true } } }),
            r#"properties.a.required: true is not of type "array""#,
        ),
        (json!({ "properties": 3 }), r#"properties: 3 is not of type "object""#),
        (
            json!({ "properties": { "a": { "$ref": "https://example.com/x.json" } } }),
            "properties.a.$ref: 'https://example.com/x.json' is another document, and none is fetched",
        ),
        (
            json!({ "$defs": { "a": { "$ref": "file:///etc/passwd" } } }),
            "$defs.a.$ref: 'file:///etc/passwd' is another document",
        ),
        (json!({ "items": { "$ref": "other.json#/x" } }), "items.$ref: 'other.json#/x' is another document"),
        (
            json!({ "properties": { "a": { "$ref": "#/$defs/nope" } } }),
            "properties.a.$ref: '#/$defs/nope' is not in the schema",
        ),
        (json!({ "$id": "https://a.b/c", "properties": { "a": { "$ref": "d" } } }), "the schema cannot be used:"),
        (json!({ "$schema": "https://example.com/mine" }), "the schema cannot be used:"),
        (json!(3), "the schema must be a JSON object"),
    ];
    for (schema, expected) in cases {
        let problem = compile(&schema).unwrap_err();
        assert!(problem.starts_with(expected), "{schema}: {problem}");
    }
    assert!(JsonSchema::compile("{").unwrap_err().starts_with("the schema is not usable JSON: "));
    assert!(JsonSchema::compile(&"[".repeat(100_000)).is_err());
}

#[test]
fn every_draft_and_reference_within_the_schema_works() {
    let target = json!({ "type": "string" });
    let schemas = [
        json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": { "s": target }, "properties": { "a": { "$ref": "#/$defs/s" } } }),
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": { "s": target }, "properties": { "a": { "$ref": "#/definitions/s" } } }),
        json!({ "$schema": "http://json-schema.org/draft-04/schema#", "definitions": { "s t": target }, "properties": { "a": { "$ref": "#/definitions/s%20t" } } }),
        json!({ "$defs": { "s": { "$anchor": "s", "type": "string" } }, "properties": { "a": { "$ref": "#s" } } }),
        json!({ "$id": "https://a.b/c", "$defs": { "s": target }, "properties": { "a": { "$ref": "https://a.b/c#/$defs/s" } } }),
        json!({ "$defs": { "s": { "$id": "https://a.b/s", "type": "string" } }, "properties": { "a": { "$ref": "https://a.b/s" } } }),
    ];
    for schema in schemas {
        compile(&schema).unwrap().check(r#"{"a":"x"}"#).unwrap();
        assert_eq!(problem(&schema, &json!({ "a": 1 })), r#"a: 1 is not of type "string""#, "{schema}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_in_a_loop_neither_overflows_nor_hangs() {
    let loops = [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "not": { "$ref": "#" } }),
        json!({ "if": { "$ref": "#" }, "then": { "required": ["x"] } }),
        json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "anyOf": [{ "$ref": "#/$defs/a" }] } }, "$ref": "#/$defs/a" }),
        json!({ "$dynamicAnchor": "x", "allOf": [{ "$dynamicRef": "#x" }], "unevaluatedProperties": false }),
        json!({ "$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true, "allOf": [{ "$recursiveRef": "#" }], "unevaluatedProperties": false }),
    ];
    for schema in loops {
        let schema = compile(&schema).unwrap();
        within(Duration::from_secs(1), || {
            let _ = schema.check(r#"{"a":{"a":1}}"#);
        });
    }
}

#[test]
fn a_schema_that_multiplies_is_refused() {
    let chain = |repeat: usize, length: usize| {
        let mut definitions = serde_json::Map::new();
        for index in 0..length {
            let next = json!({ "$ref": format!("#/$defs/a{}", index + 1) });
            definitions.insert(format!("a{index}"), json!({ "allOf": vec![next; repeat] }));
        }
        definitions.insert(format!("a{length}"), json!({ "type": "string" }));
        json!({ "$defs": definitions, "$ref": "#/$defs/a0" })
    };
    assert!(compile(&chain(2, 14)).unwrap_err().contains("too long"));
    assert!(compile(&chain(1, 5_000)).unwrap_err().contains("in a row"));
    compile(&chain(1, 15)).unwrap().check("\"x\"").unwrap();
}

#[test]
fn an_input_as_deep_as_allowed_fits_the_stack_of_a_worker() {
    let check = || {
        let mut definitions = serde_json::Map::new();
        for index in 0..14 {
            definitions
                .insert(format!("a{index}"), json!({ "allOf": [{ "$ref": format!("#/$defs/a{}", index + 1) }] }));
        }
        definitions
            .insert("a14".to_owned(), json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/a0" } } }));
        let schema = compile(&json!({ "$defs": definitions, "$ref": "#/$defs/a0" })).unwrap();
        schema.check(&nested(100, json!({})).to_string()).unwrap();
        let problem = schema.check(&nested(100, json!(1)).to_string()).unwrap_err();
        assert!(problem.contains("is not of type"), "{problem}");
    };
    std::thread::Builder::new().stack_size(3 << 20).spawn(check).unwrap().join().unwrap();
}

#[test]
fn a_long_chain_of_fields_compiles() {
    let mut definitions = serde_json::Map::new();
    for index in 0..2_000 {
        definitions.insert(
            format!("a{index}"),
            json!({ "properties": { "x": { "$ref": format!("#/$defs/a{}", index + 1) } } }),
        );
    }
    definitions.insert("a2000".to_owned(), json!({}));
    compile(&json!({ "$defs": definitions, "$ref": "#/$defs/a0" })).unwrap();
}

#[test]
fn alternatives_that_recurse_are_checked_and_explained_in_bounded_time() {
    let recursing = |keyword: &str| {
        json!({ "type": "object", "properties": { "tree": { "$ref": "#/$defs/t" } }, "$defs": { "t": { keyword: [
            { "type": "object", "properties": { "x": { "$ref": "#/$defs/t" } } },
            { "type": "object", "properties": { "x": { "$ref": "#/$defs/t" } }, "required": ["x", "y"] },
        ] } } })
    };
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let schema = compile(&recursing(keyword)).unwrap();
        for levels in [3, 12, 20, 95] {
            within(Duration::from_secs(1), || {
                let problem = schema.check(&json!({ "tree": nested(levels, json!(null)) }).to_string()).unwrap_err();
                assert!(problem.starts_with("tree"), "{problem}");
            });
            within(Duration::from_secs(1), || {
                let _ = schema.check(&json!({ "tree": nested(levels, json!({})) }).to_string());
            });
        }
    }
    // Alternatives of different kinds do not multiply: explained at any depth.
    let json_like = json!({ "anyOf": [
        { "type": "string" }, { "type": "array", "items": { "$ref": "#" } }, { "type": "object", "additionalProperties": { "$ref": "#" } },
    ] });
    let problem = problem(&json_like, &nested(99, json!(1)));
    assert!(problem.contains("1 matches none of 3 alternatives"), "{problem}");
}

#[test]
fn no_pattern_hangs() {
    let long = format!("{}!", "a".repeat(50_000));
    for pattern in ["^(a+)+$", "^(?=a)(a+)+$(?<!b)", "^(a|a)*\\1b", "(?=.*x)(?=.*y).*z", "(a*)*\\1b"] {
        let schema = compile(&json!({ "properties": { "a": { "pattern": pattern } } })).unwrap();
        within(Duration::from_secs(5), || {
            let problem = schema.check(&json!({ "a": long }).to_string()).unwrap_err();
            assert!(problem.starts_with("a: \"aaa"), "{problem}");
        });
        let many: Vec<String> = (0..300).map(|index| format!("{}{index}!", "a".repeat(30))).collect();
        let schema = compile(&json!({ "items": { "pattern": pattern } })).unwrap();
        within(Duration::from_secs(5), || {
            assert!(schema.check(&json!(many).to_string()).is_err());
        });
    }
    let tempered = json!({ "properties": { "a": { "pattern": "^((?!foo).)*$" } } });
    let long_and_fine = json!({ "a": "x".repeat(8_000) });
    compile(&tempered).unwrap().check(&long_and_fine.to_string()).unwrap();
    let password = json!({ "properties": { "a": { "pattern": "^(?=.*[A-Z])(?=.*\\d).{8,}$" } } });
    compile(&password).unwrap().check(r#"{"a":"Abcdefg1"}"#).unwrap();
    compile(&password).unwrap().check(&json!({ "a": format!("A1{}", "x".repeat(50_000)) }).to_string()).unwrap();
    assert!(problem(&password, &json!({ "a": "abcdefg1" })).starts_with("a: "));
}

#[test]
fn the_same_text_is_compiled_once_a_thread_and_the_cache_is_bounded() {
    let text = json!({ "type": "object", "title": "kept" }).to_string();
    let first = JsonSchema::compile(&text).unwrap();
    let second = JsonSchema::compile(&text).unwrap();
    assert!(std::rc::Rc::ptr_eq(&first.compiled, &second.compiled));
    for index in 0..10 * MAX_CACHED_SCHEMAS {
        compile(&json!({ "title": index.to_string() })).unwrap();
        // What is in use stays.
        let again = JsonSchema::compile(&text).unwrap();
        assert!(std::rc::Rc::ptr_eq(&first.compiled, &again.compiled));
    }
    CACHE.with(|cache| {
        let cache = cache.borrow();
        assert!(cache.current.len() + cache.previous.len() <= 2 * MAX_CACHED_SCHEMAS);
    });
}

#[test]
fn text_that_is_not_json_is_refused() {
    let schema = compile(&json!({})).unwrap();
    for input in ["", "{", "1e999", "nul", &"[".repeat(100_000)] {
        assert!(schema.check(input).unwrap_err().starts_with("input: is not usable JSON"));
    }
    schema.check("true").unwrap();
    assert_eq!(JsonSchema::compile("false").unwrap().check("1").unwrap_err(), "input: is not allowed");
}
