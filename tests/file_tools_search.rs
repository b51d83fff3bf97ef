//! `read_file`, `glob` and `grep`: what they find, what they leave out, and that they say so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod file_tools_support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;

use file_tools_support::{Tree, call, run_seeing};
use lite_agent::tools::builtin::{FileToolOptions, FileTools, RunPorts};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const MAX_RESULT_BYTES: usize = 16 * 1024;

fn glob(tree: &Tree, pattern: &str) -> Vec<String> {
    tree.ok("glob", json!({ "pattern": pattern })).lines().map(str::to_string).collect()
}

fn grep(tree: &Tree, input: Value) -> Vec<String> {
    tree.ok("grep", input).lines().map(str::to_string).collect()
}

#[test]
fn tools_can_be_shared_by_threads() {
    fn is_shared<T: Clone + Send + Sync + 'static>() {}
    is_shared::<FileTools>();
}

#[test]
fn what_permission_sees_is_canonical() {
    let tree = Tree::new();
    tree.file("src/a", "x").link("alias", "src");
    let tools = tree.tools();
    for (tool, input, expected) in [
        ("read_file", json!({ "path": "./x/../alias/a", "limit": 3 }), json!({ "path": "src/a", "limit": 3 })),
        ("write_file", json!({ "path": "alias/new", "content": "" }), json!({ "path": "src/new", "content": "" })),
        ("glob", json!({ "pattern": "*" }), json!({ "pattern": "*", "path": "." })),
        ("grep", json!({ "pattern": "x", "path": "" }), json!({ "pattern": "x", "path": "." })),
        ("grep", json!({ "pattern": "x", "path": tree.root() }), json!({ "pattern": "x", "path": "." })),
        ("glob", json!({ "pattern": "*", "path": "alias/" }), json!({ "pattern": "*", "path": "src" })),
    ] {
        let seen = tools.permission_input(tool, &input).unwrap();
        assert_eq!(seen, expected);
        // What is canonical stays as it is.
        assert_eq!(tools.permission_input(tool, &seen).unwrap(), seen);
    }
    for input in [json!({}), json!({ "path": 3 }), json!("a"), json!({ "path": null })] {
        assert!(tools.permission_input("read_file", &input).is_err(), "{input}");
    }
}

#[test]
fn a_file_is_read_as_it_is_or_in_part() {
    let tree = Tree::new();
    tree.file("a", "\u{FEFF}one\r\ntwo\r\nthree").file("empty", "");
    assert_eq!(tree.ok("read_file", json!({ "path": "a" })), "\u{FEFF}one\r\ntwo\r\nthree");
    assert_eq!(
        tree.ok("read_file", json!({ "path": "a", "offset": 2, "limit": 1 })),
        "two\r\n[lines 2 to 2 of 3; offset 3 goes on]"
    );
    assert_eq!(tree.ok("read_file", json!({ "path": "empty" })), "[the file is empty]");
    let refused = tree.error("read_file", json!({ "path": "a", "offset": 9 }));
    assert!(refused.contains("'a': there is no line 9: the file has 3 lines"), "{refused}");
    assert!(tree.error("read_file", json!({ "path": "a", "offset": 0 })).contains("from 1, got 0"));
    assert!(tree.error("read_file", json!({ "path": "." })).contains("is a folder; glob lists what is in it"));
}

