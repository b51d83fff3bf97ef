//! One line of a log: `{"crc":"…","prev":"…","seq":1,"batch":1,"ts":"…","event":{…}}`. The checksum covers all that follows
//! it on the line, and with `prev`, the checksum of the line before, everything before as well: lines that were lost, doubled,
//! moved or taken from another log do not fit. `batch` is the number of the first event of the append that wrote the line.

use std::io::Write as _;

/// What every line begins with, up to its checksum.
const START: &[u8] = b"{\"crc\":\"";
const AFTER_CRC: &[u8] = b"\",";
const HEX_DIGITS: usize = 8;
/// How much of a line tells its checksum.
pub(super) const CRC_END: usize = START.len() + HEX_DIGITS;

/// A place between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// The number of the event before it, which is also that of its line.
    pub seq: u64,
    pub offset: u64,
    /// The checksum of the line before it.
    pub crc: u32,
}

impl Position {
    /// The start of a session's log. The checksum of "the line before" is that of the id, so that a log cannot be taken
    /// for another's where file names ignore case.
    pub fn start(session: &str) -> Position {
        Position { seq: 0, offset: 0, crc: crc32fast::hash(session.as_bytes()) }
    }
}

/// A line whose checksum is right.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub crc: u32,
    pub prev: u32,
    pub seq: u64,
    pub batch: u64,
    pub ts: &'a str,
    pub event: &'a str,
}

/// Appends a line with its end to `out`; answers its checksum.
pub(super) fn write(out: &mut Vec<u8>, prev: u32, seq: u64, batch: u64, ts: &str, event: &str) -> u32 {
    let start = out.len();
    out.extend_from_slice(START);
    out.extend_from_slice(&[b'0'; HEX_DIGITS]);
    out.extend_from_slice(AFTER_CRC);
    let covered = out.len();
    // Writing to a vector cannot fail.
    let _ = write!(out, "\"prev\":\"{prev:08x}\",\"seq\":{seq},\"batch\":{batch},\"ts\":\"{ts}\",\"event\":");
    out.extend_from_slice(event.as_bytes());
    out.push(b'}');
    let crc = crc32fast::hash(out.get(covered..).unwrap_or_default());
    if let Some(digits) = out.get_mut(start + START.len()..start + CRC_END) {
        digits.copy_from_slice(format!("{crc:08x}").as_bytes());
    }
    out.push(b'\n');
    crc
}

/// The first bytes of a line with this checksum.
pub(super) fn beginning(crc: u32) -> [u8; CRC_END] {
    let mut bytes = [0; CRC_END];
    let text = format!("{{\"crc\":\"{crc:08x}");
    for (byte, character) in bytes.iter_mut().zip(text.bytes()) {
        *byte = character;
    }
    bytes
}

/// How many bytes `names_start` looks at.
pub(super) const START_BYTES: usize = CRC_END + AFTER_CRC.len() + PREV.len() + HEX_DIGITS;
const PREV: &[u8] = b"\"prev\":\"";

/// Whether a log that begins with these bytes says that it is the one that starts here.
pub(super) fn names_start(beginning: &[u8], start: Position) -> bool {
    let expected = format!("{:08x}", start.crc);
    beginning.get(CRC_END + AFTER_CRC.len() + PREV.len()..START_BYTES) == Some(expected.as_bytes())
}

/// Reads a line without its end.
///
/// # Errors
/// Why it is none.
pub(super) fn parse(line: &[u8]) -> Result<Line<'_>, &'static str> {
    let shape = "it does not have the form of a record";
    let rest = line.strip_prefix(START).ok_or(shape)?;
    let (digits, rest) = rest.split_at_checked(HEX_DIGITS).ok_or(shape)?;
    let covered = rest.strip_prefix(AFTER_CRC).ok_or(shape)?;
    let crc = crc32fast::hash(covered);
    if digits != format!("{crc:08x}").as_bytes() {
        return Err("its checksum is wrong");
    }
    let text = std::str::from_utf8(covered).map_err(|_| "it is not UTF-8")?;
    fields(crc, text).ok_or(shape)
}

fn fields(crc: u32, text: &str) -> Option<Line<'_>> {
    let (prev, rest) = text.strip_prefix("\"prev\":\"")?.split_once("\",\"seq\":")?;
    let (seq, rest) = rest.split_once(",\"batch\":")?;
    let (batch, rest) = rest.split_once(",\"ts\":\"")?;
    let (ts, rest) = rest.split_once("\",\"event\":")?;
    let event = rest.strip_suffix('}')?;
    let prev = u32::from_str_radix(prev, 16).ok()?;
    Some(Line { crc, prev, seq: seq.parse().ok()?, batch: batch.parse().ok()?, ts, event })
}

/// The number of the event and of its append that a line says it has, whatever its checksum says.
pub(super) fn claims(line: &[u8]) -> Option<(u64, u64)> {
    let (head, rest) = line.split_at_checked(START_BYTES)?;
    if !head.starts_with(START) {
        return None;
    }
    // Numbers come early, and what follows may be anything.
    let rest = rest.get(..80.min(rest.len()))?;
    let text = std::str::from_utf8(rest).unwrap_or_else(|error| {
        rest.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok()).unwrap_or_default()
    });
    let (seq, rest) = text.strip_prefix("\",\"seq\":")?.split_once(",\"batch\":")?;
    let (batch, _) = rest.split_once(",\"ts\":")?;
    Some((seq.parse().ok()?, batch.parse().ok()?))
}

/// The lines that a damaged stretch without a line end may hold inside: their checksum is right.
pub(super) fn inside(stretch: &[u8]) -> impl Iterator<Item = Line<'_>> {
    // More would be somebody's text about logs, not a line end that was lost.
    const MOST: usize = 64;
    memchr::memmem::find_iter(stretch, START)
        .filter(|start| *start > 0)
        .take(MOST)
        .filter_map(|start| parse(stretch.get(start..)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_it_was_written_and_is_json() {
        let mut out = Vec::new();
        let event = r#"{"type":"user","x":"\ud800 \",\"event\": é"}"#;
        let crc = write(&mut out, 7, 12, 11, "2026", event);
        let line = parse(out.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!(line, Line { crc, prev: 7, seq: 12, batch: 11, ts: "2026", event });
        assert_eq!(out[..CRC_END], beginning(crc));
        serde_json::from_slice::<serde::de::IgnoredAny>(&out).unwrap();
    }

    #[test]
    fn no_flip_of_a_bit_is_read() {
        let mut out = Vec::new();
        write(&mut out, 7, 12, 11, "2026", r#"{"type":"user"}"#);
        out.pop();
        for bit in 0..out.len() * 8 {
            let mut flipped = out.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_line_after_a_lost_line_end_is_found() {
        let mut out = Vec::new();
        write(&mut out, 7, 1, 1, "2026", "{}");
        out.pop();
        out.push(b'?');
        write(&mut out, 7, 2, 2, "2026", "{}");
        let found: Vec<_> = inside(out.strip_suffix(b"\n").unwrap()).map(|line| line.seq).collect();
        assert_eq!(found, [2]);
    }
}
