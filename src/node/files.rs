//! The working folder as JS holds it, beside the tools: which file a path means, and files that are put back. Every operation
//! runs on a thread that may block.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use napi::bindgen_prelude::External;
use napi::{Error, Result};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Value, json};

use super::outcomes::{Outcomes, lock};
use super::text::Text;
use super::waker::Waker;
use crate::workspace::{CanonicalPath, Checked, Digest, Failure, LeftBehind, Links, Restoration, Target, Workspace};

/// The working folder, and the restoration that is going on in it, if one is.
pub struct FilesHandle {
    shared: Arc<Shared>,
    outcomes: Arc<Outcomes>,
}

struct Shared {
    options: FilesOptions,
    restoration: Mutex<Option<Restoration>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FilesOptions {
    workdir: PathBuf,
    deny_symlinks: bool,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Operation {
    /// Which file a path means: its canonical path.
    Resolve { path: String },
    /// SHA-256 of what a file holds, `""` where there is no file, nothing where that cannot be told.
    Digest { path: String },
    /// Whether a file can be put back: `{ "ready": true }`, `{ "ready": false }` where nothing is to be done, or
    /// `{ "skipped": why }`. The content comes beside it.
    Check { path: String, absent: bool, base64: bool, digests: Vec<String>, may_be_absent: bool, is_known: bool },
    /// Puts the next of the files back that are ready.
    PutBack,
    /// Undoes what was put back. Answers what could not be undone.
    Undo,
    /// Lets go of what was replaced. Answers what could not be removed.
    Keep,
}

/// Takes a working folder. Touches no disk yet.
#[napi(catch_unwind)]
pub fn files_new(options: String, number: i64, waker: &External<Waker>) -> Result<External<FilesHandle>> {
    let options = serde_json::from_str(&options).map_err(|error| Error::from_reason(error.to_string()))?;
    let waker: &Waker = waker;
    Ok(External::new(FilesHandle {
        shared: Arc::new(Shared { options, restoration: Mutex::default() }),
        outcomes: Outcomes::new(number, waker.clone()),
    }))
}

/// Starts an operation, given as JSON text. `filesTake` tells what came of it, after a wake.
#[napi(catch_unwind)]
pub fn files_start(
    handle: &External<FilesHandle>,
    number: i64,
    operation: String,
    content: Option<String>,
) -> Result<()> {
    let operation = serde_json::from_str(&operation).map_err(|error| Error::from_reason(error.to_string()))?;
    let shared = handle.shared.clone();
    handle.outcomes.start(number, move || shared.perform(operation, content));
    Ok(())
}

/// What came of operations since the last call: JSON text of `({ op, ok } | { op, error })[]`.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn files_take(handle: &External<FilesHandle>) -> Text {
    handle.outcomes.take()
}

impl Shared {
    fn perform(&self, operation: Operation, content: Option<String>) -> std::result::Result<String, Value> {
        match operation {
            Operation::Resolve { path } => {
                let resolved = self.workspace()?.resolve(&path).map_err(|failure| refused(&failure))?;
                Ok(json!(resolved.as_str()).to_string())
            }
            Operation::Digest { path } => Ok(json!(self.digest(&path)?).to_string()),
            Operation::Check { path, absent, base64, digests, may_be_absent, is_known } => {
                let Ok(path) = CanonicalPath::parse(&path) else {
                    return Ok(json!({ "skipped": "is no path inside the working folder" }).to_string());
                };
                let content = match content.filter(|_| !absent) {
                    None => None,
                    Some(text) if base64 => match STANDARD.decode(&text) {
                        Ok(bytes) => Some(bytes),
                        Err(_) => {
                            return Ok(json!({ "skipped": "has a snapshot that is no base64 text" }).to_string());
                        }
                    },
                    Some(text) => Some(text.into_bytes()),
                };
                let digests = digests.iter().filter_map(|digest| Digest::parse(digest)).collect();
                let target = Target { path, content, left: LeftBehind { digests, may_be_absent, is_known } };
                let checked = self.restoring(|restoration| restoration.check(target))?;
                Ok(match checked.map_err(|failure| refused(&failure))? {
                    Checked::Ready => json!({ "ready": true }),
                    Checked::AlreadyThere => json!({ "ready": false }),
                    Checked::Skipped(why) => json!({ "skipped": why }),
                }
                .to_string())
            }
            Operation::PutBack => {
                let put = self.restoring(Restoration::put_back_next)?;
                put.map(|()| "null".to_string()).map_err(|failure| refused(&failure))
            }
            // Where nothing was begun, the folder need not even be there.
            Operation::Undo => {
                Ok(json!(lock(&self.restoration).as_mut().map(Restoration::undo).unwrap_or_default()).to_string())
            }
            Operation::Keep => {
                Ok(json!(lock(&self.restoration).as_mut().map(Restoration::keep).unwrap_or_default()).to_string())
            }
        }
    }

    fn digest(&self, path: &str) -> std::result::Result<Option<String>, Value> {
        let Ok(path) = CanonicalPath::parse(path) else { return Ok(None) };
        let opened = self.workspace()?.open().and_then(|root| root.open_regular(&path));
        Ok(match opened {
            Ok((file, _bytes)) => Digest::of_reader(file).ok().map(|digest| digest.to_string()),
            Err(Failure::Missing { .. }) => Some(String::new()),
            Err(_) => None,
        })
    }

    fn workspace(&self) -> std::result::Result<Workspace, Value> {
        let links = if self.options.deny_symlinks { Links::Deny } else { Links::Inside };
        Workspace::new(&self.options.workdir, links).map_err(|problem| error_data(&problem))
    }

    fn restoring<T>(&self, work: impl FnOnce(&mut Restoration) -> T) -> std::result::Result<T, Value> {
        let mut going = lock(&self.restoration);
        let restoration = match going.take() {
            Some(restoration) => restoration,
            None => Restoration::new(&self.workspace()?).map_err(|failure| refused(&failure))?,
        };
        Ok(work(going.insert(restoration)))
    }
}

fn refused(failure: &Failure) -> Value {
    error_data(&failure.to_string())
}

fn error_data(message: &str) -> Value {
    json!({ "code": "file_error", "message": message })
}
