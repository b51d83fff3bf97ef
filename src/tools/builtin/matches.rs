//! The lines of one file that match, as they are shown. Knows nothing of folders.

use std::fs::File;
use std::io::{self, Read};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use tokio_util::sync::CancellationToken;

use crate::workspace::shown;

/// Larger files are not searched.
pub(super) const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Such a long line ends the search of its file.
pub(super) const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;
/// What is shown of a line.
pub(super) const MAX_SHOWN_BYTES: usize = 500;
/// Of the shown part of a long line, so much comes before its match.
const BEFORE_MATCH_BYTES: usize = 100;
/// Files of up to so many bytes are read at once.
const SMALL_FILE_BYTES: u64 = 512 * 1024;
const MAX_PATTERN_BYTES: usize = 16 * 1024;
/// What a compiled pattern may take.
const MAX_COMPILED_BYTES: usize = 16 * 1024 * 1024;

/// # Errors
/// Says what is wrong with the regular expression.
pub(super) fn matcher(pattern: &str) -> Result<RegexMatcher, String> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!("the pattern has {} bytes, and at most {MAX_PATTERN_BYTES} are taken", pattern.len()));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).unicode(true).size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES);
    if pattern.contains('$') {
        // `$` is before a \r in front of the line's end as well.
        builder.crlf(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        format!(
            "the pattern cannot be used: {}; it is a regular expression in Rust syntax, for one line",
            one_line(&error)
        )
    })
}

fn one_line(error: &grep_regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_string()
}

/// What came of searching one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The whole file was searched, or as much as was wanted.
    Whole,
    /// It is no text.
    Binary,
    /// It has more bytes than are searched.
    TooLarge,
    /// It has a line that is too long; what is before that was searched.
    LongLine,
    /// It could not be read.
    Unreadable,
}

/// How shown lines differ from those of the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Altered {
    pub cut_lines: bool,
    pub replaced_bytes: bool,
}

/// Searches files one after the other; keeps its buffers.
pub(super) struct FileSearch<'a> {
    matcher: &'a RegexMatcher,
    cancel: &'a CancellationToken,
    searcher: Searcher,
    buffer: Vec<u8>,
}

impl<'a> FileSearch<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, cancel: &'a CancellationToken) -> FileSearch<'a> {
        let searcher = SearcherBuilder::new()
            .line_terminator(matcher.line_terminator().unwrap_or_default())
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        FileSearch { matcher, cancel, searcher, buffer: Vec::new() }
    }

    /// Adds `path:line:text` for each line that matches. `may_show` is asked at the first; `goes_on` before each.
    pub(super) fn search(
        &mut self,
        (file, bytes): (File, u64),
        path: &str,
        lines: &mut Lines,
        may_show: &dyn Fn(&str) -> bool,
    ) -> Ended {
        if bytes > MAX_FILE_BYTES {
            return Ended::TooLarge;
        }
        let length = lines.text.len();
        let count = lines.count;
        let mut found = Found { matcher: self.matcher, path, lines, may_show, is_asked: false, is_binary: false };
        let result = if bytes <= SMALL_FILE_BYTES {
            match read_small(&file, bytes, &mut self.buffer) {
                Ok(Some(read)) if memchr::memchr(0, read).is_some() && !has_utf16_mark(read) => return Ended::Binary,
                Ok(Some(read)) => self.searcher.search_slice(self.matcher, read, &mut found),
                Ok(None) => {
                    // It grew meanwhile.
                    let read = io::Cursor::new(&self.buffer).chain(&file);
                    self.searcher.search_reader(self.matcher, Watched { from: read, cancel: self.cancel }, &mut found)
                }
                Err(_) => return Ended::Unreadable,
            }
        } else {
            let read = Watched { from: file.take(MAX_FILE_BYTES), cancel: self.cancel };
            self.searcher.search_reader(self.matcher, read, &mut found)
        };
        let is_binary = found.is_binary;
        match result {
            _ if is_binary => {
                // What stood before the first NUL is no text either.
                lines.text.truncate(length);
                lines.count = count;
                Ended::Binary
            }
            Ok(()) => Ended::Whole,
            // Of the file's own errors none has this kind.
            Err(error) if error.get_ref().is_some() && error.kind() == io::ErrorKind::Other => Ended::LongLine,
            Err(_) => Ended::Unreadable,
        }
    }
}

