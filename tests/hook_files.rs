//! hooks.json: where it is looked for, what is accepted of it, and what the error says where it is not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod folder;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use folder::Folders;
use lite_agent::event::HookOrigin;
use lite_agent::hooks::HookFiles;

/// `event source command` of each, in order.
fn listed(files: &HookFiles) -> Vec<String> {
    files
        .commands()
        .map(|(event, hook)| format!("{} {} {}", event.as_str(), hook.source.as_str(), hook.command))
        .collect()
}

fn one(command: &str) -> String {
    format!(r#"{{ "version": 1, "hooks": {{ "run:end": [{{ "command": "{command}" }}] }} }}"#)
}

/// The configuration of the specification.
const EXAMPLE: &str = r#"{
  "version": 1,
  "hooks": {
    "tool:end": [
      { "match": "write_file", "command": "node scripts/record-change.mjs", "timeoutMs": 10000 },
      { "match": "write_file", "command": "node scripts/update-index.mjs" }
    ],
    "run:end": [
      { "command": "node scripts/record-run.mjs" }
    ]
  }
}
"#;

#[test]
fn no_files_are_no_hooks() {
    let folders = Folders::new("none");
    assert!(folders.load().unwrap().is_empty());
    folders.make_project_folder();
    assert!(folders.load().unwrap().is_empty());
    fs::remove_dir_all(folders.home()).unwrap();
    assert!(folders.load().unwrap().is_empty());
}

#[test]
fn the_example_of_the_specification_loads() {
    let folders = Folders::new("example");
    folders.write_project(EXAMPLE);
    let files = folders.load().unwrap();
    let hooks: Vec<_> = files.commands().map(|(_, hook)| hook).collect();
    assert_eq!(hooks.len(), 3);
    for hook in &hooks {
        assert_eq!(hook.timeout.as_millis(), 10_000);
        assert_eq!(hook.source, HookOrigin::Project);
        assert_eq!(&*hook.config_file, folders.project().to_str().unwrap());
    }
    let changes = hooks.iter().find(|hook| &*hook.command == "node scripts/record-change.mjs").unwrap();
    assert!(changes.is_for(Some("write_file")));
    assert!(!changes.is_for(Some("Write_file")) && !changes.is_for(Some("write_file2")));
    let run = hooks.iter().find(|hook| &*hook.command == "node scripts/record-run.mjs").unwrap();
    assert!(run.is_for(None));
}

#[test]
fn global_hooks_come_first_and_each_file_keeps_its_order() {
    let folders = Folders::new("order");
    let file = |name: &str| {
        format!(
            r#"{{ "version": 1, "hooks": {{ "run:end": [{{"command":"{name} 1"}},{{"command":"{name} 2"}},{{"command":"{name} 1"}}] }} }}"#
        )
    };
    folders.write_global(file("g"));
    folders.write_project(file("p"));
    assert_eq!(
        listed(&folders.load().unwrap()),
        [
            "run:end global g 1",
            "run:end global g 2",
            "run:end global g 1",
            "run:end project p 1",
            "run:end project p 2",
            "run:end project p 1",
        ]
    );
}

#[test]
fn one_physical_file_under_both_names_loads_once_as_global() {
    let folders = Folders::new("once");
    folders.write_global(one("x"));
    folders.make_project_folder();
    symlink(folders.global(), folders.project()).unwrap();
    assert_eq!(listed(&folders.load().unwrap()), ["run:end global x"]);
    fs::remove_file(folders.project()).unwrap();
    fs::hard_link(folders.global(), folders.project()).unwrap();
    assert_eq!(listed(&folders.load().unwrap()), ["run:end global x"]);
    let same = HookFiles::load(&folders.work().join(".lite-agent"), &folders.work()).unwrap();
    assert_eq!(listed(&same), ["run:end global x"]);
    fs::remove_file(folders.project()).unwrap();
    fs::copy(folders.global(), folders.project()).unwrap();
    assert_eq!(listed(&folders.load().unwrap()), ["run:end global x", "run:end project x"]);
}

