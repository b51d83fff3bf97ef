//! Where a text that does not occur was most likely meant. Pure, and bounded in time whatever the texts are.

use super::line_ends;

/// Further lines are not looked at.
const MAX_LINES: usize = 100_000;
/// Comparisons of lines, so that texts of equal lines cost no more than others.
const MAX_COMPARISONS: usize = 1_000_000;
/// Only lines so long are compared letter by letter: that costs the product of their lengths.
const MAX_LINE_CHARS: usize = 200;
/// Such products that are spent at most: about 50 ms.
const MAX_LETTER_COMPARISONS: usize = 10_000_000;
const MIN_LIKENESS: f64 = 0.6;
const MAX_SHOWN_CHARS: usize = 160;

/// A hint at what the text has in place of `old`, which it does not hold.
pub(super) fn of(text: &str, old: &str) -> Option<String> {
    if text.contains('\r') != old.contains('\r') || !line_ends::are_all_crlf(text) {
        let plain_old = old.replace('\r', "");
        if (text.contains('\r') || old.contains('\r')) && text.replace('\r', "").contains(&plain_old) {
            return Some(
                "it would but for the line ends: some of its lines end in \\r\\n, some in \\n alone".to_string(),
            );
        }
    }
    let lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
    let wanted: Vec<&str> = old.lines().map(str::trim).skip_while(|line| line.is_empty()).collect();
    let first = wanted.first()?;
    match longest_run(&lines, &wanted) {
        Some((at, run)) if run >= wanted.len() => {
            Some(format!("line {} differs from it in spaces alone: {}", at + 1, quoted(lines.get(at)?)))
        }
        Some((at, run)) => {
            let found = match lines.get(at + run) {
                Some(line) => format!("the file has {}", quoted(line)),
                None => "the file ends".to_string(),
            };
            let asked = quoted(wanted.get(run)?);
            Some(format!(
                "it is like it from line {} on, but at line {} {found} where old_text has {asked}",
                at + 1,
                at + run + 1
            ))
        }
        None => {
            let (at, line) = most_like(&lines, first)?;
            Some(format!("the line most like its first is {}: {}", at + 1, quoted(line)))
        }
    }
}

/// Where most lines in a row are those that are wanted, spaces at their ends aside, and how many.
fn longest_run(lines: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize)> = None;
    let mut comparisons = 0;
    for start in 0..lines.len() {
        let here = lines.get(start..).unwrap_or_default();
        let run = here.iter().zip(wanted).take_while(|(line, wanted)| line.trim() == **wanted).count();
        comparisons += run + 1;
        if run > best.map_or(0, |(_, longest)| longest) {
            best = Some((start, run));
        }
        if comparisons > MAX_COMPARISONS || run == wanted.len() {
            break;
        }
    }
    best
}

fn most_like<'a>(lines: &[&'a str], wanted: &str) -> Option<(usize, &'a str)> {
    let wanted_chars = wanted.chars().count();
    if wanted_chars > MAX_LINE_CHARS {
        return None;
    }
    let mut best: Option<(usize, f64)> = None;
    let mut spent = 0;
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        let chars = line.chars().take(MAX_LINE_CHARS + 1).count();
        // Of very different lengths they cannot be like enough.
        if chars > MAX_LINE_CHARS || chars * 2 < wanted_chars || wanted_chars * 2 < chars {
            continue;
        }
        spent += chars * wanted_chars;
        if spent > MAX_LETTER_COMPARISONS {
            break;
        }
        let likeness = strsim::normalized_levenshtein(line, wanted);
        if likeness >= MIN_LIKENESS && best.is_none_or(|(_, most)| likeness > most) {
            best = Some((at, likeness));
        }
    }
    best.and_then(|(at, _)| Some((at, *lines.get(at)?)))
}

fn quoted(line: &str) -> String {
    let shown: String = line.chars().take(MAX_SHOWN_CHARS).collect();
    let more = if shown.len() < line.len() { "…" } else { "" };
    format!("{shown:?}{more}")
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_place_that_was_meant_is_found() {
        let text = "fn main() {\n    let a = 1;\n    let b = 2;\n}\n";
        for (old, hint) in [
            ("let a = 1;\nlet b = 2;", "line 2 differs from it in spaces alone: \"    let a = 1;\""),
            (
                "    let a = 1;\n    let c = 2;\n",
                "it is like it from line 2 on, but at line 3 the file has \"    let b = 2;\" where old_text has \"let c = 2;\"",
            ),
            ("}\nmore", "but at line 5 the file ends where old_text has \"more\""),
            ("    let a = 10;\n", "the line most like its first is 2: \"    let a = 1;\""),
        ] {
            let found = of(text, old).unwrap();
            assert!(found.contains(hint), "{found}");
        }
        assert_eq!(of(text, "something else altogether"), None);
        assert_eq!(of("", "a"), None);
        assert_eq!(of("a", "\n\n"), None);
    }

    #[test]
    fn line_ends_that_differ_are_told() {
        assert!(of("a\r\nb\nc", "a\nb").unwrap().contains("line ends"));
        assert!(of("a\nb\n", "a\r\nb").unwrap().contains("line ends"));
    }

    #[test]
    fn texts_made_to_be_slow_are_not() {
        let text = "a\n".repeat(100_000);
        let old = format!("{}b", "a\n".repeat(90_000));
        assert!(of(&text, &old).unwrap().contains("where old_text has \"b\""));
        let lines: String = (0..100_000).map(|number| format!("{}{number}\n", "x".repeat(150))).collect();
        of(&lines, &"y".repeat(150));
    }
}
