//! What a command wrote: where it goes, and how it is kept. Knows no pipes.

use std::fmt;

use super::text::Utf8Decoder;

/// Where bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output; with `Streams::Joined`, both.
    Stdout,
    Stderr,
}

impl Stream {
    fn other(self) -> Stream {
        match self {
            Stream::Stdout => Stream::Stderr,
            Stream::Stderr => Stream::Stdout,
        }
    }

    fn index(self) -> usize {
        match self {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
        }
    }
}

/// Takes output as it arrives, on a thread of the runtime. It must be quick, and must not block.
pub trait Sink: Send + 'static {
    /// Bytes as they were read, never empty. `Full` ends the command with `End::OutputLimit`; nothing more comes then.
    fn take(&mut self, stream: Stream, bytes: &[u8]) -> Taken;

    /// A stream ended by itself: all who could write to it have closed it.
    fn ended(&mut self, _stream: Stream) {}
}

/// What a sink did with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    All,
    /// It had no room for all of them.
    Full,
}

/// The output of one command, in order of arrival.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Output {
    bytes: Vec<u8>,
    /// How many bytes came from one stream before the other's turn; begins with stdout, so that the first may be 0. Four
    /// bytes for each change: a program that writes single bytes in turns costs five times its output, and no more.
    runs: Vec<u32>,
    ended: [bool; 2],
}

impl Output {
    /// All bytes, in order of arrival.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The pieces in order of arrival, each with where it came from; neighbours differ in it.
    pub fn pieces(&self) -> impl Iterator<Item = (Stream, &[u8])> {
        let mut stream = Stream::Stderr;
        let mut rest = self.bytes.as_slice();
        self.runs.iter().filter_map(move |length| {
            stream = stream.other();
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            rest = after;
            (!piece.is_empty()).then_some((stream, piece))
        })
    }

    /// The bytes of one stream.
    pub fn bytes_of(&self, wanted: Stream) -> Vec<u8> {
        self.pieces().filter(|(stream, _)| *stream == wanted).flat_map(|(_, piece)| piece).copied().collect()
    }

    /// All text, in order of arrival: what is no UTF-8 is replaced, a character that came in two pieces is whole, and one
    /// that was cut at the limit is left out.
    pub fn text(&self) -> String {
        self.decode(|_| true)
    }

    /// The text of one stream.
    pub fn text_of(&self, wanted: Stream) -> String {
        self.decode(|stream| stream == wanted)
    }

    fn decode(&self, wanted: impl Fn(Stream) -> bool) -> String {
        let mut text = String::with_capacity(self.bytes.len());
        let (mut stdout, mut stderr) = (Utf8Decoder::default(), Utf8Decoder::default());
        for (stream, piece) in self.pieces().filter(|(stream, _)| wanted(*stream)) {
            match stream {
                Stream::Stdout => stdout.push(piece, &mut text),
                Stream::Stderr => stderr.push(piece, &mut text),
            }
        }
        let [stdout_ended, stderr_ended] = self.ended;
        stdout.finish(!stdout_ended, &mut text);
        stderr.finish(!stderr_ended, &mut text);
        text
    }

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        // An odd count of runs: the last is stdout's.
        let last = if self.runs.len() % 2 == 1 { Stream::Stdout } else { Stream::Stderr };
        if self.runs.is_empty() || last != stream {
            if self.runs.is_empty() && stream == Stream::Stderr {
                self.runs.push(0);
            }
            self.runs.push(0);
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let Some(run) = self.runs.last_mut() else { return };
        match run.checked_add(length) {
            Some(sum) => *run = sum,
            // Over 4 GiB in one run: the other stream has a turn of nothing.
            None => self.runs.extend([0, length]),
        }
    }

    fn end(&mut self, stream: Stream) {
        if let Some(ended) = self.ended.get_mut(stream.index()) {
            *ended = true;
        }
    }
}

/// The beginning of the text, and how much there is: nobody wants to read 50 MB in a log.
impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = String::from_utf8_lossy(self.bytes.get(..200).unwrap_or(&self.bytes));
        f.debug_struct("Output").field("bytes", &self.bytes.len()).field("start", &start).finish_non_exhaustive()
    }
}

/// Keeps so many bytes of both streams together, and is full at the next.
#[derive(Debug)]
pub(super) struct Capture {
    output: Output,
    room: usize,
}

impl Capture {
    pub(super) fn new(max_bytes: usize) -> Capture {
        Capture { output: Output::default(), room: max_bytes }
    }

    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) -> Taken {
        let (kept, over) = bytes.split_at(bytes.len().min(self.room));
        self.room -= kept.len();
        self.output.push(stream, kept);
        if over.is_empty() { Taken::All } else { Taken::Full }
    }

    pub(super) fn end(&mut self, stream: Stream) {
        self.output.end(stream);
    }

    pub(super) fn into_output(self) -> Output {
        self.output
    }
}
