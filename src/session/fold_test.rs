//! Tables for folding.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn fold(events: &[&str]) -> Fold {
    let mut fold = Fold::default();
    for (json, seq) in events.iter().zip(1..) {
        fold.push(StoredEvent { seq, ts: "t", json }).unwrap();
    }
    fold
}

fn conversation(events: &[&str]) -> Vec<String> {
    fold(events).finish().iter().map(|message| message.json().to_string()).collect()
}

const USER: &str = r#"{"type":"user","message":{"role":"user","content":"go"}}"#;
const CALLS: &str = concat!(
    r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_call","id":"a","name":"x","input":{}},"#,
    r#"{"type":"tool_call","id":"b","name":"y","input":{}}]}}"#
);

fn result(id: &str) -> String {
    format!(r#"{{"type":"tool_result","turn":1,"result":{{"type":"tool_result","id":"{id}","content":"{id}!"}}}}"#)
}

#[test]
fn messages_stay_as_they_were_written() {
    let odd = r#"{"type":"user","message":{"content": "half \ud800 a pair" ,"role":"user","more":1.0}}"#;
    assert_eq!(conversation(&[odd]), [r#"{"content": "half \ud800 a pair" ,"role":"user","more":1.0}"#]);
}

#[test]
fn successive_results_join_whatever_was_recorded_between_them() {
    let started = r#"{"type":"tool_started","id":"b","name":"y","turn":1}"#;
    let snapshot = r#"{"type":"file_snapshot","path":"p","before":null,"turn":1}"#;
    let folded = fold(&[USER, CALLS, &result("a"), started, snapshot, &result("b"), USER]).finish();
    assert_eq!(folded.len(), 4);
    let FoldedMessage::Results(json) = &folded[2] else { panic!("{folded:?}") };
    let expected = concat!(
        r#"{"role":"user","content":[{"type":"tool_result","id":"a","content":"a!"},"#,
        r#"{"type":"tool_result","id":"b","content":"b!"}]}"#
    );
    assert_eq!(&**json, expected);
}

#[test]
fn results_are_in_the_order_of_their_calls_and_unknown_ones_last() {
    let folded = conversation(&[USER, CALLS, &result("z"), &result("b"), &result("a")]);
    let places: Vec<_> = ["a!", "b!", "z!"].iter().map(|text| folded[2].find(text).unwrap()).collect();
    assert!(places.is_sorted(), "{}", folded[2]);
}

#[test]
fn results_of_two_turns_stay_apart() {
    let again = CALLS.replace("\"a\"", "\"c\"").replace("\"b\"", "\"d\"");
    let folded = conversation(&[USER, CALLS, &result("a"), &result("b"), &again, &result("c"), &result("d")]);
    assert_eq!(folded.len(), 5);
    assert!(folded[2].contains("a!") && folded[4].contains("d!"));
}

#[test]
fn a_summary_replaces_all_before_it() {
    let summary =
        r#"{"type":"summary","messages":[{"role":"user","content":"so far"}],"throughSeq":3,"before":9,"after":1}"#;
    let folded = conversation(&[USER, CALLS, &result("a"), &result("b"), summary, USER]);
    assert_eq!(folded, [r#"{"role":"user","content":"so far"}"#, r#"{"role":"user","content":"go"}"#]);
}

#[test]
fn calls_without_a_result_are_told_started_or_not() {
    let started = r#"{"type":"tool_started","id":"b","name":"y","turn":3}"#;
    assert!(fold(&[USER, CALLS, &result("b"), &result("a")]).unanswered().is_empty());
    let call = |id: &str, name: &str, turn| UnansweredCall {
        id: id.to_string(),
        name: name.to_string(),
        started_in_turn: turn,
    };
    assert_eq!(fold(&[USER, CALLS, started]).unanswered(), [call("a", "x", None), call("b", "y", Some(3))]);
    assert_eq!(fold(&[USER, CALLS, started, &result("a")]).unanswered(), [call("b", "y", Some(3))]);
}

#[test]
fn calls_inside_a_summary_count() {
    let summary = format!(
        r#"{{"type":"summary","messages":[{}],"throughSeq":1,"before":9,"after":1}}"#,
        r#"{"role":"assistant","content":[{"type":"tool_call","id":"a","name":"x","input":{}}]}"#
    );
    assert_eq!(fold(&[USER, &summary]).unanswered().len(), 1);
    assert_eq!(fold(&[USER, &summary, &result("a")]).unanswered().len(), 0);
}

#[test]
fn what_cannot_be_folded_names_the_event_and_changes_nothing() {
    for (json, why) in [
        (r#"{"type":"later"}"#, "has the type \"later\", which this version does not know"),
        (r#"{"type":"user"}"#, "has no message"),
        (r#"{"type":"tool_result"}"#, "has no result"),
        (r#"{"type":"summary"}"#, "has no messages"),
        (r#"{"type":"summary","messages":3}"#, "no list"),
        (r#"{"type":"user","message":3}"#, "has a message that is none"),
    ] {
        let mut fold = fold(&[USER, CALLS, &result("a")]);
        let error = fold.push(StoredEvent { seq: 4, ts: "t", json }).unwrap_err();
        assert!(error.to_string().starts_with("event 4 of the session ") && error.why.contains(why), "{error}");
        assert_eq!(fold.finish().len(), 3);
    }
}

#[test]
fn prompts_are_the_users_events() {
    let event = |json| StoredEvent { seq: 7, ts: "2026", json };
    let found = prompt(event(USER)).unwrap().unwrap();
    assert_eq!(found, Prompt { seq: 6, ts: "2026".to_string(), content: "\"go\"".into() });
    assert_eq!(prompt(event(CALLS)).unwrap(), None);
}
