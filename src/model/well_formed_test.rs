//! Tables of requests that are well formed, and of what is wrong with others.
#![allow(clippy::unwrap_used)]

use super::check_request;
use proptest::prelude::*;
use serde_json::json;

fn call(id: &str) -> serde_json::Value {
    json!({ "type": "tool_call", "id": id, "name": "read", "input": { "path": "a" } })
}

fn result(id: &str) -> serde_json::Value {
    json!({ "type": "tool_result", "id": id, "content": "" })
}

fn user(content: serde_json::Value) -> serde_json::Value {
    json!({ "role": "user", "content": content })
}

fn assistant(content: serde_json::Value) -> serde_json::Value {
    json!({ "role": "assistant", "content": content })
}

fn check(messages: serde_json::Value) -> Result<(), String> {
    check_request(&json!({ "messages": messages }).to_string())
}

#[test]
fn takes_what_the_apis_take() {
    let text = json!({ "type": "text", "text": "done" });
    let image = json!({ "type": "image", "mediaType": "image/png", "data": "AAAA" });
    for messages in [
        json!([user(json!("hi"))]),
        json!([user(json!("hi")), assistant(json!([text]))]),
        json!([
            user(json!([text, image])),
            assistant(json!([text, call("1"), call("2")])),
            user(json!([result("2"), result("1"), text])),
            assistant(json!("bye"))
        ]),
        json!([user(json!("hi")), assistant(json!([call("1")])), { "role": "tool", "content": [result("1")] }]),
        // The same id again in a later turn.
        json!([
            user(json!("a")),
            assistant(json!([call("1")])),
            user(json!([result("1")])),
            assistant(json!([call("1")])),
            user(json!([result("1")]))
        ]),
        json!([
            user(json!("hi")),
            assistant(json!([{ "type": "reasoning", "text": "", "signature": "s" },
            { "type": "native", "provider": "x", "data": null }, { "type": "compaction", "content": null }]))
        ]),
        json!([
            user(json!("hi")),
            assistant(json!([call("1")])),
            user(json!([{ "type": "tool_result", "id": "1", "content": [text, image], "isError": true }]))
        ]),
    ] {
        assert_eq!(check(messages.clone()), Ok(()), "{messages}");
    }
    let whole = json!({ "system": "be brief", "messages": [user(json!("hi"))],
        "tools": [{ "name": "read", "description": "", "parameters": {} }] });
    assert_eq!(check_request(&whole.to_string()), Ok(()));
}

