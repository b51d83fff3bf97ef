//! `write_file`, `edit_file` and `delete_file`: what they change, what they refuse, and what they leave alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod file_tools_support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::Mutex;

use file_tools_support::{OPENERS, Tree, run, run_seeing};
use lite_agent::tools::builtin::{Before, FileToolOptions, FileTools, RunPorts};
use rustix::fs::{FileType, Mode, mknodat};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const CHANGES: [&str; 3] = ["write_file", "edit_file", "delete_file"];

/// Input that would do for each of them.
fn input(path: &str) -> Value {
    json!({ "path": path, "content": "new", "old_text": "old", "new_text": "new" })
}

fn mode(tree: &Tree, path: &str) -> u32 {
    fs::metadata(tree.root().join(path)).unwrap().permissions().mode() & 0o7777
}

fn set_mode(tree: &Tree, path: &str, mode: u32) {
    fs::set_permissions(tree.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
}

fn pipe(tree: &Tree, path: &str) {
    let root = fs::File::open(tree.root()).unwrap();
    mknodat(&root, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
}

#[test]
fn a_file_is_created_with_its_folders_and_replaced_whole() {
    let tree = Tree::new();
    assert_eq!(
        tree.ok("write_file", json!({ "path": "a/b/c.txt", "content": "one\r\n\u{FEFF}é" })),
        "created 'a/b/c.txt' with 10 bytes"
    );
    assert_eq!(tree.read("a/b/c.txt"), "one\r\n\u{FEFF}é");
    let told = tree.ok("write_file", json!({ "path": "a/b/c.txt", "content": "" }));
    assert_eq!(told, "replaced the content of 'a/b/c.txt' with 0 bytes");
    assert_eq!(tree.read("a/b/c.txt"), "");
    assert_eq!(tree.names("a/b"), ["c.txt"]);
}

#[test]
fn modes_are_kept() {
    let tree = Tree::new();
    for (name, given, kept) in
        [("plain", 0o644, 0o644), ("program", 0o755, 0o755), ("private", 0o600, 0o600), ("odd", 0o647, 0o647)]
    {
        tree.file(name, "old");
        set_mode(&tree, name, given);
        tree.ok("write_file", json!({ "path": name, "content": "old, new" }));
        assert_eq!(mode(&tree, name), kept, "{name}");
        tree.ok("edit_file", json!({ "path": name, "old_text": "new", "new_text": "x" }));
        assert_eq!(mode(&tree, name), kept, "{name}");
    }
    // Whoever may run new content as its owner was not asked.
    tree.file("set-id", "old");
    set_mode(&tree, "set-id", 0o6755);
    tree.ok("write_file", json!({ "path": "set-id", "content": "new" }));
    assert_eq!(mode(&tree, "set-id"), 0o755);
}

#[test]
fn an_owner_is_kept_where_the_system_allows() {
    let tree = Tree::new();
    tree.file("theirs", "old");
    let path = tree.root().join("theirs");
    if std::os::unix::fs::chown(&path, Some(12_345), Some(12_346)).is_err() {
        // Only root may give files away: then ours is what there is to keep.
        let own = fs::metadata(&path).unwrap();
        tree.ok("write_file", input("theirs"));
        assert_eq!(fs::metadata(&path).unwrap().uid(), own.uid());
        return;
    }
    tree.ok("write_file", input("theirs"));
    let kept = fs::metadata(&path).unwrap();
    assert_eq!((kept.uid(), kept.gid(), mode(&tree, "theirs")), (12_345, 12_346, 0o644));
}

#[test]
fn read_only_files_stay_as_they_are() {
    let tree = Tree::new();
    tree.file("kept", "old");
    set_mode(&tree, "kept", 0o444);
    for tool in CHANGES {
        let refused = tree.error(tool, input("kept"));
        assert!(refused.contains("is read-only and stays as it is; make it writable first"), "{refused}");
    }
    assert_eq!(tree.read("kept"), "old");
    assert_eq!(tree.names("."), ["kept"]);
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let tree = Tree::new();
    tree.folder("folder");
    pipe(&tree, "pipe");
    let _listener = UnixListener::bind(tree.root().join("socket")).unwrap();
    for (path, what) in
        [("folder", "is a folder"), ("pipe", "is a pipe"), ("socket", "is a socket"), (".", "is a folder")]
    {
        for tool in ["read_file", "write_file", "edit_file", "delete_file"] {
            let refused = tree.error(tool, input(path));
            assert!(refused.contains(what), "{tool} {path}: {refused}");
        }
    }
    assert!(tree.error("grep", json!({ "path": "pipe", "pattern": "x" })).contains("is a pipe"));
    assert!(tree.error("write_file", input("new/")).contains("names a folder"));
    assert_eq!(tree.names("."), ["folder", "pipe", "socket"]);
}

#[test]
fn devices_are_refused_where_the_test_may_make_one() {
    let tree = Tree::new();
    let root = fs::File::open(tree.root()).unwrap();
    // 1:3 is the null device. Only root may make one, and not everywhere.
    let made = mknodat(&root, "null", FileType::CharacterDevice, Mode::from_raw_mode(0o666), rustix::fs::makedev(1, 3));
    let expected = if made.is_ok() { "is a device" } else { "does not exist" };
    for tool in ["read_file", "edit_file", "delete_file"] {
        assert!(tree.error(tool, input("null")).contains(expected));
    }
}

#[test]
fn links_are_followed_inside_and_refused_outside() {
    let tree = Tree::new();
    tree.file("real/a", "old").link("alias", "real/a").link("folder", "real");
    tree.ok("edit_file", input("alias"));
    assert_eq!(tree.read("real/a"), "new");
    assert!(tree.root().join("alias").is_symlink());
    tree.ok("write_file", input("folder/deep/b"));
    assert_eq!(tree.read("real/deep/b"), "new");
    assert_eq!(tree.ok("delete_file", input("alias")), "deleted 'real/a'");
    assert!(tree.root().join("alias").is_symlink() && !tree.root().join("real/a").exists());

    fs::write(tree.outside().join("secret"), "old").unwrap();
    tree.link("out", tree.outside().join("secret")).link("out-folder", tree.outside());
    tree.link("out-new", tree.outside().join("new"));
    for tool in CHANGES {
        for path in ["out", "out-folder/secret", "out-new", "../outside/secret", "out-folder/new/deep"] {
            let refused = tree.error(tool, input(path));
            assert!(refused.contains("out of the working folder") || refused.contains("outside the working folder"));
        }
    }
    assert_eq!(fs::read_to_string(tree.outside().join("secret")).unwrap(), "old");
    assert_eq!(fs::read_dir(tree.outside()).unwrap().count(), 1);
}

#[test]
fn a_link_that_appears_after_the_decision_is_refused() {
    for opener in OPENERS {
        let tree = Tree::new();
        tree.file("file", "old").file("folder/file", "old");
        fs::write(tree.outside().join("file"), "old, and secret").unwrap();
        let tools = tree.tools().with_opener(opener);
        let decided: Vec<Value> = ["file", "folder/file"]
            .iter()
            .map(|path| tools.permission_input("edit_file", &input(path)).unwrap())
            .collect();
        fs::remove_file(tree.root().join("file")).unwrap();
        fs::remove_dir_all(tree.root().join("folder")).unwrap();
        tree.link("file", tree.outside().join("file")).link("folder", tree.outside());
        for input in &decided {
            for tool in ["read_file", "write_file", "edit_file", "delete_file"] {
                let outcome = run(&tools, tool, input);
                assert!(outcome.is_error, "{tool} {input}");
                assert!(outcome.content.contains("changed while it was being opened"), "{}", outcome.content);
            }
            for path in ["file", "folder"] {
                for tool in ["glob", "grep"] {
                    let outcome = run(&tools, tool, &json!({ "path": path, "pattern": ".*" }));
                    assert!(outcome.is_error && !outcome.content.contains("secret"), "{}", outcome.content);
                }
            }
        }
        assert_eq!(fs::read_to_string(tree.outside().join("file")).unwrap(), "old, and secret");
        assert_eq!(fs::read_dir(tree.outside()).unwrap().count(), 1);
        assert!(tree.root().join("file").is_symlink());
    }
}

#[test]
fn run_takes_canonical_paths_alone() {
    let tree = Tree::new();
    tree.file("a", "old");
    for path in ["./a", "b/../a", "/a", "a/", "", "../root/a"] {
        let refused = run(&tree.tools(), "read_file", &json!({ "path": path }));
        assert!(refused.is_error, "{path}");
    }
}

#[test]
fn an_edit_of_a_file_that_changed_meanwhile_is_refused() {
    let tree = Tree::new();
    tree.file("a", "old");
    let path = tree.root().join("a");
    // Whoever is told what the file held is told between the read and the write.
    let meddle = |_: &str, _: Before<'_>, _: Option<&[u8]>| {
        fs::write(&path, "old, and more").unwrap();
        Ok(())
    };
    for (tool, left) in
        [("edit_file", "old, and more"), ("write_file", "old, and more"), ("delete_file", "old, and more")]
    {
        fs::write(&path, "old").unwrap();
        let ports = RunPorts { visible: &|_| true, cancel: &CancellationToken::new(), before_change: Some(&meddle) };
        let outcome = tree.tools().run(tool, &input("a"), &ports);
        assert!(outcome.is_error && outcome.content.contains("changed while"), "{tool}: {}", outcome.content);
        assert_eq!(tree.read("a"), left);
        assert_eq!(tree.names("."), ["a"]);
    }
}

#[test]
fn what_a_file_held_is_told_before_it_changes() {
    let tree = Tree::new();
    tree.file("a", "old").file("large", "old".repeat(100)).file("b", "old");
    let options = FileToolOptions { max_snapshot_bytes: 10, ..FileToolOptions::default() };
    let tools = FileTools::new(&tree.root(), options).unwrap();
    let told: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let keep = |path: &str, before: Before<'_>, after: Option<&[u8]>| {
        let still = fs::read(tree.root().join(path)).ok();
        let state = match before {
            Before::Held(bytes) => {
                assert_eq!(still.as_deref(), Some(bytes));
                format!("{path} held {}", String::from_utf8_lossy(bytes))
            }
            Before::Absent => {
                assert_eq!(still, None);
                assert!(!tree.root().join("new").exists());
                format!("{path} was absent")
            }
            Before::TooLarge { bytes } => format!("{path} had {bytes} bytes"),
            _ => unreachable!(),
        };
        let after = after.map_or("nothing".to_string(), |after| String::from_utf8_lossy(after).into_owned());
        told.lock().unwrap().push(format!("{state}, then {after}"));
        Ok(())
    };
    let ports = RunPorts { visible: &|_| true, cancel: &CancellationToken::new(), before_change: Some(&keep) };
    for (tool, path) in [
        ("write_file", "new/file"),
        ("write_file", "a"),
        ("edit_file", "b"),
        ("write_file", "large"),
        ("delete_file", "a"),
    ] {
        let outcome = tools.run(tool, &input(path), &ports);
        assert!(!outcome.is_error, "{}", outcome.content);
    }
    // Calls that cannot succeed are not told.
    tools.run("edit_file", &json!({ "path": "b", "old_text": "absent", "new_text": "" }), &ports);
    tools.run("delete_file", &input("missing"), &ports);
    tools.run("read_file", &input("b"), &ports);
    assert_eq!(
        *told.lock().unwrap(),
        [
            "new/file was absent, then new",
            "a held old, then new",
            "b held old, then new",
            "large had 300 bytes, then new",
            "a held new, then nothing"
        ]
    );
}

