//! What is kept of a command's output as it arrives: the beginning, the end, and how much there was. Whoever started the
//! command keeps a handle, and the runner's thread writes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::process::{Sink, Stream, Taken, Utf8Decoder};

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keep {
    pub head_bytes: usize,
    /// Not 0.
    pub tail_bytes: usize,
}

/// The output of one command. Cloning shares it.
#[derive(Clone)]
pub(super) struct KeptOutput(Arc<Mutex<Kept>>);

impl KeptOutput {
    /// Full after `max` bytes, however much of them is kept.
    pub fn new(keep: Keep, max: u64) -> KeptOutput {
        KeptOutput(Arc::new(Mutex::new(Kept { keep, head: Vec::new(), tail: Vec::new(), oldest: 0, total: 0, max })))
    }

    /// What is kept, as text; between beginning and end it is said how much was left out. No character is torn.
    pub fn text(&self) -> String {
        self.kept().text()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for KeptOutput {
    fn take(&mut self, _stream: Stream, bytes: &[u8]) -> Taken {
        self.kept().take(bytes)
    }
}

struct Kept {
    keep: Keep,
    head: Vec<u8>,
    /// A ring once it is full: its oldest byte is at `oldest`.
    tail: Vec<u8>,
    oldest: usize,
    total: u64,
    max: u64,
}

impl Kept {
    fn take(&mut self, bytes: &[u8]) -> Taken {
        let room = usize::try_from(self.max - self.total).unwrap_or(usize::MAX);
        let (bytes, over) = bytes.split_at(bytes.len().min(room));
        self.total += bytes.len() as u64;
        let (head, mut rest) = bytes.split_at(bytes.len().min(self.keep.head_bytes - self.head.len()));
        self.head.extend_from_slice(head);
        let capacity = self.keep.tail_bytes;
        let space = capacity - self.tail.len();
        let (filling, after) = rest.split_at(rest.len().min(space));
        self.tail.extend_from_slice(filling);
        rest = after.get(after.len().saturating_sub(capacity)..).unwrap_or_default();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(capacity - self.oldest));
            if let Some(place) = self.tail.get_mut(self.oldest..self.oldest + piece.len()) {
                place.copy_from_slice(piece);
            }
            self.oldest = (self.oldest + piece.len()) % capacity;
            rest = after;
        }
        if over.is_empty() { Taken::All } else { Taken::Full }
    }

    fn text(&self) -> String {
        let (newer, older) = self.tail.split_at(self.oldest.min(self.tail.len()));
        let dropped = self.total - (self.head.len() + self.tail.len()) as u64;
        let mut text = String::with_capacity(self.head.len() + self.tail.len() + 100);
        let mut decoder = Utf8Decoder::default();
        decoder.push(&self.head, &mut text);
        if dropped > 0 {
            decoder.finish(true, &mut text);
            text.push_str(&format!("\n[… {dropped} bytes left out …]\n"));
            decoder = Utf8Decoder::default();
            // The cut may have torn a character.
            let torn = older.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
            decoder.push(older.get(torn..).unwrap_or_default(), &mut text);
        } else {
            decoder.push(older, &mut text);
        }
        decoder.push(newer, &mut text);
        decoder.finish(self.total >= self.max, &mut text);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD_BYTES: usize = 64 * 1024;
    const TAIL_BYTES: usize = 192 * 1024;

    fn kept(pieces: &[&[u8]], max: u64) -> (String, Taken) {
        let mut kept = KeptOutput::new(Keep { head_bytes: HEAD_BYTES, tail_bytes: TAIL_BYTES }, max);
        let mut last = Taken::All;
        for piece in pieces {
            last = kept.take(Stream::Stdout, piece);
        }
        (kept.text(), last)
    }

    #[test]
    fn short_output_is_kept_whole_up_to_the_limit() {
        assert_eq!(kept(&[b"one\n", b"two"], 7).0, "one\ntwo");
        assert_eq!(kept(&[b"one\n", b"two"], 7).1, Taken::All);
        assert_eq!(kept(&[b"one\n", b"two!"], 7), ("one\ntwo".to_string(), Taken::Full));
    }

    #[test]
    fn of_long_output_the_beginning_and_the_end_are_kept() {
        let numbers: Vec<u8> = (0..100_000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
        for piece in [1, 7, 4096, 300_000, numbers.len()] {
            let pieces: Vec<&[u8]> = numbers.chunks(piece).collect();
            let (text, _) = kept(&pieces, u64::MAX);
            let dropped = numbers.len() - HEAD_BYTES - TAIL_BYTES;
            let (head, tail) = text.split_once(&format!("\n[… {dropped} bytes left out …]\n")).unwrap();
            assert_eq!(head.as_bytes(), &numbers[..HEAD_BYTES]);
            assert_eq!(tail.as_bytes(), &numbers[numbers.len() - TAIL_BYTES..]);
        }
    }

    #[test]
    fn no_character_is_torn_at_a_cut() {
        let text = "é".repeat(300_000);
        let (kept, _) = kept(&[b"x", text.as_bytes()], u64::MAX);
        assert!(!kept.contains(char::REPLACEMENT_CHARACTER));
    }

    #[test]
    fn the_end_alone_can_be_kept() {
        let mut kept = KeptOutput::new(Keep { head_bytes: 0, tail_bytes: 4 }, 100);
        kept.take(Stream::Stdout, b"abcdef");
        kept.take(Stream::Stderr, b"gh");
        assert!(kept.text().ends_with("efgh"), "{}", kept.text());
    }
}