#[test]
fn names_the_place_of_what_is_wrong() {
    let hi = user(json!("hi"));
    for (messages, expected) in [
        (json!([]), "messages must not be empty"),
        (json!([3]), "messages[0] must be an object"),
        (json!([assistant(json!("a"))]), "messages[0].role must be user"),
        (json!([hi, hi]), "messages[1].role is user, but user and assistant must alternate"),
        (json!([hi, assistant(json!("a")), assistant(json!("b"))]), "messages[2].role is assistant, but"),
        (json!([{ "role": "system", "content": "a" }]), "messages[0].role is system: the system prompt belongs in"),
        (json!([{ "role": "bot", "content": "a" }]), "messages[0].role must be user, assistant or tool, got \"bot\""),
        (json!([{ "content": "a" }]), "messages[0].role is missing"),
        (json!([{ "role": "user" }]), "messages[0].content must be a string or an array"),
        (json!([user(json!(""))]), "messages[0].content is empty"),
        (json!([user(json!([]))]), "messages[0].content is empty"),
        (json!([user(json!([null]))]), "messages[0].content[0] must be a block"),
        (json!([user(json!([{ "type": "text", "text": "" }]))]), "messages[0].content[0].text is empty"),
        (json!([user(json!([{ "type": "text" }]))]), "messages[0].content[0].text is missing"),
        (json!([user(json!([{ "type": "tool_cal" }]))]), "did you mean \"tool_call\"?"),
        (
            json!([user(json!([{ "type": "image", "mediaType": "image/png", "data": 3 }]))]),
            "content[0].data must be a string",
        ),
        (json!([user(json!([call("1")]))]), "messages[0].content[0] is a tool_call, which only an assistant"),
        (json!([hi, assistant(json!([result("1")]))]), "messages[1].content[0] is a tool_result, which only a user"),
        (json!([hi, assistant(json!([call("1")]))]), "messages[1] holds the tool_call \"1\", and no message"),
        (json!([hi, assistant(json!([call("1")])), hi]), "messages[2] holds no tool_result for the tool_call \"1\""),
        (
            json!([hi, assistant(json!([call("1"), call("2")])), user(json!([result("2")]))]),
            "no tool_result for the tool_call \"1\"",
        ),
        (
            json!([user(json!([result("9")]))]),
            "messages[0].content[0] is a tool_result for \"9\", which is no tool_call",
        ),
        (
            json!([hi, assistant(json!([call("1")])), user(json!([result("1"), result("2")]))]),
            "content[1] is a tool_result for \"2\"",
        ),
        (
            json!([hi, assistant(json!([call("1"), call("1")]))]),
            "messages[1].content[1].id \"1\" is the id of an earlier tool_call",
        ),
        (json!([hi, assistant(json!([call("1")])), user(json!([result("1"), result("1")]))]), "an earlier tool_result"),
        (
            json!([hi, assistant(json!([call("1")])), user(json!([{ "type": "text", "text": "a" }, result("1")]))]),
            "messages[2].content[1] is a tool_result behind another block",
        ),
        (
            json!([hi, assistant(json!([call("1")])), user(json!([{ "type": "tool_result", "id": "1" }]))]),
            "messages[2].content[0].content must be a string or an array of text and image blocks",
        ),
        (
            json!([
                hi,
                assistant(json!([call("1")])),
                user(json!([{ "type": "tool_result", "id": "1", "content": [call("2")] }]))
            ]),
            "messages[2].content[0].content[0].type must be text or image",
        ),
        (
            json!([
                hi,
                assistant(json!([call("1")])),
                user(json!([{ "type": "tool_result", "id": "1", "content": [{ "type": "text", "text": "" }] }]))
            ]),
            "messages[2].content[0].content[0].text is empty",
        ),
        (json!([hi, assistant(json!([call("")]))]), "messages[1].content[0].id is empty"),
        (
            json!([hi, assistant(json!([{ "type": "tool_call", "id": "1", "name": "a" }]))]),
            "content[0].input is missing",
        ),
        (json!([hi, assistant(json!([{ "type": "reasoning", "text": "" }]))]), "content[0].text is empty"),
        (
            json!([hi, assistant(json!("a")), { "role": "tool", "content": "b" }]),
            "messages[2].content must hold a tool_result",
        ),
    ] {
        let problem = check(messages.clone()).unwrap_err();
        assert!(problem.contains(expected), "{messages}\n{problem}");
    }
}

#[test]
fn checks_the_rest_of_the_request() {
    for (json, expected) in [
        ("", "not JSON"),
        ("[]", "must be an object"),
        ("{}", "messages must be an array"),
        (r#"{"messages":{}}"#, "messages must be an array"),
        (r#"{"system":1,"messages":[]}"#, "system must be a string"),
        (r#"{"tools":{},"messages":[]}"#, "tools must be an array"),
        (r#"{"tools":[{"name":""}],"messages":[]}"#, "tools[0].name is empty"),
        (r#"{"tools":[{"name":"a","description":"","parameters":1}],"messages":[]}"#, "tools[0].parameters must be"),
        (
            r#"{"tools":[{"name":"a","description":"","parameters":{}},{"name":"a","description":"","parameters":{}}]}"#,
            "tools[1].name \"a\" is the name of an earlier tool",
        ),
    ] {
        assert!(check_request(json).unwrap_err().contains(expected), "{json}: {:?}", check_request(json));
    }
}

proptest! {
    #[test]
    fn never_panics_on_any_text(text in ".{0,200}") {
        let _ = check_request(&text);
    }

    #[test]
    fn never_panics_on_pieces_of_requests(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..6)) {
        let _ = check_request(&format!(r#"{{"messages":[{}]}}"#, pieces.join(",")));
    }
}

const PIECES: &[&str] = &[
    "null",
    "1",
    r#"{"role":"user","content":"a"}"#,
    r#"{"role":"assistant","content":[{"type":"tool_call"}]}"#,
    r#"{"role":"assistant","content":[{"type":"tool_call","id":"1","name":"a","input":{}}]}"#,
    r#"{"role":"user","content":[{"type":"tool_result","id":"1","content":[{"type":"text"}]}]}"#,
    r#"{"role":"tool","content":[{"type":"tool_result","id":"1","content":"a"}]}"#,
    r#"{"role":3,"content":[[]]}"#,
];
