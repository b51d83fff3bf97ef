//! What a pattern that backtracks may cost, and that it still says what it says where it can.

use std::time::{Duration, Instant};

use super::*;

/// Patterns that read much in a step, or step much, with nothing to find in long texts.
const DEAR: [&str; 24] = [
    "(?:a(?=.*$))*b",
    r"^(?:\w(?=\w*))*!",
    r"(?:\w(?=\w*))*!",
    r"(?:(?=[^\n]*;)[^;])*rm",
    "(?=(a+)+$)a",
    "(?=a*[bc])z",
    "(?!.*b)c",
    "^(?:a(?!.*b))*$",
    r"(a+)\1b",
    r"(.+)\1",
    "(?=.*x)(?=.*y)z",
    "^(?!.*(?:rm|sudo)).*$",
    r"(\w+)\s\1",
    r"\w+(?=@)",
    "^(?:(?!forbidden).)*$",
    "^(?:(?!.*forbidden).)*$",
    "(?!x)(?:a|b)*c",
    r"(a*)*\1b",
    r"(.*)(.*)(.*)(.*)x\4",
    "(?<!a)((b+)+)+$",
    "^(a|aa)*(?=.*!)b",
    "(?=(?:a(?=(?:a(?=a*)b?)*))*)z",
    "(?:a?){30}(?=b)c",
    "(?:(?=.*b)a|(?=.*c)a|(?=.*d)a)*z",
];

#[test]
fn no_pattern_takes_long_for_any_text() {
    let mut slow = Vec::new();
    for pattern in DEAR {
        let pattern = Backtracking::new(pattern).unwrap();
        for unit in ["a", "ab", "é", "a b ", "b", "aaab"] {
            for bytes in [64, 128, 200, 512, 1024, 2048, 4096, 16_384, 65_536, 1 << 20] {
                let text = unit.repeat(bytes / unit.len());
                // The first such text compiles the pattern.
                let _ = pattern.is_match(&text);
                let start = Instant::now();
                let _ = pattern.is_match(&text);
                // Far more than it takes: this build is not optimised, and other tests run beside this one.
                if start.elapsed() > Duration::from_millis(400) {
                    slow.push(format!("{} on {bytes} bytes of {unit:?}: {:?}", pattern.source, start.elapsed()));
                }
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

#[test]
fn the_work_of_each_look_is_bounded() {
    for pattern in DEAR {
        let pattern = Backtracking::new(pattern).unwrap();
        for class in 0..LENGTHS {
            let Some(steps) = pattern.steps(class) else { continue };
            let read = (SHORTEST_BYTES << class).pow(pattern.cost.depth.max(1));
            assert!(steps * read <= MAX_WORK, "{} {class}", pattern.source);
        }
    }
    let worst = Backtracking::new("(?:a(?=(?:b(?=c*))*))*").unwrap();
    assert!(worst.cost.looks_in_loop && worst.cost.depth == 2, "{:?}", worst.cost);
    assert_eq!(worst.is_match(&"a".repeat(100_000)), None);
}

#[test]
fn ordinary_patterns_say_what_they_say() {
    let long = "word ".repeat(1000);
    for (pattern, text, expected) in [
        ("^(?!git )", "rm x", Some(true)),
        ("^(?!git )", "git x", Some(false)),
        ("(?<!x)secret", "a secret", Some(true)),
        ("(?<!x)secret", "xsecret", Some(false)),
        (r"(a)\1", "xaa", Some(true)),
        (r"^(?!.*(?:rm|sudo)\b).*$", "git log --oneline", Some(true)),
        (r"^(?!.*(?:rm|sudo)\b)", &long, Some(true)),
        ("(?<!x)secret", &long[..2000], Some(false)),
        (r"^(?=.*\d)(?=.*[a-z]).{8,}$", "passw0rd", Some(true)),
        ("(?:a(?=.*$))*b", "aaab", Some(true)),
    ] {
        assert_eq!(Backtracking::new(pattern).unwrap().is_match(text), expected, "{pattern} on {text:.20}");
    }
}
