//! Ids of sessions. They become names of files: anything outside the alphabet is refused,
//! never rewritten, so that two ids never name one log.

use std::fmt;
use std::sync::Arc;

use crate::session::store::StoreError;

const MAX_ID_CHARS: usize = 128;

/// The id of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// # Errors
    /// `Refused` unless it is 1 to 128 of `A-Z a-z 0-9 _ -`.
    pub fn new(id: &str) -> Result<SessionId, StoreError> {
        checked(id, "a session id").map(SessionId)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn checked(id: &str, what: &str) -> Result<Arc<str>, StoreError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !id.is_empty() && id.len() <= MAX_ID_CHARS && id.bytes().all(allowed) {
        return Ok(id.into());
    }
    let shown: String = id.chars().take(60).collect();
    Err(StoreError::Refused(format!("{what} must be 1 to {MAX_ID_CHARS} of A-Z a-z 0-9 _ -, got {shown:?}")))
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_outside_the_alphabet_are_refused() {
        let long = "a".repeat(129);
        for id in ["", "a/b", "..", "a.b", "a b", "é", "a\0", long.as_str(), "a\n"] {
            let error = SessionId::new(id).unwrap_err();
            assert_eq!(error.code(), "store_refused");
            assert!(error.to_string().contains("1 to 128 of A-Z a-z 0-9 _ -"), "{error}");
        }
    }

    #[test]
    fn ids_of_the_alphabet_are_kept_as_they_are() {
        let longest = "-".repeat(128);
        for id in ["a", "A_b-9", longest.as_str()] {
            assert_eq!(SessionId::new(id).unwrap().as_str(), id);
        }
        assert_ne!(SessionId::new("a").unwrap(), SessionId::new("A").unwrap());
    }
}
