//! Names of children, groups and background commands. They are unguessable, and those of children tell which session they
//! belong to, so that whoever deletes it finds them, and no other session can resume them.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::family::Family;

const AGENT: &str = "agent-";
/// Hexadecimal digits of one part of a name.
const PART: usize = 16;

impl Family {
    pub(super) fn new_agent_id(&self, owner: &str) -> String {
        format!("{}{}", agent_prefix(owner), self.unguessable())
    }

    pub(super) fn new_group_id(&self) -> String {
        format!("group_{}", self.unguessable())
    }

    pub(super) fn new_hook_id(&self) -> String {
        format!("hook_{}", self.unguessable())
    }

    pub(super) fn new_command_id(&self) -> String {
        format!("bg_{}", self.unguessable())
    }

    /// Whether it is the name of a child of this session.
    pub(super) fn is_agent_of(&self, agent: &str, owner: &str) -> bool {
        agent.strip_prefix(&agent_prefix(owner)).is_some_and(|rest| {
            rest.len() == PART && rest.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        })
    }

    fn unguessable(&self) -> String {
        let number = self.last_name.get() + 1;
        self.last_name.set(number);
        digest(&format!("{}\n{number}", self.options.name_seed))
    }
}

/// How the names of all children of a session begin; they are the ids of their sessions as well.
pub fn agent_prefix(owner: &str) -> String {
    format!("{AGENT}{}-", digest(owner))
}

fn digest(text: &str) -> String {
    let mut hexadecimal = String::with_capacity(PART);
    for byte in Sha256::digest(text).iter().take(PART / 2) {
        // Writing into a string cannot fail.
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    hexadecimal
}
