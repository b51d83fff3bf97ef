//! What a read answers: exactly what was written, in whole characters and lines, within its limits.

use proptest::prelude::*;

use super::answer::{Answer, MAX_ANSWER_BYTES, MAX_READ_BYTES, answer};
use super::filter::{Filter, MAX_LINE_BYTES};
use super::kept::{JobSink, Shared, Unread};
use crate::process::{Sink, Stream};

fn unread(bytes: &[u8]) -> Unread {
    Unread { bytes: bytes.to_vec(), from: 0, dropped: 0, is_all: true, is_closed: false }
}

fn filtered(unread: &Unread, pattern: &str) -> (String, u64) {
    let answer = answer(unread, "running", Some(&Filter::new(pattern).unwrap()));
    (answer.text, answer.read_to)
}

/// A command's output and its reader, who counts.
struct Reader {
    kept: Shared,
    sink: JobSink,
    position: u64,
    text: String,
}

impl Reader {
    fn new(buffer_bytes: usize) -> Reader {
        let kept = Shared::new(buffer_bytes);
        Reader { sink: JobSink::new(&kept), kept, position: 0, text: String::new() }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.sink.take(Stream::Stdout, bytes);
    }

    /// Reads once. Answers how much was dropped, and the output without the newline before the status.
    fn read(&mut self, filter: Option<&str>) -> (u64, String) {
        let filter = filter.map(|filter| Filter::new(filter).unwrap());
        let unread = self.kept.lock().unread(MAX_READ_BYTES);
        let Answer { text, read_to, .. } = answer(&unread, "running", filter.as_ref());
        self.kept.lock().read_to(read_to);
        assert!(text.len() <= MAX_ANSWER_BYTES);
        let (body, status) = text.rsplit_once('\n').unwrap_or(("", &text));
        assert!(status == "[running]" || status == "[running; more output waits]", "{status}");
        let marker = body.strip_prefix("[… ");
        let (dropped, body) = match marker.and_then(|rest| rest.split_once(" bytes dropped …]")) {
            Some((count, rest)) => (count.parse().unwrap(), rest.strip_prefix('\n').unwrap_or(rest)),
            None => (0, body),
        };
        assert_eq!(dropped, unread.dropped);
        self.position = read_to;
        self.text.push_str(body);
        (dropped, body.to_string())
    }
}

#[test]
fn the_status_is_on_a_line_of_its_own() {
    let table: &[(&[u8], u64, &str)] = &[
        (b"", 0, "[running]"),
        (b"a\n", 0, "a\n[running]"),
        (b"a", 0, "a\n[running]"),
        (b"a\nb", 7, "[… 7 bytes dropped …]\na\nb\n[running]"),
        (b"", 7, "[… 7 bytes dropped …]\n[running]"),
        (b"a\xff\xffb", 0, "a\u{fffd}\u{fffd}b\n[running]"),
    ];
    for (bytes, dropped, expected) in table {
        let unread = Unread { dropped: *dropped, from: *dropped, ..unread(bytes) };
        let answer = answer(&unread, "running", None);
        assert_eq!((answer.text.as_str(), answer.read_to), (*expected, dropped + bytes.len() as u64));
    }
}

#[test]
fn a_character_whose_rest_may_come_waits_for_it() {
    let open = unread(b"ab\xf0\x9f\x98");
    assert_eq!(
        (answer(&open, "running", None).text.as_str(), answer(&open, "running", None).read_to),
        ("ab\n[running]", 2)
    );
    let closed = Unread { is_closed: true, ..open };
    let answer = answer(&closed, "exit code: 0", None);
    assert_eq!((answer.text.as_str(), answer.read_to), ("ab\u{fffd}\n[exit code: 0]", 5));
}

#[test]
fn a_filter_shows_whole_lines_that_match() {
    let output = unread(b"one\ntwo\r\n\nthree");
    let table = [
        ("^t", "two\n[running]", 10),
        ("o$", "two\n[running]", 10),
        ("^$", "\n[running]", 10),
        ("", "one\ntwo\n\n[running]", 10),
        ("four", "[running]", 10),
        ("three", "[running]", 10),
    ];
    for (pattern, expected, read_to) in table {
        assert_eq!(filtered(&output, pattern), (expected.to_string(), read_to), "{pattern}");
    }
    let closed = Unread { is_closed: true, ..output };
    assert_eq!(filtered(&closed, "^t"), ("two\nthree\n[running]".to_string(), 15));
}

#[test]
fn a_filter_says_what_was_dropped_all_the_same() {
    let output = Unread { dropped: 9, from: 9, ..unread(b"one\n") };
    assert_eq!(filtered(&output, "two"), ("[… 9 bytes dropped …]\n[running]".to_string(), 13));
}

#[test]
fn a_line_that_is_too_long_is_taken_in_pieces() {
    let long = "é".repeat(MAX_LINE_BYTES);
    let (text, read_to) = filtered(&unread(format!("x{long}").as_bytes()), "x");
    // The piece is cut between two characters; what is left may still become a line.
    assert_eq!(text.len(), MAX_LINE_BYTES - 1 + "\n[running]".len());
    assert_eq!(read_to, 2 * MAX_LINE_BYTES as u64 - 1);
    let exact = "x".repeat(MAX_LINE_BYTES);
    assert_eq!(filtered(&unread(exact.as_bytes()), "x"), ("[running]".to_string(), 0));
    let (text, _) = filtered(&unread(format!("{exact}\n").as_bytes()), "^x+$");
    assert_eq!(text, format!("{exact}\n[running]"));
}

