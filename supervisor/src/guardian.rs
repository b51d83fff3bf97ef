//! The guardian: started by the runner. Reads the request, makes the keeper, and kills the tree when the control pipe
//! closes, the host dies, or the keeper comes to grief.

use lite_agent_supervisor::protocol::{CONTROL_FD, HEADER_BYTES, Request, STATUS_FD, Stage, Status, body_length};

use crate::command::Prepared;
use crate::keeper::{Charge, keep};
use crate::sys::{self, Change, Errno, Reaped};
use crate::tree;

const FIRST_FOREIGN_FD: u32 = STATUS_FD.cast_unsigned() + 1;

pub fn guard() -> ! {
    if !sys::is_open(CONTROL_FD) || !sys::is_open(STATUS_FD) {
        eprintln!("lite-agent-supervisor is started by lite-agent for each command; by hand it does nothing");
        sys::leave(2);
    }
    // What the host leaked into its children is not for us to hold open.
    sys::close_from(FIRST_FOREIGN_FD);
    let host = sys::parent_pid();
    let signals = match sys::signals() {
        Ok(signals) => signals,
        Err(error) => refuse(Stage::Setup, error),
    };
    let request = read_request();
    let Some(prepared) = Prepared::new(&request) else { refuse(Stage::Request, Errno(libc::EINVAL)) };
    let (orders, ordering) = match sys::become_subreaper().and_then(|()| sys::pipe()) {
        Ok(ends) => ends,
        Err(error) => refuse(Stage::Setup, error),
    };
    let guardian = sys::own_pid();
    let keeper = match sys::fork() {
        Ok(0) => {
            sys::close(ordering);
            sys::close(CONTROL_FD);
            keep(Charge { request, prepared, guardian, host, orders, signals })
        }
        Ok(pid) => pid,
        Err(error) => refuse(Stage::Fork, error),
    };
    drop((request, prepared));
    sys::close(orders);
    sys::become_unreadable();
    sys::let_go_of_streams();
    Guardian { keeper, signals, host: sys::process_descriptor(host), ordering: Some(ordering) }.watch()
}

fn read_request() -> Request {
    let mut header = [0; HEADER_BYTES];
    if !sys::read_whole(CONTROL_FD, &mut header) {
        // The runner changed its mind, or died, before anything was started.
        sys::tell(STATUS_FD, Status::Clean);
        sys::leave(2);
    }
    let Ok(length) = body_length(header) else { refuse(Stage::Request, Errno(libc::EPROTO)) };
    let mut body = vec![0; length];
    if !sys::read_whole(CONTROL_FD, &mut body) {
        sys::tell(STATUS_FD, Status::Clean);
        sys::leave(2);
    }
    match Request::decode(&body) {
        Ok(request) => request,
        Err(_) => refuse(Stage::Request, Errno(libc::EPROTO)),
    }
}

/// Nothing was started.
fn refuse(stage: Stage, Errno(errno): Errno) -> ! {
    sys::tell(STATUS_FD, Status::Failed { stage, errno });
    sys::tell(STATUS_FD, Status::Clean);
    sys::leave(1)
}

struct Guardian {
    keeper: i32,
    signals: i32,
    /// Readable when the host has died: another process may hold the control pipe open, if the host forked without exec.
    host: i32,
    /// Until the keeper was ordered to kill.
    ordering: Option<i32>,
}

impl Guardian {
    fn watch(mut self) -> ! {
        loop {
            let [control, host] = if self.ordering.is_some() { [CONTROL_FD, self.host] } else { [-1, -1] };
            let [closed, died, signalled] = sys::wait_for([control, host, self.signals], -1);
            let asked = signalled && sys::asked_to_end(self.signals);
            if (closed || died || asked)
                && let Some(ordering) = self.ordering.take()
            {
                sys::close(ordering);
            }
            self.reap();
        }
    }

    fn reap(&mut self) {
        loop {
            match sys::reap() {
                Reaped::NoChildren => leave(),
                Reaped::Nothing => return,
                Reaped::One { pid, change, .. } if pid == self.keeper => self.keeper_changed(change),
                Reaped::One { .. } => {}
            }
        }
    }

    /// A keeper that left by itself has left nothing, and says why it ended; else we do its work.
    fn keeper_changed(&self, change: Change) {
        if matches!(change, Change::Killed(_) | Change::Stopped) {
            sys::tell(STATUS_FD, Status::Lost);
        }
        tree::destroy(None, |_| {});
        leave()
    }
}

fn leave() -> ! {
    sys::tell(STATUS_FD, Status::Clean);
    sys::leave(0)
}
