//! The patterns of rules over shell commands: text with `*`. Pure text; knows nothing of rules. Globs are the `glob`
//! module's.

/// A pattern of `bashCommand`: `*` matches any text; `:*` at the end means a prefix at a word boundary.
#[derive(Debug)]
pub struct ShellPattern {
    alternatives: Vec<Stars>,
    head: String,
}

impl ShellPattern {
    /// # Errors
    /// Says what is wrong with the pattern.
    pub fn new(pattern: &str) -> Result<ShellPattern, String> {
        let prefix = pattern.strip_suffix(":*");
        if prefix.unwrap_or(pattern).trim().is_empty() {
            return Err(if prefix.is_some() { "it has nothing before :*" } else { "it is empty" }.to_string());
        }
        let alternatives = match prefix {
            Some(prefix) => vec![Stars::new(prefix), Stars::new(&format!("{prefix} *"))],
            None => vec![Stars::new(pattern)],
        };
        let head = prefix.unwrap_or(pattern).split('*').next().unwrap_or_default().to_string();
        Ok(ShellPattern { alternatives, head })
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.alternatives.iter().any(|stars| stars.matches(text))
    }

    /// The text before the first `*`.
    pub fn head(&self) -> &str {
        &self.head
    }
}

/// A pattern as messages show it: in quotes, and not at any length.
pub fn shortened(pattern: &str) -> String {
    const MOST_BYTES: usize = 80;
    let shown = pattern.get(..pattern.floor_char_boundary(MOST_BYTES)).unwrap_or_default();
    if shown.len() < pattern.len() { format!("{shown:?}… ({} bytes)", pattern.len()) } else { format!("{pattern:?}") }
}

/// Text with `*`, parted at them.
#[derive(Debug)]
struct Stars {
    first: String,
    /// What must follow, in order; the last of them at the end. Without any there was no `*`.
    others: Vec<String>,
}

impl Stars {
    fn new(pattern: &str) -> Stars {
        let mut parts = pattern.split('*').map(str::to_string);
        Stars { first: parts.next().unwrap_or_default(), others: parts.collect() }
    }

    fn matches(&self, text: &str) -> bool {
        let Some(mut rest) = text.strip_prefix(self.first.as_str()) else { return false };
        let Some((last, middle)) = self.others.split_last() else { return rest.is_empty() };
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else { return false };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        rest.ends_with(last.as_str())
    }
}
