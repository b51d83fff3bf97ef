//! The known word that a misspelt one most likely meant. Pure; knows nothing of what the words name.

/// Longer words are compared only for equality: a distance costs the product of both lengths.
const MAX_WORD_CHARS: usize = 64;

/// The candidate that `word` most likely meant, or none that is close enough.
///
/// A candidate that differs only in letter case or punctuation always wins; otherwise the one with the fewest edits
/// (a swap of two neighbours counts as one), at most one edit for three characters. The first wins a tie.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(word);
    let wanted_chars = wanted.chars().count();
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let known = plain(candidate);
        if known == wanted && (!known.is_empty() || candidate == word) {
            return Some(candidate);
        }
        let known_chars = known.chars().count();
        let longer = wanted_chars.max(known_chars);
        let allowed = longer / 3;
        if longer > MAX_WORD_CHARS || wanted_chars.abs_diff(known_chars) > allowed {
            continue;
        }
        let edits = strsim::damerau_levenshtein(&wanted, &known);
        // As many edits as there are characters would be another word altogether.
        if edits <= allowed && edits < wanted_chars && best.is_none_or(|(fewest, _)| edits < fewest) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Letters and digits alone, in lower case.
fn plain(word: &str) -> String {
    word.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;
    use proptest::prelude::*;

    const EVENTS: [&str; 6] = ["run:start", "run:end", "tool:start", "tool:end", "compact:start", "compact:end"];

    #[test]
    fn finds_the_word_that_was_meant() {
        for (word, meant) in [
            ("Tool:End", "tool:end"),
            ("tool:strat", "tool:start"),
            ("toolStart", "tool:start"),
            ("tool_end", "tool:end"),
            ("rnu:end", "run:end"),
            ("run:ended", "run:end"),
        ] {
            assert_eq!(nearest(word, EVENTS), Some(meant), "{word}");
        }
        assert_eq!(nearest("comand", ["command", "match", "timeoutMs"]), Some("command"));
        assert_eq!(nearest("timeout", ["command", "match", "timeoutMs"]), Some("timeoutMs"));
        assert_eq!(nearest("read_fiel", ["write_file", "read_file"]), Some("read_file"));
    }

    #[test]
    fn finds_nothing_where_nothing_is_close() {
        for word in ["", "x", "before", "finished", "::", "ünïcödé"] {
            assert_eq!(nearest(word, EVENTS), None, "{word}");
        }
        assert_eq!(nearest("a", ["b", "c"]), None);
        assert_eq!(nearest("tool", []), None);
    }

    #[test]
    fn a_difference_of_case_or_punctuation_beats_fewer_edits() {
        assert_eq!(nearest("max-turns", ["max-turn", "maxTurns"]), Some("maxTurns"));
    }

    #[test]
    fn the_first_of_equals_wins() {
        assert_eq!(nearest("cat", ["bat", "hat"]), Some("bat"));
    }

    #[test]
    fn long_words_are_compared_for_equality_alone() {
        let long = "A".repeat(100_000);
        let lower = long.to_lowercase();
        assert_eq!(nearest(&long, [lower.as_str()]), Some(lower.as_str()));
        let shorter = "a".repeat(99_999);
        assert_eq!(nearest(&long, [shorter.as_str()]), None);
    }

    proptest! {
        #[test]
        fn never_panics_and_answers_a_candidate(word in ".{0,80}", candidates in prop::collection::vec(".{0,20}", 0..8)) {
            let names = candidates.iter().map(String::as_str);
            if let Some(found) = nearest(&word, names) {
                prop_assert!(candidates.iter().any(|candidate| candidate == found));
            }
        }

        #[test]
        fn a_candidate_itself_is_found(word in "[a-z]{1,20}") {
            prop_assert_eq!(nearest(&word, ["other", word.as_str()]).map(str::len), Some(word.len()));
        }
    }
}
