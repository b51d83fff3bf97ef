//! What is read of YAML, and that hostile YAML costs nothing.

use proptest::prelude::*;

use super::*;

fn texts(list: &[(usize, Result<&str, Kind>)]) -> Value {
    Value::List(list.iter().map(|(line, text)| Element { line: *line, text: text.map(str::to_string) }).collect())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

/// The value of the only key, which is `k`.
fn value(yaml: &str) -> Value {
    let mut entries = read(yaml).unwrap_or_else(|error| panic!("{yaml:?}: {error}"));
    assert_eq!(entries.iter().map(|entry| &*entry.key).collect::<Vec<_>>(), ["k"], "{yaml:?}");
    entries.remove(0).value
}

#[test]
fn values_are_told_apart_as_the_core_schema_does() {
    for (yaml, expected) in [
        ("k: a b", text("a b")),
        ("\"k\": 'a: b'", text("a: b")),
        ("k: \"1\\n\\u00e9\"", text("1\né")),
        ("k: !!str 1", text("1")),
        ("k: |\n  ---\n  a: b\n\n  ...\n", text("---\na: b\n\n...\n")),
        ("k: >-\n  a\n  b\n", text("a b")),
        ("k: ''", text("")),
        ("k: yes", text("yes")),
        ("k: 2024-01-02", text("2024-01-02")),
        ("k: 1.2.3", text("1.2.3")),
        ("k: 0x", text("0x")),
        ("k: &a b", text("b")),
        ("k: a # b", text("a")),
        ("k:", Value::Other(Kind::Nothing)),
        ("k: ~", Value::Other(Kind::Nothing)),
        ("k: null", Value::Other(Kind::Nothing)),
        ("k: True", Value::Other(Kind::Boolean)),
        ("k: -12", Value::Other(Kind::Number)),
        ("k: 0x1F", Value::Other(Kind::Number)),
        ("k: 1.5e3", Value::Other(Kind::Number)),
        ("k: .5", Value::Other(Kind::Number)),
        ("k: 7", Value::Other(Kind::Number)),
        ("k: 0o17", Value::Other(Kind::Number)),
        ("k: .NaN", Value::Other(Kind::Number)),
        ("k: 1 2", text("1 2")),
        ("k: e1", text("e1")),
        ("k: -.inf", Value::Other(Kind::Number)),
        ("k: { a: [b], c: d }", Value::Other(Kind::Mapping)),
        ("k:\n  a: b\n", Value::Other(Kind::Mapping)),
        ("k: !!int 1", Value::Other(Kind::Tagged)),
        ("k: !own a", Value::Other(Kind::Tagged)),
        ("k: []", texts(&[])),
        ("k: [a, 'b, c', 1]", texts(&[(2, Ok("a")), (2, Ok("b, c")), (2, Err(Kind::Number))])),
        ("k:\n- a\n-\n", texts(&[(3, Ok("a")), (4, Err(Kind::Nothing))])),
        ("k:\n  - [a, [b]]\n  - {a: b}\n  - c", texts(&[(3, Err(Kind::List)), (4, Err(Kind::Mapping)), (5, Ok("c"))])),
        ("k: [&a a, *a]", texts(&[(2, Ok("a")), (2, Err(Kind::Alias))])),
    ] {
        assert_eq!(value(yaml), expected, "{yaml:?}");
    }
}

#[test]
fn entries_have_the_lines_of_the_file() {
    let yaml = "# first\r\na: b\r\nc: |\r\n  d\r\n\r\n\"e\":\r\n  - f\r\n? [g]\r\n: h\r\n";
    let entries = read(yaml).unwrap();
    let lines: Vec<_> = entries.iter().map(|entry| (&*entry.key, entry.line)).collect();
    assert_eq!(lines, [("a", 3), ("c", 4), ("e", 7)]);
    assert_eq!(entries[2].value, texts(&[(8, Ok("f"))]));
}

#[test]
fn nothing_has_no_entries() {
    for yaml in ["", "\n\n", "# a comment\n", "{}", "...\n"] {
        assert_eq!(read(yaml), Ok(Vec::new()), "{yaml:?}");
    }
}

#[test]
fn an_alias_that_is_a_value_is_told_from_a_text() {
    let entries = read("a: &a b\nc: *a\n").unwrap();
    assert_eq!(entries[1].value, Value::Other(Kind::Alias));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (yaml, error) in [
        ("a: b\nc: d: e\n", "line 3, column 5: expected YAML, but: mapping values are not allowed"),
        ("a: b\nc: d: e\n", "put a text that holds \": \" in quotes"),
        ("a: [b\n", "line 3, column 1: expected YAML, but: "),
        ("a: \"b\n", "line 2, column 4: expected YAML, but: "),
        ("a: *b\n", "line 2, column 4: expected YAML, but: "),
        ("- a\n", "line 2: expected keys with their values"),
        ("\na\n", "line 3: expected keys with their values"),
        ("a: b\n...\nc: d\n", "line 4: expected the end of the front matter, got another document"),
        ("a: b\n--- c\n", "line 3: expected the end of the front matter, got another document"),
        ("a: b\nc: d\na: e\n", "line 4: the key \"a\" is there twice"),
        ("a: b\n'a': c\n", "line 3: the key \"a\" is there twice"),
        ("a: b\nc: d\0e\n", "line 3, column 5: the character U+0000 is not accepted"),
        ("a: \u{1b}[1m\n", "line 2, column 4: the character U+001B is not accepted"),
    ] {
        let got = read(yaml).unwrap_err();
        assert!(got.contains(error), "{yaml:?}: {got}");
    }
}

#[test]
fn what_is_nested_deeply_is_refused_and_what_is_not_is_read() {
    let flow = |levels: usize| format!("k: {}{}", "[".repeat(levels), "]".repeat(levels));
    // The outermost mapping is a level of its own.
    assert_eq!(value(&flow(MAX_DEPTH - 1)), texts(&[(2, Err(Kind::List))]));
    for yaml in [
        flow(MAX_DEPTH),
        flow(100_000),
        format!("k: {}", "[".repeat(200_000)),
        format!("k: {}", "{a: ".repeat(60_000)),
        format!("k:\n  {}a", "- ".repeat(100_000)),
        format!("{}a", "? ".repeat(100_000)),
        (0..600).map(|level| format!("{}a:\n", " ".repeat(level))).collect(),
    ] {
        let error = read(&yaml).unwrap_err();
        assert!(error.contains("nested too deeply") || error.contains("recursion"), "{error}");
    }
}

#[test]
fn aliases_are_never_expanded() {
    // Nine to the power of a thousand elements, were they.
    let mut yaml = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..1_000 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        yaml.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let entries = read(&yaml).unwrap();
    assert_eq!(entries.len(), 1_000);
    let aliases: Vec<_> = (0..9).map(|_| (1_001, Err(Kind::Alias))).collect();
    assert_eq!(entries[999].value, texts(&aliases));
}

#[test]
fn a_long_text_and_a_long_list_are_read() {
    let long = "x".repeat(200_000);
    assert_eq!(value(&format!("k: {long}")), text(&long));
    let Value::List(elements) = value(&format!("k: [{}]", "a, ".repeat(60_000))) else { panic!("no list") };
    assert_eq!(elements.len(), 60_000);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "a", "b: ", "- ", "? ", ": ", "[", "]", "{", "}", ",", "\n", "\n  ", " ", "\t", "\"", "'", "|", ">-",
                "&a ", "*a", "!t ", "!!str ", "#", "---", "\n...\n", "%TAG ! x\n", "\\", "é", "\u{feff}", "\u{85}",
                "\r", "\0", "<<: ",
            ]),
            0..24,
        ),
    ) {
        if let Ok(entries) = read(&tokens.concat()) {
            let lines: Vec<_> = entries.iter().map(|entry| entry.line).collect();
            prop_assert!(lines.iter().all(|line| *line >= 2) && lines.is_sorted());
        }
    }

    #[test]
    fn a_quoted_text_is_read_as_it_was(wanted in "\\PC{0,40}") {
        let yaml = format!("k: {}\n", serde_json::to_string(&wanted).unwrap());
        prop_assert_eq!(value(&yaml), text(&wanted));
    }

    #[test]
    fn a_block_of_any_lines_is_read_as_it_was(
        lines in prop::collection::vec("(---|\\.\\.\\.|[a-z:#\\[\\]{}\"'|-][a-z:# -]{0,6})", 1..8),
    ) {
        let block: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        let wanted: String = lines.iter().map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(value(&format!("k: |\n{block}")), text(&wanted));
    }
}
