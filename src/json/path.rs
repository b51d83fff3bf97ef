//! JSON paths as messages show them: `$.hooks["tool:end"][0].command`. Knows nothing of texts and positions.

use super::quote;

/// One step down from a value.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The path of these steps from the root.
pub fn path_of<'a>(steps: impl IntoIterator<Item = Step<'a>>) -> String {
    let mut path = "$".to_string();
    for step in steps {
        match step {
            Step::Key(key) if is_plain(key) => {
                path.push('.');
                path.push_str(key);
            }
            Step::Key(key) => {
                path.push('[');
                path.push_str(&quote(key));
                path.push(']');
            }
            Step::Index(index) => {
                path.push('[');
                path.push_str(&index.to_string());
                path.push(']');
            }
        }
    }
    path
}

/// Whether a key can stand without quotes.
fn is_plain(key: &str) -> bool {
    let first = key.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$'));
    first && key.len() <= 64 && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
}

#[cfg(test)]
mod tests {
    use super::{Step, path_of};

    #[test]
    fn keys_that_are_no_names_are_quoted() {
        let steps = [Step::Key("hooks"), Step::Key("tool:end"), Step::Index(0), Step::Key("a\"b\n"), Step::Key("")];
        assert_eq!(path_of(steps), r#"$.hooks["tool:end"][0]["a\"b\n"][""]"#);
        assert_eq!(path_of([]), "$");
        assert_eq!(path_of([Step::Key("$schema")]), "$.$schema");
        assert!(path_of([Step::Key(&"k".repeat(10_000))]).len() < 100);
    }
}
