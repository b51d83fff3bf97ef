//! What `${…}` does besides giving text: it may evaluate an index or an offset, go through a name, or assign. Knows
//! nothing of where it stands.

use super::variable::{Variables, is_plain_index};

/// Notes what is evaluated and what is bound, and returns whether a pattern may allow it at all.
pub(super) fn note(source: &str, variables: &mut Variables) -> bool {
    let Some(inner) = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return true;
    };
    if matches!(inner, "#" | "!") {
        return true;
    }
    if let Some(name) = inner.strip_prefix('!') {
        variables.evaluate(name);
        return false;
    }
    let inner = inner.strip_prefix('#').unwrap_or(inner);
    let name_end = inner.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(inner.len());
    let (name, mut rest) = if name_end == 0 {
        inner.split_at(inner.chars().next().map_or(0, char::len_utf8))
    } else {
        inner.split_at(name_end)
    };
    if let Some(indexed) = rest.strip_prefix('[') {
        let Some(end) = index_end(indexed) else {
            variables.evaluate(indexed);
            return false;
        };
        let (index, behind) = indexed.split_at(end);
        if !is_plain_index(index) {
            variables.evaluate(index);
        }
        rest = behind.get(1..).unwrap_or_default();
    }
    let without_colon = rest.strip_prefix(':').unwrap_or(rest);
    match without_colon.chars().next() {
        // What it assigns is a value of which nothing is known.
        Some('=') => {
            variables.bind_name(name);
            false
        }
        Some('-' | '?' | '+') | None => true,
        // `${x: -1}`: a blank parts the offset from the operator.
        Some(_) if without_colon.len() < rest.len() => {
            variables.evaluate(without_colon);
            true
        }
        Some('#' | '%' | '/' | '^' | ',' | '~') => true,
        Some(_) => {
            variables.evaluate(rest);
            false
        }
    }
}

/// Where the index ends that begins the text.
fn index_end(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '[' => open += 1,
            ']' if open == 0 => return Some(at),
            ']' => open -= 1,
            _ => {}
        }
    }
    None
}
