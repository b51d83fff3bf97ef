//! Whether a rule matches a call: its conditions by dot path, its shell pattern, its file glob.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;

use serde_json::Value;

use super::{Rule, plain_path};
use crate::permission::condition::{Condition, Held};
use crate::permission::shell::ShellCommand;
use crate::types::Decision;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matched {
    Yes,
    No,
    /// A regular expression reached its limit before it could say.
    Limit,
}

/// The input of one call, and what was worked out of it so far.
pub(super) struct View<'a> {
    input: &'a Value,
    shell: OnceCell<Option<Rc<ShellCommand>>>,
}

impl<'a> View<'a> {
    pub(super) fn new(input: &'a Value) -> View<'a> {
        View { input, shell: OnceCell::new() }
    }

    /// The command, parsed when it is first asked for.
    fn shell(&self) -> Option<&ShellCommand> {
        let parse = || self.input.get("command").and_then(Value::as_str).map(ShellCommand::parse_once);
        self.shell.get_or_init(parse).as_deref()
    }

    fn field(&self, path: &[String]) -> Option<&'a Value> {
        path.iter().try_fold(self.input, |value, segment| match value {
            Value::Object(members) => members.get(segment),
            Value::Array(elements) => elements.get(array_index(segment)?),
            _ => None,
        })
    }
}

/// As JavaScript writes an index: `01` and `+1` are none.
fn array_index(segment: &str) -> Option<usize> {
    let is_canonical =
        segment.bytes().all(|byte| byte.is_ascii_digit()) && (segment == "0" || !segment.starts_with('0'));
    segment.parse().ok().filter(|_| is_canonical)
}

impl Rule {
    pub(super) fn reads_input(&self) -> bool {
        !self.when.is_empty() || self.shell.is_some() || self.file.is_some()
    }

    pub(super) fn may_reach_limit(&self) -> bool {
        self.when.iter().any(|(_, condition)| condition.backtracks())
    }

    /// All but the host's function. The dear parts come last, and only if all others hold.
    pub(super) fn matches(&self, view: &View<'_>) -> Matched {
        let holds = |(path, condition): &(Vec<String>, Condition)| {
            view.field(path).map_or(Held::Inapplicable, |value| self.holds(path, condition, value))
        };
        let linear = self.when.iter().filter(|(_, condition)| !condition.backtracks());
        if linear.map(holds).any(|held| held != Held::Yes) {
            return Matched::No;
        }
        if let Some(glob) = &self.file {
            let path = view.input.get("path").and_then(Value::as_str);
            if !path.is_some_and(|path| glob.matches(&plain_path(path))) {
                return Matched::No;
            }
        }
        if let Some(pattern) = &self.shell
            && !view.shell().is_some_and(|command| command.satisfies(pattern, self.effect))
        {
            return Matched::No;
        }
        let mut matched = Matched::Yes;
        for held in self.when.iter().filter(|(_, condition)| condition.backtracks()).map(holds) {
            match held {
                Held::Yes => {}
                Held::Limit => matched = Matched::Limit,
                Held::No | Held::Inapplicable => return Matched::No,
            }
        }
        matched
    }

    /// A field that is named `path` may be written in many ways, and mean one file. What denies or asks applies if any of
    /// the two that are known here satisfies the condition; what allows, if both do.
    fn holds(&self, path: &[String], condition: &Condition, value: &Value) -> Held {
        let written = condition.check(value);
        let Value::String(text) = value else { return written };
        if path.last().is_none_or(|name| name != "path") || !condition.is_pattern() {
            return written;
        }
        let Cow::Owned(plain) = plain_path(text) else { return written };
        let plain = condition.check(&Value::String(plain));
        let wanted = if self.effect == Decision::Allow { Held::No } else { Held::Yes };
        match (written, plain) {
            (Held::Limit, _) | (_, Held::Limit) => Held::Limit,
            (one, other) if one == wanted || other == wanted => wanted,
            _ => written,
        }
    }
}
