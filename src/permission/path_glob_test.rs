//! How a glob of files is brought to the form of the paths that it is matched against.

use super::*;

#[test]
fn a_glob_means_the_same_however_its_folder_is_written() {
    for (glob, path, expected) in [
        ("./secrets/**", "secrets/a", true),
        ("././secrets/**", "secrets/a/b", true),
        (".//secrets/**", "secrets/a", true),
        ("secrets//**", "secrets/a", true),
        ("secrets/", "secrets", true),
        ("secrets/", "secrets/a/b", true),
        ("secrets/", "secretsx", false),
        ("secrets/.", "secrets/a", true),
        ("./secrets/", "secrets/a", true),
        ("a/../secrets/**", "secrets/a", true),
        ("!./secrets/", "secrets/a", false),
        ("!./secrets/", "other", true),
        (".", "any/thing", true),
        ("./", "any", true),
        ("*/", "a/b", true),
        ("{a,b}/", "b/c", true),
        ("/etc/", "/etc/passwd", true),
        ("/etc/**", "/etc/passwd", true),
        ("../x", "../x", true),
        ("[.]/x", "./x", true),
        ("a[/]b", "a/b", true),
        ("./.env*", ".env.local", true),
        ("...", "...", true),
    ] {
        assert_eq!(file_glob(glob).unwrap().matches(path), expected, "{glob} on {path}");
    }
}

#[test]
fn a_glob_that_could_never_match_is_a_mistake() {
    for glob in ["", "!", "*/../x", "**/..", "{./a,b}", "{a/,b}", "x/{a//b,c}", "["] {
        assert!(file_glob(glob).is_err(), "{glob}");
    }
}
