//! A value with the way that led to it, so that whatever is wrong with it can be said with its place.

use super::error::JsonError;
use super::path::{Step, path_of};
use super::position::Position;
use super::reader::Document;
use super::value::{Data, Member, Value};

/// A value within its document.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    text: &'a str,
    value: &'a Value,
    way: Option<(&'a Place<'a>, Step<'a>)>,
}

impl<'a> Place<'a> {
    /// The document's outermost value.
    pub fn root(document: &'a Document<'a>) -> Place<'a> {
        Place { text: document.text, value: &document.root, way: None }
    }

    /// What stands here.
    pub fn data(&self) -> &'a Data {
        &self.value.data
    }

    /// A member of the object that stands here.
    pub fn member<'b>(&'b self, member: &'b Member) -> Place<'b> {
        Place { text: self.text, value: &member.value, way: Some((self, Step::Key(&member.key))) }
    }

    /// An element of the array that stands here.
    pub fn element<'b>(&'b self, index: usize, value: &'b Value) -> Place<'b> {
        Place { text: self.text, value, way: Some((self, Step::Index(index))) }
    }

    /// The path from the root to here.
    pub fn path(&self) -> String {
        let mut steps = Vec::new();
        let mut way = self.way;
        while let Some((parent, step)) = way {
            steps.push(step);
            way = parent.way;
        }
        path_of(steps.into_iter().rev())
    }

    /// Something is wrong with the value.
    pub fn error(&self, problem: impl Into<String>) -> JsonError {
        let position = Position::of(self.text, self.value.offset);
        JsonError { path: self.path(), position, problem: problem.into() }
    }

    /// The value is not what it must be.
    pub fn expected(&self, what: &str) -> JsonError {
        self.error(format!("expected {what}, got {}", self.value.data.shown()))
    }

    /// Something is wrong with the key of a member of the object that stands here.
    pub fn key_error(&self, member: &Member, problem: impl Into<String>) -> JsonError {
        let position = Position::of(self.text, member.key_offset);
        JsonError { path: self.member(member).path(), position, problem: problem.into() }
    }
}
