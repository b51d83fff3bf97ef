//! The N-API bridge: plain functions over the driver of a family. Every one catches panics; strings and numbers cross,
//! nothing else does.

mod definitions;
mod family;
mod files;
mod outcomes;
mod policy;
mod pure;
mod store;
mod text;
mod waker;
