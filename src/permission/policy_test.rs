//! What policies say: the strictest wins, rules are named, conditions mean what they say, mistakes are told.

use serde_json::json;

use super::*;
use crate::work_time::work_time;

fn policy(options: Value) -> Policy {
    Policy::compile(&options.to_string()).unwrap()
}

fn check(options: Value, tool: &str, input: Value) -> Verdict {
    policy(options).check(tool, &input, &mut |_| false)
}

fn when(conditions: Value, input: Value) -> bool {
    check(json!({ "rules": [{ "when": conditions, "effect": "deny" }] }), "any", input).decision == Decision::Deny
}

#[test]
fn the_strictest_wins_and_names_the_first_rule_with_its_effect() {
    let rules = json!([
        { "tool": "a*", "effect": "allow", "id": "all" },
        { "tool": "ab", "effect": "ask", "description": "look" },
        { "tool": ["ab*", "x"], "effect": "ask", "id": "later" },
        { "tool": "abc", "effect": "deny" },
    ]);
    let verdict =
        |tool| check(json!({ "rules": rules, "default": "deny", "ask": ["q", "a"], "allow": ["z"] }), tool, json!({}));
    assert_eq!(verdict("aa"), Verdict { decision: Decision::Allow, rule_id: Some("all".into()), reason: None });
    assert_eq!(verdict("ab").rule_id.as_deref(), Some("rule-1"));
    assert_eq!(verdict("ab").reason.as_deref(), Some("look"));
    assert_eq!(verdict("abc"), Verdict { decision: Decision::Deny, rule_id: Some("rule-3".into()), reason: None });
    for (tool, decision) in [("a", Decision::Ask), ("q", Decision::Ask), ("z", Decision::Allow), ("y", Decision::Deny)]
    {
        assert_eq!(verdict(tool), Verdict::bare(decision), "{tool}");
    }
}

#[test]
fn conditions_mean_what_they_say() {
    for (conditions, input, expected) in [
        (json!({ "a.b": { "equals": 1 } }), json!({ "a": { "b": 1.0 } }), true),
        (
            json!({ "a": { "equals": { "x": [1, null], "y": "s" } } }),
            json!({ "a": { "y": "s", "x": [1, null] } }),
            true,
        ),
        (json!({ "a": { "equals": [1, 2] } }), json!({ "a": [2, 1] }), false),
        (json!({ "args.0": { "in": ["a", 2] } }), json!({ "args": ["a"] }), true),
        (json!({ "args.0.1": { "in": ["a", 2] } }), json!({ "args": [[0, 2]] }), true),
        (json!({ "args.00": { "equals": "a" } }), json!({ "args": ["a"] }), false),
        (json!({ "args.1": { "not": { "equals": "a" } } }), json!({ "args": ["a"] }), false),
        (json!({ "a": { "not": { "equals": null } } }), json!({}), false),
        (json!({ "a": { "equals": null } }), json!({ "a": null }), true),
        (json!({ "a": { "not": { "glob": "x" } } }), json!({ "a": 1 }), false),
        (json!({ "a": { "not": { "not": { "glob": "x" } } } }), json!({ "a": 1 }), false),
        (json!({ "a": { "not": { "glob": "x" } } }), json!({ "a": "y" }), true),
        (json!({ "a": { "not": { "not": { "contains": "x" } } } }), json!({ "a": "axb" }), true),
        (json!({ "a": { "glob": "!x*" } }), json!({ "a": 5 }), false),
        (json!({ "a": { "startsWith": "x" } }), json!({ "a": "xy" }), true),
        (json!({ "a": { "regex": "^x+$" } }), json!({ "a": "xx" }), true),
        (json!({ "a": { "regex": "x" } }), json!({ "a": "axb" }), true),
        (json!({ "a": { "regex": "(?<!b)x" } }), json!({ "a": "ax" }), true),
        (json!({ "a": { "regex": "(.)\\1" } }), json!({ "a": "abc" }), false),
        (json!({ "a": { "regex": "\\p{Greek}" } }), json!({ "a": "λ" }), true),
        (json!({ "a": { "equals": 1 }, "b": { "equals": 2 } }), json!({ "a": 1, "b": 3 }), false),
        (json!({ "length": { "equals": 1 } }), json!(["x"]), false),
    ] {
        assert_eq!(when(conditions.clone(), input.clone()), expected, "{conditions} on {input}");
    }
}

#[test]
fn a_regular_expression_that_backtracks_for_ever_denies_and_says_so() {
    for effect in ["allow", "ask", "deny"] {
        for condition in [json!({ "regex": "^(a|a)*(?=b)$" }), json!({ "not": { "regex": "^(a|aa)+\\1$(?!c)x" } })] {
            let rules = json!([{ "id": "slow", "when": { "x": condition }, "effect": effect }]);
            let policy = policy(json!({ "rules": rules, "allow": ["t"] }));
            let start = work_time();
            let verdict = policy.check("t", &json!({ "x": "a".repeat(9_000) }), &mut |_| false);
            let took = work_time() - start;
            assert!(took.as_millis() < 500, "{took:?}");
            assert_eq!(verdict.decision, Decision::Deny, "{condition}");
            assert!(verdict.reason.unwrap().contains("backtrack limit"));
        }
    }
}

