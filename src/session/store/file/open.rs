//! How the file store opens files: never through a link, never shared with a child, for nobody but the owner.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::session::store::StoreError;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session::store) enum Access {
    Read,
    /// Reading and writing; it must be there.
    Write,
    /// Reading and writing; it must not be there.
    CreateNew,
    /// Reading and writing; made if it is not there.
    CreateOrWrite,
}

/// Opens a regular file. `O_NONBLOCK` is for pipes that somebody put in its place: opening one would wait for ever.
pub(in crate::session::store) fn open(path: &Path, access: Access) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(access != Access::Read)
        .create(access == Access::CreateOrWrite)
        .create_new(access == Access::CreateNew)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => io::Error::new(error.kind(), "it is a symbolic link, which is not followed"),
            _ => error,
        })?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok(file)
}

/// Makes the folder and those above it, durably.
pub(in crate::session::store) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|ancestor| !is_there(ancestor)).collect();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| StoreError::io("make the folder", folder, &error))?;
    missing
        .iter()
        .filter_map(|made| made.parent())
        .try_for_each(|parent| sync_folder(if parent.as_os_str().is_empty() { Path::new(".") } else { parent }))
}

/// The folder that a relative path begins in has an empty name.
fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.exists()
}

/// Makes names durable that were added to the folder or taken from it.
pub(in crate::session::store) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|opened| opened.sync_all())
        .map_err(|error| StoreError::io("sync the folder", folder, &error))
}

/// Whether the open file is still the one at its path: it may have been deleted while its lock was waited for.
pub(in crate::session::store) fn is_linked(file: &File, path: &Path) -> Result<bool, StoreError> {
    let opened = file.metadata().map_err(|error| StoreError::io("look at", path, &error))?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok(named.ino() == opened.ino() && named.dev() == opened.dev()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("look at", path, &error)),
    }
}

/// None where there is no such file.
pub(in crate::session::store) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
