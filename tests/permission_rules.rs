//! Properties of policies over rules, calls and commands that nobody thinks of: a deny never loosens, order never
//! matters, and no command makes the shell rules fail or hang.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::Arc;

use lite_agent::permission::policy::strictness;
use lite_agent::permission::shell::ShellCommand;
use lite_agent::permission::{Decision, Policy, ShellPattern};
use proptest::prelude::*;
use serde_json::{Value, json};

const PIECES: [&str; 48] = [
    "rm",
    "git",
    "a",
    " ",
    " x",
    "(",
    ")",
    "{ ",
    "}",
    "[",
    "]",
    "[[ ",
    " ]]",
    "$(",
    "$((",
    "))",
    "`",
    "'",
    "\"",
    "$'",
    "<<A\n",
    "\nA\n",
    "<",
    ">",
    " > /dev/null",
    "|",
    "&&",
    ";",
    "\n",
    "\\",
    "\\\n",
    "#",
    "$x",
    "${x:-",
    "A=1 ",
    "a=(",
    "if ",
    "; then ",
    "; fi",
    "for x in ",
    "; do ",
    "; done",
    "bash -c ",
    "env ",
    "xargs ",
    "eval ",
    "é",
    "!",
];

fn shell_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..24).prop_map(|pieces| pieces.concat())
}

fn rule() -> impl Strategy<Value = Value> {
    let tool = prop::sample::select(vec![json!("bash"), json!("b*"), json!("!bash"), json!(["read_file", "bash"])]);
    let condition = prop::sample::select(vec![
        json!({}),
        json!({ "when": { "command": { "glob": "rm*" } } }),
        json!({ "when": { "command": { "regex": "x$" } } }),
        json!({ "when": { "command": { "regex": "(?<!git )rm" } } }),
        json!({ "when": { "command": { "not": { "contains": "git" } } } }),
        json!({ "when": { "other": { "equals": 1 } } }),
        json!({ "shell": "rm:*" }),
        json!({ "shell": "git *" }),
        json!({ "file": "src/**" }),
    ]);
    (tool, condition, effect()).prop_map(|(tool, mut rule, effect)| {
        rule["tool"] = tool;
        rule["effect"] = json!(effect);
        rule
    })
}

fn effect() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["allow", "ask", "deny"])
}

fn decide(rules: &[Value], default: &str, command: &str) -> Decision {
    let policy = Policy::compile(&json!({ "rules": rules, "default": default }).to_string()).unwrap();
    policy.check("bash", &json!({ "command": command }), &mut |_| false).decision
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn order_never_matters(
        (rules, shuffled) in prop::collection::vec(rule(), 0..8).prop_flat_map(|rules| (Just(rules.clone()), Just(rules).prop_shuffle())),
        default in effect(),
        command in shell_text(),
    ) {
        prop_assert_eq!(decide(&rules, default, &command), decide(&shuffled, default, &command));
    }

    #[test]
    fn adding_a_deny_never_loosens(
        mut rules in prop::collection::vec(rule(), 0..8),
        mut added in rule(),
        default in effect(),
        command in shell_text(),
    ) {
        let before = decide(&rules, default, &command);
        added["effect"] = json!("deny");
        rules.push(added);
        prop_assert!(strictness(decide(&rules, default, &command)) >= strictness(before));
    }

    #[test]
    fn a_composition_is_as_strict_as_its_strictest_part(
        parts in prop::collection::vec((prop::collection::vec(rule(), 0..4), effect()), 1..4),
        command in shell_text(),
    ) {
        let each: Vec<u8> =
            parts.iter().map(|(rules, default)| strictness(decide(rules, default, &command))).collect();
        let policies: Vec<Arc<Policy>> = parts
            .iter()
            .map(|(rules, default)| json!({ "rules": rules, "default": default }).to_string())
            .map(|options| Arc::new(Policy::compile(&options).unwrap()))
            .collect();
        let composed = Policy::compose(&policies).check("bash", &json!({ "command": command }), &mut |_| false);
        prop_assert_eq!(Some(strictness(composed.decision)), each.into_iter().max());
    }

    #[test]
    fn what_is_allowed_for_one_program_runs_no_other(command in shell_text()) {
        let parsed = ShellCommand::parse(&command);
        let git = ShellPattern::new("git:*").unwrap();
        let rm = ShellPattern::new("rm:*").unwrap();
        prop_assert!(!(parsed.satisfies(&git, Decision::Allow) && parsed.satisfies(&rm, Decision::Deny)));
    }

    #[test]
    fn a_denied_command_stays_denied_after_whatever_a_shell_can_read(command in shell_text()) {
        let rm = ShellPattern::new("rm:*").unwrap();
        let text = format!("{command}\nrm x");
        let commands = ShellCommand::parse(&text);
        // Unless quotes, a heredoc or a comment took it in, which only an even number of openings leaves closed.
        let is_open = ["'", "\"", "<<", "`", "#", "\\"].iter().any(|piece| command.contains(piece));
        prop_assert!(is_open || commands.satisfies(&rm, Decision::Deny), "{:?}", text);
    }

    #[test]
    fn any_text_is_a_command_or_none(text in "\\PC{0,200}") {
        ShellCommand::parse(&text);
    }
}
