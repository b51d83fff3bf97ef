//! The keeper: parent of the command. It watches over the bounds, reaps, and kills the tree when it is told to, or when
//! the guardian above it is gone.

use lite_agent_supervisor::protocol::{Bound, Request, STATUS_FD, Stage, Status};

use crate::command::{Prepared, become_command};
use crate::guard::Wards;
use crate::limits::{self, Measure};
use crate::sys::{self, Change, Errno, Reaped};
use crate::tree::{self, Sight};

/// What the guardian hands to the keeper.
pub struct Charge {
    pub request: Request,
    pub prepared: Prepared,
    pub guardian: i32,
    pub host: i32,
    /// Closed by the guardian, or by its death, to have the tree killed.
    pub orders: i32,
    pub signals: i32,
}

/// Starts the command and stays until nothing of it is left.
pub fn keep(charge: Charge) -> ! {
    let wards = sys::is_root().then(|| Wards {
        guardian: charge.guardian,
        keeper: sys::own_pid(),
        host: charge.host,
        host_group: sys::group_of(charge.host),
    });
    if limits::is_any(charge.request.limits) && Sight::find() == Sight::Blind {
        refuse(Stage::Proc, Errno(libc::ENOENT));
    }
    if let Err(error) = sys::become_subreaper() {
        refuse(Stage::Setup, error);
    }
    let main = match sys::fork() {
        Ok(0) => become_command(&charge.prepared, wards),
        Ok(pid) => pid,
        Err(error) => refuse(Stage::Fork, error),
    };
    sys::become_unreadable();
    sys::let_go_of_streams();
    sys::tell(STATUS_FD, Status::Started { keeper: sys::own_pid(), main });
    let next_look = limits::is_any(charge.request.limits).then(|| sys::monotonic_ms() + limits::LOOK_EVERY_MS);
    Keeper { charge, main: Some(main), next_look, kill_at: None }.watch()
}

fn refuse(stage: Stage, Errno(errno): Errno) -> ! {
    sys::tell(STATUS_FD, Status::Failed { stage, errno });
    sys::leave(1)
}

struct Keeper {
    charge: Charge,
    /// Until its end was told.
    main: Option<i32>,
    /// When to measure the tree next; milliseconds of the clock that only rises.
    next_look: Option<u64>,
    /// Set once the tree was asked to end: when to kill what is left.
    kill_at: Option<u64>,
}

impl Keeper {
    fn watch(mut self) -> ! {
        loop {
            // An order that was given needs no second look: the pipe stays closed.
            let orders = if self.kill_at.is_none() { self.charge.orders } else { -1 };
            let [ordered, signalled] = sys::wait_for([orders, self.charge.signals], self.wait_ms());
            let asked = signalled && sys::asked_to_end(self.charge.signals);
            self.reap();
            if (ordered || asked) && self.kill_at.is_none() {
                self.ask_to_end();
            }
            let now = sys::monotonic_ms();
            if self.next_look.is_some_and(|at| now >= at) {
                self.measure(now);
            }
            if self.kill_at.is_some_and(|at| now >= at) {
                self.destroy();
            }
        }
    }

    fn wait_ms(&self) -> i32 {
        let Some(next) = [self.next_look, self.kill_at].into_iter().flatten().min() else { return -1 };
        i32::try_from(next.saturating_sub(sys::monotonic_ms())).unwrap_or(i32::MAX)
    }

    fn reap(&mut self) {
        loop {
            match sys::reap() {
                Reaped::NoChildren => self.leave(),
                Reaped::Nothing => return,
                one @ Reaped::One { .. } => self.note(one),
            }
        }
    }

    /// Tells of the main process's end.
    fn note(&mut self, reaped: Reaped) {
        let Reaped::One { pid, change, peak_bytes } = reaped else { return };
        if self.main != Some(pid) {
            return;
        }
        let (status, killed_by) = match change {
            Change::Stopped => return,
            Change::Exited(code) => (Status::Exit(code), None),
            Change::Killed(signal) => (Status::Signal(signal), Some(signal)),
        };
        self.main = None;
        let failed = status != Status::Exit(0);
        if let Some(bound) = limits::passed_at_end(self.charge.request.limits, killed_by, failed, peak_bytes) {
            sys::tell(STATUS_FD, Status::Limit(bound));
        }
        sys::tell(STATUS_FD, status);
    }

    fn ask_to_end(&mut self) {
        tree::ask_to_end(self.main);
        self.kill_at = Some(sys::monotonic_ms().saturating_add(self.charge.request.kill_grace_ms));
    }

    fn measure(&mut self, now: u64) {
        let bound = match limits::measure(self.charge.request.limits) {
            Measure::Within { next_look_ms } => {
                self.next_look = Some(now + next_look_ms);
                return;
            }
            Measure::Passed(bound) => bound,
        };
        self.next_look = None;
        sys::tell(STATUS_FD, Status::Limit(bound));
        match bound {
            // It would only grow while it is asked.
            Bound::Processes => self.destroy(),
            Bound::Memory | Bound::Cpu if self.kill_at.is_none() => self.ask_to_end(),
            Bound::Memory | Bound::Cpu => {}
        }
    }

    fn destroy(&mut self) -> ! {
        tree::destroy(self.main, |reaped| self.note(reaped));
        self.leave()
    }

    /// Nothing of the tree is left. The guardian says so, who sees that we are gone too; unless it is gone itself.
    fn leave(&self) -> ! {
        if sys::parent_pid() != self.charge.guardian {
            sys::tell(STATUS_FD, Status::Clean);
        }
        sys::leave(0)
    }
}
