//! The output of one command as it comes: from its pipes into a sink. Knows no times and no processes.

use std::io;

use tokio::net::unix::pipe::Receiver;

use super::output::{Sink, Stream, Taken};
use super::pipes::read_now;

const READ_BYTES: usize = 32 << 10;
/// What may be in a pipe whose writers are dead: the kernel lets nobody but root make larger ones.
const MAX_LEFT_BYTES: usize = 1 << 20;

pub(super) struct Outputs {
    /// Until all who could write to it have closed it, or we have.
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    sink: Box<dyn Sink>,
    buffer: Vec<u8>,
}

impl Outputs {
    /// Without a pipe for stderr, it comes through that of stdout.
    pub(super) fn new(stdout: Receiver, stderr: Option<Receiver>, sink: Box<dyn Sink>) -> Outputs {
        Outputs { stdout: Some(stdout), stderr, sink, buffer: vec![0; READ_BYTES] }
    }

    /// Waits until there is something to read from one of them; neither goes first.
    pub(super) async fn ready(&mut self) -> Stream {
        tokio::select! {
            () = readable(self.stdout.as_ref()) => Stream::Stdout,
            () = readable(self.stderr.as_ref()) => Stream::Stderr,
        }
    }

    /// Gives the sink what is there, at most once the buffer. When the sink is full, both pipes are closed.
    pub(super) fn read(&mut self, stream: Stream) -> Taken {
        let pipe = match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        let Some(pipe) = pipe else { return Taken::All };
        let read = pipe.try_read(&mut self.buffer);
        self.took(stream, &read)
    }

    /// Gives the sink all that is there, past the runtime, which may not know of it yet.
    pub(super) fn read_all_now(&mut self) -> Taken {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut count = 0;
            while count < MAX_LEFT_BYTES {
                let pipe = match stream {
                    Stream::Stdout => &self.stdout,
                    Stream::Stderr => &self.stderr,
                };
                let Some(pipe) = pipe else { break };
                let read = read_now(pipe, &mut self.buffer);
                if self.took(stream, &read) == Taken::Full {
                    return Taken::Full;
                }
                match read {
                    Ok(more) => count += more,
                    Err(_) => break,
                }
            }
        }
        Taken::All
    }

    fn took(&mut self, stream: Stream, read: &io::Result<usize>) -> Taken {
        match read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Taken::All,
            Ok(0) | Err(_) => {
                match stream {
                    Stream::Stdout => self.stdout = None,
                    Stream::Stderr => self.stderr = None,
                }
                self.sink.ended(stream);
                Taken::All
            }
            Ok(count) => {
                let taken = self.sink.take(stream, self.buffer.get(..*count).unwrap_or_default());
                if taken == Taken::Full {
                    self.close();
                }
                taken
            }
        }
    }

    /// Whoever goes on writing meets a broken pipe.
    pub(super) fn close(&mut self) {
        self.stdout = None;
        self.stderr = None;
    }

    pub(super) fn are_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }
}

async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}
