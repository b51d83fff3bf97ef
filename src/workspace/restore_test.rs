//! Restorations over a real folder: what is checked, what comes back, and that a failure undoes the rest.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::workspace::Links;

struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    fn new() -> Tree {
        Tree { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    fn restoration(&self) -> Restoration {
        Restoration::new(&Workspace::new(self.folder.path(), Links::Inside).unwrap()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        fn walk(folder: &Path, top: &Path, names: &mut Vec<String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                names.push(path.strip_prefix(top).unwrap().to_string_lossy().into_owned());
                if path.is_dir() && !path.is_symlink() {
                    walk(&path, top, names);
                }
            }
        }
        let mut names = Vec::new();
        walk(self.folder.path(), self.folder.path(), &mut names);
        names.sort();
        names
    }
}

/// `left`: what the agent left there; nothing where it deleted the file.
fn target(path: &str, content: Option<&str>, left: Option<&str>) -> Target {
    Target {
        path: CanonicalPath::parse(path).unwrap(),
        content: content.map(|content| content.as_bytes().to_vec()),
        left: LeftBehind {
            digests: left.map(|left| Digest::of(left.as_bytes())).into_iter().collect(),
            may_be_absent: left.is_none(),
            is_known: left.is_some(),
        },
    }
}

fn skipped(checked: Checked) -> String {
    match checked {
        Checked::Skipped(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_come_back_are_created_and_go_and_keep_their_mode() {
    let tree = Tree::new();
    tree.write("changed", "new");
    tree.write("created", "new");
    fs::set_permissions(tree.path("changed"), fs::Permissions::from_mode(0o750)).unwrap();
    let mut restoration = tree.restoration();
    for target in [
        target("changed", Some("old"), Some("new")),
        target("created", None, Some("new")),
        target("a/b/deleted", Some("was"), None),
    ] {
        assert_eq!(restoration.check(target).unwrap(), Checked::Ready);
    }
    assert_eq!(tree.names(), ["changed", "created"]);
    for _ in 0..3 {
        restoration.put_back_next().unwrap();
    }
    assert!(restoration.keep().is_empty());
    assert_eq!(tree.names(), ["a", "a/b", "a/b/deleted", "changed"]);
    assert_eq!((tree.read("changed").unwrap(), tree.read("a/b/deleted").unwrap()), ("old".into(), "was".into()));
    assert_eq!(fs::metadata(tree.path("changed")).unwrap().permissions().mode() & 0o777, 0o750);
}

#[test]
fn what_is_undone_is_the_very_file_that_was_there() {
    use std::os::unix::fs::MetadataExt;
    let tree = Tree::new();
    tree.write("changed", "new");
    tree.write("created", "new");
    let inodes = ["changed", "created"].map(|name| fs::metadata(tree.path(name)).unwrap().ino());
    let mut restoration = tree.restoration();
    restoration.check(target("changed", Some("old"), Some("new"))).unwrap();
    restoration.check(target("created", None, Some("new"))).unwrap();
    restoration.check(target("a/b/deleted", Some("was"), None)).unwrap();
    for _ in 0..3 {
        restoration.put_back_next().unwrap();
    }
    assert_eq!(restoration.undo(), Vec::<String>::new());
    assert_eq!(tree.names(), ["changed", "created"]);
    assert_eq!(["changed", "created"].map(|name| fs::metadata(tree.path(name)).unwrap().ino()), inodes);
    assert_eq!(tree.read("changed").as_deref(), Some("new"));
}

#[test]
fn what_somebody_else_changed_is_left_alone() {
    let tree = Tree::new();
    for name in ["changed", "recreated", "dir/x", "piece/y", "target"] {
        tree.write(name, "theirs");
    }
    tree.write("folder/inside", "theirs");
    symlink("target", tree.path("link")).unwrap();
    symlink("dir", tree.path("way")).unwrap();
    let mut restoration = tree.restoration();
    let mut why = |target: Target| skipped(restoration.check(target).unwrap());
    assert!(why(target("changed", Some("old"), Some("new"))).contains("was changed since"));
    assert!(why(target("changed", None, Some("new"))).contains("was changed since"));
    assert!(why(target("recreated", Some("old"), None)).contains("may have changed"));
    assert!(why(target("gone", Some("old"), Some("new"))).contains("was deleted since"));
    assert!(why(target("gone/too", Some("old"), Some("new"))).contains("was deleted since"));
    assert!(why(target("folder", Some("old"), Some("new"))).contains("is a folder"));
    assert!(why(target("link", Some("old"), Some("theirs"))).contains("is a link"));
    assert!(why(target("way/x", Some("old"), Some("theirs"))).contains("is a link"));
    assert!(why(target("changed/x", Some("old"), None)).contains("a file is in the place"));
    assert!(restoration.undo().is_empty());
    assert_eq!(tree.read("target").as_deref(), Some("theirs"));
}

#[test]
fn what_is_as_it_is_to_be_is_left_alone() {
    let tree = Tree::new();
    tree.write("same", "old");
    let mut restoration = tree.restoration();
    for target in [target("same", Some("old"), Some("new")), target("gone", None, Some("new"))] {
        assert_eq!(restoration.check(target).unwrap(), Checked::AlreadyThere);
    }
}

#[test]
fn where_it_is_not_known_what_was_left_nothing_is_overwritten_and_nothing_else_decides() {
    let tree = Tree::new();
    tree.write("a", "new");
    let left = |is_known, digests| LeftBehind { digests, may_be_absent: true, is_known };
    let target = |left| Target { left, ..target("a", Some("old"), None) };
    let digest = Digest::of(b"new");
    assert_eq!(tree.restoration().check(target(left(true, vec![digest]))).unwrap(), Checked::Ready);
    assert_eq!(tree.restoration().check(target(left(false, vec![digest]))).unwrap(), Checked::Ready);
    assert!(skipped(tree.restoration().check(target(left(true, Vec::new()))).unwrap()).contains("was changed since"));
    assert!(skipped(tree.restoration().check(target(left(false, Vec::new()))).unwrap()).contains("not known"));
}

#[test]
fn an_edit_of_the_same_size_in_the_same_moment_is_told_by_its_content() {
    for _ in 0..50 {
        let tree = Tree::new();
        tree.write("changed", "new");
        tree.write("created", "new");
        for target in [target("changed", Some("old"), Some("new")), target("created", None, Some("new"))] {
            let mut restoration = tree.restoration();
            let name = target.path.as_str().to_string();
            assert_eq!(restoration.check(target).unwrap(), Checked::Ready);
            tree.write(&name, "his");
            restoration.put_back_next().unwrap_err();
            assert!(restoration.undo().is_empty());
            assert_eq!(tree.read(&name).as_deref(), Some("his"));
        }
        assert_eq!(tree.names(), ["changed", "created"]);
    }
}

#[test]
fn what_somebody_writes_on_who_had_the_file_open_is_kept_and_named() {
    use std::io::Write;
    let tree = Tree::new();
    tree.write("changed", "new");
    tree.write("created", "new");
    let mut editors: Vec<_> =
        ["changed", "created"].map(|name| fs::File::options().append(true).open(tree.path(name)).unwrap()).into();
    let mut restoration = tree.restoration();
    restoration.check(target("changed", Some("old"), Some("new"))).unwrap();
    restoration.check(target("created", None, Some("new"))).unwrap();
    restoration.put_back_next().unwrap();
    restoration.put_back_next().unwrap();
    for editor in &mut editors {
        editor.write_all(b", and theirs").unwrap();
    }
    let told = restoration.keep();
    let names: Vec<_> = tree.names().into_iter().filter(|name| name != "changed").collect();
    assert_eq!((told.len(), names.len(), tree.read("changed").as_deref()), (2, 2, Some("old")));
    for name in names {
        assert!(told.iter().any(|problem| problem.contains(&name)), "{told:?}");
        assert_eq!(tree.read(&name).as_deref(), Some("new, and theirs"));
    }
}

#[test]
fn an_edit_of_the_same_size_in_the_same_moment_is_not_undone() {
    for _ in 0..50 {
        let tree = Tree::new();
        tree.write("a", "new");
        let mut restoration = tree.restoration();
        restoration.check(target("a", Some("old"), Some("new"))).unwrap();
        restoration.put_back_next().unwrap();
        tree.write("a", "his");
        assert_eq!(restoration.undo().len(), 1);
        assert_eq!(tree.read("a").as_deref(), Some("his"));
    }
}

#[test]
fn what_changes_after_the_check_fails_and_says_which() {
    type Meddling = fn(&Tree);
    let meddlings: [(&str, Meddling); 5] = [
        ("b", |tree| tree.write("b", "theirs")),
        ("b", |tree| fs::remove_file(tree.path("b")).unwrap()),
        ("b", |tree| {
            fs::remove_file(tree.path("b")).unwrap();
            fs::create_dir(tree.path("b")).unwrap();
        }),
        ("b", |tree| {
            fs::remove_file(tree.path("b")).unwrap();
            symlink("a", tree.path("b")).unwrap();
        }),
        ("new/c", |tree| tree.write("new", "a file in the way")),
    ];
    for (which, meddle) in meddlings {
        let tree = Tree::new();
        tree.write("a", "new");
        tree.write("b", "new");
        let mut restoration = tree.restoration();
        restoration.check(target("a", Some("old"), Some("new"))).unwrap();
        restoration.check(target("b", Some("old"), Some("new"))).unwrap();
        restoration.check(target("new/c", Some("old"), None)).unwrap();
        meddle(&tree);
        let names = tree.names();
        let failure = (0..3).find_map(|_| restoration.put_back_next().err()).unwrap();
        assert!(failure.to_string().contains(&format!("'{which}'")), "{failure}");
        assert_eq!(restoration.undo(), Vec::<String>::new());
        assert_eq!(tree.names(), names);
        assert_eq!(tree.read("a").as_deref(), Some("new"));
    }
}

#[test]
fn what_changes_before_it_is_undone_stays_and_the_old_content_is_named() {
    let tree = Tree::new();
    tree.write("a", "new");
    let mut restoration = tree.restoration();
    restoration.check(target("a", Some("old"), Some("new"))).unwrap();
    restoration.put_back_next().unwrap();
    tree.write("a", "theirs, later");
    let problems = restoration.undo();
    assert_eq!(tree.read("a").as_deref(), Some("theirs, later"));
    let aside = tree.names().into_iter().find(|name| name.starts_with(".lite-agent-")).unwrap();
    assert!(problems.len() == 1 && problems[0].contains(&aside), "{problems:?}");
    assert_eq!(tree.read(&aside).as_deref(), Some("new"));
}

#[test]
fn a_read_only_file_fails_before_anything_changes() {
    let tree = Tree::new();
    tree.write("a", "new");
    fs::set_permissions(tree.path("a"), fs::Permissions::from_mode(0o444)).unwrap();
    let failure = tree.restoration().check(target("a", Some("old"), Some("new"))).unwrap_err();
    assert!(failure.to_string().contains("'a' is read-only"), "{failure}");
}
