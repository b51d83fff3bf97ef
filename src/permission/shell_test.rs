//! Tables of commands: what a deny catches, what an allow lets through.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use super::*;

fn pattern(text: &str) -> CommandPattern {
    CommandPattern::new(text).unwrap()
}

#[test]
fn a_deny_catches_the_command_wherever_it_stands() {
    let deny = pattern("rm *");
    for line in [
        "rm x",
        "true && rm x",
        "true\nrm x",
        "true; rm x",
        "true & rm x",
        "echo $(rm x)",
        "echo `rm x`",
        "echo \"a $(rm x)\"",
        "cat <(rm x)",
        "( rm x )",
        "{ rm x; }",
        "! rm x",
        "if true; then rm x; fi",
        "for i in 1 2; do rm x; done",
        "while rm x; do :; done",
        "case a in a) rm x;; esac",
        "f() { rm x; }; f",
        "ls | rm x",
        "ls |& rm x",
        "A=1 rm x",
        "/bin/rm x",
        "r''m x",
        "r\"m\" x",
        "\\rm x",
        "$'rm' x",
        "$'\\x72m' x",
        "'rm' x",
        "rm   x",
        "rm x > /dev/null",
        "env rm x",
        "env A=1 -u B rm x",
        "env -i A=1 /bin/rm x",
        "command rm x",
        "exec rm x",
        "exec -a name rm x",
        "nice rm x",
        "nice -n 5 rm x",
        "nice -5 rm x",
        "nohup rm x",
        "time rm x",
        "time -p rm x",
        "timeout 5 rm x",
        "timeout -k 1 -s KILL 5 rm x",
        "timeout --signal=KILL 5 rm x",
        "xargs rm x",
        "ls | xargs -I {} rm {}",
        "xargs -n 1 rm x",
        "nohup env nice -n 1 timeout 5 rm x",
        "sh -c 'rm x'",
        "bash -c \"rm x\"",
        "bash -lc 'rm x'",
        "bash -o pipefail -c 'true; rm x'",
        "sh -c \"sh -c 'rm x'\"",
        "eval 'rm x'",
        "eval rm x",
        "timeout --unknown rm x",
        "echo <<EOF\n$(rm x)\nEOF",
        // nobody can tell
        "rm x (",
        "if true; then",
        "bash -c \"$X\"",
    ] {
        assert!(ShellCommand::parse(line).any_matches(&deny), "{line}");
    }
    for line in ["ls", "rmdir x", "echo rm x", "echo 'true && rm x'", "ls # rm x", "env", "xargs", "sh script.sh"] {
        assert!(!ShellCommand::parse(line).any_matches(&deny), "{line}");
    }
}

#[test]
fn an_allow_must_match_every_command() {
    let allow = pattern("git:*");
    for line in [
        "git",
        "git status",
        "git log && git status",
        "git log 2>&1",
        "git log > /dev/null",
        "git log | git apply",
        "git 'log'",
    ] {
        assert!(ShellCommand::parse(line).all_match(&allow), "{line}");
    }
    for line in [
        "",
        "# git status",
        "git status && rm x",
        "git status; rm x",
        "git status\nrm x",
        "git $(rm x)",
        "git log > out",
        "git log >> out",
        "git log &> out",
        "git log >| out",
        "git log <> out",
        "git log > $X",
        "$(echo git) status",
        "$GIT status",
        "g?t status",
        "{git,status}",
        "PATH=/evil git status",
        "PATH=/evil; git status",
        "env git status",
        "bash -c 'git status'",
        "git status &&",
        "git status (",
        "/tmp/git status",
        "gitx",
        "f() { git x; }; rm x",
        "[ -f x ] && git status",
        "export PATH=/evil; git status",
    ] {
        assert!(!ShellCommand::parse(line).all_match(&allow), "{line}");
    }
}

#[test]
fn what_nests_without_end_is_refused_at_once_and_allows_nothing() {
    let lines = [
        "(".repeat(30_000),
        "[".repeat(30_000),
        "$(".repeat(15_000),
        "{ ".repeat(15_000),
        "if true; then ".repeat(2_000),
        format!("{}echo{}", "if true; then ".repeat(1_000), "; fi".repeat(1_000)),
        "a ".repeat(20_000),
        "$((".repeat(9_000),
        "a=(".repeat(9_000),
        "<(".repeat(15_000),
        "\"$(".repeat(9_000),
        "`".repeat(30_000),
        "'\"".repeat(15_000),
        "<<a ".repeat(7_000),
        "a|".repeat(16_000),
        "! ".repeat(15_000),
        "${a:-".repeat(6_000),
        "[[ a && ".repeat(3_500),
        "case a in a) ".repeat(2_400),
        "f() ".repeat(8_000),
    ];
    for line in lines {
        let line = line.get(..MAX_BYTES.min(line.len())).unwrap().to_string();
        let start = Instant::now();
        let parsed = ShellCommand::parse(&line);
        let took = start.elapsed();
        println!("{:>9.3} ms  {:?}", took.as_secs_f64() * 1000.0, line.get(..12).unwrap());
        assert!(!parsed.all_match(&pattern("git:*")), "{}", line.get(..20).unwrap());
    }
}
