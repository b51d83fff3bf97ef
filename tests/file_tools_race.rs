//! Links that are swapped in while the tools work: whatever the moment, nothing outside is read or written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod file_tools_support;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use file_tools_support::{OPENERS, Tree, call, long, run};
use lite_agent::tools::builtin::{FileTools, Opener};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

const SECRET: &str = "SECRET-CONTENT";
/// Held by a name that exists outside alone.
const SECRET_NAME: &str = "only-outside";

/// What is outside, so that any change of it is seen: of a folder, the time changes with each entry made or removed.
fn state(folder: &Path) -> Vec<(String, String, i64, i64)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let metadata = fs::metadata(&folder).unwrap();
        found.push((folder.display().to_string(), String::new(), metadata.mtime(), metadata.mtime_nsec()));
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let metadata = fs::metadata(&path).unwrap();
                let content = fs::read_to_string(&path).unwrap();
                found.push((path.display().to_string(), content, metadata.mtime(), metadata.mtime_nsec()));
            }
        }
    }
    found.sort();
    found
}

/// In the root, `file` is by turns a file and a link to a file outside; `folder` and `deep/folder` by turns a folder and a
/// link to the one outside, which holds the same names.
fn swap(tree: &Tree, swaps: u32, calls: &dyn Fn() -> u64, is_over: &AtomicBool) -> u32 {
    let root = tree.root();
    let exchange = |one: &str, other: &str| {
        renameat_with(CWD, root.join(one), CWD, root.join(other), RenameFlags::EXCHANGE).unwrap();
    };
    let mut done = 0;
    // Swaps are faster than calls: there must be enough of either.
    while done < swaps || calls() < u64::from(swaps) / 2 {
        if is_over.load(Ordering::Acquire) {
            break;
        }
        // The tools may replace or delete `file`, so each turn makes it anew.
        let (link, plain) = (root.join("spare/link"), root.join("spare/plain"));
        symlink(tree.outside().join("file"), &link).unwrap();
        fs::rename(&link, root.join("file")).unwrap();
        exchange("folder", "spare/folder");
        fs::write(&plain, "old").unwrap();
        fs::rename(&plain, root.join("file")).unwrap();
        exchange("deep/folder", "spare/deep");
        done += 4;
    }
    done
}

fn inputs() -> Vec<(&'static str, Value)> {
    let mut calls = Vec::new();
    for path in ["file", "folder/file", "deep/folder/file", "deep/folder/inner/file", "folder/new/file"] {
        calls.push(("read_file", json!({ "path": path })));
        calls.push(("edit_file", json!({ "path": path, "old_text": "old", "new_text": "old " })));
        calls.push(("write_file", json!({ "path": path, "content": "old" })));
        calls.push(("delete_file", json!({ "path": path })));
    }
    for path in [".", "file", "folder", "deep/folder/inner"] {
        calls.push(("grep", json!({ "path": path, "pattern": "SECRET|old" })));
        calls.push(("glob", json!({ "path": path, "pattern": "**" })));
    }
    // The hint at what was meant.
    calls.push(("read_file", json!({ "path": "folder/only-outsid" })));
    calls.push(("read_file", json!({ "path": "foldr/only-outside" })));
    calls
}

/// Ends it all for the others if one of them fails.
struct OverOnPanic<'a>(&'a AtomicBool);

impl Drop for OverOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn attack(tools: &FileTools, is_over: &AtomicBool, counts: [&AtomicU64; 2]) {
    let _over = OverOnPanic(is_over);
    let calls = inputs();
    let mut turn = 0;
    while !is_over.load(Ordering::Acquire) {
        for (tool, input) in &calls {
            // By turns as an agent calls, and as if the decision was made in the past.
            let outcome = if turn % 2 == 0 { call(tools, tool, input) } else { run(tools, tool, input) };
            assert!(!outcome.content.contains(SECRET), "{tool} {input}: {}", outcome.content);
            let told = outcome.content.replace("foldr/only-outside", "");
            assert!(!told.contains(SECRET_NAME), "{tool} {input}: {told}");
            counts[usize::from(outcome.is_error)].fetch_add(1, Ordering::Relaxed);
        }
        turn += 1;
    }
}

fn race(opener: Opener, enough: u32) {
    let tree = Tree::in_memory();
    tree.file("file", "old")
        .file("folder/file", "old")
        .file("deep/folder/inner/file", "old")
        .file("deep/folder/file", "old");
    fs::create_dir_all(tree.outside().join("inner")).unwrap();
    for path in ["file", "inner/file", SECRET_NAME, "inner/only-outside"] {
        fs::write(tree.outside().join(path), format!("old {SECRET}\n")).unwrap();
    }
    tree.link("spare/folder", tree.outside()).link("spare/deep", tree.outside());
    let before = state(&tree.outside());
    let is_over = AtomicBool::new(false);
    let (done, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let swaps = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                attack(&tree.tools().with_opener(opener), &is_over, [&done, &refused]);
            });
        }
        let _over = OverOnPanic(&is_over);
        swap(&tree, enough, &|| done.load(Ordering::Relaxed) + refused.load(Ordering::Relaxed), &is_over)
    });
    assert_eq!(state(&tree.outside()), before);
    assert!(swaps >= enough, "{opener:?}: {swaps} swaps, {done:?} calls done, {refused:?} refused");
    // Temporary files are gone as well, whatever became of their writes.
    for folder in [".", "folder", "deep/folder", "spare/folder", "spare/deep"] {
        let left = tree.names(folder).into_iter().find(|name| name.starts_with(".lite-agent-"));
        assert_eq!(left, None);
    }
}

#[test]
fn links_that_are_swapped_in_lead_nowhere_where_the_kernel_resolves() {
    race(OPENERS[0], long(10_000));
}

#[test]
fn links_that_are_swapped_in_lead_nowhere_where_names_are_walked() {
    race(OPENERS[1], long(10_000));
}