#[test]
fn nothing_changes_where_what_it_held_cannot_be_kept() {
    let tree = Tree::new();
    tree.file("a", "old");
    let refuse = |_: &str, _: Before<'_>, _: Option<&[u8]>| Err("the disk is full".to_string());
    let ports = RunPorts { visible: &|_| true, cancel: &CancellationToken::new(), before_change: Some(&refuse) };
    for (tool, path) in [("write_file", "a"), ("write_file", "new/b"), ("edit_file", "a"), ("delete_file", "a")] {
        let outcome = tree.tools().run(tool, &input(path), &ports);
        assert!(outcome.is_error && outcome.content.contains("could not be kept first: the disk is full"));
    }
    assert_eq!((tree.read("a").as_str(), tree.names(".")), ("old", vec!["a".to_string()]));
}

#[test]
fn an_edit_needs_one_occurrence() {
    let tree = Tree::new();
    let text = "fn a() {\n    one();\n}\nfn b() {\n    one();\n}\n";
    tree.file("a.rs", text);
    for (old, hint) in [
        ("two();", "does not hold old_text"),
        ("one();", "occurs 2 times (lines 2, 5)"),
        ("fn a() {\n  one();\n}", "line 1 differs from it in spaces alone"),
        ("", "old_text is empty"),
    ] {
        let refused = tree.error("edit_file", json!({ "path": "a.rs", "old_text": old, "new_text": "x" }));
        assert!(refused.contains(hint) && refused.contains("'a.rs' was not changed"), "{refused}");
        assert_eq!(tree.read("a.rs"), text);
    }
    let told =
        tree.ok("edit_file", json!({ "path": "a.rs", "old_text": "one()", "new_text": "two()", "replace_all": true }));
    assert_eq!(told, "replaced 2 occurrences in 'a.rs', the first at line 2");
    assert_eq!(tree.read("a.rs"), text.replace("one", "two"));
}