#[test]
fn an_answer_has_a_limit_and_says_that_more_waits() {
    let status = "[exit code: 0; more output waits]";
    for (byte, filter) in [(b'x', None), (0xff, None), (b'\n', Some("")), (b'\n', None)] {
        let output = Unread { is_closed: true, dropped: 5, ..unread(&vec![byte; MAX_ANSWER_BYTES]) };
        let filter = filter.map(|filter| Filter::new(filter).unwrap());
        let answer = answer(&output, "exit code: 0", filter.as_ref());
        assert!(answer.is_cut && answer.text.ends_with(status), "{byte}");
        assert!(answer.text.len() <= MAX_ANSWER_BYTES);
        // A filter may stop for its time alone.
        assert!(filter.is_some() || answer.text.len() > MAX_ANSWER_BYTES - 32, "{byte}: {}", answer.text.len());
    }
}

#[test]
fn a_line_that_does_not_fit_waits_for_the_next_answer() {
    let line = format!("{}\n", "x".repeat(4000));
    let lines = unread(line.repeat(200).as_bytes());
    let (text, read_to) = filtered(&lines, "x");
    assert!(text.len() <= MAX_ANSWER_BYTES && text.ends_with("x\n[running; more output waits]"));
    // None of them is torn, and none is lost.
    assert_eq!(read_to % line.len() as u64, 0);
    assert_eq!(text.len() - "[running; more output waits]".len(), read_to as usize);
}

#[test]
fn what_fits_exactly_is_not_cut() {
    let most = MAX_ANSWER_BYTES - "\n[running; more output waits]".len();
    let mut reader = Reader::new(MAX_READ_BYTES);
    reader.write("x".repeat(most + 10).as_bytes());
    while reader.position < (most + 10) as u64 {
        reader.read(None);
    }
    assert_eq!(reader.text.len(), most + 10);
    let part = unread(b"abc");
    assert!(answer(&Unread { is_all: false, ..part.clone() }, "running", None).is_cut);
    assert!(!answer(&part, "running", None).is_cut);
}

/// Pieces to write, each with whether a read follows it.
fn pieces(bytes: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<(Vec<u8>, bool)>> {
    (bytes, prop::collection::vec((1usize..40, any::<bool>()), 1..40)).prop_map(|(bytes, cuts)| {
        let mut rest = bytes.as_slice();
        let mut pieces = Vec::new();
        for (length, reads) in cuts.into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at(length.min(rest.len()));
            pieces.push((piece.to_vec(), reads));
            rest = after;
        }
        pieces
    })
}

proptest! {
    #[test]
    fn what_was_read_with_what_was_dropped_is_what_was_written(
        pieces in pieces("[aé—😀]{0,300}".prop_map(String::into_bytes)), buffer_bytes in 0usize..80,
    ) {
        let mut reader = Reader::new(buffer_bytes);
        let mut written = Vec::new();
        for (piece, reads) in pieces.iter().chain([&(Vec::new(), true)]) {
            reader.write(piece);
            written.extend_from_slice(piece);
            if *reads {
                let before = reader.position;
                let (dropped, text) = reader.read(None);
                let from = (before + dropped) as usize;
                prop_assert_eq!(text.as_bytes(), &written[from..reader.position as usize]);
            }
        }
        prop_assert_eq!(reader.position, written.len() as u64);
    }

    #[test]
    fn reads_in_between_change_no_character(pieces in pieces(prop::collection::vec(any::<u8>(), 0..400))) {
        let mut reader = Reader::new(1000);
        let mut written = Vec::new();
        for (piece, reads) in &pieces {
            // A newline at the end would look like the one before the status.
            let piece: Vec<u8> = piece.iter().map(|byte| if *byte == b'\n' { 0xe2 } else { *byte }).collect();
            reader.write(&piece);
            written.extend_from_slice(&piece);
            if *reads {
                reader.read(None);
            }
        }
        reader.kept.lock().close();
        reader.read(None);
        prop_assert_eq!(&reader.text, &String::from_utf8_lossy(&written));
    }

    #[test]
    fn each_line_is_filtered_once_and_whole(
        pieces in pieces("([abé]{1,6}\n){0,60}".prop_map(String::into_bytes)),
    ) {
        let mut reader = Reader::new(10_000);
        let mut shown = Vec::new();
        for (piece, reads) in pieces.iter().chain([&(Vec::new(), true)]) {
            reader.write(piece);
            if *reads {
                let (_, text) = reader.read(Some("a"));
                shown.extend(text.lines().map(str::to_string));
            }
        }
        let written: Vec<u8> = pieces.into_iter().flat_map(|(piece, _)| piece).collect();
        let written = String::from_utf8(written).unwrap();
        let expected: Vec<&str> = written.lines().filter(|line| line.contains('a')).collect();
        prop_assert_eq!(shown, expected);
        prop_assert_eq!(reader.position, written.len() as u64);
    }
}
