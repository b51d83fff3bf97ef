//! Tables for the outline of messages.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn reads_text_calls_and_empty_blocks() {
    let message = outline(
        r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":""},
        {"type":"tool_call","id":"1","name":"read","input":{"p":[1]}},{"type":"text","text":"b"}]}"#,
    )
    .unwrap();
    assert_eq!(message.empty_blocks, [1]);
    assert_eq!(message.calls.len(), 1);
    assert_eq!(&*message.calls[0].input, r#"{"p":[1]}"#);
    assert!(message.says_something());
}

#[test]
fn a_message_of_empty_blocks_says_nothing() {
    for json in [r#"{"role":"assistant","content":""}"#, r#"{"role":"assistant","content":[]}"#] {
        assert!(!outline(json).unwrap().says_something(), "{json}");
    }
}

#[test]
fn blocks_of_every_kind_can_be_empty() {
    let message = outline(
        r#"{"role":"assistant","content":[{"type":"reasoning","text":""},{"type":"reasoning","text":"","signature":""},
        {"type":"reasoning","text":"","signature":"s"},{"type":"image","mediaType":"image/png","data":""},
        {"type":"image","mediaType":"","data":"QUJD"},{"type":"compaction","content":""},
        {"type":"compaction","content":null},{"type":"image","mediaType":"image/png","data":"QUJD"}]}"#,
    )
    .unwrap();
    assert_eq!(message.empty_blocks, [0, 1, 3, 4, 5]);
}

#[test]
fn names_the_place_of_what_is_wrong() {
    for (json, expected) in [
        ("3", "must be an object"),
        (r#"{"content":""}"#, "role is missing"),
        (r#"{"role":"robot","content":""}"#, "role must be"),
        (r#"{"role":"assistant"}"#, "content is missing"),
        (r#"{"role":"assistant","content":3}"#, "content must be a string or an array of blocks"),
        (r#"{"role":"assistant","content":[3]}"#, "content[0] must be a block"),
        (r#"{"role":"assistant","content":[{"type":"text"}]}"#, "content[0].text is missing"),
        (r#"{"role":"assistant","content":[{"type":"text","text":1}]}"#, "content[0].text must be a string"),
        (r#"{"role":"assistant","content":[{"type":"txt"}]}"#, "content[0].type must be one of"),
        (
            r#"{"role":"assistant","content":[{"type":"tool_call","id":"","name":"a","input":{}}]}"#,
            "content[0].id must not",
        ),
        (
            r#"{"role":"user","content":[{"type":"tool_call","id":"1","name":"a","input":{}}]}"#,
            "cannot be in a message",
        ),
    ] {
        let problem = outline(json).unwrap_err();
        assert!(problem.contains(expected), "{json}: {problem}");
    }
}

#[test]
fn refuses_two_calls_with_one_id() {
    let call = r#"{"type":"tool_call","id":"x","name":"a","input":{}}"#;
    let problem = outline(&format!(r#"{{"role":"assistant","content":[{call},{call}]}}"#)).unwrap_err();
    assert!(problem.contains("two calls with the id \"x\""), "{problem}");
}

#[test]
fn text_that_rust_cannot_hold_is_text_all_the_same() {
    let message = outline(r#"{"role":"assistant","content":[{"type":"text","text":"\ud800"}]}"#).unwrap();
    assert!(message.says_something());
}

#[test]
fn half_a_surrogate_pair_in_an_input_becomes_a_replacement_character() {
    for (json, expected) in [
        (r#""a\ud800b""#, "\"a\u{fffd}b\""),
        (r#""\\ud800""#, r#""\\ud800""#),
        (r#""\"\udfff\n""#, "\"\\\"\u{fffd}\\n\""),
        (r#""\u0001\ud8""#, r#""\u0001\ud8""#),
        (r#""x\udc""#, r#""x\udc""#),
    ] {
        assert_eq!(whole_characters(json), expected, "{json}");
    }
}
