//! Parts a markdown file into its front matter and its body. Knows where YAML begins and ends, and not what it says.

/// The line before the front matter, which begins the file, and the line behind it.
const FENCE: &str = "---";

/// A file in its two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// What is between the two lines. Its first line is the file's second.
    pub front_matter: &'a str,
    /// What is behind, without the blanks around it.
    pub body: &'a str,
}

/// Finds the front matter: from the first line to the next that is `---` alone, blanks at its end aside. Within a block
/// scalar YAML wants every line indented, and at the start of a line `---` is never part of a value, so that the next
/// such line is the end whatever the front matter holds.
///
/// # Errors
/// The text does not begin with such a line, or has no second one.
pub(super) fn parts(text: &str) -> Result<Parts<'_>, String> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_fence(line)) else {
        return Err("line 1: expected a line \"---\", which begins the front matter".to_string());
    };
    let start = first.len();
    let mut end = start;
    for line in lines {
        let next = end + line.len();
        if is_fence(line) {
            let front_matter = text.get(start..end).unwrap_or_default();
            let body = text.get(next..).unwrap_or_default().trim();
            return Ok(Parts { front_matter, body });
        }
        end = next;
    }
    Err("line 1: the front matter that begins here has no end; expected a line \"---\" behind it".to_string())
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches(['\n', '\r', ' ', '\t']) == FENCE
}

#[cfg(test)]
#[path = "front_matter_test.rs"]
mod tests;