#[test]
fn hints_do_not_tell_what_may_not_be_read() {
    let tree = Tree::new();
    tree.file("a", "password = 1234\n").file("hidden/secrets.txt", "x");
    let edit = json!({ "path": "a", "old_text": "password = 9999", "new_text": "x" });
    assert!(tree.error("edit_file", edit.clone()).contains("1234"));
    let hidden = run_seeing(&tree.tools(), "edit_file", &edit, &|_| false);
    assert!(hidden.is_error && !hidden.content.contains("1234"), "{}", hidden.content);
    let wrong = json!({ "path": "hidden/secret.txt" });
    assert!(tree.error("read_file", wrong.clone()).contains("did you mean 'hidden/secrets.txt'?"));
    let hidden = run_seeing(&tree.tools(), "read_file", &wrong, &|path| !path.starts_with("hidden"));
    assert!(!hidden.content.contains("secrets") && !hidden.content.contains("nearest"), "{}", hidden.content);
}

#[test]
fn binary_files_and_other_encodings_are_said_and_not_edited() {
    let tree = Tree::new();
    tree.file("binary", b"old\0\x01").file("latin", b"old caf\xE9").file("utf16", b"\xFF\xFEo\0l\0d\0");
    for (path, what) in [("binary", "is a binary file"), ("latin", "is not UTF-8 text"), ("utf16", "is UTF-16 text")] {
        let before = fs::read(tree.root().join(path)).unwrap();
        for tool in ["read_file", "edit_file"] {
            let refused = tree.error(tool, input(path));
            assert!(refused.contains(what), "{refused}");
        }
        assert_eq!(fs::read(tree.root().join(path)).unwrap(), before);
    }
}

