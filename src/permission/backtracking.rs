//! Regular expressions that need backtracking: look-around, back-references. Each look at a text is bounded in work, not
//! only in how often it goes back: a look-around may read all of the text at each step, and no limit of the engine counts
//! that. Knows nothing of conditions.

use std::sync::OnceLock;

use fancy_regex::{Assertion, Expr, Regex, RegexBuilder};

/// How often a pattern may go back at most.
pub const BACKTRACK_LIMIT: usize = 10_000;

/// Steps times what a step may read, in bytes. About four milliseconds.
const MAX_WORK: usize = 600_000;
/// With fewer steps left than that, a pattern is not tried.
const MIN_STEPS: usize = 16;
/// Look-arounds outside loops that a pass over the text comes by.
const LOOKS_IN_A_PASS: usize = 8;

/// Larger patterns take longer for each byte.
const SMALL: usize = 64;

/// So many times as long takes a byte where tables do not help.
const SLOWER: usize = 16;

/// Texts are told apart by length, in powers of two from the first of these to the last.
const SHORTEST_BYTES: usize = 64;
const LENGTHS: usize = 11;

/// A repetition of more than that counts as one without end.
const MAX_BOUNDED: usize = 64;
/// Patterns nested that deep read too much in one step.
const MAX_DEPTH: u32 = 4;

/// A pattern, compiled for each length of text when such a text first comes.
#[derive(Debug)]
pub struct Backtracking {
    source: String,
    cost: Cost,
    by_length: [OnceLock<Option<Regex>>; LENGTHS],
}

impl Backtracking {
    /// # Errors
    /// What is wrong with the pattern.
    pub fn new(source: &str) -> Result<Backtracking, String> {
        let tree = Expr::parse_tree(source).map_err(|error| error.to_string())?;
        let cost = Cost::of(&tree.expr, 0);
        let backtracking = Backtracking { source: source.to_string(), cost, by_length: Default::default() };
        let shortest = build(source, BACKTRACK_LIMIT).map_err(|error| error.to_string())?;
        if let Some(first) = backtracking.by_length.first()
            && backtracking.steps(0) == Some(BACKTRACK_LIMIT)
        {
            // It was empty: nobody else knows of it yet.
            let _ = first.set(Some(shortest));
        }
        Ok(backtracking)
    }

    /// Whether the text matches; nothing if that cannot be said within the bounds.
    pub fn is_match(&self, text: &str) -> Option<bool> {
        // Where a word ends takes an engine without tables in a text that is not ASCII.
        let is_slow = self.cost.finds_words && !text.is_ascii();
        let bytes = text.len().saturating_mul(if is_slow { SLOWER } else { 1 });
        let class = if self.cost.is_bounded() { 0 } else { class_of(bytes)? };
        let compile = || self.steps(class).and_then(|steps| build(&self.source, steps).ok());
        let regex = self.by_length.get(class)?.get_or_init(compile).as_ref()?;
        regex.is_match(text).ok()
    }

    /// How often the pattern may go back in a text of that class.
    fn steps(&self, class: usize) -> Option<usize> {
        let length = SHORTEST_BYTES << class;
        let read_by_step =
            length.checked_pow(self.cost.depth.max(1))?.checked_mul((self.cost.size / SMALL).checked_pow(2)? + 1)?;
        let first_pass = if self.cost.looks_in_loop { length } else { LOOKS_IN_A_PASS };
        let steps = (MAX_WORK / read_by_step).checked_sub(first_pass)?;
        (steps >= MIN_STEPS).then_some(steps.min(BACKTRACK_LIMIT))
    }
}

fn build(source: &str, steps: usize) -> Result<Regex, fancy_regex::Error> {
    RegexBuilder::new(source).backtrack_limit(steps).build()
}

fn class_of(bytes: usize) -> Option<usize> {
    (0..LENGTHS).find(|class| bytes <= SHORTEST_BYTES << class)
}

