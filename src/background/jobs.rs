//! The register of background commands. A family's thread uses it; nothing in it is held while something is awaited.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::answer::{MAX_READ_BYTES, answer};
use super::end::{JobEnd, Over, label, one_line};
use super::filter::Filter;
use super::kept::{JobSink, Shared};
use super::kill::{Kill, Killing, wait};
use crate::process::Ended;
use crate::types::nearest::nearest;

/// So many commands that ended are remembered.
const MAX_OVER: usize = 64;
/// Characters of an id that is not known that a message shows.
const MAX_ID_CHARS: usize = 60;
/// Ids that a message lists.
const MAX_LISTED: usize = 10;

/// How much may go on at once, and how much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Child groups and background commands together. Default 100.
    pub max_total: usize,
    /// Background commands alone. Default 20.
    pub max_commands: usize,
    /// Bytes that are kept of the unread output of each command. Default 1 MiB; at least 4 are.
    pub buffer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_total: 100, max_commands: 20, buffer_bytes: 1024 * 1024 }
    }
}

/// The background commands of one family.
#[derive(Debug)]
pub struct Jobs {
    limits: Limits,
    /// Places that were taken for commands that have not begun.
    places: Rc<Cell<usize>>,
    register: RefCell<Register>,
}

/// The place of one command that has not begun. Dropping it gives it back.
#[derive(Debug)]
pub struct Place(Rc<Cell<usize>>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

#[derive(Debug, Default)]
struct Register {
    going: Vec<Going>,
    /// In the order in which they ended.
    over: VecDeque<Finished>,
}

#[derive(Debug)]
struct Job {
    id: String,
    /// A session's id.
    owner: String,
    label: String,
    kept: Shared,
}

#[derive(Debug)]
struct Going {
    job: Job,
    kill: CancellationToken,
    end: watch::Sender<Option<Over>>,
    /// Its owner is gone: it counts until it has ended, and nobody hears of it.
    is_forgotten: bool,
}

#[derive(Debug)]
struct Finished {
    job: Job,
    over: Over,
}

/// One read of a command's output.
#[derive(Debug)]
pub struct Reading {
    kept: Shared,
    /// How it ended, if it has.
    end: Option<String>,
}

impl Reading {
    /// What came since the last read, at most 256 KiB of it, and a line with the command's status. With a filter, of whole
    /// lines those that match (one of more than 32 KiB counts as several); the others are read as well. Blocks.
    ///
    /// # Errors
    /// The filter is none; nothing was read then.
    pub fn read(self, filter: Option<&str>) -> Result<String, String> {
        let filter = filter.map(Filter::new).transpose()?;
        // One read after another; but not held while text is made of it is what the runner writes to.
        let _turn = self.kept.reading();
        let unread = self.kept.lock().unread(MAX_READ_BYTES);
        let answer = answer(&unread, self.end.as_deref().unwrap_or("running"), filter.as_ref());
        let mut kept = self.kept.lock();
        kept.read_to(answer.read_to);
        kept.is_told = self.end.is_some() && !answer.is_cut;
        Ok(answer.text)
    }
}

impl Jobs {
    pub fn new(limits: Limits) -> Jobs {
        Jobs { limits, places: Rc::new(Cell::new(0)), register: RefCell::default() }
    }

    /// Takes a place for one command, until it begins or the place is dropped. `others`: how many child groups go on.
    ///
    /// # Errors
    /// A limit is reached: names it, its value, and what to do.
    pub fn admit(&self, others: usize) -> Result<Place, String> {
        let Limits { max_total, max_commands, .. } = self.limits;
        let going = self.going();
        let wait = "wait until one is over, or end a command with KillBackground";
        if going >= max_commands {
            return Err(match max_commands {
                0 => "backgroundLimits.maxDetached is 0: run the command in the foreground".to_string(),
                _ => {
                    format!("backgroundLimits.maxDetached is {max_commands}, and as many commands are running: {wait}")
                }
            });
        }
        if going.saturating_add(others) >= max_total {
            return Err(match max_total {
                0 => "backgroundLimits.maxTotal is 0: run the command in the foreground".to_string(),
                _ => format!(
                    "backgroundLimits.maxTotal is {max_total}, and as many child groups and commands are running: {wait}"
                ),
            });
        }
        self.places.set(self.places.get() + 1);
        Ok(Place(Rc::clone(&self.places)))
    }

    /// Registers a command that takes a place. Answers where its output goes, which wants both streams as one, and the
    /// token that kills it. Whoever starts it must tell of its [`end`](Jobs::end), also when it could not be started.
    pub fn begin(&self, place: Place, id: String, owner: String, command: String) -> (JobSink, CancellationToken) {
        drop(place);
        let kept = Shared::new(self.limits.buffer_bytes);
        let (sink, kill) = (JobSink::new(&kept), CancellationToken::new());
        let job = Job { id, owner, label: label(&command), kept };
        let end = watch::Sender::new(None);
        self.register.borrow_mut().going.push(Going { job, kill: kill.clone(), end, is_forgotten: false });
        (sink, kill)
    }

    /// A command ended. Answers what to report of it; none for a command that is not known, or whose owner is forgotten.
    /// `timeout_ms`: the time that it had.
    pub fn end(&self, id: &str, ended: &Ended, timeout_ms: Option<u64>) -> Option<JobEnd> {
        let mut register = self.register.borrow_mut();
        let index = register.going.iter().position(|going| going.job.id == id)?;
        let Going { job, end, is_forgotten, .. } = register.going.remove(index);
        let over = Over::new(ended, timeout_ms);
        let tail = job.kept.lock().close();
        let separator = if tail.is_empty() || tail.ends_with('\n') { "" } else { "\n" };
        let content = format!("{tail}{separator}[{}]", over.how);
        let report = JobEnd { status: over.status, label: job.label.clone(), content };
        if !is_forgotten {
            register.make_room(MAX_OVER.max(self.limits.max_commands));
            register.over.push_back(Finished { job, over: over.clone() });
        }
        drop(register);
        end.send_replace(Some(over));
        (!is_forgotten).then_some(report)
    }

    /// A read of a command's output, to be done on a thread that may be held.
    ///
    /// # Errors
    /// The owner has no such command.
    pub fn reading(&self, owner: &str, id: &str) -> Result<Reading, String> {
        let register = self.register.borrow();
        if let Some(going) = register.going.iter().find(|going| going.is(owner, id)) {
            return Ok(Reading { kept: going.job.kept.clone(), end: None });
        }
        match register.over.iter().rfind(|finished| finished.job.is(owner, id)) {
            Some(Finished { job, over }) => Ok(Reading { kept: job.kept.clone(), end: Some(over.how.clone()) }),
            None => Err(register.unknown(owner, id)),
        }
    }

    /// Kills a command with all that it started.
    ///
    /// # Errors
    /// The owner has no such command.
    pub fn kill(&self, owner: &str, id: &str) -> Result<Kill, String> {
        let register = self.register.borrow();
        if let Some(going) = register.going.iter().find(|going| going.is(owner, id)) {
            let (kill, killing) = (going.kill.clone(), Killing::new(id, going.end.subscribe()));
            drop(register);
            kill.cancel();
            return Ok(Kill::Asked(killing));
        }
        match register.over.iter().rfind(|finished| finished.job.is(owner, id)) {
            Some(finished) => Ok(Kill::Over(format!("{id} had ended before: {}", finished.over.how))),
            None => Err(register.unknown(owner, id)),
        }
    }

    /// Kills all commands of an owner, or all.
    pub fn kill_all(&self, owner: Option<&str>) {
        let kills = self.register.borrow().kills_of(owner);
        kills.iter().for_each(CancellationToken::cancel);
    }

    /// Waits until no command of an owner, or none at all, goes on; those that begin meanwhile as well.
    pub async fn none_left(&self, owner: Option<&str>) {
        loop {
            let next = self.register.borrow().going.iter().find(|g| g.job.is_of(owner)).map(|g| g.end.subscribe());
            let Some(mut end) = next else { return };
            wait(&mut end).await;
        }
    }

    /// How many commands go on, and have a place to begin.
    pub fn going(&self) -> usize {
        self.register.borrow().going.len() + self.places.get()
    }

    /// An owner is gone, and with it what is kept of its commands. Those that go on are killed; nothing is reported of
    /// them.
    pub fn forget(&self, owner: &str) {
        let mut register = self.register.borrow_mut();
        register.over.retain(|finished| finished.job.owner != owner);
        for going in register.going.iter_mut().filter(|going| going.job.owner == owner) {
            going.is_forgotten = true;
            going.job.kept.lock().discard();
        }
        drop(register);
        self.kill_all(Some(owner));
    }
}

/// Nobody could end them any more.
impl Drop for Jobs {
    fn drop(&mut self) {
        self.kill_all(None);
    }
}

impl Register {
    fn kills_of(&self, owner: Option<&str>) -> Vec<CancellationToken> {
        self.going.iter().filter(|going| going.job.is_of(owner)).map(|going| going.kill.clone()).collect()
    }

    /// Lets the oldest go when there are as many as are remembered, first of those that were read.
    fn make_room(&mut self, most: usize) {
        while self.over.len() >= most.max(1) {
            let read = self.over.iter().position(|finished| finished.job.kept.lock().is_told);
            self.over.remove(read.unwrap_or(0));
        }
    }

    /// Why there is no such command; names those that there are, the newest first.
    fn unknown(&self, owner: &str, id: &str) -> String {
        let running = self.going.iter().rev().filter(|going| !going.is_forgotten).map(|going| (&going.job, true));
        let over = self.over.iter().rev().map(|finished| (&finished.job, false));
        let known: Vec<(&str, bool)> = running
            .chain(over)
            .filter(|(job, _)| job.owner == owner)
            .map(|(job, runs)| (job.id.as_str(), runs))
            .collect();
        let problem = format!("no background command '{}'", one_line(id, MAX_ID_CHARS));
        if let Some(near) = nearest(id, known.iter().map(|(id, _)| *id)) {
            return format!("{problem}; did you mean {near}?");
        }
        if known.is_empty() {
            return format!("{problem}; there is none at all");
        }
        let status = |runs: &bool| if *runs { "running" } else { "ended" };
        let listed: Vec<String> =
            known.iter().take(MAX_LISTED).map(|(id, runs)| format!("{id} ({})", status(runs))).collect();
        let more = if known.len() > MAX_LISTED { " and more" } else { "" };
        format!("{problem}; there are: {}{more}", listed.join(", "))
    }
}

impl Going {
    fn is(&self, owner: &str, id: &str) -> bool {
        !self.is_forgotten && self.job.is(owner, id)
    }
}

impl Job {
    fn is(&self, owner: &str, id: &str) -> bool {
        self.owner == owner && self.id == id
    }

    fn is_of(&self, owner: Option<&str>) -> bool {
        owner.is_none_or(|owner| self.owner == owner)
    }
}
