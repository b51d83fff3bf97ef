//! Which file a path means: tables, and random trees against the system's own resolution.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod file_tools_support;

use std::fs;
use std::os::unix::fs::symlink;

use file_tools_support::{OPENERS, Tree, long};
use lite_agent::workspace::{CanonicalPath, Failure, Links, Opener, Workspace};
use proptest::prelude::*;

fn workspace(tree: &Tree) -> Workspace {
    Workspace::new(&tree.root(), Links::Inside).unwrap()
}

#[test]
fn paths_resolve_to_the_file_that_they_mean() {
    let tree = Tree::new();
    let outside = tree.outside();
    tree.file("src/a.rs", "a").file("src/deep/b.rs", "b").folder("empty");
    tree.link("to-file", "src/a.rs")
        .link("to-folder", "src")
        .link("src/up", "..")
        .link("src/deep/chain", "../up/to-folder");
    tree.link("absolute", tree.root().join("src/deep")).link("dangling", "src/new.rs");
    tree.link("leaves", &outside).link("leaves-up", "../outside").link("through", "src/up/../outside/x");
    tree.link("loop", "loop").link("ping", "pong").link("pong", "ping");
    let absolute = |path: &str| tree.root().join(path).to_str().unwrap().to_string();
    let too_long = "x".repeat(256);
    let cases: Vec<(String, Result<&str, &str>)> = vec![
        ("src/a.rs".into(), Ok("src/a.rs")),
        ("./src//./a.rs".into(), Ok("src/a.rs")),
        (".".into(), Ok(".")),
        ("src/..".into(), Ok(".")),
        ("./x/../src/a.rs".into(), Ok("src/a.rs")),
        ("empty/".into(), Ok("empty")),
        ("new/file".into(), Ok("new/file")),
        ("src/new/../other".into(), Ok("src/other")),
        ("to-file".into(), Ok("src/a.rs")),
        ("to-folder/a.rs".into(), Ok("src/a.rs")),
        ("to-folder/../empty".into(), Ok("empty")),
        ("src/up/src/up/src/a.rs".into(), Ok("src/a.rs")),
        ("src/deep/chain/a.rs".into(), Ok("src/a.rs")),
        ("absolute/b.rs".into(), Ok("src/deep/b.rs")),
        ("dangling".into(), Ok("src/new.rs")),
        ("dangling/x".into(), Ok("src/new.rs/x")),
        (absolute("src/a.rs"), Ok("src/a.rs")),
        (absolute("../root/src/a.rs"), Ok("src/a.rs")),
        ("../root/src/a.rs".into(), Ok("src/a.rs")),
        ("...".into(), Ok("...")),
        ("a\\..\\b".into(), Ok("a\\..\\b")),
        ("..".into(), Err("is outside the working folder")),
        ("../outside/x".into(), Err("is outside the working folder")),
        ("src/../../x".into(), Err("is outside the working folder")),
        ("/etc/passwd".into(), Err("is outside the working folder")),
        ("/".into(), Err("is outside the working folder")),
        (format!("{}-not", tree.root().display()), Err("is outside the working folder")),
        ("src/up/../x".into(), Err("leads out of the working folder through a link")),
        ("leaves".into(), Err("leads out of the working folder through a link")),
        ("leaves/x".into(), Err("leads out of the working folder through a link")),
        ("leaves/new/x".into(), Err("leads out of the working folder through a link")),
        ("leaves-up/x".into(), Err("leads out of the working folder through a link")),
        ("through".into(), Err("leads out of the working folder through a link")),
        ("loop".into(), Err("too many links")),
        ("ping/x".into(), Err("too many links")),
        ("src/a.rs/x".into(), Err("goes through a file")),
        ("src/a.rs/..".into(), Err("goes through a file")),
        ("src/a.rs/".into(), Err("goes through a file")),
        (String::new(), Err("must not be empty")),
        ("a\0b".into(), Err("NUL")),
        (too_long, Err("is too long")),
        ("a/".repeat(9_000), Err("is too long")),
    ];
    for opener in OPENERS {
        let workspace = workspace(&tree).with_opener(opener);
        for (path, expected) in &cases {
            let resolved = workspace.resolve(path).map_err(|failure| failure.to_string());
            match expected {
                Ok(expected) => assert_eq!(resolved.as_ref().map(CanonicalPath::as_str), Ok(*expected), "{path}"),
                Err(problem) => {
                    let refused = resolved.unwrap_err();
                    assert!(refused.contains(problem), "{path}: {refused}");
                    assert!(!refused.contains(outside.to_str().unwrap()) || path.contains("outside"), "{refused}");
                }
            }
        }
    }
}

