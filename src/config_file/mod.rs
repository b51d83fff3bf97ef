//! A file of configuration: hooks.json, a definition. Opens and reads it whole, up to a limit. Follows links. Never waits:
//! what is no regular file is refused before anything is read of it. Knows nothing of what is in the file.

mod identity;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use identity::Identity;

/// The longest file that is read.
pub const MAX_FILE_BYTES: usize = 256 * 1024;

/// A regular file that is open, and which one it is.
#[derive(Debug)]
pub struct ConfigFile {
    file: File,
    identity: Identity,
}

impl ConfigFile {
    /// Opens the file; none where there is none.
    ///
    /// # Errors
    /// It is there and is no regular file, or cannot be opened; something else stands where a folder of its path should be.
    /// In words that follow the file's name.
    pub fn open(path: &Path) -> Result<Option<ConfigFile>, String> {
        // Looked at first, because to open a device can do something.
        let found = fs::metadata(path).and_then(|metadata| {
            if !metadata.is_file() {
                return Ok(Err(metadata));
            }
            let file = options().open(path)?;
            let metadata = file.metadata()?;
            Ok(if metadata.is_file() { Ok((file, metadata)) } else { Err(metadata) })
        });
        match found {
            Ok(Ok((file, metadata))) => {
                let identity = Identity::of(&metadata, path);
                Ok(Some(ConfigFile { file, identity }))
            }
            Ok(Err(metadata)) => Err(format!("expected a regular file, got {}", kind_of(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => match dangling_link(path) {
                Some(link) if link == path => {
                    Err("expected a file, got a link whose target does not exist".to_string())
                }
                Some(link) => {
                    Err(format!("expected a file, but {} is a link whose target does not exist", link.display()))
                }
                None => Ok(None),
            },
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => match file_among_ancestors(path) {
                Some(file) => Err(format!("expected a folder at {}, which is none", file.display())),
                None => Err(unreadable(&error)),
            },
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// What the file holds.
    ///
    /// # Errors
    /// It cannot be read, or has more than [`MAX_FILE_BYTES`] bytes. In words that follow the file's name.
    pub fn read(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        // One byte more than may be there, however long the file has become meanwhile.
        let most = MAX_FILE_BYTES as u64 + 1;
        (&self.file).take(most).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(format!("expected at most {MAX_FILE_BYTES} bytes (256 KiB), got more"));
        }
        Ok(bytes)
    }

    /// Whether both are one physical file, under whichever names.
    pub fn is_same(&self, other: &ConfigFile) -> bool {
        self.identity == other.identity
    }
}

/// What is said of a file that cannot be read.
pub fn unreadable(error: &io::Error) -> String {
    format!("expected a file that can be read, got: {error}")
}

/// The part of the path, itself or the nearest ancestor that there is, that is a link to nowhere.
pub fn dangling_link(path: &Path) -> Option<PathBuf> {
    let found = path.ancestors().find(|part| fs::symlink_metadata(part).is_ok())?;
    fs::metadata(found).is_err().then(|| found.to_path_buf())
}

/// The ancestor that should be a folder.
fn file_among_ancestors(path: &Path) -> Option<PathBuf> {
    let found = path.ancestors().skip(1).find(|part| fs::metadata(part).is_ok())?;
    (!found.is_dir()).then(|| found.to_path_buf())
}

fn kind_of(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() { "a folder" } else { "a pipe, a socket or a device" }
}

#[cfg(unix)]
fn options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = OpenOptions::new();
    // A pipe that took the file's place meanwhile must not make the agent wait for its other end.
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}

#[cfg(not(unix))]
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options
}