#[test]
fn a_long_file_can_be_read_in_pages() {
    let tree = Tree::new();
    let text: String = (1..=9_000).map(|number| format!("{number}: {}\n", "é".repeat(number % 50))).collect();
    tree.file("long", &text);
    let shown = tree.ok("read_file", json!({ "path": "long" }));
    assert!(shown.len() <= MAX_RESULT_BYTES && shown.starts_with("1: é\n") && shown.contains("\n9000: \n"));
    let (mut read, mut offset) = (String::new(), 1);
    loop {
        let page = tree.ok("read_file", json!({ "path": "long", "offset": offset, "limit": 150 }));
        let (lines, note) = page.rsplit_once('[').unwrap_or((&page, ""));
        read.push_str(lines);
        match note.split("offset ").nth(1) {
            Some(next) => offset = next.split(' ').next().unwrap().parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(read, text);
}

#[test]
fn a_wrong_path_is_answered_with_the_nearest_that_exists() {
    let tree = Tree::new();
    tree.file("src/server/index.ts", "x").file("README.md", "x").file("lib/deep/util.ts", "x");
    tree.link("away", tree.outside());
    fs::write(tree.outside().join("hidden.ts"), "secret").unwrap();
    for (path, hint) in [
        ("src/server/indx.ts", "did you mean 'src/server/index.ts'?"),
        ("src/sever/index.ts", "did you mean 'src/server/index.ts'?"),
        ("src/sever/none.ts", "did you mean 'src/server'?"),
        ("readme.md", "did you mean 'README.md'?"),
        ("src/server/elsewhere.rs", "the nearest folder that exists is 'src/server'"),
        ("util.ts", "did you mean 'lib/deep/util.ts'?"),
        ("src/server/util.ts", "did you mean 'lib/deep/util.ts'?"),
        ("src/server/index.ts/x", "goes through a file"),
        ("completely/else", "does not exist, nor does a path like it"),
    ] {
        let refused = tree.error("read_file", json!({ "path": path }));
        assert!(refused.contains(hint), "{path}: {refused}");
    }
    let hidden =
        run_seeing(&tree.tools(), "read_file", &json!({ "path": "util.ts" }), &|path| !path.starts_with("lib"));
    assert!(!hidden.content.contains("deep"), "{}", hidden.content);
    // What is behind a link that is like it is not looked at.
    let refused = tree.error("read_file", json!({ "path": "awya/hidden.ts" }));
    assert!(!refused.contains("away/"), "{refused}");
    for tool in ["glob", "grep"] {
        let refused = tree.error(tool, json!({ "pattern": "x", "path": "src/sever" }));
        assert!(refused.contains("did you mean 'src/server'?"), "{refused}");
    }
}

#[test]
fn globs_list_files_in_order_with_dot_files_and_without_what_git_ignores() {
    let tree = Tree::new();
    for path in ["b.ts", "a.ts", ".hidden.ts", "src/c.ts", "src/.env", "node_modules/x/d.ts", ".git/e.ts", "f.js"] {
        tree.file(path, "x");
    }
    tree.file(".gitignore", "node_modules/\n*.js\n").folder("src/empty");
    tree.link("link.ts", "src/c.ts").link("out.ts", tree.outside()).link("dangling.ts", "none");
    assert_eq!(glob(&tree, "*.ts"), [".hidden.ts", "a.ts", "b.ts", "link.ts"]);
    assert_eq!(glob(&tree, "**/*.ts"), [".hidden.ts", "a.ts", "b.ts", "link.ts", "src/c.ts"]);
    assert_eq!(glob(&tree, "src/*"), ["src/.env", "src/c.ts"]);
    assert_eq!(glob(&tree, "{a,b}.?s"), ["a.ts", "b.ts"]);
    assert_eq!(tree.ok("glob", json!({ "pattern": "*.ts", "path": "src" })), "src/c.ts");
    // A folder that is named is looked into even so.
    assert_eq!(tree.ok("glob", json!({ "pattern": "*", "path": "node_modules/x" })), "node_modules/x/d.ts");
    let none = tree.ok("glob", json!({ "pattern": "c.ts" }));
    assert!(none.contains("no file in '.' matches 'c.ts'; what .gitignore names is left out"), "{none}");
    assert!(none.contains("[files in folders below match '**/c.ts']"), "{none}");
    assert!(!tree.ok("glob", json!({ "pattern": "d.ts" })).contains("below"));
    assert!(tree.error("glob", json!({ "pattern": "*", "path": "a.ts" })).contains("is a file"));
    assert!(tree.error("glob", json!({ "pattern": "[" })).contains("the glob '['"));
    let absolute = format!("{}/src/**", tree.root().display());
    assert_eq!(glob(&tree, &absolute), ["src/.env", "src/c.ts"]);
}

#[test]
fn links_are_not_listed_where_they_are_refused() {
    let tree = Tree::new();
    tree.file("a.ts", "x").link("b.ts", "a.ts");
    let options = FileToolOptions { deny_symlinks: true, ..FileToolOptions::default() };
    let tools = FileTools::new(&tree.root(), options).unwrap();
    assert_eq!(call(&tools, "glob", &json!({ "pattern": "*" })).content, "a.ts");
    let refused = call(&tools, "read_file", &json!({ "path": "b.ts" }));
    assert!(refused.is_error && refused.content.contains("fileTools.symlinks is \"deny\""), "{}", refused.content);
}

#[test]
fn ignore_rules_hold_as_in_git() {
    let tree = Tree::new();
    // The root is a folder of a repository, whose rules hold in it.
    fs::create_dir(tree.root().join("../.git")).unwrap();
    fs::write(tree.root().join("../.gitignore"), "*.log\n/root/build/\n/outside\n").unwrap();
    tree.file(".gitignore", "\u{FEFF}# comment\n!keep.log\n/top.txt\ntemp*/\n**/gen/*.c\n\\#odd\n")
        .file("deep/.gitignore", "*.md\n!a.md\n");
    for path in [
        "a.log",
        "keep.log",
        "build/x",
        "deep/build/x",
        "top.txt",
        "deep/top.txt",
        "temporary/x",
        "temp-file",
        "gen/a.c",
        "deep/gen/a.c",
        "gen/a.h",
        "#odd",
        "deep/a.md",
        "deep/b.md",
        "deep/deeper/b.md",
        "c.md",
        "outside",
    ] {
        tree.file(path, "match\n");
    }
    let expected = [
        ".gitignore",
        "c.md",
        "deep/.gitignore",
        "deep/a.md",
        "deep/build/x",
        "deep/top.txt",
        "gen/a.h",
        "keep.log",
        "outside",
        "temp-file",
    ];
    assert_eq!(glob(&tree, "**"), expected);
    let found: Vec<String> = grep(&tree, json!({ "pattern": "^match$" }));
    let files: Vec<&str> = found.iter().map(|line| line.strip_suffix(":1:match").unwrap()).collect();
    assert_eq!(files, expected.iter().copied().filter(|path| !path.ends_with("ignore")).collect::<Vec<_>>());
    // From a folder below, the rules above hold as well.
    assert_eq!(tree.ok("glob", json!({ "pattern": "**/*.md", "path": "deep" })), "deep/a.md");
    assert_eq!(
        tree.ok("glob", json!({ "pattern": "**/*.c", "path": "deep" })).lines().next().unwrap().find("no file"),
        Some(0)
    );
}

#[test]
fn lines_that_match_are_found_with_their_places() {
    let tree = Tree::new();
    tree.file("b.txt", "one\ntwo one\r\nthree\n").file("a/c.rs", "fn one() {}\n").file("a/d.txt", "ONE");
    assert_eq!(grep(&tree, json!({ "pattern": "one" })), ["a/c.rs:1:fn one() {}", "b.txt:1:one", "b.txt:2:two one"]);
    assert_eq!(grep(&tree, json!({ "pattern": "(?i)one$" })), ["a/d.txt:1:ONE", "b.txt:1:one", "b.txt:2:two one"]);
    assert_eq!(grep(&tree, json!({ "pattern": "one", "glob": "*.rs" })), ["a/c.rs:1:fn one() {}"]);
    assert_eq!(grep(&tree, json!({ "pattern": "one", "glob": "!*.rs" })), ["b.txt:1:one", "b.txt:2:two one"]);
    assert_eq!(grep(&tree, json!({ "pattern": "one", "glob": "a/**" })), ["a/c.rs:1:fn one() {}"]);
    assert_eq!(grep(&tree, json!({ "pattern": "one", "path": "a", "glob": "c.*" })), ["a/c.rs:1:fn one() {}"]);
    assert_eq!(grep(&tree, json!({ "pattern": "t(wo|hree)", "path": "b.txt" })), ["b.txt:2:two one", "b.txt:3:three"]);
    assert_eq!(tree.ok("grep", json!({ "pattern": "absent" })), "no line matches in '.'");
    for (pattern, problem) in [("(", "unclosed group"), ("a\nb", "for one line"), ("(?=x)", "look-around")] {
        let refused = tree.error("grep", json!({ "pattern": pattern }));
        assert!(refused.contains(problem) && refused.lines().count() == 1, "{refused}");
    }
    let refused = tree.error("grep", json!({ "pattern": "x{1000}{1000}{1000}" }));
    assert!(refused.contains("cannot be used"), "{refused}");
}

#[test]
fn what_a_search_leaves_out_is_said() {
    let tree = Tree::new();
    tree.file("binary", b"match\n\0")
        .file("late-binary", [b"match\n", b"other\n".repeat(200_000).as_slice(), b"\0"].concat());
    tree.file("latin", b"match caf\xE9\n").file("utf16", b"\xFF\xFEm\0a\0t\0c\0h\0\n\0");
    tree.file("wide", format!("{}match{}\n", "é".repeat(5_000), "ü".repeat(5_000)));
    fs::File::create(tree.root().join("huge")).unwrap().set_len(256 * 1024 * 1024 + 1).unwrap();
    tree.file("long-line", format!("match\n{}", "x".repeat(9 * 1024 * 1024)));
    fs::write(tree.root().join(OsStr::from_bytes(b"odd\xFF")), "match").unwrap();
    let told = tree.ok("grep", json!({ "pattern": "match" }));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "latin:1:match caf\u{FFFD}");
    assert_eq!(lines[1], "long-line:1:match");
    assert_eq!(lines[2], "utf16:1:match");
    assert!(
        lines[3].starts_with("wide:1:…é") && lines[3].contains("ématchü") && lines[3].ends_with("ü…"),
        "{}",
        lines[3]
    );
    assert!(lines[3].len() < 530);
    assert_eq!(
        lines[4..],
        [
            "[of lines over 500 bytes, … stands for what is left out]",
            "[\u{FFFD} stands for bytes that are not UTF-8 text]",
            "[2 binary files were not searched]",
            "[1 file could not be read]",
            "[not searched, over 268435456 bytes: huge]",
            "[searched only up to a line over 8388608 bytes: long-line]",
        ]
    );
    assert!(glob(&tree, "odd*").last().unwrap().contains("not UTF-8"), "{:?}", glob(&tree, "odd*"));
    // Notes name only what may be shown.
    let input = json!({ "pattern": "match", "path": "." });
    let hidden = run_seeing(&tree.tools(), "grep", &input, &|path| !matches!(path, "huge" | "long-line"));
    assert!(!hidden.content.contains("huge") && !hidden.content.contains("long-line"), "{}", hidden.content);
}

#[test]
fn results_are_limited_and_say_so() {
    let tree = Tree::new();
    for number in 0..5_100 {
        tree.file(&format!("f/{number:04}"), "match\n");
    }
    let listed = tree.ok("glob", json!({ "pattern": "**" }));
    assert!(listed.len() <= MAX_RESULT_BYTES && listed.starts_with("f/0000\n"));
    assert!(listed.contains("are left out here; narrow the pattern or the path]"));
    assert!(
        listed.contains("\nf/4999\n[the search ended after 5000 paths, and there may be more"),
        "{}",
        &listed[listed.len() - 200..]
    );
    let found = tree.ok("grep", json!({ "pattern": "match" }));
    assert!(found.len() <= MAX_RESULT_BYTES && found.starts_with("f/0000:1:match\n"));
    assert!(
        found.contains("\nf/1999:1:match\n[the search ended after 2000 lines, and there may be more"),
        "{}",
        &found[found.len() - 200..]
    );
    // Exactly as many as are shown is not too many.
    let exact = Tree::new();
    exact.file("a", "x\n".repeat(2_000));
    assert!(!exact.ok("grep", json!({ "pattern": "x" })).contains("there may be more"));
    exact.file("b", "x\n");
    assert!(exact.ok("grep", json!({ "pattern": "x" })).contains("there may be more"));
    exact.file("a", format!("{}\n", "x".repeat(450)).repeat(1_500));
    let found = exact.ok("grep", json!({ "pattern": "x" }));
    assert!(found.contains("the search ended after 1"), "{}", &found[found.len() - 300..]);
}

#[test]
fn visibility_is_asked_only_for_what_would_be_shown_and_obeyed() {
    let tree = Tree::new();
    tree.file("open/a", "match").file("open/b", "other").file("secret/c", "match").file("d", "match");
    tree.link("alias", "secret/c");
    let asked: Mutex<Vec<String>> = Mutex::default();
    let visible = |path: &str| {
        asked.lock().unwrap().push(path.to_string());
        !path.starts_with("secret")
    };
    let found = run_seeing(&tree.tools(), "grep", &json!({ "pattern": "match", "path": "." }), &visible);
    assert_eq!(found.content, "d:1:match\nopen/a:1:match");
    let mut seen = std::mem::take(&mut *asked.lock().unwrap());
    seen.sort();
    assert_eq!(seen, ["d", "open/a", "secret/c"]);
    let found = run_seeing(&tree.tools(), "glob", &json!({ "pattern": "**/[ac]*", "path": "." }), &visible);
    assert_eq!(found.content, "open/a");
    // Not even that there is something is told.
    for (tool, path) in [("grep", "secret/c"), ("grep", "secret"), ("glob", "secret")] {
        let found = run_seeing(&tree.tools(), tool, &json!({ "pattern": "[m*]*", "path": path }), &visible);
        assert!(found.content.starts_with("no "), "{}", found.content);
    }
}

#[test]
fn a_search_that_is_cancelled_ends() {
    let tree = Tree::new();
    for number in 0..300 {
        tree.file(&format!("{}/{number}", number % 7), "match\n");
    }
    let cancel = CancellationToken::new();
    let visible = |_: &str| {
        cancel.cancel();
        true
    };
    for tool in ["grep", "glob"] {
        let ports = RunPorts { visible: &visible, cancel: &cancel, before_change: None };
        let outcome = tree.tools().run(tool, &json!({ "pattern": "[m0-9*]*", "path": "." }), &ports);
        assert_eq!(outcome.content, "Error: the search was cancelled");
        assert!(outcome.is_error);
    }
}

#[test]
fn names_that_would_pass_for_other_lines_are_quoted() {
    let tree = Tree::new();
    tree.file("a\nsecret:1:x", "match");
    assert_eq!(tree.ok("glob", json!({ "pattern": "*" })), "\"a\\nsecret:1:x\"");
    assert_eq!(tree.ok("grep", json!({ "pattern": "match" })), "\"a\\nsecret:1:x\":1:match");
}

#[test]
fn searches_walk_deep_and_wide_trees() {
    let tree = Tree::new();
    let deep = vec!["d"; 300].join("/");
    tree.file(&format!("{deep}/z"), "match").file(&format!("{deep}/../after"), "match").file("zz", "match");
    for number in 0..1_000 {
        tree.file(&format!("wide/{number}/x"), "match");
    }
    let found = tree.ok("glob", json!({ "pattern": "**/{z,zz,after}" }));
    assert_eq!(found.lines().count(), 3, "{found}");
    assert!(found.ends_with("\nzz"));
    let count = tree.ok("grep", json!({ "pattern": "match", "glob": "wide/*/x" }));
    assert!(count.contains("lines, are left out here"));
}

#[test]
fn no_descriptor_stays_open() {
    let tree = Tree::new();
    tree.file("a/b", "old");
    let open = || {
        fs::read_dir("/proc/self/fd").map(|entries| {
            entries
                .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
                .filter(|target| target.starts_with(tree.root()))
                .count()
        })
    };
    let tools = tree.tools();
    for (tool, input) in [
        ("read_file", json!({ "path": "a/b" })),
        ("grep", json!({ "pattern": "old" })),
        ("glob", json!({ "pattern": "**" })),
        ("edit_file", json!({ "path": "a/b", "old_text": "old", "new_text": "new" })),
        ("write_file", json!({ "path": "a/c/d", "content": "x" })),
        ("delete_file", json!({ "path": "a/b" })),
    ] {
        assert!(!call(&tools, tool, &input).is_error);
        if let Ok(count) = open() {
            assert_eq!(count, 0, "{tool}");
        }
    }
}