/// The whole file, which has so many bytes; none where it is longer than a small file, and then what was read is in the
/// buffer.
fn read_small<'b>(mut file: &File, bytes: u64, buffer: &'b mut Vec<u8>) -> io::Result<Option<&'b [u8]>> {
    let expected = usize::try_from(bytes).unwrap_or_default();
    let room = usize::try_from(SMALL_FILE_BYTES).unwrap_or(usize::MAX).saturating_add(1);
    buffer.resize(room, 0);
    let mut length = 0;
    loop {
        match file.read(buffer.get_mut(length..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // Some files say that they are empty and are not.
        if length == expected && expected > 0 {
            break;
        }
    }
    Ok(if length < room { buffer.get(..length) } else { None })
}

fn has_utf16_mark(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF])
}

/// Lines as they are shown, one after the other.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub text: String,
    pub count: usize,
    pub max_count: usize,
    pub max_bytes: usize,
    pub altered: Altered,
}

impl Lines {
    pub(super) fn new(max_count: usize, max_bytes: usize) -> Lines {
        Lines { max_count, max_bytes, ..Lines::default() }
    }

    /// Whether no more are wanted.
    pub(super) fn is_full(&self) -> bool {
        self.count >= self.max_count || self.text.len() >= self.max_bytes
    }
}

struct Found<'a> {
    matcher: &'a RegexMatcher,
    path: &'a str,
    lines: &'a mut Lines,
    may_show: &'a dyn Fn(&str) -> bool,
    is_asked: bool,
    is_binary: bool,
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if !self.is_asked {
            if !(self.may_show)(self.path) {
                return Ok(false);
            }
            self.is_asked = true;
        }
        let line = found.bytes();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (part, is_cut) = self.part(line);
        let text = String::from_utf8_lossy(part);
        self.lines.altered.cut_lines |= is_cut;
        self.lines.altered.replaced_bytes |= std::str::from_utf8(part).is_err();
        let number = found.line_number().unwrap_or_default();
        let is_after_start = part.as_ptr() != line.as_ptr();
        let out = &mut self.lines.text;
        out.push_str(&listed(self.path));
        out.push_str(&format!(":{number}:"));
        if is_after_start {
            out.push('…');
        }
        out.push_str(&text);
        if is_cut {
            out.push('…');
        }
        out.push('\n');
        self.lines.count += 1;
        Ok(!self.lines.is_full())
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _searcher: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

impl Found<'_> {
    /// What is shown of a line: all of it, or what is around its first match.
    fn part<'l>(&self, line: &'l [u8]) -> (&'l [u8], bool) {
        if line.len() <= MAX_SHOWN_BYTES {
            return (line, false);
        }
        let first = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let start = boundary(line, first.saturating_sub(BEFORE_MATCH_BYTES).min(line.len() - MAX_SHOWN_BYTES));
        let end = boundary(line, start + MAX_SHOWN_BYTES);
        (line.get(start..end).unwrap_or_default(), true)
    }
}

/// The place, or the one next before it at which no character is torn.
fn boundary(line: &[u8], at: usize) -> usize {
    let torn =
        (0..3).take_while(|back| line.get(at.saturating_sub(*back)).is_some_and(|byte| byte & 0xC0 == 0x80)).count();
    at.saturating_sub(torn)
}

/// A path in a list of one path a line.
pub(super) fn listed(path: &str) -> String {
    if path.chars().any(char::is_control) { shown(path) } else { path.to_string() }
}

/// Ends when the search is cancelled.
struct Watched<'a, R> {
    from: R,
    cancel: &'a CancellationToken,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            // Not "interrupted", which readers take for "try again".
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.from.read(buffer)
    }
}
