//! Functions for JS that need no agent: redaction, well-formedness, near misses. They keep no state, and know nothing of
//! families.

use std::borrow::Cow;

use napi::bindgen_prelude::spawn_blocking;
use napi_derive::napi;

use super::text::Text;
use crate::model::well_formed::check_request;
use crate::permission::redact::{redact_text, warm_up};
use crate::types::nearest;

/// The text with secrets masked.
#[napi(catch_unwind, js_name = "redactText")]
pub fn redact(text: String) -> Text {
    match redact_text(&text) {
        Cow::Borrowed(_) => Text(text.into_bytes()),
        Cow::Owned(masked) => Text(masked.into_bytes()),
    }
}

/// What is wrong with the request `{ system?, messages, tools? }`, or null.
#[napi(catch_unwind)]
pub fn check_well_formed(json: String) -> Option<String> {
    check_request(&json).err()
}

/// The candidate that the word most likely meant, or null.
#[napi(catch_unwind)]
pub fn nearest(word: String, candidates: Vec<String>) -> Option<String> {
    nearest::nearest(&word, candidates.iter().map(String::as_str)).map(str::to_string)
}

/// Compiles what redaction needs on another thread, and returns at once.
#[napi(catch_unwind)]
pub fn warm_up_redaction() {
    // Whoever redacts before it is done waits for it, or does it: there is nothing to await.
    drop(spawn_blocking(warm_up));
}
