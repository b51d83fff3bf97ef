//! One task for one command: writes the input, reads the output, keeps the times, and sees to it that in the end nothing
//! is left. It outlives the caller's interest for as long as that takes.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lite_agent_supervisor::protocol::{Bound, Status};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio_util::sync::CancellationToken;

use super::backstop::{Seen, start_of};
use super::clock::{Alarm, Clock, until};
use super::command::Command;
use super::entry;
use super::failure;
use super::outcome::{End, Ended};
use super::output::{Sink, Stream, Taken};
use super::outputs::Outputs;
use super::start::{Started, start};
use super::supervisor::Supervisor;

/// How long after killing began the outcome is told, whatever is left.
const MOVE_ON: Duration = Duration::from_millis(400);
/// How long after killing began the supervisor must have said that nothing is left.
const BACKSTOP: Duration = Duration::from_secs(1);
/// How often the backstop tries again, and how many times before it gives up and says so.
const BACKSTOP_AGAIN: Duration = Duration::from_millis(20);
const BACKSTOP_TIMES: u32 = 250;
/// The first look at who is in the tree, and the longest time between two.
const FIRST_LOOK: Duration = Duration::from_millis(25);
const LONGEST_LOOK: Duration = Duration::from_millis(800);

/// Who asks for a command, and what for.
pub(super) struct Order {
    pub supervisor: Arc<PathBuf>,
    pub command: Command,
    pub sink: Box<dyn Sink>,
    pub kill: CancellationToken,
    pub tell: oneshot::Sender<Ended>,
    pub began: Instant,
}

/// Runs the command, and comes back when nothing of it is left. The caller is told of the end before that if need be.
pub(super) async fn watch(order: Order) {
    let Order { supervisor, command, sink, kill, tell, began } = order;
    let early = |end| Ended::before_start(end, began.elapsed());
    let mut clock = Clock::new();
    if let Some(timeout) = command.timeout {
        clock.set(Alarm::Deadline, timeout.saturating_sub(began.elapsed()));
    }
    let place = tokio::select! {
        biased;
        () = kill.cancelled() => {
            drop(tell.send(early(End::Cancelled)));
            return;
        }
        place = entry::place() => place,
        () = until(clock.next()) => {
            drop(tell.send(early(End::Timeout)));
            return;
        }
    };
    let started = match start(&supervisor, &command) {
        Ok(started) => started,
        Err(message) => {
            drop(tell.send(early(End::Spawn(message))));
            return;
        }
    };
    clock.set(Alarm::Starting, entry::LONGEST_START);
    let Started { process, request, sent, control, status, written, stdin, stdout, stderr, pipes, held } = started;
    let mut seen = Seen::default();
    seen.note_pipes(&pipes);
    let since = start_of(process.pid()).unwrap_or(0);
    let watch = Watch {
        supervisor,
        stdin,
        command,
        kill,
        tell: Some(tell),
        began,
        held,
        process,
        request,
        sent,
        control: Some(control),
        status,
        line: Vec::new(),
        written,
        outputs: Outputs::new(stdout, stderr, sink),
        clock,
        place,
        end: None,
        main_end: None,
        clean: false,
        output_held: false,
        seen,
        since,
        look_every: FIRST_LOOK,
        backstop_tries: 0,
    };
    watch.run().await;
}

struct Watch {
    supervisor: Arc<PathBuf>,
    command: Command,
    kill: CancellationToken,
    /// Until the caller was told.
    tell: Option<oneshot::Sender<Ended>>,
    began: Instant,
    held: Duration,
    process: Supervisor,
    request: Vec<u8>,
    sent: usize,
    /// Closing it has the tree killed.
    control: Option<Sender>,
    status: Receiver,
    /// Of the status, what is no whole line yet.
    line: Vec<u8>,
    stdin: Option<Sender>,
    written: usize,
    outputs: Outputs,
    clock: Clock,
    /// As long as it is being started.
    place: Option<OwnedSemaphorePermit>,
    /// Why we ended the command, if we did.
    end: Option<End>,
    /// How its main process ended.
    main_end: Option<End>,
    clean: bool,
    output_held: bool,
    seen: Seen,
    /// When the supervisor was started, in the system's ticks.
    since: u64,
    look_every: Duration,
    backstop_tries: u32,
}

/// What there is to do next.
enum Event {
    Status,
    Kill,
    Time,
    Request,
    Input,
    Output(Stream),
}