#[test]
fn links_can_be_refused_altogether() {
    let tree = Tree::new();
    tree.file("src/a.rs", "a").link("to-file", "src/a.rs").link("to-folder", "src");
    let workspace = Workspace::new(&tree.root(), Links::Deny).unwrap();
    assert_eq!(workspace.resolve("src/a.rs").unwrap().as_str(), "src/a.rs");
    for path in ["to-file", "to-folder/a.rs", "to-folder/new", "to-folder/.."] {
        let refused = workspace.resolve(path).unwrap_err();
        assert!(matches!(refused, Failure::LinkDenied { .. }), "{path}: {refused}");
    }
}

#[test]
fn a_root_that_is_reached_through_a_link_is_one_root() {
    let tree = Tree::new();
    tree.file("a", "a");
    symlink(tree.root(), tree.outside().join("alias")).unwrap();
    let alias = tree.outside().join("alias");
    let workspace = Workspace::new(&alias, Links::Inside).unwrap();
    for path in ["a", alias.join("a").to_str().unwrap(), tree.root().join("a").to_str().unwrap()] {
        assert_eq!(workspace.resolve(path).unwrap().as_str(), "a");
    }
    // The root itself may be swapped as well: what was taken is what counts.
    fs::remove_file(&alias).unwrap();
    symlink(tree.outside(), &alias).unwrap();
    assert_eq!(workspace.resolve("a").unwrap().as_str(), "a");
    fs::rename(tree.root(), tree.outside().join("moved")).unwrap();
    symlink(tree.outside(), tree.root()).unwrap();
    assert!(matches!(workspace.resolve("a").unwrap_err(), Failure::Changed { .. }));
}

#[test]
fn a_root_must_be_a_folder_that_exists() {
    let tree = Tree::new();
    tree.file("a", "a");
    assert!(Workspace::new(&tree.root().join("no"), Links::Inside).unwrap_err().contains("does not exist"));
    assert!(Workspace::new(&tree.root().join("a"), Links::Inside).unwrap_err().contains("is not a folder"));
}

#[test]
fn very_deep_trees_resolve_under_either_opener() {
    let tree = Tree::new();
    let workspace = workspace(&tree);
    let name = "d".repeat(200);
    let path = vec![name.as_str(); 30].join("/");
    // Longer than what one system call takes.
    assert!(path.len() > 4_096);
    for opener in OPENERS {
        let workspace = workspace.clone().with_opener(opener);
        let file = CanonicalPath::parse(&format!("{path}/{opener:?}")).unwrap();
        workspace.open().unwrap().write(&file, b"x", None).unwrap();
        assert_eq!(workspace.resolve(file.as_str()).unwrap(), file);
        assert_eq!(workspace.open().unwrap().read(&file, 10).unwrap().bytes, b"x");
    }
}

