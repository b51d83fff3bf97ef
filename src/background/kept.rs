//! What is kept of one command's output: what nobody has read, up to a limit, and the last that came. Bytes have positions
//! in all that was written, so that a reader need not hold the lock while it makes text of them. The runner's thread
//! writes, the family's reads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::process::{Sink, Stream, Taken, Utf8Decoder};

/// So much of the end is kept when it was read as well.
const TAIL_BYTES: usize = 4 * 1024;
/// A character has at most so many bytes. With less room, a part of one could come alone, and nobody would know.
const MIN_UNREAD_BYTES: usize = 4;
/// A buffer from which was read stays so large.
const IDLE_BYTES: usize = 64 * 1024;

/// Takes a background command's output, as one stream (`Streams::Joined`). It is never full: the oldest is dropped.
#[derive(Debug)]
pub struct JobSink(Shared);

impl JobSink {
    pub(super) fn new(kept: &Shared) -> JobSink {
        JobSink(kept.clone())
    }
}

impl Sink for JobSink {
    fn take(&mut self, _stream: Stream, bytes: &[u8]) -> Taken {
        self.0.lock().take(bytes);
        Taken::All
    }
}

/// The kept output of one command. Cloning shares it.
#[derive(Debug, Clone)]
pub(super) struct Shared(Arc<Mutex<Kept>>, Arc<Mutex<()>>);

impl Shared {
    pub(super) fn new(buffer_bytes: usize) -> Shared {
        Shared(Arc::new(Mutex::new(Kept::new(buffer_bytes))), Arc::default())
    }

    /// Whoever holds this keeps the runner waiting.
    pub(super) fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever holds this is the one that reads.
    pub(super) fn reading(&self) -> MutexGuard<'_, ()> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct Kept {
    /// The last of what was written.
    bytes: VecDeque<u8>,
    max_unread: usize,
    written: u64,
    /// Before this position, all was read, or told as dropped.
    read: u64,
    is_closed: bool,
    /// All of it was told, and how the command ended.
    pub(super) is_told: bool,
}

/// What nobody has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread {
    pub bytes: Vec<u8>,
    /// The position of the first of them.
    pub from: u64,
    /// How many bytes before them are gone.
    pub dropped: u64,
    /// Nothing comes after them as yet.
    pub is_all: bool,
    /// Nothing more will be written.
    pub is_closed: bool,
}

