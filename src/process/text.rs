//! Bytes to text, piece by piece: what is no UTF-8 becomes U+FFFD, and a character that two pieces share is never torn.
//! The one place where output is decoded.

/// Decodes one stream. Remembers at most three bytes.
#[derive(Debug, Clone, Default)]
pub struct Utf8Decoder {
    /// The beginning of a character whose rest has not come.
    pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Appends the text of all characters that are whole by now.
    pub fn push(&mut self, bytes: &[u8], text: &mut String) {
        let mut rest = bytes;
        // Byte by byte until nothing is open: after three at the most, unless the next character is cut as well.
        while !self.pending.is_empty()
            && let Some((next, after)) = rest.split_first()
        {
            let mut joined = std::mem::take(&mut self.pending);
            joined.push(*next);
            self.decode(&joined, text);
            rest = after;
        }
        self.decode(rest, text);
    }

    /// The stream is over. `cut`: because we stopped reading; then a character that we cut is left out, as nothing was
    /// wrong with it. Else what the program left open becomes U+FFFD.
    pub fn finish(&mut self, cut: bool, text: &mut String) {
        if !std::mem::take(&mut self.pending).is_empty() && !cut {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Nothing is pending when there are bytes.
    fn decode(&mut self, bytes: &[u8], text: &mut String) {
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            if chunks.peek().is_none() && may_continue(invalid) {
                self.pending = invalid.to_vec();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
}

/// Whether these bytes, which are no character, are the beginning of one.
fn may_continue(bytes: &[u8]) -> bool {
    matches!(str::from_utf8(bytes), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
}
