//! Reads one file of text, whole, without a byte-order mark. Knows nothing of what is in the file.

use std::io;
use std::path::Path;

use crate::config_file::{ConfigFile, unreadable};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// What the file holds, without a byte-order mark.
///
/// # Errors
/// It is not there, is no regular file, is too long, or is not UTF-8.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let file = ConfigFile::open(path)?.ok_or_else(|| unreadable(&io::Error::from_raw_os_error(libc::ENOENT)))?;
    let bytes = file.read()?;
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
