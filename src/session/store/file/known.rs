//! What a store remembers of a log, so that an append reads nothing of it again; and how that is brought up to date when
//! another process wrote to the log meanwhile. All of this happens under the log's lock.

use std::fs::File;
use std::io;

use super::line::{self, CRC_END, Position, START_BYTES};
use super::scan::{Lines, Scan, ScanError, read_at};

/// How far apart the places are that reading may begin at.
const MARK_EVERY_BYTES: u64 = 256 * 1024;
/// Where the last append is looked for, before all of the log is read.
const TAIL_WINDOWS_BYTES: [u64; 3] = [64 * 1024, 1024 * 1024, 16 * 1024 * 1024];

/// What is known of a log. The chain of checksums vouches for all before its end.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub end: Position,
    /// Where the last line begins.
    pub last_start: u64,
    /// Places on the way that reading may begin at, in order.
    marks: Vec<Position>,
}

/// The log ends in something that is no line.
#[derive(Debug)]
pub(super) struct BadEnd {
    /// What is whole before it.
    pub known: Known,
    pub why: &'static str,
}

/// What a look at the log came to.
#[derive(Debug)]
pub(super) enum Look {
    Whole(Known),
    Bad(BadEnd),
}

impl Known {
    fn after(scan: &Scan, marks: Vec<Position>) -> Known {
        Known { end: scan.position(), last_start: scan.last_start(), marks }
    }

    /// The last place at or before the event from which reading may begin.
    pub fn mark_before(&self, seq: u64, start: Position) -> Position {
        let after = self.marks.partition_point(|mark| mark.seq <= seq);
        after.checked_sub(1).and_then(|index| self.marks.get(index)).copied().unwrap_or(start)
    }

    /// Remembers a place that reading passed, if it is far from the others and the log still holds it.
    pub fn mark(&mut self, place: Position) {
        let last = self.marks.last().map_or(0, |mark| mark.offset);
        if place.offset >= last + MARK_EVERY_BYTES && place.offset <= self.end.offset {
            self.marks.push(place);
        }
    }

    /// The log goes on to here.
    pub fn extend(&mut self, end: Position, last_start: u64) {
        self.end = end;
        self.last_start = last_start;
        self.mark(end);
    }

    /// The log was cut here.
    pub fn cut(&mut self, end: Position, last_start: u64) {
        self.marks.retain(|mark| mark.offset <= end.offset);
        self.end = end;
        self.last_start = last_start;
    }

    /// Whether the log still begins with what is known: its last line is where it was.
    pub fn holds(&self, file: &File) -> io::Result<bool> {
        if self.end.seq == 0 {
            return Ok(true);
        }
        if file.metadata()?.len() < self.end.offset {
            return Ok(false);
        }
        let mut found = [0; CRC_END];
        let read = read_at(file, &mut found, self.last_start)?;
        Ok(read == CRC_END && found == line::beginning(self.end.crc))
    }
}

/// Brings what is known up to date with the file.
pub(super) fn look(file: &File, known: Option<Known>, start: Position) -> io::Result<Look> {
    let end = file.metadata()?.len();
    if let Some(known) = known
        && known.holds(file)?
    {
        return read_on(file, known, end);
    }
    if let Some(known) = look_at_tail(file, start, end)? {
        return Ok(Look::Whole(known));
    }
    read_on(file, Known { end: start, last_start: 0, marks: Vec::new() }, end)
}

/// Reads the log from what is known to its end.
pub(super) fn read_on(file: &File, mut known: Known, end: u64) -> io::Result<Look> {
    let mut scan = Scan::new(known.end, end);
    loop {
        match scan.next(file) {
            Ok(Some(_)) => known.extend(scan.position(), scan.last_start()),
            Ok(None) => return Ok(Look::Whole(known)),
            Err(ScanError::Bad { why, .. }) => return Ok(Look::Bad(BadEnd { known, why })),
            Err(ScanError::Io(error)) => return Err(error),
        }
    }
}