/// What one step of a pattern may read.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    /// Some part repeats without end.
    repeats: bool,
    /// How many look-arounds with such a part are within one another.
    depth: u32,
    /// One of them is in such a part: each step of that may come by it.
    looks_in_loop: bool,
    /// It asks where words begin and end.
    finds_words: bool,
    /// How large the pattern is once its counted repetitions are written out.
    size: usize,
}

impl Cost {
    fn is_bounded(self) -> bool {
        !self.repeats && self.depth == 0 && self.size <= SMALL
    }

    /// By recursion: the engine's parser bounds how deeply a pattern may nest.
    fn of(expression: &Expr, level: usize) -> Cost {
        const WORST: Cost = Cost { repeats: true, depth: MAX_DEPTH, looks_in_loop: true, finds_words: true, size: 1 };
        if level > 200 {
            return WORST;
        }
        let all = |children: &mut dyn Iterator<Item = &Expr>| {
            children.map(|child| Cost::of(child, level + 1)).fold(Cost::default(), Cost::and)
        };
        match expression {
            Expr::Concat(children) | Expr::Alt(children) => all(&mut children.iter()),
            Expr::Group(child) => Cost::of(child, level + 1),
            Expr::AtomicGroup(child) => Cost::of(child, level + 1),
            Expr::Repeat { child, lo, hi, .. } => {
                let inner = Cost::of(child, level + 1);
                let is_long = *hi > MAX_BOUNDED || (*hi > 1 && has_repeat(child));
                Cost {
                    finds_words: inner.finds_words,
                    repeats: inner.repeats || is_long,
                    depth: inner.depth,
                    looks_in_loop: inner.looks_in_loop || (*hi > 1 && inner.depth > 0),
                    size: inner.size.saturating_mul(if *hi == usize::MAX { (*lo).max(1) } else { (*hi).max(1) }),
                }
            }
            Expr::LookAround(child, _) => {
                let inner = Cost::of(child, level + 1);
                Cost { repeats: false, depth: inner.depth + u32::from(inner.repeats), ..inner }
            }
            Expr::Conditional { condition, true_branch, false_branch } => {
                all(&mut [condition.as_ref(), true_branch.as_ref(), false_branch.as_ref()].into_iter())
            }
            Expr::Empty
            | Expr::Any { .. }
            | Expr::GeneralNewline { .. }
            | Expr::Literal { .. }
            | Expr::LiteralBytes { .. }
            | Expr::Delegate { .. }
            | Expr::KeepOut
            | Expr::BackrefExistsCondition { .. } => Cost { size: 1, ..Cost::default() },
            Expr::Assertion(assertion) => {
                let is_of_text = matches!(assertion, Assertion::StartText | Assertion::EndText);
                Cost { finds_words: !is_of_text, size: 1, ..Cost::default() }
            }
            // It compares as much as its group took.
            Expr::Backref { .. } => Cost { repeats: true, size: 1, ..Cost::default() },
            // Calls of groups, absent operators and the like may do anything.
            _ => WORST,
        }
    }

    fn and(self, other: Cost) -> Cost {
        Cost {
            repeats: self.repeats || other.repeats,
            depth: self.depth.max(other.depth),
            looks_in_loop: self.looks_in_loop || other.looks_in_loop,
            finds_words: self.finds_words || other.finds_words,
            size: self.size.saturating_add(other.size),
        }
    }
}

/// Whether something in it repeats: repetitions of repetitions multiply.
fn has_repeat(expression: &Expr) -> bool {
    match expression {
        Expr::Repeat { hi, child, .. } => *hi > 1 || has_repeat(child),
        Expr::Concat(children) | Expr::Alt(children) => children.iter().any(has_repeat),
        Expr::Group(child) => has_repeat(child),
        Expr::AtomicGroup(child) | Expr::LookAround(child, _) => has_repeat(child),
        Expr::Conditional { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
#[path = "backtracking_test.rs"]
mod tests;