#[test]
fn mistakes_are_told_with_the_rule_and_the_place() {
    for (options, message) in [
        (json!([]), "the options must be an object, got an array"),
        (json!({ "alow": [] }), "alow is no option; did you mean allow?"),
        (json!({ "allow": "x" }), "allow must be an array, got a string"),
        (json!({ "deny": [1] }), "deny must hold strings alone, got a number"),
        (json!({ "ask": ["[a"] }), "ask \"[a\" is no glob: a [ has no ]"),
        (json!({ "default": "alow" }), "default must be allow, deny or ask, got \"alow\"; did you mean allow?"),
        (json!({ "rules": [1] }), "rules[0] must be an object, got a number"),
        (
            json!({ "rules": [{ "efect": "deny" }] }),
            "rule rule-0: efect is no property of a rule; did you mean effect?",
        ),
        (json!({ "rules": [{}] }), "rule rule-0: effect is required"),
        (json!({ "rules": [{ "id": "" , "effect": "deny" }] }), "rules[0]: id must not be empty"),
        (json!({ "rules": [{ "id": "r", "effect": "deny", "tool": [] }] }), "rule r: tool must not be an empty array"),
        (
            json!({ "rules": [{ "id": "r", "effect": "deny", "when": { "a": {} } }] }),
            "rule r: when[\"a\"] must have exactly one",
        ),
        (
            json!({ "rules": [{ "id": "r", "effect": "deny", "when": { "a": { "glob": "x", "regex": "y" } } }] }),
            "got glob, regex",
        ),
        (
            json!({ "rules": [{ "id": "r", "effect": "deny", "when": { "a": { "regx": "y" } } }] }),
            "did you mean regex?",
        ),
        (
            json!({ "rules": [{ "id": "r", "effect": "deny", "when": { "a": { "regex": "(" } } }] }),
            "rule r: when[\"a\"].regex \"(\" is no",
        ),
        (
            json!({ "rules": [{ "id": "r", "effect": "deny", "when": { "a": { "not": { "glob": "{" } } } }] }),
            "when[\"a\"].not.glob",
        ),
        (
            json!({ "rules": [{ "id": "r", "effect": "deny", "when": { "a..b": { "glob": "x" } } }] }),
            "must be a path of names",
        ),
    ] {
        let error = Policy::compile(&options.to_string()).unwrap_err();
        assert!(error.contains(message), "{error:?} lacks {message:?}");
    }
}

#[test]
fn functions_of_the_host_are_asked_only_where_they_can_matter() {
    let policy = policy(json!({ "rules": [
        { "id": "w", "tool": "a", "where": true, "effect": "deny" },
        { "tool": "b", "where": true, "effect": "deny" },
        { "tool": "a", "when": { "x": { "equals": 1 } }, "where": true, "effect": "ask" },
    ] }));
    let ask = |input: Value, answer: bool| {
        let mut asked = Vec::new();
        let verdict = policy.check("a", &input, &mut |rule| {
            asked.push(rule);
            answer
        });
        (verdict.decision, asked)
    };
    assert!(policy.needs_host());
    assert_eq!(ask(json!({ "x": 1 }), false), (Decision::Allow, vec![0, 2]));
    assert_eq!(ask(json!({ "x": 2 }), false), (Decision::Allow, vec![0]));
    assert_eq!(ask(json!({ "x": 1 }), true), (Decision::Deny, vec![0]));
}

#[test]
fn file_rules_see_the_path_without_detours() {
    let options = json!({ "rules": [{ "tool": "write_file", "file": "src/**", "effect": "deny" }] });
    for (path, denied) in
        [("src/a", true), ("./x/../src/a", true), ("src//a", true), ("a/src/b", false), ("../src/a", false)]
    {
        let decision = check(options.clone(), "write_file", json!({ "path": path })).decision;
        assert_eq!(decision == Decision::Deny, denied, "{path}");
    }
}

#[test]
fn composed_policies_cannot_be_loosened() {
    let one = Arc::new(policy(json!({ "deny": ["a"], "default": "ask" })));
    let two = Arc::new(policy(json!({ "rules": [{ "id": "r", "tool": "b", "effect": "deny" }], "allow": ["a", "b"] })));
    let both = Policy::compose(&[one, two]);
    let verdict = |tool| both.check(tool, &Value::Null, &mut |_| false);
    assert_eq!(verdict("a"), Verdict::bare(Decision::Deny));
    assert_eq!(verdict("b").rule_id.as_deref(), Some("r"));
    assert_eq!(verdict("c"), Verdict::bare(Decision::Ask));
    assert_eq!(Policy::compose(&[]).check("a", &Value::Null, &mut |_| false), Verdict::bare(Decision::Deny));
}

#[test]
fn input_that_cannot_be_read_is_denied() {
    let policy = policy(json!({ "rules": [{ "when": { "a": { "equals": "\u{FFFD}x\\ud800" } }, "effect": "ask" }] }));
    let decide = |input: &str| policy.check_json("t", input, &mut |_| false);
    assert_eq!(decide("{").decision, Decision::Deny);
    assert!(decide(&"[".repeat(5_000)).reason.unwrap().contains("nested too deeply"));
    assert_eq!(decide(r#"{"a":"\ud800x\\ud800"}"#).decision, Decision::Ask);
    assert_eq!(decide(r#"{"a":"\ud83d\ude00","b":"\udc00"}"#).decision, Decision::Allow);
}

#[test]
fn the_defaults_ask_for_what_changes_something() {
    let verdict = |tool| default_policy().check(tool, &Value::Null, &mut |_| false);
    for tool in ["bash", "write_file", "edit_file", "delete_file", "hook", "mcp_connect", "mcp__a__b"] {
        assert_eq!(verdict(tool), Verdict::bare(Decision::Ask), "{tool}");
    }
    for tool in ["read_file", "glob", "grep", "mine", "mcp"] {
        assert_eq!(verdict(tool), Verdict::bare(Decision::Allow), "{tool}");
    }
}
