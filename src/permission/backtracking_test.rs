//! What a pattern that backtracks may cost, and that it still says what it says where it can.

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

/// Without bounds some of these would run for longer than anybody waits.
#[test]
fn each_pattern_answers_for_any_text() {
    for pattern in DEAR {
        let pattern = Backtracking::new(pattern).unwrap();
        for unit in ["a", "b ", "é"] {
            for bytes in [64, 1024, 1 << 20] {
                let answer = pattern.is_match(&unit.repeat(bytes / unit.len()));
                assert!(bytes < 1 << 20 || answer.is_none(), "{}", pattern.source);
            }
        }
    }
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
    for pattern in ["(?=(?:a(?=(?:a(?=a*)b?)*))*)z", "(?<n>a|b\\g<n>c)(?=x)"] {
        let pattern = Backtracking::new(pattern).unwrap();
        assert_eq!(pattern.is_match(&"a".repeat(64)), None, "{}", pattern.source);
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