/// One entry of a random tree.
#[derive(Debug, Clone)]
enum Made {
    File(Vec<&'static str>),
    Folder(Vec<&'static str>),
    Link(Vec<&'static str>, Target),
}

#[derive(Debug, Clone)]
enum Target {
    Relative(Vec<&'static str>),
    InRoot(Vec<&'static str>),
    InOutside(Vec<&'static str>),
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "root"];

fn names() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(NAMES.to_vec()), 1..4)
}

fn steps() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", "..", "..", ".", "", "root", "outside"]), 0..7)
}

fn made() -> impl Strategy<Value = Made> {
    let target = prop_oneof![
        4 => steps().prop_map(Target::Relative),
        2 => steps().prop_map(Target::InRoot),
        1 => steps().prop_map(Target::InOutside),
    ];
    prop_oneof![
        names().prop_map(Made::File),
        names().prop_map(Made::Folder),
        (names(), target).prop_map(|(place, target)| Made::Link(place, target)),
    ]
}

/// What cannot be made, for something else is there, is left out.
fn make(tree: &Tree, entry: &Made) {
    let root = tree.root();
    let free = |names: &[&str]| {
        // Only through real folders: nothing is to be made outside.
        let mut place = root.clone();
        for name in &names[..names.len() - 1] {
            place.push(name);
            if place.symlink_metadata().is_err() {
                fs::create_dir(&place).unwrap();
            }
            if !place.symlink_metadata().unwrap().is_dir() {
                return None;
            }
        }
        place.push(names.last().unwrap());
        place.symlink_metadata().is_err().then_some(place)
    };
    match entry {
        Made::File(names) => {
            if let Some(place) = free(names) {
                fs::write(place, "x").unwrap();
            }
        }
        Made::Folder(names) => {
            if let Some(place) = free(names) {
                fs::create_dir(place).unwrap();
            }
        }
        Made::Link(names, target) => {
            if let Some(place) = free(names) {
                let target = match target {
                    Target::Relative(steps) => steps.join("/").trim_start_matches('/').to_string(),
                    Target::InRoot(steps) => format!("{}/{}", root.display(), steps.join("/")),
                    Target::InOutside(steps) => format!("{}/{}", tree.outside().display(), steps.join("/")),
                };
                symlink(if target.is_empty() { "." } else { &target }, place).unwrap();
            }
        }
    }
}

fn check(tree: &Tree, path: &str) -> Result<(), TestCaseError> {
    let root = tree.root();
    let by_kernel = workspace(tree).with_opener(Opener::Kernel).resolve(path);
    let by_walk = workspace(tree).with_opener(Opener::Walk).resolve(path);
    prop_assert_eq!(&by_kernel, &by_walk);
    let system = fs::canonicalize(root.join(path));
    match (by_kernel, system) {
        (Ok(resolved), Ok(real)) => {
            prop_assert!(real.starts_with(&root), "{} leads to {}", path, real.display());
            prop_assert_eq!(root.join(resolved.beneath()), real, "{}", path);
        }
        (Ok(resolved), Err(_)) => {
            // It does not exist, and the way to it holds no link.
            let mut place = root.clone();
            for name in resolved.beneath().split('/').filter(|name| !name.is_empty()) {
                place.push(name);
                let is_link = place.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
                prop_assert!(!is_link, "{} is a link on the way of {}", place.display(), path);
            }
        }
        (Err(failure), Ok(real)) => {
            // Refused although it exists: it leads outside, or does so on its way.
            let is_outside = matches!(failure, Failure::Outside { .. } | Failure::LinkOutside { .. });
            prop_assert!(is_outside, "{}: {} but it is {}", path, failure, real.display());
            prop_assert!(!real.starts_with(&root) || leaves(tree, path), "{} does not leave", path);
        }
        (Err(_), Err(_)) => {}
    }
    Ok(())
}

/// Whether some beginning of the way is outside. Reads links one by one, as the standard library does not.
fn leaves(tree: &Tree, path: &str) -> bool {
    let mut place = if path.starts_with('/') { "/".into() } else { tree.root() };
    let mut ahead: Vec<String> = path.split('/').rev().map(str::to_string).collect();
    for _ in 0..10_000 {
        let Some(name) = ahead.pop() else { return false };
        match name.as_str() {
            "" | "." => {}
            ".." => {
                place.pop();
            }
            name => {
                let next = place.join(name);
                match fs::read_link(&next) {
                    Ok(target) => {
                        if target.is_absolute() {
                            place = "/".into();
                        }
                        ahead.extend(target.to_str().unwrap().split('/').rev().map(str::to_string));
                        continue;
                    }
                    Err(_) => place = next,
                }
            }
        }
        // On the way down from `/` to the root only the root's own folders are passed.
        if !place.starts_with(tree.root()) && !tree.root().starts_with(&place) {
            return true;
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(long(1_000)) })]

    #[test]
    fn no_path_leads_outside_and_each_leads_where_the_system_says(
        entries in prop::collection::vec(made(), 1..14),
        paths in prop::collection::vec(steps(), 1..14),
    ) {
        let tree = Tree::in_memory();
        fs::create_dir_all(tree.outside().join("a")).unwrap();
        fs::write(tree.outside().join("b"), "secret").unwrap();
        symlink(tree.root(), tree.outside().join("c")).unwrap();
        for entry in &entries {
            make(&tree, entry);
        }
        for steps in &paths {
            let path = steps.join("/");
            let path = path.trim_start_matches('/');
            if !path.is_empty() {
                check(&tree, path)?;
            }
            check(&tree, &format!("{}/{path}", tree.root().display()))?;
        }
    }
}
