//! Reads one file of text, whole and up to a limit. Follows links; opens no pipe, socket or device. Knows nothing of
//! what is in the file.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The longest file that is read.
pub const MAX_FILE_BYTES: usize = 256 * 1024;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// What the file holds, without a byte-order mark.
///
/// # Errors
/// It is not there, is no regular file, has more than [`MAX_FILE_BYTES`] bytes, or is not UTF-8.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    // One byte more than may be there, however long the file has become meanwhile.
    let most = MAX_FILE_BYTES as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(format!("expected at most {MAX_FILE_BYTES} bytes (256 KiB), got more"));
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let bytes = error.as_bytes();
        let before = bytes.get(..error.utf8_error().valid_up_to()).unwrap_or(bytes);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: expected UTF-8, got other bytes; save the file as UTF-8")
    })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

fn open(path: &Path) -> Result<File, String> {
    let found = fs::metadata(path).and_then(|metadata| {
        // Looked at first, because to open a device can do something.
        if !metadata.is_file() {
            return Ok(Err(metadata));
        }
        // A pipe that took the file's place meanwhile must not make the agent wait for its other end.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
        let metadata = file.metadata()?;
        Ok(if metadata.is_file() { Ok(file) } else { Err(metadata) })
    });
    match found {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(metadata)) => Err(format!("expected a regular file, got {}", kind_of(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_there(path) => {
            Err("expected a file, got a link whose target does not exist".to_string())
        }
        Err(error) => Err(unreadable(&error)),
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("expected a file that can be read, got: {error}")
}

/// Whether something has this name, be it a link to nowhere.
pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn kind_of(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() { "a folder" } else { "a pipe, a socket or a device" }
}
