//! The `bash` tool: one command in the foreground, its output as it came, and how it ended.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::command::{CommandLine, NotStarted};
use super::run::Run;
use crate::process::{End, Ended, Sink, Stream, Taken, Utf8Decoder};
use crate::tools::builtin::ToolOutcome;

/// Of longer output the beginning and the end are kept: a model reads no more, and no more than this crosses.
const HEAD_BYTES: usize = 64 * 1024;
const TAIL_BYTES: usize = 192 * 1024;

impl Run {
    /// Runs the command of a call on the input that permission saw.
    pub(super) async fn run_bash(&self, input: &Value) -> ToolOutcome {
        if input.get("run_in_background").and_then(Value::as_bool) == Some(true) {
            return failed("run_in_background is not available yet: run the command without it");
        }
        let Some(text) = input.get("command").and_then(Value::as_str) else {
            return failed("the input has no command");
        };
        let settings = &self.family.options.commands;
        let timeout_ms = input.get("timeoutMs").and_then(Value::as_u64).unwrap_or(settings.timeout_ms);
        let line = CommandLine {
            shell: self.family.shell(),
            text,
            stdin: Vec::new(),
            timeout: Duration::from_millis(timeout_ms),
        };
        let kept = Arc::new(Mutex::new(Kept::new(settings.max_output_bytes)));
        match self.run_command(line, KeptSink(kept.clone())).await {
            Ok(ended) => {
                let text = kept.lock().unwrap_or_else(PoisonError::into_inner).text();
                outcome(&text, &ended, timeout_ms, settings.max_output_bytes)
            }
            Err(NotStarted::Spawn(message)) => failed(&format!("the command could not be started: {message}")),
            Err(NotStarted::SandboxTimeout) => failed(&format!(
                "timed out after {timeout_ms} ms: the sandbox did not answer, so the command was not run"
            )),
            Err(NotStarted::Sandbox(message)) => {
                failed(&format!("the sandbox could not be set up, so the command was not run: {message}"))
            }
        }
    }
}

fn failed(problem: &str) -> ToolOutcome {
    ToolOutcome { content: format!("Error: {problem}"), is_error: true }
}

/// The output, then a line that says how it ended.
fn outcome(output: &str, ended: &Ended, timeout_ms: u64, max_output_bytes: u64) -> ToolOutcome {
    let killed = "the command and all that it started were killed";
    let how = match &ended.end {
        End::Exit(code) => format!("exit code: {code}"),
        End::Signal(signal) => format!("killed by signal {signal}"),
        End::Timeout => format!("Error: timed out after {timeout_ms} ms; {killed}"),
        End::Cancelled => "interrupted".to_string(),
        End::OutputLimit => format!("Error: it wrote more than {max_output_bytes} bytes; {killed}"),
        End::MemoryLimit => format!("Error: it used more memory than bash.memoryBytes allows; {killed}"),
        End::CpuLimit => format!("Error: it used more processor time than it may; {killed}"),
        End::ProcessLimit => format!("Error: it had more processes than it may; {killed}"),
        End::Spawn(message) => format!("Error: the command could not be started: {message}"),
        End::SupervisorLost => format!("Error: the command killed or stopped its supervisor; {killed}"),
    };
    let separator = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
    ToolOutcome { content: format!("{output}{separator}{how}"), is_error: ended.end != End::Exit(0) }
}

/// What is kept of the output: the beginning, and the last of what came after it.
struct Kept {
    head: Vec<u8>,
    /// A ring once it is full: its oldest byte is at `oldest`.
    tail: Vec<u8>,
    oldest: usize,
    total: u64,
    max: u64,
}

struct KeptSink(Arc<Mutex<Kept>>);

impl Sink for KeptSink {
    fn take(&mut self, _stream: Stream, bytes: &[u8]) -> Taken {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(bytes)
    }
}

impl Kept {
    fn new(max: u64) -> Kept {
        Kept { head: Vec::new(), tail: Vec::new(), oldest: 0, total: 0, max }
    }

    fn take(&mut self, bytes: &[u8]) -> Taken {
        let room = usize::try_from(self.max - self.total).unwrap_or(usize::MAX);
        let (bytes, over) = bytes.split_at(bytes.len().min(room));
        self.total += bytes.len() as u64;
        let (head, mut rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(head);
        let space = TAIL_BYTES - self.tail.len();
        let (filling, after) = rest.split_at(rest.len().min(space));
        self.tail.extend_from_slice(filling);
        rest = after.get(after.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(TAIL_BYTES - self.oldest));
            if let Some(place) = self.tail.get_mut(self.oldest..self.oldest + piece.len()) {
                place.copy_from_slice(piece);
            }
            self.oldest = (self.oldest + piece.len()) % TAIL_BYTES;
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

    fn kept(pieces: &[&[u8]], max: u64) -> (String, Taken) {
        let mut kept = Kept::new(max);
        let mut last = Taken::All;
        for piece in pieces {
            last = kept.take(piece);
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
}
