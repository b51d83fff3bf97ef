//! Types that read themselves from JSON and describe themselves as JSON Schema, from one table of fields for both: what
//! the schema says and what the reader does cannot part.

use std::marker::PhantomData;

use serde_json::{Map, Value as Schema, json};

use super::error::JsonError;
use super::place::Place;
use super::quote;
use super::value::{Data, Member};
use crate::types::nearest::nearest;

/// A type that is written in JSON.
pub trait Readable: Sized {
    /// JSON Schema (draft 2020-12) of what `read` accepts, as far as a schema can say it.
    fn schema() -> Schema;

    /// # Errors
    /// What stands there is no such thing; says what was expected.
    fn read(place: &Place<'_>) -> Result<Self, JsonError>;
}

impl<T: Readable> Readable for Vec<T> {
    fn schema() -> Schema {
        json!({ "type": "array", "items": T::schema() })
    }

    fn read(place: &Place<'_>) -> Result<Vec<T>, JsonError> {
        let Data::Array(values) = place.data() else { return Err(place.expected("an array")) };
        values.iter().enumerate().map(|(index, value)| T::read(&place.element(index, value))).collect()
    }
}

/// A field of a record.
pub struct Field<T> {
    name: &'static str,
    /// What it is for: the schema's description.
    about: &'static str,
    required: bool,
    kind: PhantomData<fn() -> T>,
}

impl<T: Readable> Field<T> {
    pub const fn required(name: &'static str, about: &'static str) -> Field<T> {
        Field { name, about, required: true, kind: PhantomData }
    }

    pub const fn optional(name: &'static str, about: &'static str) -> Field<T> {
        Field { name, about, required: false, kind: PhantomData }
    }
}

/// A field, whatever its type.
pub trait Described {
    fn name(&self) -> &'static str;
    fn is_required(&self) -> bool;
    fn schema(&self) -> Schema;
}

impl<T: Readable> Described for Field<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_required(&self) -> bool {
        self.required
    }

    fn schema(&self) -> Schema {
        let mut schema = T::schema();
        if let Schema::Object(members) = &mut schema {
            members.insert("description".to_string(), self.about.into());
        }
        schema
    }
}

/// The schema of an object that has these fields and no others.
pub fn record_schema(fields: &[&dyn Described]) -> Schema {
    let properties: Map<String, Schema> =
        fields.iter().map(|field| (field.name().to_string(), field.schema())).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.is_required()).map(|field| field.name()).collect();
    let mut schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if let Schema::Object(members) = &mut schema
        && !required.is_empty()
    {
        members.insert("required".to_string(), required.into());
    }
    schema
}

/// An object that has the fields that it must have, and no others.
#[derive(Debug)]
pub struct Record<'a> {
    place: &'a Place<'a>,
    members: &'a [Member],
}

impl<'a> Record<'a> {
    /// `noun` is what a key of this object is: a key, an event.
    ///
    /// # Errors
    /// No object stands here, or it has a key that no field has, or lacks a field that is required.
    pub fn of(place: &'a Place<'a>, fields: &[&dyn Described], noun: &str) -> Result<Record<'a>, JsonError> {
        let Data::Object(members) = place.data() else { return Err(place.expected("an object")) };
        for member in members {
            let names = || fields.iter().map(|field| field.name());
            if names().any(|name| name == member.key) {
                continue;
            }
            let hint = match nearest(&member.key, names()) {
                Some(near) => format!("did you mean {}?", quote(near)),
                None => format!("expected {}", alternatives(names())),
            };
            return Err(place.key_error(member, format!("unknown {noun} {}; {hint}", quote(&member.key))));
        }
        for field in fields.iter().filter(|field| field.is_required()) {
            if !members.iter().any(|member| member.key == field.name()) {
                return Err(place.error(format!("expected a {noun} {}, which is missing", quote(field.name()))));
            }
        }
        Ok(Record { place, members })
    }

    /// The field's value, if it is there.
    ///
    /// # Errors
    /// It is not what the field takes.
    pub fn get<T: Readable>(&self, field: &Field<T>) -> Result<Option<T>, JsonError> {
        let member = self.members.iter().find(|member| member.key == field.name);
        member.map(|member| T::read(&self.place.member(member))).transpose()
    }

    /// The value of a field that is required.
    ///
    /// # Errors
    /// It is missing, or not what the field takes.
    pub fn require<T: Readable>(&self, field: &Field<T>) -> Result<T, JsonError> {
        self.get(field)?.ok_or_else(|| self.place.error(format!("expected a key {}", quote(field.name))))
    }
}

/// `"a", "b" or "c"`.
fn alternatives(names: impl Iterator<Item = &'static str>) -> String {
    let mut quoted: Vec<String> = names.map(quote).collect();
    match quoted.pop() {
        Some(last) if !quoted.is_empty() => format!("{} or {last}", quoted.join(", ")),
        Some(last) => last,
        None => "none".to_string(),
    }
}
