//! What globs match.

use super::*;

#[test]
fn globs_match_as_documented() {
    for (glob, matching, others) in [
        ("*", &["a", ".a", "", "é"][..], &["a/b", "/"][..]),
        ("**", &["a", "a/b", ".a/.b", ""], &[]),
        ("src/*", &["src/a", "src/.a"], &["src/a/b", "src", "xsrc/a"]),
        ("src/**", &["src/a", "src/a/b", "src/.a/b"], &["src", "srcs/a", "x/src/a"]),
        ("**/a", &["a", "x/a", "x/y/a"], &["xa", "a/x"]),
        ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb"]),
        ("a**b", &["ab", "a/b", "axb", "a/x/b"], &["a", "b"]),
        ("?", &["a", "é", "\n"], &["", "/", "ab"]),
        ("[a-c]x", &["ax", "cx"], &["dx", "x", "[a-c]x"]),
        ("[!a]", &["b", "é"], &["a", "/", ""]),
        ("[]a-]", &["]", "a", "-"], &["b"]),
        ("[é]", &["é"], &["e"]),
        ("*.{js,ts}", &["a.js", "a.ts", ".js"], &["a.jsx", "a/b.js"]),
        ("a{,b}", &["a", "ab"], &["b"]),
        ("{a,{b,c}d}", &["a", "bd", "cd"], &["b", "ad"]),
        ("!a*", &["b", "a/b"], &["a", "ab"]),
        ("\\*", &["*"], &["a"]),
        ("a.b+", &["a.b+"], &["axb", "a.bb"]),
        ("mcp__*", &["mcp__a__b"], &["mcp_a"]),
    ] {
        let compiled = Glob::new(glob).unwrap();
        for text in matching {
            assert!(compiled.matches(text), "{glob} on {text:?}");
        }
        for text in others {
            assert!(!compiled.matches(text), "{glob} on {text:?}");
        }
    }
}

#[test]
fn globs_that_cannot_be_read_are_refused() {
    for glob in ["", "!", "[a", "{a", "a}", "a\\", "[z-a]", "[", "[]", &"{".repeat(2_000)] {
        assert!(Glob::new(glob).is_err(), "{glob:?}");
    }
}

#[test]
fn in_a_name_nothing_is_a_component() {
    for (glob, matching, others) in [
        ("*", &["write_file", "a/b", "\n", ""][..], &[][..]),
        ("mcp__*", &["mcp__a/b"], &["mcp_a", "MCP__a"]),
        ("a?b", &["a/b", "a_b"], &["ab"]),
        ("[!a]", &["/", "b"], &["a"]),
        ("{read,write}_file", &["read_file", "write_file"], &["edit_file", "write_fileS"]),
        ("**", &["a/b"], &[]),
        ("\\!a", &["!a"], &["a"]),
    ] {
        let compiled = Glob::of_name(glob).unwrap();
        for text in matching {
            assert!(compiled.matches(text), "{glob} on {text:?}");
        }
        for text in others {
            assert!(!compiled.matches(text), "{glob} on {text:?}");
        }
    }
    for glob in ["", "!a", "[a", "{a", "a}", "a\\", "[z-a]", &"?".repeat(33), &"[a]".repeat(33), &"*?".repeat(17)] {
        assert!(Glob::of_name(glob).is_err(), "{glob:?}");
    }
    for glob in [&"?".repeat(32), &format!("{{{}}}", "a,".repeat(120))] {
        assert!(Glob::of_name(glob).is_ok(), "{glob:?}");
    }
}

#[test]
fn a_class_by_name_is_refused_and_matches_nothing_in_silence() {
    for glob in ["[[:alpha:]]*", "[^[:digit:]]", "a[_[:alnum:]-]"] {
        assert!(Glob::new(glob).unwrap_err().contains("[:…:]"), "{glob:?}");
    }
    for (glob, text) in [("[[:]", ":"), ("[:alpha:]", "p"), ("[[]", "["), ("[[:a]", "a")] {
        assert!(Glob::new(glob).unwrap().matches(text), "{glob:?}");
    }
}

#[test]
fn a_wildcard_stands_for_whole_characters() {
    for (glob, matching, others) in [
        ("?", &["a", "é", "日", "🦀", "\n", "\0"][..], &["", "ab", "日本", "é́", "/"][..]),
        ("??", &["ab", "日本", "a🦀"], &["é", "🦀", "abc"]),
        ("é?ü*", &["éaü", "é日ü日"], &["éü", "e日ü"]),
        ("[é-ü]x", &["éx", "ïx"], &["ex", "日x"]),
        ("[!é]", &["e", "日"], &["é", "", "/"]),
        ("*🦀", &["🦀", "日🦀"], &["🦀a", "a/🦀"]),
        ("?*?", &["ab", "日a本"], &["日", ""]),
        ("{é,日?}", &["é", "日本"], &["日", "é本"]),
    ] {
        let compiled = Glob::new(glob).unwrap();
        for text in matching {
            assert!(compiled.matches(text), "{glob} on {text:?}");
        }
        for text in others {
            assert!(!compiled.matches(text), "{glob} on {text:?}");
        }
    }
}
