//! What is JSON, what is not, and where a message says that it is not.

use super::*;
use crate::json::Place;
use serde_json::Value as Plain;

/// As serde_json would have it.
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

fn fails(text: &str) -> JsonError {
    read(text).expect_err(text)
}

#[test]
fn values_are_read_as_others_read_them() {
    for text in [
        "null",
        " true\t",
        "false\r\n",
        "0",
        "-0.0",
        "12e-3",
        "1E+2",
        r#""""#,
        r#""a\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00é😀""#,
        "[]",
        "[ [ ] , { } ]",
        r#"{"":{"a":[1,2,{"b":null}]},"c":""}"#,
        "\"\u{7f}\u{2028}\u{feff}\"",
    ] {
        assert_eq!(plain(&read(text).unwrap().root), serde_json::from_str::<Plain>(text).unwrap(), "{text}");
    }
}

#[test]
fn every_value_and_key_knows_where_it_begins() {
    let document = read("{ \"a\": [1,\n \"é\", {}] }").unwrap();
    let Data::Object(members) = &document.root.data else { panic!() };
    assert_eq!(members[0].key_offset, 2);
    let Data::Array(values) = &members[0].value.data else { panic!() };
    assert_eq!(values.iter().map(|value| value.offset).collect::<Vec<_>>(), [8, 12, 18]);
    let root = Place::root(&document);
    let list = root.member(&members[0]);
    assert_eq!(list.element(2, &values[2]).error("x").to_string(), "$.a[2] (line 2, column 7): x");
    assert_eq!(root.key_error(&members[0], "x").to_string(), "$.a (line 1, column 3): x");
    assert_eq!(list.element(0, &values[0]).expected("a string").problem, "expected a string, got 1");
}

#[test]
fn what_is_no_json_is_refused_with_its_place_and_what_was_expected() {
    for (text, message) in [
        ("", "$ (line 1, column 1): expected a value, got the end of the text"),
        ("{", "$ (line 1, column 2): expected a key in double quotes, or }, got the end of the text"),
        ("[1,]", "$ (line 1, column 3): a trailing comma: nothing follows it"),
        ("{\"a\":1,\n}", "$ (line 1, column 7): a trailing comma: nothing follows it"),
        ("{\"a\":1 \"b\":2}", "$ (line 1, column 8): expected a comma or }, got \"b\""),
        ("[1 2]", "$ (line 1, column 4): expected a comma or ], got `2`"),
        ("[1}", "$ (line 1, column 3): expected a comma or ], got `}`"),
        ("{\"a\" 1}", "$.a (line 1, column 6): expected a colon after the key, got `1`"),
        ("{a:1}", "$ (line 1, column 2): \"a\" is no JSON value; text needs double quotes"),
        ("{1:1}", "$ (line 1, column 2): expected a key in double quotes, or }, got `1`"),
        ("{\"a\":}", "$.a (line 1, column 6): expected a value, got `}`"),
        ("{'a':1}", "$ (line 1, column 2): JSON text needs straight double quotes"),
        ("{\n  // why\n}", "$ (line 2, column 3): JSON has no comments"),
        ("[/* why */]", "$[0] (line 1, column 2): JSON has no comments"),
        ("[true, # why\n]", "$[1] (line 1, column 8): JSON has no comments"),
        ("{\"a\": True}", "$.a (line 1, column 7): \"True\" is no JSON value; did you mean true?"),
        ("[NaN]", "$[0] (line 1, column 2): \"NaN\" is no JSON value; text needs double quotes"),
        ("[+1]", "$[0] (line 1, column 2): unexpected `+`"),
        ("[\u{a0}1]", "$[0] (line 1, column 2): unexpected character U+00A0"),
        ("\u{feff}1", "$ (line 1, column 1): unexpected character U+FEFF"),
        ("[01]", "$[0] (line 1, column 2): a number must not begin with a 0 before other digits"),
        ("[-]", "$[0] (line 1, column 3): a number must have a digit after its sign"),
        ("[1.]", "$[0] (line 1, column 4): a number must have a digit after its point"),
        ("[1e+]", "$[0] (line 1, column 5): a number must have a digit in its exponent"),
        ("[\"a\nb\"]", "$[0] (line 1, column 4): a string must end on the line on which it begins"),
        ("[\"é\tb\"]", "$[0] (line 1, column 4): a string must not hold the control character U+0009; write \\u0009"),
        ("[\"abc", "$[0] (line 1, column 2): the string that begins here has no end"),
        ("[\"a\\", "$[0] (line 1, column 4): the text ends within a string"),
        (r#"["C:\dir"]"#, r"$[0] (line 1, column 5): JSON has no such escape; a backslash itself is written \\"),
        (r#"["\u12g4"]"#, r"$[0] (line 1, column 3): \u must be followed by four hexadecimal digits"),
        (r#"["\ud800x"]"#, "$[0] (line 1, column 3): this escape is half of a surrogate pair, and no character"),
        (r#"["x\udc00"]"#, "$[0] (line 1, column 4): this escape is half of a surrogate pair, and no character"),
        ("{\"a\":1}\nx", "$ (line 2, column 1): \"x\" is no JSON value; text needs double quotes"),
        ("1 2", "$ (line 1, column 3): expected the end of the text, got `2`"),
        (
            "{\"hooks\":{},\n \"hooks\":{}}",
            "$.hooks (line 2, column 2): duplicate key \"hooks\"; the first is at line 1, column 2",
        ),
        (
            "[{\"a\":{\"x\":1,\"\\u0078\":2}}]",
            "$[0].a.x (line 1, column 14): duplicate key \"x\"; the first is at line 1, column 8",
        ),
    ] {
        let error = fails(text);
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn the_same_key_in_different_objects_is_no_duplicate() {
    assert!(read(r#"[{"a":1},{"a":{"a":2}}]"#).is_ok());
}

#[test]
fn nesting_has_a_limit_and_needs_no_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(fails(&nested(MAX_DEPTH + 1)).problem, "nested deeper than 128 levels");
    fails(&"[".repeat(3_000_000));
    fails(&"{\"a\":".repeat(1_000_000));
}

#[test]
fn bytes_that_are_no_text_are_told_by_their_place() {
    assert_eq!(decode_text("é".as_bytes()).unwrap(), "é");
    let error = decode_text(b"{\n\"\xC3\xA9\xFF\"}").unwrap_err();
    assert_eq!(error.to_string(), "$ (line 2, column 3): expected UTF-8, got the byte 0xFF; save the file as UTF-8");
    assert!(decode_text(b"a\xE2\x80").unwrap_err().to_string().contains("line 1, column 2"));
    assert!(decode_text(b"\xFF\xFE{\0}\0").unwrap_err().problem.contains("UTF-16"));
}

#[test]
fn messages_stay_short_whatever_they_are_about() {
    let long = "k".repeat(200_000);
    for text in [
        format!("{{\"{long}\":}}"),
        format!("[1 \"{long}\"]"),
        format!("[{long}]"),
        format!("[1 {}]", "1".repeat(200_000)),
    ] {
        assert!(fails(&text).to_string().len() < 300);
    }
}
