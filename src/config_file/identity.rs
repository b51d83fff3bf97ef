//! What tells one physical file from another. Knows nothing of what is in it.

use std::fs::Metadata;
use std::path::Path;

/// The device, and the file's number on it.
#[cfg(unix)]
#[derive(Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

#[cfg(unix)]
impl Identity {
    pub fn of(metadata: &Metadata, _path: &Path) -> Identity {
        use std::os::unix::fs::MetadataExt;

        Identity { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The file's path, once links are resolved.
#[cfg(not(unix))]
#[derive(Debug, PartialEq, Eq)]
pub struct Identity(std::path::PathBuf);

#[cfg(not(unix))]
impl Identity {
    pub fn of(_metadata: &Metadata, path: &Path) -> Identity {
        Identity(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()))
    }
}
