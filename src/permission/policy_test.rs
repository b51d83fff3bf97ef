//! Tables and properties of policies.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn verdict(policy: &str, tool: &str, input: Value) -> (Decision, Option<String>) {
    let verdict = Policy::compile(policy).unwrap().check(tool, &input, &mut |_| true);
    (verdict.decision, verdict.rule_id)
}

#[test]
fn the_strictest_rule_that_matches_wins_and_is_named() {
    let policy = r#"{ "allow": ["*"], "rules": [
        { "tool": "a", "effect": "ask" },
        { "id": "no", "tool": ["a", "b"], "effect": "deny", "when": { "x.0": { "equals": 1 } } },
        { "tool": "a", "effect": "deny" , "when": { "y": { "glob": "src/**" } } } ], "default": "deny" }"#;
    assert_eq!(verdict(policy, "c", json!({})), (Decision::Allow, None));
    assert_eq!(verdict(policy, "a", json!({})), (Decision::Ask, Some("rule-0".into())));
    assert_eq!(verdict(policy, "b", json!({ "x": [1.0] })), (Decision::Deny, Some("no".into())));
    assert_eq!(verdict(policy, "a", json!({ "y": "src/a/b" })), (Decision::Deny, Some("rule-2".into())));
    assert_eq!(verdict(r#"{ "default": "ask" }"#, "x", json!({})), (Decision::Ask, None));
    assert_eq!(verdict("{}", "x", json!({})), (Decision::Allow, None));
}

#[test]
fn a_missing_field_satisfies_no_condition() {
    let policy = r#"{ "rules": [{ "when": { "x": { "not": { "equals": 1 } } }, "effect": "deny" }] }"#;
    assert_eq!(verdict(policy, "a", json!({})).0, Decision::Allow);
    assert_eq!(verdict(policy, "a", json!({ "x": 2 })).0, Decision::Deny);
}

#[test]
fn an_expression_that_reaches_its_limit_denies_whatever_its_rule_says() {
    let policy = r#"{ "rules": [{ "when": { "x": { "regex": "^(?=(a+)+$)(a|aa)+b\\1$" } }, "effect": "allow" }] }"#;
    let verdict = Policy::compile(policy).unwrap().check("t", &json!({ "x": "a".repeat(3_000) }), &mut |_| true);
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.reason.unwrap().contains("too many steps"));
}

#[test]
fn mistakes_name_their_rule() {
    for (policy, expected) in [
        (r#"{ "rules": [{ "id": "mine", "effect": "deny", "when": { "x": { "regex": "(" } } }] }"#, "mine: when.x"),
        (r#"{ "rules": [{ "effect": "deny", "tool": "[" }] }"#, "rule-0: the glob"),
        (r#"{ "rules": [{ "effect": "deny", "when": { "x": {} } }] }"#, "exactly one of"),
    ] {
        let problem = Policy::compile(policy).err().unwrap();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn the_defaults_ask_for_what_changes_something() {
    for (tool, expected) in [
        ("bash", Decision::Ask),
        ("delete_file", Decision::Ask),
        ("mcp__x__y", Decision::Ask),
        ("hook", Decision::Ask),
        ("read_file", Decision::Allow),
        ("my_tool", Decision::Allow),
    ] {
        assert_eq!(default_policy().check(tool, &Value::Null, &mut |_| true).decision, expected, "{tool}");
    }
}

fn any_rule() -> impl Strategy<Value = Value> {
    (
        prop::sample::select(vec!["*", "a", "b*", "{a,c}"]),
        prop::sample::select(vec!["allow", "ask", "deny"]),
        prop::option::of(prop::sample::select(vec![
            json!({ "x": { "equals": 1 } }),
            json!({ "x": { "glob": "s*" } }),
            json!({ "x": { "not": { "startsWith": "s" } } }),
            json!({ "x": { "regex": "^[a-s]" } }),
        ])),
    )
        .prop_map(|(tool, effect, when)| match when {
            Some(when) => json!({ "tool": tool, "effect": effect, "when": when }),
            None => json!({ "tool": tool, "effect": effect }),
        })
}

fn decide(rules: &[Value], tool: &str, input: &Value) -> Decision {
    let policy = Policy::compile(&json!({ "rules": rules }).to_string()).unwrap();
    policy.check(tool, input, &mut |_| true).decision
}

proptest! {
    #[test]
    fn adding_a_deny_never_loosens_and_order_never_matters(
        rules in prop::collection::vec(any_rule(), 0..8),
        tool in prop::sample::select(vec!["a", "b", "bx", "c"]),
        x in prop::sample::select(vec![json!(1), json!("src"), json!("t"), json!(null)]),
    ) {
        let input = json!({ "x": x });
        let before = decide(&rules, tool, &input);
        let mut reversed = rules.clone();
        reversed.reverse();
        prop_assert_eq!(decide(&reversed, tool, &input), before);
        let mut more = rules.clone();
        more.push(json!({ "tool": "a", "effect": "deny" }));
        prop_assert!(strictness(decide(&more, tool, &input)) >= strictness(before));
    }

    #[test]
    fn shell_rules_never_panic(line in "[a-z$(){}\\[\\]'\"`|&;<>\\\\\n =*-]{0,60}", pattern in "[a-z*: ]{1,10}") {
        if let Ok(pattern) = CommandPattern::new(&pattern) {
            let parsed = ShellCommand::parse(&line);
            let _ = parsed.all_match(&pattern);
            let _ = parsed.any_matches(&pattern);
        }
    }
}