impl Kept {
    fn new(buffer_bytes: usize) -> Kept {
        let max_unread = buffer_bytes.max(MIN_UNREAD_BYTES);
        Kept { bytes: VecDeque::new(), max_unread, written: 0, read: 0, is_closed: false, is_told: false }
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.is_closed {
            return;
        }
        let most = self.max_unread.max(TAIL_BYTES);
        let written = self.written + bytes.len() as u64;
        let bytes = bytes.get(bytes.len().saturating_sub(most)..).unwrap_or_default();
        self.drop_before(self.first_wanted(written));
        let needed = self.bytes.len() + bytes.len();
        if needed > self.bytes.capacity() {
            // Twice as much, but not where that is more than can ever be needed.
            let capacity = (self.bytes.capacity() * 2).min(most).max(needed);
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend(bytes);
        self.written = written;
    }

    /// A copy of the oldest that is unread, at most so many bytes.
    pub(super) fn unread(&self, max_bytes: usize) -> Unread {
        let mut from = self.first_unread();
        let mut skipped = usize::try_from(from - self.first_kept()).unwrap_or(usize::MAX);
        if from > self.read {
            // The rest of a character whose beginning is gone.
            let torn = self.bytes.iter().skip(skipped).take(3).take_while(|byte| is_continuation(**byte)).count();
            from += torn as u64;
            skipped += torn;
        }
        let count = self.bytes.len().saturating_sub(skipped);
        let bytes = self.copy(skipped, max_bytes);
        let is_all = bytes.len() == count;
        Unread { bytes, from, dropped: from - self.read, is_all, is_closed: self.is_closed }
    }

    /// All before the position was read.
    pub(super) fn read_to(&mut self, position: u64) {
        self.read = self.read.max(position.min(self.written));
        self.drop_before(self.first_wanted(self.written));
        self.bytes.shrink_to(if self.is_closed { 0 } else { IDLE_BYTES });
    }

    /// The command is over: what comes now is nobody's. Answers the last that it wrote, as text.
    pub(super) fn close(&mut self) -> String {
        let tail = self.tail();
        self.is_closed = true;
        self.read_to(self.read);
        tail
    }

    /// Nobody will read any of it.
    pub(super) fn discard(&mut self) {
        self.is_closed = true;
        self.read_to(self.written);
    }

    fn tail(&self) -> String {
        let skipped = self.bytes.len().saturating_sub(TAIL_BYTES);
        let mut tail = self.copy(skipped, TAIL_BYTES);
        let is_cut = self.written > tail.len() as u64;
        let mut text = String::new();
        if is_cut {
            let torn = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
            tail.drain(..torn);
            text.push_str(&format!("[… {} bytes left out …]\n", self.written - tail.len() as u64));
        }
        let mut decoder = Utf8Decoder::default();
        decoder.push(&tail, &mut text);
        decoder.finish(false, &mut text);
        text
    }

    /// At most so many bytes, from an index on.
    fn copy(&self, index: usize, max_bytes: usize) -> Vec<u8> {
        let (front, back) = self.bytes.as_slices();
        let front_part = front.get(index..).unwrap_or_default();
        let back_part = back.get(index.saturating_sub(front.len())..).unwrap_or_default();
        let from_front = front_part.len().min(max_bytes);
        let from_back = back_part.len().min(max_bytes - from_front);
        [front_part.get(..from_front), back_part.get(..from_back)].into_iter().flatten().collect::<Vec<_>>().concat()
    }

    fn drop_before(&mut self, position: u64) {
        let count = usize::try_from(position.saturating_sub(self.first_kept())).unwrap_or(usize::MAX);
        drop(self.bytes.drain(..count.min(self.bytes.len())));
    }

    fn first_kept(&self) -> u64 {
        self.written - self.bytes.len() as u64
    }

    fn first_unread(&self) -> u64 {
        self.read.max(self.written.saturating_sub(self.max_unread as u64))
    }

    /// Before this position nobody wants anything, when so much was written.
    fn first_wanted(&self, written: u64) -> u64 {
        let unread = self.read.max(written.saturating_sub(self.max_unread as u64));
        if self.is_closed { unread } else { unread.min(written.saturating_sub(TAIL_BYTES as u64)) }
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(buffer_bytes: usize, pieces: &[&[u8]]) -> Kept {
        let mut kept = Kept::new(buffer_bytes);
        for piece in pieces {
            kept.take(piece);
        }
        kept
    }

    fn unread(kept: &Kept) -> (String, u64) {
        let unread = kept.unread(usize::MAX);
        assert!(unread.is_all);
        (String::from_utf8(unread.bytes).unwrap(), unread.dropped)
    }

    #[test]
    fn the_newest_of_what_is_unread_is_kept() {
        let table: &[(usize, &[&[u8]], &str, u64)] = &[
            (10, &[], "", 0),
            (10, &[b"abc", b"def"], "abcdef", 0),
            (6, &[b"abc", b"def"], "abcdef", 0),
            (5, &[b"abc", b"def"], "bcdef", 1),
            (4, &[b"abcdefgh"], "efgh", 4),
            (4, &[b"ab", b"cdefgh", b"i"], "fghi", 5),
            (0, &[b"abcdefgh"], "efgh", 4),
        ];
        for (buffer_bytes, pieces, expected, dropped) in table {
            assert_eq!(unread(&kept(*buffer_bytes, pieces)), (expected.to_string(), *dropped), "{pieces:?}");
        }
    }

    #[test]
    fn what_was_read_is_not_read_again_and_not_dropped() {
        let mut kept = kept(5, &[b"abc"]);
        kept.read_to(2);
        kept.take(b"defg");
        assert_eq!(unread(&kept), ("cdefg".to_string(), 0));
        kept.take(b"h");
        assert_eq!(unread(&kept), ("defgh".to_string(), 1));
        kept.read_to(8);
        assert_eq!(unread(&kept), (String::new(), 0));
        // Positions never go back, and never beyond what was written.
        kept.read_to(3);
        kept.read_to(100);
        kept.take(b"i");
        assert_eq!(unread(&kept), ("i".to_string(), 0));
    }

    #[test]
    fn a_character_whose_beginning_is_gone_goes_with_it() {
        let kept = kept(6, &["😀😀".as_bytes()]);
        assert_eq!(unread(&kept), ("😀".to_string(), 4));
    }

    #[test]
    fn a_copy_has_a_limit_and_says_whether_more_is_there() {
        let mut kept = kept(100, &[b"abcdef"]);
        kept.read_to(1);
        let first = kept.unread(3);
        assert_eq!((&first.bytes[..], first.from, first.is_all), (&b"bcd"[..], 1, false));
        assert!(kept.unread(5).is_all);
    }

    #[test]
    fn the_end_is_kept_when_it_was_read_and_when_the_buffer_is_small() {
        let text = "x".repeat(TAIL_BYTES);
        for buffer_bytes in [4, 10_000] {
            let mut kept = kept(buffer_bytes, &[b"abc", text.as_bytes()]);
            kept.read_to(u64::MAX);
            assert_eq!(
                kept.close(),
                format!(
                    "[… 3 bytes left out …]
{text}"
                )
            );
            assert!(kept.bytes.capacity() < 64);
        }
        assert_eq!(kept(10, &[b"abc"]).close(), "abc");
        assert_eq!(kept(10, &[]).close(), "");
        let cut = kept(10, &["é".repeat(TAIL_BYTES).as_bytes(), b"x"]).close();
        assert_eq!(cut, format!("[… {} bytes left out …]\n{}x", TAIL_BYTES + 2, "é".repeat(TAIL_BYTES / 2 - 1)));
    }

    #[test]
    fn after_the_end_what_was_unread_can_be_read_and_nothing_comes() {
        let mut kept = kept(5, &[b"abcdefgh"]);
        assert_eq!(kept.close(), "abcdefgh");
        kept.take(b"ijk");
        assert_eq!(unread(&kept), ("defgh".to_string(), 3));
        kept.discard();
        assert_eq!(kept.bytes.capacity(), 0);
    }

    /// A gibibyte, in pieces as the runner makes them and in large ones, read now and then.
    #[test]
    fn memory_stays_bounded_whatever_is_written() {
        const LIMIT: usize = 1 << 20;
        let piece = vec![b'x'; 32 << 10];
        let large = vec![b'y'; 3 << 20];
        let mut kept = Kept::new(LIMIT);
        let mut told = 0;
        for at in 0..32_768 {
            kept.take(&piece);
            if at % 1000 == 999 {
                kept.take(&large);
                let unread = kept.unread(usize::MAX);
                told += unread.dropped + unread.bytes.len() as u64;
                kept.read_to(unread.from + unread.bytes.len() as u64);
                assert!(kept.bytes.capacity() <= IDLE_BYTES);
            }
            assert!(kept.bytes.capacity() <= LIMIT, "{}", kept.bytes.capacity());
        }
        let unread = kept.unread(usize::MAX);
        assert_eq!(told + unread.dropped + unread.bytes.len() as u64, kept.written);
        assert!(kept.written > 1 << 30);
    }
}
