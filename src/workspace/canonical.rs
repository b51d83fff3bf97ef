//! The path of a file relative to the root, in the one form that names it; and how paths are shown. Touches no disk.

use super::Failure;

/// Longer paths are refused before anything is looked up.
pub(super) const MAX_PATH_BYTES: usize = 16 * 1024;
/// No file system in use has longer names.
pub(super) const MAX_NAME_BYTES: usize = 255;
const MAX_SHOWN_CHARS: usize = 300;

/// Names joined by `/`, none of them empty, `.` or `..`; `.` alone is the root itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalPath(String);

impl CanonicalPath {
    /// The root.
    pub fn root() -> CanonicalPath {
        CanonicalPath(".".to_string())
    }

    /// Takes a path that was resolved before, and is in canonical form.
    ///
    /// # Errors
    /// `Failure::Malformed` for any other form: nothing is resolved here.
    pub fn parse(path: &str) -> Result<CanonicalPath, Failure> {
        check_text(path)?;
        let is_canonical =
            path == "." || path.split('/').all(|name| !matches!(name, "" | "." | "..") && name.len() <= MAX_NAME_BYTES);
        if is_canonical {
            Ok(CanonicalPath(path.to_string()))
        } else {
            Err(Failure::malformed(
                path,
                "is not resolved: it must be the canonical path, relative to the working folder",
            ))
        }
    }

    pub(super) fn from_names<'a>(names: impl Iterator<Item = &'a [u8]>, asked: &str) -> Result<CanonicalPath, Failure> {
        let mut path = String::new();
        for name in names {
            let Ok(name) = std::str::from_utf8(name) else {
                return Err(Failure::malformed(
                    asked,
                    "leads to a name that is not UTF-8 text, which no tool can open",
                ));
            };
            if name.len() > MAX_NAME_BYTES {
                return Err(Failure::TooLong { path: asked.to_string() });
            }
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
        }
        if path.len() > MAX_PATH_BYTES {
            return Err(Failure::TooLong { path: asked.to_string() });
        }
        Ok(if path.is_empty() { CanonicalPath::root() } else { CanonicalPath(path) })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0 == "."
    }

    /// The text that leads from the root to it: nothing for the root itself.
    pub fn beneath(&self) -> &str {
        if self.is_root() { "" } else { &self.0 }
    }

    /// The path of a name in it. The name must be one.
    pub(super) fn join(&self, name: &str) -> CanonicalPath {
        CanonicalPath(if self.is_root() { name.to_string() } else { format!("{}/{name}", self.0) })
    }

    /// Its folder and its name; none for the root.
    pub fn split(&self) -> Option<(CanonicalPath, &str)> {
        if self.is_root() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((folder, name)) => (CanonicalPath(folder.to_string()), name),
            None => (CanonicalPath::root(), &self.0),
        })
    }
}

/// What holds for every path, before it is looked at closer.
pub(super) fn check_text(path: &str) -> Result<(), Failure> {
    if path.is_empty() {
        Err(Failure::malformed(path, "must not be empty"))
    } else if path.contains('\0') {
        Err(Failure::malformed(path, "must not hold a NUL character"))
    } else if path.len() > MAX_PATH_BYTES {
        Err(Failure::TooLong { path: path.to_string() })
    } else {
        Ok(())
    }
}

/// A path in quotes, as a message shows it: on one line, its middle left out where it is very long.
pub fn shown(path: &str) -> String {
    let count = path.chars().count();
    let text = if count > MAX_SHOWN_CHARS {
        let head: String = path.chars().take(MAX_SHOWN_CHARS / 2).collect();
        let tail: String = path.chars().skip(count - MAX_SHOWN_CHARS / 2).collect();
        format!("{head}…{tail}")
    } else {
        path.to_string()
    };
    if text.chars().any(char::is_control) { format!("{text:?}") } else { format!("'{text}'") }
}
