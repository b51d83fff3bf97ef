//! What a file held before a tool changed it, as the session's log keeps it.

use crate::host::Recorded;
use crate::tools::builtin::Before;

/// One file, before a change.
pub(super) struct Snapshot {
    path: String,
    /// Nothing where there was no file, or one too large to keep.
    before: Option<String>,
    truncated: bool,
    encoding: Option<&'static str>,
}

impl Snapshot {
    pub fn of(path: &str, before: Before<'_>) -> Snapshot {
        let path = path.to_string();
        match before {
            Before::Absent => Snapshot { path, before: None, truncated: false, encoding: None },
            Before::TooLarge { .. } => Snapshot { path, before: None, truncated: true, encoding: None },
            Before::Held(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Snapshot { path, before: Some(text.to_string()), truncated: false, encoding: None },
                Err(_) => Snapshot { path, before: Some(base64(bytes)), truncated: false, encoding: Some("base64") },
            },
        }
    }

    pub fn recorded(&self, turn: u32) -> Recorded<'_> {
        Recorded::FileSnapshot {
            path: &self.path,
            before: self.before.as_deref(),
            truncated: self.truncated,
            encoding: self.encoding,
            turn,
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
