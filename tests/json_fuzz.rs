//! The JSON reader against serde_json: both accept the same texts, but for what only one of them limits; and no error
//! points outside its text. `LITE_AGENT_LONG=1` makes it ten times as long.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod long;

use lite_agent::json::{Data, JsonError, Value, decode_text, read};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value as Plain;

fn plain(value: &Value) -> Plain {
    match &value.data {
        Data::Null => Plain::Null,
        Data::Boolean(value) => Plain::Bool(*value),
        Data::Number(number) => serde_json::from_str(number.as_str()).unwrap(),
        Data::String(text) => Plain::String(text.clone()),
        Data::Array(values) => Plain::Array(values.iter().map(plain).collect()),
        Data::Object(members) => {
            Plain::Object(members.iter().map(|member| (member.key.clone(), plain(&member.value))).collect())
        }
    }
}

/// Each value begins where it says, with what it is.
fn begins_where_it_says(text: &str, value: &Value) -> bool {
    let rest = &text[value.offset..];
    match &value.data {
        Data::Null => rest.starts_with("null"),
        Data::Boolean(value) => rest.starts_with(&value.to_string()),
        Data::Number(number) => rest.starts_with(number.as_str()),
        Data::String(_) => rest.starts_with('"'),
        Data::Array(values) => rest.starts_with('[') && values.iter().all(|value| begins_where_it_says(text, value)),
        Data::Object(members) => {
            rest.starts_with('{')
                && members.iter().all(|member| {
                    text[member.key_offset..].starts_with('"') && begins_where_it_says(text, &member.value)
                })
        }
    }
}

fn is_inside(error: &JsonError, text: &str) -> bool {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let line = text.split('\n').nth(error.position.line - 1);
    // The break of a line is one of its characters, and so may be the place.
    line.is_some_and(|line| (1..=line.chars().count() + 1).contains(&error.position.column))
        || text.contains('\n') && error.position.column == line.map_or(0, |line| line.chars().count()) + 2
}

fn agrees(text: &str) -> Result<(), TestCaseError> {
    let theirs = serde_json::from_str::<Plain>(text);
    match (read(text), theirs) {
        (Ok(ours), Ok(theirs)) => {
            prop_assert!(begins_where_it_says(text, &ours.root));
            prop_assert_eq!(plain(&ours.root), theirs);
        }
        (Err(error), theirs) => {
            prop_assert!(is_inside(&error, text), "{}", error);
            prop_assert!(error.path.starts_with('$'));
            let limited = error.problem.starts_with("duplicate key") || error.problem.starts_with("nested deeper");
            prop_assert!(theirs.is_err() || limited, "only we refuse: {}", error);
        }
        (Ok(_), Err(theirs)) => {
            let message = theirs.to_string();
            let limited = message.contains("number out of range") || message.contains("recursion limit");
            prop_assert!(limited, "only we accept: {}", message);
        }
    }
    Ok(())
}

/// Texts of values, written in many ways.
fn json_text() -> impl Strategy<Value = String> {
    let space = || prop::sample::select(vec!["", "", "", " ", "\n", "\t\r\n "]);
    let string = prop_oneof![
        "[a-c]{0,3}",
        "[ -!#-\\[\\]-~é😀]{0,6}",
        prop::sample::select(vec![
            "\\n",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\\ud83d",
            "\\udE00\\ud83d",
            "\\/",
            "\\\"",
            "\\\\"
        ])
        .prop_map(str::to_string),
    ]
    .prop_map(|inside| format!("\"{inside}\""));
    let number = "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?";
    let leaf = prop_oneof![
        string.clone(),
        number,
        prop::sample::select(vec!["null", "true", "false"]).prop_map(str::to_string),
    ];
    let padded = (space(), leaf, space()).prop_map(|(before, leaf, after)| format!("{before}{leaf}{after}"));
    padded.prop_recursive(5, 40, 6, move |inner| {
        let member =
            (string.clone(), space(), inner.clone()).prop_map(|(key, space, value)| format!("{key}{space}:{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(|values| format!("[{}]", values.join(","))),
            prop::collection::vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

/// What stands at a place is replaced, added to, or left out.
fn mutated() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "", "", "", "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "0", "-", ".", "e", "1", "null", "tru", "/", "//",
        "/*", "'", "é", "😀", "\u{feff}", "\u{a0}", "\0", "\u{1f}", "\n", "\r", "\u{2028}", "NaN",
    ]);
    let change = (any::<prop::sample::Index>(), 0..3_usize, piece);
    (json_text(), prop::collection::vec(change, 0..4)).prop_map(|(text, changes)| {
        let mut characters: Vec<char> = text.chars().collect();
        for (at, removed, piece) in changes {
            let at = at.index(characters.len() + 1);
            let end = (at + removed).min(characters.len());
            characters.splice(at..end, piece.chars());
        }
        characters.into_iter().collect()
    })
}

#[test]
fn mutated_texts_are_accepted_by_both_readers_or_by_none() {
    let accepted = std::cell::Cell::new(0);
    let cases = long::cases(20_000);
    TestRunner::new(ProptestConfig::with_cases(cases))
        .run(&mutated(), |text| {
            accepted.set(accepted.get() + u32::from(read(&text).is_ok()));
            agrees(&text)
        })
        .unwrap();
    assert!((cases / 10..cases * 9 / 10).contains(&accepted.get()), "{} of {cases} were accepted", accepted.get());
}

#[test]
fn random_tokens_are_accepted_by_both_readers_or_by_none() {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-", "0", ".5", "e1", "null", "true", " ", "\n", "\"",
        "\\n",
    ]);
    let text = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
    TestRunner::new(ProptestConfig::with_cases(long::cases(20_000))).run(&text, |text| agrees(&text)).unwrap();
}

#[test]
fn bytes_that_are_no_text_never_panic() {
    let bytes = prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'"'), Just(b'{')], 0..40);
    TestRunner::new(ProptestConfig::with_cases(long::cases(5_000)))
        .run(&bytes, |bytes| {
            match decode_text(&bytes) {
                Ok(text) => agrees(text)?,
                Err(error) => {
                    prop_assert!(std::str::from_utf8(&bytes).is_err());
                    prop_assert!(error.position.line >= 1 && error.position.column >= 1);
                }
            }
            Ok(())
        })
        .unwrap();
}