#[test]
fn line_ends_and_byte_order_marks_are_kept() {
    let tree = Tree::new();
    tree.file("crlf", "\u{FEFF}one\r\ntwo\r\nthree\r\n").file("mixed", "one\r\ntwo\nthree\r\n");
    let edit = |path: &str| json!({ "path": path, "old_text": "one\ntwo\n", "new_text": "1\n2\n" });
    tree.ok("edit_file", edit("crlf"));
    assert_eq!(tree.read("crlf"), "\u{FEFF}1\r\n2\r\nthree\r\n");
    let refused = tree.error("edit_file", edit("mixed"));
    assert!(refused.contains("line ends"), "{refused}");
    assert_eq!(tree.read("mixed"), "one\r\ntwo\nthree\r\n");
}

#[test]
fn sizes_are_limited_and_said() {
    let tree = Tree::new();
    let large = fs::File::create(tree.root().join("large")).unwrap();
    large.set_len(10 * 1024 * 1024 + 1).unwrap();
    let long = "x".repeat(10 * 1024 * 1024 + 1);
    for (tool, input) in [("read_file", input("large")), ("edit_file", input("large"))] {
        let refused = tree.error(tool, input);
        assert!(refused.contains("has 10485761 bytes, and this tool handles at most 10485760"), "{refused}");
    }
    let refused = tree.error("write_file", json!({ "path": "new", "content": long }));
    assert!(refused.contains("has 10485761 bytes, and at most 10485760 can be written"), "{refused}");
    tree.ok("write_file", json!({ "path": "new", "content": &long[1..] }));
    assert_eq!(fs::metadata(tree.root().join("new")).unwrap().len(), 10 * 1024 * 1024);
}

#[test]
fn nothing_is_left_after_a_write_that_fails() {
    let tree = Tree::new();
    tree.file("a", "old").folder("taken");
    // A folder that comes to where the file was to be, at the last moment.
    let meddle = |_: &str, _: Before<'_>, _: Option<&[u8]>| {
        fs::create_dir(tree.root().join("late")).unwrap();
        Ok(())
    };
    let ports = RunPorts { visible: &|_| true, cancel: &CancellationToken::new(), before_change: Some(&meddle) };
    assert!(tree.tools().run("write_file", &input("late"), &ports).is_error);
    assert!(tree.error("write_file", input("a/b")).contains("goes through a file"));
    assert!(tree.error("write_file", input("taken")).contains("is a folder"));
    assert_eq!(tree.names("."), ["a", "late", "taken"]);
    assert!(tree.names("late").is_empty());
}

#[test]
fn a_dangling_link_writes_where_it_leads() {
    let tree = Tree::new();
    tree.folder("real").link("alias", "real/new");
    assert_eq!(tree.ok("write_file", input("alias")), "created 'real/new' with 3 bytes");
    symlink(tree.outside().join("nowhere"), tree.root().join("out")).unwrap();
    assert!(tree.error("write_file", input("out")).contains("out of the working folder"));
}
