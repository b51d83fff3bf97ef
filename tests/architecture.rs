//! The code keeps the layers and the form that ARCHITECTURE.md promises. Reads the sources; knows nothing of what they do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use source::{module_of, paths_to_modules, without_comments_and_strings};

/// Each module with its level: it may import those of lower levels, and itself. Modules that are planned are here as well,
/// so that they come into the layer that was thought out for them.
const LEVELS: &[(&str, u8)] = &[
    ("types", 0),
    ("error", 0),
    ("event", 0),
    ("work_time", 0),
    ("config_file", 1),
    ("glob", 1),
    ("host", 1),
    ("json", 1),
    ("workspace", 1),
    ("process", 1),
    ("permission", 2),
    ("sandbox", 2),
    ("model", 2),
    ("session", 2),
    ("hooks", 2),
    ("background", 2),
    ("definitions", 2),
    ("tasks", 2),
    ("context", 3),
    ("tools", 3),
    ("agent", 4),
    ("node", 5),
];

/// Neighbours on one level may know each other, and event data is made of types and errors; these pairs may not.
const STRANGERS: &[(&str, &str)] = &[
    ("hooks", "permission"),
    ("hooks", "process"),
    ("hooks", "sandbox"),
    ("permission", "hooks"),
    ("tools", "agent"),
    ("tools", "session"),
    ("tools", "permission"),
    ("types", "error"),
    ("types", "event"),
];

const MAX_LINES: usize = 500;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All files below the folder with one of the extensions, as paths from the root. A folder that is not there has none.
fn files(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                folders.push(path);
            } else if extension.is_some_and(|extension| extensions.contains(&extension)) {
                found.push(path.strip_prefix(root()).unwrap().to_path_buf());
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn level(module: &str) -> Option<u8> {
    LEVELS.iter().find(|(name, _)| *name == module).map(|(_, level)| *level)
}

/// Why a module may not import another; none if it may.
fn breach(module: &str, imported: &str) -> Option<String> {
    if module == imported {
        return None;
    }
    if STRANGERS.contains(&(module, imported)) {
        return Some(format!("{module} must not know {imported}"));
    }
    match (level(module)?, level(imported)) {
        (_, None) => Some(format!("{imported} has no level yet: give it one in tests/architecture.rs")),
        (own, Some(other)) if other > own => Some(format!("{module} (L{own}) must not import {imported} (L{other})")),
        _ => None,
    }
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn every_module_has_a_level() {
    let unknown: BTreeSet<_> = files("src", &["rs"])
        .iter()
        .filter_map(|path| module_of(path))
        .filter(|module| level(module).is_none())
        .collect();
    assert!(unknown.is_empty(), "give these a level in tests/architecture.rs: {unknown:?}");
}

#[test]
fn modules_import_only_what_their_level_allows() {
    let mut problems = Vec::new();
    for path in files("src", &["rs"]) {
        let Some(module) = module_of(&path) else { continue };
        for (line, imported) in paths_to_modules(&path, &read(&path)) {
            if let Some(why) = breach(&module, &imported) {
                problems.push(format!("{}:{line}: {why}", path.display()));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn only_the_bridge_mentions_napi() {
    let mut problems = Vec::new();
    for path in files("src", &["rs"]) {
        if module_of(&path).as_deref() == Some("node") {
            continue;
        }
        for (index, line) in without_comments_and_strings(&read(&path)).lines().enumerate() {
            if line.contains("napi") {
                problems.push(format!("{}:{}: only src/node may mention napi", path.display(), index + 1));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn every_file_begins_with_a_header() {
    let mut problems = Vec::new();
    for path in ["src", "tests"].iter().flat_map(|folder| files(folder, &["rs"])) {
        if !read(&path).starts_with("//! ") {
            problems.push(format!("{}: does not begin with `//!` and what it does", path.display()));
        }
    }
    for path in ["lib", "bin", "scripts", "bench", "examples", "__test__"].iter().flat_map(|f| files(f, &["js", "mjs"]))
    {
        let content = read(&path);
        // A program's first line is for the system.
        let start =
            content.strip_prefix("#!").and_then(|rest| rest.split_once('\n')).map_or(&*content, |(_, rest)| rest);
        if !start.starts_with("// ") && !start.starts_with("/*") {
            problems.push(format!("{}: does not begin with a comment that says what it does", path.display()));
        }
    }
    assert_none(&problems);
}

#[test]
fn no_file_is_over_500_lines() {
    let folders = ["src", "tests", "supervisor", "lib", "bin", "scripts", "bench", "examples", "__test__"];
    let mut problems = Vec::new();
    for path in folders.iter().flat_map(|folder| files(folder, &["rs", "js", "mjs"])) {
        let lines = read(&path).lines().count();
        if lines > MAX_LINES {
            problems.push(format!("{}: {lines} lines: it is two things, part them", path.display()));
        }
    }
    assert_none(&problems);
}

#[test]
fn breaches_are_told_from_imports_that_are_right() {
    assert_eq!(breach("agent", "hooks"), None);
    assert_eq!(breach("session", "host"), None);
    assert_eq!(breach("session", "session"), None);
    assert!(breach("types", "agent").unwrap().contains("(L0) must not import agent (L4)"));
    assert!(breach("hooks", "permission").unwrap().contains("must not know"));
    assert!(breach("tools", "session").unwrap().contains("must not know"));
    assert!(breach("agent", "elsewhere").unwrap().contains("no level"));
}