#[test]
fn a_byte_order_mark_and_a_link_to_the_schema_are_accepted() {
    let folders = Folders::new("mark");
    folders.write_global(format!("\u{feff}{}", one("x").replacen('{', r#"{ "$schema": "./hooks.schema.json","#, 1)));
    assert_eq!(listed(&folders.load().unwrap()), ["run:end global x"]);
    folders.write_global("\u{feff}[");
    assert!(folders.load().unwrap_err().message.contains("line 1, column 2"));
    folders.write_global("\u{feff}\u{feff}{}");
    assert!(folders.load().unwrap_err().message.contains("U+FEFF"));
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_the_file() {
    let folders = Folders::new("unreadable");
    let global = folders.global();
    let fails = |expected: &str| {
        let failure = folders.load().unwrap_err();
        let start = format!("Invalid hooks configuration {}: ", global.display());
        assert!(failure.message.starts_with(&start) && failure.message.contains(expected), "{failure}");
        assert_eq!((failure.file.as_str(), failure.path), (global.to_str().unwrap(), None));
        fs::remove_file(&global).or_else(|_| fs::remove_dir(&global)).unwrap();
    };
    symlink("nowhere.json", &global).unwrap();
    fails("expected a file, got a link whose target does not exist");
    symlink("hooks.json", &global).unwrap();
    fails("got: ");
    fs::create_dir(&global).unwrap();
    fails("expected a regular file, got a folder");
    let listener = UnixListener::bind(folders.work().join("s"));
    // The path of a socket may be too long for it where the tests are.
    if listener.is_ok() {
        symlink(folders.work().join("s"), &global).unwrap();
        fails("expected a regular file, got a pipe, a socket or a device");
    }
    symlink("/dev/zero", &global).unwrap();
    fails("expected a regular file, got a pipe, a socket or a device");
    symlink("/proc/self/mem", &global).unwrap();
    fails("expected a file that can be read, got: ");
    make_pipe(&global);
    fails("expected a regular file, got a pipe, a socket or a device");
    fs::write(&global, one("x")).unwrap();
    fs::set_permissions(&global, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&global).is_ok() {
        // Root may read it all the same.
        assert!(folders.load().is_ok());
        fs::remove_file(&global).unwrap();
    } else {
        fails("expected a file that can be read, got: ");
    }
}

fn make_pipe(path: &std::path::Path) {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path is a string that ends with a NUL, and lives until the call returns.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}

#[test]
fn a_folder_that_is_a_file_or_a_link_to_nowhere_is_an_error() {
    let folders = Folders::new("ancestors");
    let folder = folders.work().join(".lite-agent");
    let project = folders.project().display().to_string();
    fs::write(&folder, "").unwrap();
    let failure = folders.load().unwrap_err();
    assert_eq!(
        failure.message,
        format!("Invalid hooks configuration {project}: expected a folder at {}, which is none", folder.display())
    );
    fs::remove_file(&folder).unwrap();
    symlink("gone", &folder).unwrap();
    let failure = folders.load().unwrap_err();
    assert!(failure.message.contains("is a link whose target does not exist"), "{failure}");
    fs::remove_file(&folder).unwrap();
    symlink(folders.home(), &folder).unwrap();
    assert!(folders.load().unwrap().is_empty());
}

#[test]
fn a_file_may_have_256_kib_and_no_more() {
    let folders = Folders::new("size");
    let full = format!("{}{}", one("x"), " ".repeat(256 * 1024 - one("x").len()));
    folders.write_project(&full);
    assert_eq!(listed(&folders.load().unwrap()), ["run:end project x"]);
    folders.write_project(format!("{full} "));
    let failure = folders.load().unwrap_err();
    assert!(failure.message.ends_with("expected at most 262144 bytes (256 KiB), got more"), "{failure}");
}

#[test]
fn text_that_is_not_utf_8_is_an_error_with_its_place() {
    let folders = Folders::new("utf8");
    folders.write_global(b"{\n \"\xE9\": 1 }");
    let failure = folders.load().unwrap_err();
    assert!(failure.message.contains("(line 2, column 3): expected UTF-8, got the byte 0xE9"), "{failure}");
}

/// A good file with one fault in it; the JSON path; what the message must say.
const FAULTS: &[(&str, &str, &str)] = &[
    ("[]", "$", "line 1, column 1): expected an object, got an array"),
    ("{}", "$", "expected a key \"version\", which is missing"),
    (r#"{"version":1}"#, "$", "expected a key \"hooks\", which is missing"),
    (r#"{"version":2,"hooks":{}}"#, "$.version", "line 1, column 12): expected the number 1, got 2"),
    (r#"{"version":"1","hooks":{}}"#, "$.version", "expected the number 1, got \"1\""),
    (r#"{"version":1,"hooks":[]}"#, "$.hooks", "expected an object, got an array"),
    (r#"{"version":1,"hooks":null}"#, "$.hooks", "expected an object, got null"),
    (r#"{"$schema":1,"version":1,"hooks":{}}"#, "$.$schema", "expected a string, got 1"),
    (r#"{"version":1,"hook":{}}"#, "$.hook", "line 1, column 14): unknown key \"hook\"; did you mean \"hooks\"?"),
    (r#"{"version":1,"hooks":{},"comment":""}"#, "$.comment", "expected \"$schema\", \"version\" or \"hooks\""),
    (
        r#"{"version":1,"hooks":{"Tool:End":[]}}"#,
        r#"$.hooks["Tool:End"]"#,
        "unknown event \"Tool:End\"; did you mean \"tool:end\"?",
    ),
    (
        r#"{"version":1,"hooks":{"stop":[]}}"#,
        "$.hooks.stop",
        "expected \"run:start\", \"run:end\", \"tool:start\", \"tool:end\", \"compact:start\" or \"compact:end\"",
    ),
    (r#"{"version":1,"hooks":{"run:end":{"command":"x"}}}"#, r#"$.hooks["run:end"]"#, "expected an array"),
    (r#"{"version":1,"hooks":{"run:end":["x"]}}"#, r#"$.hooks["run:end"][0]"#, "expected an object, got \"x\""),
    (
        r#"{"version":1,"hooks":{"run:end":[{"command":"a"},{"comand":"b"}]}}"#,
        r#"$.hooks["run:end"][1].comand"#,
        "line 1, column 51): unknown key \"comand\"; did you mean \"command\"?",
    ),
    (
        r#"{"version":1,"hooks":{"run:end":[{"command":"a","timeout":5}]}}"#,
        r#"$.hooks["run:end"][0].timeout"#,
        "did you mean \"timeoutMs\"?",
    ),
    (
        r#"{"version":1,"hooks":{"run:end":[{"timeoutMs":5}]}}"#,
        r#"$.hooks["run:end"][0]"#,
        "expected a key \"command\", which is missing",
    ),
    (
        r#"{"version":1,"hooks":{"run:end":[{"command":""}]}}"#,
        r#"$.hooks["run:end"][0].command"#,
        "not blank, got \"\"",
    ),
    (r#"{"version":1,"hooks":{"run:end":[{"command":" \n\t"}]}}"#, r#"$.hooks["run:end"][0].command"#, "not blank"),
    (
        r#"{"version":1,"hooks":{"run:end":[{"command":["a"]}]}}"#,
        r#"$.hooks["run:end"][0].command"#,
        "in a string, got",
    ),
    (r#"{"version":1,"hooks":{"run:end":[{"command":"a\u0000"}]}}"#, r#"$.hooks["run:end"][0].command"#, "U+0000"),
    (
        r#"{"version":1,"hooks":{"run:end":[{"command":"a","match":"*"}]}}"#,
        r#"$.hooks["run:end"][0].match"#,
        "line 1, column 49): \"match\" is only accepted on \"tool:start\" and \"tool:end\"",
    ),
    (
        r#"{"version":1,"hooks":{"tool:end":[{"command":"a","match":"[a"}]}}"#,
        r#"$.hooks["tool:end"][0].match"#,
        "expected a glob, but \"[a\" is none: a [ has no ]",
    ),
    (r#"{"version":1,"hooks":{"tool:end":[{"command":"a","match":""}]}}"#, r#"$.hooks["tool:end"][0].match"#, "empty"),
    (r#"{"version":1,"hooks":{"tool:end":[{"command":"a","match":3}]}}"#, r#"$.hooks["tool:end"][0].match"#, "got 3"),
];

#[test]
fn every_fault_is_told_with_its_path_its_place_and_what_was_expected() {
    let folders = Folders::new("faults");
    for (content, path, expected) in FAULTS {
        folders.write_project(content);
        let failure = folders.load().expect_err(content);
        let start = format!("Invalid hooks configuration {}: {path} (line ", folders.project().display());
        assert!(failure.message.starts_with(&start), "{failure}");
        assert!(failure.message.contains(expected), "{failure}\n{expected}");
        assert_eq!(failure.path.as_deref(), Some(*path));
        assert_eq!(fs::read_to_string(folders.project()).unwrap(), *content, "the file is untouched");
    }
}

#[test]
fn timeouts_are_integers_from_1_to_120000_by_value() {
    let folders = Folders::new("timeouts");
    let file =
        |timeout: &str| format!(r#"{{"version":1,"hooks":{{"run:end":[{{"command":"x","timeoutMs":{timeout}}}]}}}}"#);
    for (timeout, value) in [("1", 1), ("120000", 120_000), ("1.0", 1), ("1e3", 1000), ("12E4", 120_000)] {
        folders.write_global(file(timeout));
        let files = folders.load().unwrap();
        let (_, hook) = files.commands().next().unwrap();
        assert_eq!(hook.timeout.as_millis(), value, "{timeout}");
    }
    for timeout in ["0", "-1", "1.5", "120001", "2147483648", "1e999", "\"5\"", "null", "true", "[5]", "{}"] {
        folders.write_global(file(timeout));
        let failure = folders.load().expect_err(timeout);
        assert!(failure.message.contains("expected an integer from 1 to 120000, got "), "{failure}");
    }
}

#[test]
fn one_bad_entry_fails_the_file_and_nothing_loads() {
    let folders = Folders::new("partial");
    folders.write_global(one("good"));
    folders.write_project(EXAMPLE.replace("\"run:end\"", "\"run:emd\""));
    let failure = folders.load().unwrap_err();
    assert!(failure.message.contains("did you mean \"run:end\"?") && failure.message.contains("line 8, column 5"));
}

#[test]
fn what_is_no_json_is_an_error_with_line_and_column() {
    let folders = Folders::new("json");
    for (content, expected) in [
        (
            EXAMPLE.replace("record-run.mjs\" }\n    ]", "record-run.mjs\" },\n    ]"),
            "line 9, column 51): a trailing comma",
        ),
        (EXAMPLE.replace("{\n  \"version\"", "{\n  // ours\n  \"version\""), "line 2, column 3): JSON has no comments"),
        (EXAMPLE.replacen("\"hooks\"", "\"hooks\": {},\n  \"hooks\"", 1), "line 4, column 3): duplicate key \"hooks\""),
        (EXAMPLE.replace("\"run:end\"", "\"tool:end\""), "line 8, column 5): duplicate key \"tool:end\""),
        (String::new(), "line 1, column 1): expected a value, got the end of the text"),
        ("[".repeat(100_000), "nested deeper than 128 levels"),
    ] {
        folders.write_global(&content);
        let failure = folders.load().expect_err(&content);
        assert!(failure.message.contains(expected), "{failure}\n{expected}");
    }
}