impl Watch {
    async fn run(mut self) {
        let mut listening = true;
        while listening && !self.clean {
            match self.next().await {
                Event::Status => listening = self.read_status(),
                Event::Kill => self.stop(End::Cancelled),
                Event::Time => self.ring(),
                Event::Request => self.write_request(),
                Event::Input => self.write_input(),
                Event::Output(stream) => self.read_output(stream),
            }
        }
        if !self.clean {
            self.replace_supervisor().await;
        }
        // What the command wrote before its end is in the pipes by now; who holds them still is none of the tree.
        let taken = self.outputs.read_all_now();
        self.end_if_full(taken);
        self.output_held |= !self.outputs.are_closed();
        self.outputs.close();
        self.control = None;
        self.process.reap().await;
        self.seen.bury();
        self.tell(self.clean);
    }

    /// All are watched at the same time, and none goes first: neither a flood nor a command that does not read can hold
    /// up the rest.
    async fn next(&mut self) -> Event {
        let open = self.control.is_some();
        tokio::select! {
            _ = self.status.readable() => Event::Status,
            () = self.kill.cancelled(), if open => Event::Kill,
            () = until(self.clock.next()) => Event::Time,
            () = writable(self.control.as_ref()), if self.sent < self.request.len() => Event::Request,
            () = writable(self.stdin.as_ref()) => Event::Input,
            stream = self.outputs.ready() => Event::Output(stream),
        }
    }

    fn write_request(&mut self) {
        let (Some(control), Some(rest)) = (&self.control, self.request.get(self.sent..)) else { return };
        match control.try_write(rest) {
            Ok(count) => self.sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The supervisor is gone: its status tells.
            Err(_) => self.sent = self.request.len(),
        }
        if self.sent == self.request.len() {
            // It holds what a secret environment holds.
            self.request = Vec::new();
            self.sent = 0;
        }
    }

    /// A command that reads less than it is given, or nothing, is fine.
    fn write_input(&mut self) {
        let (Some(stdin), Some(rest)) = (&self.stdin, self.command.stdin.get(self.written..)) else { return };
        match stdin.try_write(rest) {
            Ok(count) => self.written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => self.stdin = None,
        }
        if self.written == self.command.stdin.len() {
            self.stdin = None;
        }
    }

    fn read_output(&mut self, stream: Stream) {
        let taken = self.outputs.read(stream);
        self.end_if_full(taken);
        self.finish_if_over();
    }

    /// Reads what is there and no more.
    fn close_outputs(&mut self) {
        let taken = self.outputs.read_all_now();
        self.end_if_full(taken);
        self.outputs.close();
    }

    /// Also when the main process has ended by now: what it wrote was too much.
    fn end_if_full(&mut self, taken: Taken) {
        if taken == Taken::Full {
            self.end.get_or_insert(End::OutputLimit);
            self.kill_tree();
        }
    }

    /// The main process has ended and all output is here: whatever it left running is killed.
    fn finish_if_over(&mut self) {
        if self.main_end.is_some() && self.outputs.are_closed() {
            self.kill_tree();
        }
    }

    /// Ends the command, or what is left of it.
    fn stop(&mut self, why: End) {
        if self.main_end.is_some() {
            // It is over, and only its output was waited for.
            self.close_outputs();
        } else {
            self.end.get_or_insert(why);
        }
        self.kill_tree();
    }

    fn kill_tree(&mut self) {
        if self.control.take().is_none() {
            return;
        }
        self.stdin = None;
        // One that the command has stopped would not see that its control pipe was closed.
        self.process.signal(libc::SIGCONT);
        self.clock.clear(Alarm::Deadline);
        self.clock.clear(Alarm::PipeGrace);
        self.clock.set(Alarm::MoveOn, MOVE_ON.max(self.command.kill_grace.saturating_add(MOVE_ON / 2)));
        self.clock.set(Alarm::Backstop, BACKSTOP.max(self.command.kill_grace.saturating_add(BACKSTOP / 2)));
    }

    fn ring(&mut self) {
        while let Some(alarm) = self.clock.due() {
            match alarm {
                Alarm::Deadline => self.stop(End::Timeout),
                Alarm::PipeGrace => {
                    self.output_held = true;
                    self.close_outputs();
                    self.kill_tree();
                }
                Alarm::MoveOn => self.tell(false),
                Alarm::Backstop => self.back_up(),
                Alarm::Starting => self.place = None,
                Alarm::Look => {
                    self.seen.look(self.process.pid());
                    self.clock.set(Alarm::Look, self.look_every);
                    self.look_every = (self.look_every * 2).min(LONGEST_LOOK);
                }
            }
        }
    }

