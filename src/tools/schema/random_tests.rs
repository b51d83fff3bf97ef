//! Random schemas and inputs: nothing panics, and no problem is endless.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::JsonSchema;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        "[a-z/~%#é]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[ab/~%é]{0,2}", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["string", "integer", "number", "object", "array", "null", "strin"])
            .prop_map(|kind| json!({ "type": kind })),
        prop::sample::select(vec!["#", "#/$defs/a", "#/properties/a", "#a", "x", "#/allOf/0", "%", "#%ff"])
            .prop_map(|target| json!({ "$ref": target })),
        prop::sample::select(vec!["^a", "(", "(?=a)b", "(a*)*\\1", "[é]", "\\"])
            .prop_map(|pattern| json!({ "pattern": pattern })),
        any::<bool>().prop_map(Value::from),
        any_json().prop_map(|value| json!({ "const": value })),
        (0..5_u8).prop_map(|limit| json!({ "minItems": limit, "maxLength": limit, "uniqueItems": true })),
    ];
    leaf.prop_recursive(4, 30, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        let map = prop::collection::vec(("[ab/~é]{1,2}", inner.clone()), 0..4)
            .prop_map(|members| Value::Object(members.into_iter().collect()));
        prop_oneof![
            (prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), list)
                .prop_map(|(keyword, list)| json!({ keyword: list })),
            (prop::sample::select(vec!["properties", "$defs", "patternProperties", "dependentSchemas"]), map)
                .prop_map(|(keyword, map)| json!({ keyword: map })),
            (
                prop::sample::select(vec![
                    "items",
                    "not",
                    "contains",
                    "additionalProperties",
                    "unevaluatedProperties",
                    "unevaluatedItems",
                    "propertyNames"
                ]),
                inner
            )
                .prop_map(|(keyword, schema)| json!({ keyword: schema, "required": ["a"] })),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics(schema in any_schema(), input in any_json()) {
        if let Ok(schema) = JsonSchema::compile(&schema.to_string())
            && let Err(problem) = schema.check(&input.to_string())
        {
            prop_assert!(!problem.is_empty() && problem.len() < 8_000);
        }
    }

    #[test]
    fn any_json_may_come_as_a_schema(schema in any_json(), text in ".{0,40}") {
        let _ = JsonSchema::compile(&schema.to_string());
        let _ = JsonSchema::compile(&text);
    }
}