/// Looks at the lines of the last append alone. Answers none if they are not right, or are not found: then the log is to be
/// read from its start.
fn look_at_tail(file: &File, start: Position, end: u64) -> io::Result<Option<Known>> {
    if end == 0 {
        return Ok(Some(Known { end: start, last_start: 0, marks: Vec::new() }));
    }
    let mut beginning = [0; START_BYTES];
    read_at(file, &mut beginning, 0)?;
    if !line::names_start(&beginning, start) {
        return Ok(None);
    }
    for window in TAIL_WINDOWS_BYTES {
        if window >= end {
            return Ok(None);
        }
        let Some(from) = before_last_append(file, end - window, end)? else { continue };
        let mut scan = Scan::new(from, end);
        loop {
            match scan.next(file) {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(Some(Known::after(&scan, Vec::new()))),
                Err(ScanError::Bad { .. }) => return Ok(None),
                Err(ScanError::Io(error)) => return Err(error),
            }
        }
    }
    Ok(None)
}

/// The place before the last append's first line, if the part of the log holds it and the line before.
fn before_last_append(file: &File, from: u64, end: u64) -> io::Result<Option<Position>> {
    let mut lines = Lines::new(from, end);
    // The first one begins somewhere before.
    let Some(torn) = lines.next(file)? else { return Ok(None) };
    let mut offset = from + torn.length();
    let mut before: Option<Position> = None;
    let mut last: Option<Position> = None;
    let mut batch = 0;
    while let Some(stretch) = lines.next(file)? {
        offset += stretch.length();
        let Ok(line) = line::parse(lines.bytes(&stretch)) else { return Ok(None) };
        if line.batch != batch {
            batch = line.batch;
            before = last;
        }
        last = Some(Position { seq: line.seq, offset, crc: line.crc });
    }
    Ok(before.filter(|place| place.seq + 1 == batch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_long_log_of_another_id_is_not_known_from_its_end() {
        let event = format!("{{\"x\":\"{}\"}}", "x".repeat(1000));
        let (file, end) = log(&vec![3; 1000], &event);
        assert!(look_at_tail(file.as_file(), Position::start("S"), end.offset).unwrap().is_none());
        let Look::Bad(bad) = look(file.as_file(), None, Position::start("S")).unwrap() else { panic!() };
        assert_eq!((bad.known.end.seq, bad.why), (0, "it was written for another session id"));
    }

    /// A log of appends of so many events each.
    fn log(appends: &[u64], event: &str) -> (tempfile::NamedTempFile, Position) {
        let start = Position::start("s");
        let (mut seq, mut crc, mut text) = (0, start.crc, Vec::new());
        for events in appends {
            let batch = seq + 1;
            for _ in 0..*events {
                seq += 1;
                crc = line::write(&mut text, crc, seq, batch, "2026", event);
            }
        }
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&text).unwrap();
        let offset = text.len() as u64;
        (file, Position { seq, offset, crc })
    }

    fn whole(look: Look) -> Known {
        match look {
            Look::Whole(known) => known,
            Look::Bad(bad) => panic!("{}", bad.why),
        }
    }

    #[test]
    fn a_long_log_is_known_from_its_end() {
        let event = format!("{{\"x\":\"{}\"}}", "x".repeat(1000));
        let (file, end) = log(&vec![3; 1000], &event);
        let found = look_at_tail(file.as_file(), Position::start("s"), end.offset).unwrap().unwrap();
        assert_eq!(found.end, end);
        assert!(found.holds(file.as_file()).unwrap());
        let all = whole(look(file.as_file(), None, Position::start("s")).unwrap());
        assert_eq!((all.end, all.last_start), (found.end, found.last_start));
    }

    #[test]
    fn an_append_longer_than_the_first_window_is_found_whole() {
        let event = format!("{{\"x\":\"{}\"}}", "x".repeat(1000));
        let (file, end) = log(&[5, 200, 900, 300], &event);
        let found = look_at_tail(file.as_file(), Position::start("s"), end.offset).unwrap().unwrap();
        assert_eq!(found.end, end);
    }

    #[test]
    fn marks_lead_to_a_place_before_the_event() {
        let event = format!("{{\"x\":\"{}\"}}", "x".repeat(10_000));
        let (file, end) = log(&vec![1; 200], &event);
        let start = Position::start("s");
        let origin = Known { end: start, last_start: 0, marks: Vec::new() };
        let mut known = whole(read_on(file.as_file(), origin, end.offset).unwrap());
        assert_eq!(known.mark_before(3, start), start);
        let near = known.mark_before(150, start);
        assert!(near.seq > 100 && near.seq <= 150, "{near:?}");
        known.cut(near, 0);
        assert_eq!(known.mark_before(150, start), near);
    }
}