    /// Whether more may come.
    fn read_status(&mut self) -> bool {
        let mut buffer = [0; 256];
        match self.status.try_read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            Ok(0) | Err(_) => return false,
            Ok(count) => self.line.extend_from_slice(buffer.get(..count).unwrap_or_default()),
        }
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            let line = String::from_utf8_lossy(line.trim_ascii_end());
            match Status::from_line(&line) {
                Some(status) => self.hear(status),
                None => tracing::warn!(%line, "a supervisor said what is not understood"),
            }
        }
        true
    }

    fn hear(&mut self, status: Status) {
        // Whatever it says, it has started or never will.
        self.place = None;
        self.clock.clear(Alarm::Starting);
        match status {
            Status::Started { keeper, main } => {
                self.seen.note(keeper);
                self.seen.note(main);
                self.clock.set(Alarm::Look, self.look_every);
            }
            // The command cannot kill its supervisor: nobody needs to remember who is in the tree.
            Status::Guarded => self.clock.clear(Alarm::Look),
            Status::Exit(code) => self.main_ended(End::Exit(code)),
            Status::Signal(signal) => self.main_ended(End::Signal(signal)),
            Status::Failed { stage, errno } => {
                let message = failure::at_stage(stage, errno, &self.command, &self.supervisor);
                self.main_ended(End::Spawn(message));
            }
            Status::Limit(bound) => {
                self.end.get_or_insert(match bound {
                    Bound::Memory => End::MemoryLimit,
                    Bound::Cpu => End::CpuLimit,
                    Bound::Processes => End::ProcessLimit,
                });
                self.kill_tree();
            }
            Status::Lost => self.stop(End::SupervisorLost),
            Status::Clean => self.clean = true,
        }
    }

    fn main_ended(&mut self, end: End) {
        // What comes second is a consequence: a process that could not become the command also exits.
        if self.main_end.is_some() {
            return;
        }
        self.main_end = Some(end);
        self.stdin = None;
        if self.control.is_some() {
            self.clock.set(Alarm::PipeGrace, self.command.pipe_grace);
        }
        self.finish_if_over();
    }

    /// The supervisor was asked and has not said that nothing is left.
    fn back_up(&mut self) {
        self.backstop_tries += 1;
        if self.seen.kill(self.process.pid()) {
            // Only it is left: stopped, or it would have said so.
            self.process.signal(libc::SIGKILL);
        } else if self.backstop_tries < BACKSTOP_TIMES {
            self.clock.set(Alarm::Backstop, BACKSTOP_AGAIN);
        } else {
            // The supervisor goes on trying for as long as it lives, and we wait for it.
            tracing::warn!(supervisor = self.process.pid(), "processes of a command cannot be killed");
        }
    }

    /// The supervisor is gone and did not say that nothing is left: both of its processes were killed.
    async fn replace_supervisor(&mut self) {
        self.end.get_or_insert(End::SupervisorLost);
        for times in 0..BACKSTOP_TIMES {
            // Both are to find nobody.
            let unheld = self.seen.find_by_pipes(self.since);
            self.clean = self.seen.kill(self.process.pid()) && unheld;
            if self.clean {
                return;
            }
            if BACKSTOP_AGAIN * times > MOVE_ON {
                self.tell(false);
            }
            tokio::time::sleep(BACKSTOP_AGAIN).await;
        }
        tracing::warn!(supervisor = self.process.pid(), "processes of a command cannot be killed");
    }

    /// Tells the caller, once.
    fn tell(&mut self, clean: bool) {
        let Some(tell) = self.tell.take() else { return };
        self.outputs.close();
        let end = self.end.clone().or_else(|| self.main_end.clone()).unwrap_or(End::SupervisorLost);
        let ended = Ended {
            end,
            clean,
            output_held: self.output_held,
            stdin_written: self.written,
            duration: self.began.elapsed(),
            spawn_held: self.held,
        };
        // The caller may have lost interest.
        drop(tell.send(ended));
    }
}

async fn writable(pipe: Option<&Sender>) {
    match pipe {
        Some(pipe) => drop(pipe.writable().await),
        None => std::future::pending().await,
    }
}
