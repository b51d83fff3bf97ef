//! What a file held before a tool changed it, as the session's log keeps it.

use crate::host::Recorded;
use crate::tools::builtin::Before;
use crate::workspace::Digest;

/// One file, before a change.
pub(super) struct Snapshot {
    path: String,
    /// Nothing where there was no file, or one too large to keep.
    before: Option<String>,
    truncated: bool,
    encoding: Option<&'static str>,
    /// Digest of what the file is to hold; nothing where it is to be deleted.
    after: Option<String>,
}

impl Snapshot {
    pub fn of(path: &str, before: Before<'_>, after: Option<&[u8]>) -> Snapshot {
        let (before, truncated, encoding) = match before {
            Before::TooLarge { .. } => (None, true, None),
            Before::Held(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => (Some(text.to_string()), false, None),
                Err(_) => (Some(base64(bytes)), false, Some("base64")),
            },
            Before::Absent => (None, false, None),
        };
        let after = after.map(|content| Digest::of(content).to_string());
        Snapshot { path: path.to_string(), before, truncated, encoding, after }
    }

    pub fn recorded(&self, turn: u32) -> Recorded<'_> {
        Recorded::FileSnapshot {
            path: &self.path,
            before: self.before.as_deref(),
            truncated: self.truncated,
            encoding: self.encoding,
            after: self.after.as_deref(),
            turn,
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
