//! How messages line up for an API that wants user and assistant to alternate and no block to be empty. The stored
//! conversation keeps every message as it was; this decides what a request makes of each, once, when it is appended.

use crate::host::Placement;
use crate::types::{MessageOutline, Role};

/// The line-up of one session.
#[derive(Debug, Default)]
pub struct Conversation {
    messages: usize,
    /// Whether the last message that a request sends is the assistant's.
    last_is_assistant: Option<bool>,
}

impl Conversation {
    /// How many messages were appended.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Takes up a conversation that was stored.
    pub fn restore(&mut self, messages: usize, last_is_assistant: Option<bool>) {
        *self = Conversation { messages, last_is_assistant };
    }

    /// Takes a message into the line-up.
    pub fn append(&mut self, message: &MessageOutline) -> Placement {
        self.messages += 1;
        if !message.says_something() {
            return Placement::Skip;
        }
        self.place(message.role == Role::Assistant)
    }

    /// Takes the results of a turn into the line-up.
    pub fn append_results(&mut self) -> Placement {
        self.messages += 1;
        self.place(false)
    }

    fn place(&mut self, assistant: bool) -> Placement {
        let placement = if self.last_is_assistant == Some(assistant) { Placement::Join } else { Placement::Push };
        self.last_is_assistant = Some(assistant);
        placement
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, blocks: usize, empty: &[usize]) -> MessageOutline {
        MessageOutline { role, calls: Vec::new(), empty_blocks: empty.to_vec(), blocks, has_text: false }
    }

    #[test]
    fn messages_of_one_side_join() {
        let mut conversation = Conversation::default();
        assert_eq!(conversation.append(&message(Role::User, 1, &[])), Placement::Push);
        assert_eq!(conversation.append(&message(Role::User, 1, &[])), Placement::Join);
        assert_eq!(conversation.append(&message(Role::Assistant, 1, &[])), Placement::Push);
        assert_eq!(conversation.append_results(), Placement::Push);
        assert_eq!(conversation.append(&message(Role::User, 1, &[])), Placement::Join);
        assert_eq!(conversation.messages(), 5);
    }

    #[test]
    fn an_answer_that_says_nothing_does_not_part_two_user_messages() {
        let mut conversation = Conversation::default();
        conversation.append(&message(Role::User, 1, &[]));
        assert_eq!(conversation.append(&message(Role::Assistant, 0, &[])), Placement::Skip);
        assert_eq!(conversation.append(&message(Role::Assistant, 1, &[0])), Placement::Skip);
        assert_eq!(conversation.append(&message(Role::User, 1, &[])), Placement::Join);
    }
}
