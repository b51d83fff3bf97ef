//! What a file holds, in short: the SHA-256 of its content. Knows nothing of paths.

use std::fmt;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

const BUFFER_BYTES: usize = 64 * 1024;

/// SHA-256 of some bytes; shown in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// Of all that there is to read.
    ///
    /// # Errors
    /// What reading fails with.
    pub fn of_reader(mut reader: impl Read) -> io::Result<Digest> {
        let mut hash = Sha256::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(Digest(hash.finalize().into())),
                Ok(count) => hash.update(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads 64 hexadecimal digits; none for anything else.
    pub fn parse(text: &str) -> Option<Digest> {
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(index * 2..index * 2 + 2)?;
            // A sign would be taken as well.
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn a_digest_is_read_as_it_is_written() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(Digest::parse(empty), Some(Digest::of(b"")));
        assert_eq!(Digest::parse(&empty.to_uppercase()), Some(Digest::of(b"")));
        let long = vec![7; 200_000];
        assert_eq!(Digest::of_reader(long.as_slice()).unwrap(), Digest::of(&long));
    }

    #[test]
    fn what_is_none_is_not_read() {
        for text in ["", "abc", &"g".repeat(64), &"+1".repeat(32), &"é".repeat(32), &"a".repeat(65)] {
            assert_eq!(Digest::parse(text), None, "{text}");
        }
    }
}
