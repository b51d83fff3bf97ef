//! Goes through the lines of a log, forward, and checks each: its checksum, its number, that it follows the one before. Holds
//! one piece of the file at a time. Tells damage that a crash can leave from damage that it cannot.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::line::{self, Line, Position};

const PIECE_BYTES: usize = 256 * 1024;

/// Why the first line of another session's log is bad.
pub(super) const FOREIGN: &str = "it was written for another session id";

/// Why a scan stopped before the end.
#[derive(Debug)]
pub(super) enum ScanError {
    /// What follows the position is no whole line that fits.
    Bad {
        at: Position,
        why: &'static str,
    },
    Io(io::Error),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> ScanError {
        ScanError::Io(error)
    }
}

/// A pass over the lines between a position and an end.
#[derive(Debug)]
pub(super) struct Scan {
    position: Position,
    /// Where the line before the position begins.
    last_start: u64,
    lines: Lines,
}

impl Scan {
    pub fn new(from: Position, end: u64) -> Scan {
        Scan { position: from, last_start: from.offset, lines: Lines::new(from.offset, end) }
    }

    /// After the last line that was read.
    pub fn position(&self) -> Position {
        self.position
    }

    pub fn last_start(&self) -> u64 {
        self.last_start
    }

    /// The next line; none at the end.
    pub fn next(&mut self, file: &File) -> Result<Option<Line<'_>>, ScanError> {
        let at = self.position;
        let bad = |why| ScanError::Bad { at, why };
        let Some(stretch) = self.lines.next(file)? else { return Ok(None) };
        if !stretch.whole {
            return Err(bad("it ends before its line does"));
        }
        let line = line::parse(self.lines.bytes(&stretch)).map_err(bad)?;
        if line.seq != at.seq + 1 {
            return Err(bad("its number is not the next"));
        }
        if line.prev != at.crc {
            return Err(bad(if at.seq == 0 { FOREIGN } else { "it does not follow the line before it" }));
        }
        self.last_start = at.offset;
        self.position = Position { seq: line.seq, offset: at.offset + stretch.length(), crc: line.crc };
        Ok(Some(line))
    }
}

/// Whether what follows a bad place can be what a crash left of the last append, which nobody was told of. It cannot if a
/// line follows that a later append wrote, for that one began when this one was durable, or a line that is out of order.
pub(super) fn is_tail(file: &File, bad: Position, end: u64) -> io::Result<bool> {
    let next = bad.seq + 1;
    let is_of_the_append = |line: &Line<'_>| line.batch <= next && line.seq > next;
    let mut lines = Lines::new(bad.offset, end);
    while let Some(stretch) = lines.next(file)? {
        let bytes = lines.bytes(&stretch);
        let fits = match line::parse(bytes) {
            Ok(line) if stretch.whole => is_of_the_append(&line),
            // Whole but for its end: a crash can leave that too.
            Ok(line) => line.batch <= next || line.seq == next,
            // Damaged, and still what a later append wrote: all lines may have been changed, as by an editor.
            Err(_) if line::claims(bytes).is_some_and(|(seq, batch)| seq > next && batch > next) => false,
            Err(_) => line::inside(bytes).all(|line| is_of_the_append(&line)),
        };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Splits a part of a file into lines, whatever they are.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// What of the buffer was not given out yet.
    start: usize,
    /// Where in the file the buffer ends.
    read_to: u64,
    end: u64,
}

/// A line in the buffer, without its end.
#[derive(Debug)]
pub(super) struct Stretch {
    range: Range<usize>,
    /// Whether a line end follows.
    pub whole: bool,
}

impl Stretch {
    /// With its end.
    pub fn length(&self) -> u64 {
        self.range.len() as u64 + u64::from(self.whole)
    }
}

impl Lines {
    pub fn new(from: u64, end: u64) -> Lines {
        Lines { buffer: Vec::new(), start: 0, read_to: from, end }
    }

    pub fn bytes(&self, stretch: &Stretch) -> &[u8] {
        self.buffer.get(stretch.range.clone()).unwrap_or_default()
    }

    pub fn next(&mut self, file: &File) -> io::Result<Option<Stretch>> {
        let mut searched = self.start;
        loop {
            let unsearched = self.buffer.get(searched..).unwrap_or_default();
            if let Some(found) = memchr::memchr(b'\n', unsearched) {
                let range = self.start..searched + found;
                self.start = range.end + 1;
                return Ok(Some(Stretch { range, whole: true }));
            }
            if self.read_to >= self.end {
                let range = self.start..self.buffer.len();
                self.start = range.end;
                return Ok((!range.is_empty()).then_some(Stretch { range, whole: false }));
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            searched = self.buffer.len();
            self.fill(file)?;
        }
    }

    /// Reads on; a line longer than a piece doubles what is read at once.
    fn fill(&mut self, file: &File) -> io::Result<()> {
        let held = self.buffer.len();
        let left = usize::try_from(self.end.saturating_sub(self.read_to)).unwrap_or(usize::MAX);
        self.buffer.resize(held + left.min(PIECE_BYTES.max(held)), 0);
        let free = self.buffer.get_mut(held..).unwrap_or_default();
        let read = read_at(file, free, self.read_to)?;
        self.buffer.truncate(held + read);
        self.read_to += read as u64;
        if read == 0 {
            // The file became shorter than it was.
            self.end = self.read_to;
        }
        Ok(())
    }
}

/// Reads until the buffer is full or the file is over.
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(free) = buffer.get_mut(done..).filter(|free| !free.is_empty()) {
        match file.read_at(free, offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
