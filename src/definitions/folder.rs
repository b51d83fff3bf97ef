//! What is directly in a folder, in an order that does not depend on the file system. A folder that is missing has
//! nothing. Knows nothing of what the files are for.

use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::config_file::dangling_link;

/// The names of the entries that are wanted, less those that begin with a dot, sorted by their bytes.
///
/// # Errors
/// The folder is there and cannot be read, or something else is in its place.
pub(super) fn names(folder: &Path, wanted: fn(&DirEntry) -> bool) -> Result<Vec<OsString>, String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return dangling_link(folder).map_or_else(
                || Ok(Vec::new()),
                |link| Err(format!("expected a folder, but {} is a link whose target does not exist", link.display())),
            );
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            // Below a file there is nothing; whoever needs what is above says what is wrong with it.
            return match file_on_the_way(folder) {
                Some(file) if file != folder => Ok(Vec::new()),
                _ => Err(format!("expected a folder at {}, which is none", folder.display())),
            };
        }
        Err(error) => return Err(unreadable(&error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(&error))?;
        if !entry.file_name().as_bytes().starts_with(b".") && wanted(&entry) {
            names.push(entry.file_name());
        }
    }
    names.sort();
    Ok(names)
}

fn unreadable(error: &io::Error) -> String {
    format!("expected a folder that can be read, got: {error}")
}

/// The part of the path that should be a folder.
fn file_on_the_way(path: &Path) -> Option<&Path> {
    path.ancestors().find(|part| fs::metadata(part).is_ok_and(|metadata| !metadata.is_dir()))
}
