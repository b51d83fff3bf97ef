//! Why something could not be done with a path, in words for whoever asked for it.

use rustix::io::Errno;

use super::canonical::shown;

/// Why a path cannot be used. Messages name the path as it was asked for, and nothing that is outside the root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    #[error("path {} {problem}", shown(path))]
    Malformed { path: String, problem: &'static str },
    #[error("path {} is too long: at most 16384 bytes, and 255 for each name in it", shown(path))]
    TooLong { path: String },
    #[error("{} is outside the working folder", shown(path))]
    Outside { path: String },
    #[error("{} leads out of the working folder through a link", shown(path))]
    LinkOutside { path: String },
    #[error("{} goes through a link, and links are not followed here (fileTools.symlinks is \"deny\")", shown(path))]
    LinkDenied { path: String },
    #[error("{} goes through too many links", shown(path))]
    LinkLoop { path: String },
    #[error("{} does not exist", shown(path))]
    Missing { path: String },
    #[error("{} goes through a file as if that were a folder", shown(path))]
    NotFolder { path: String },
    #[error("{} is a folder", shown(path))]
    Folder { path: String },
    #[error("{} is a {kind}, not a regular file", shown(path))]
    Special { path: String, kind: &'static str },
    #[error("{} changed while it was being opened; nothing was done, try again", shown(path))]
    Changed { path: String },
    #[error("{}: the system denies permission", shown(path))]
    Denied { path: String },
    #[error("{} is read-only and stays as it is; make it writable first (chmod u+w)", shown(path))]
    ReadOnly { path: String },
    #[error("{} was not changed, for what it held could not be kept first: {problem}", shown(path))]
    NotKept { path: String, problem: String },
    #[error("{} has {bytes} bytes, and this tool handles at most {limit}", shown(path))]
    TooLarge { path: String, bytes: u64, limit: u64 },
    #[error("{}: {problem}", shown(path))]
    System { path: String, problem: String },
}

impl Failure {
    pub(super) fn malformed(path: &str, problem: &'static str) -> Failure {
        Failure::Malformed { path: path.to_string(), problem }
    }

    /// What an error of the system means for a canonical path, which holds no link unless one was put there meanwhile.
    pub(super) fn from_errno(path: &str, error: Errno) -> Failure {
        let path = path.to_string();
        match error {
            Errno::NOENT => Failure::Missing { path },
            Errno::NOTDIR => Failure::NotFolder { path },
            Errno::ISDIR => Failure::Folder { path },
            Errno::LOOP | Errno::XDEV | Errno::AGAIN | Errno::STALE => Failure::Changed { path },
            Errno::ACCESS | Errno::PERM => Failure::Denied { path },
            Errno::NAMETOOLONG => Failure::TooLong { path },
            other => Failure::System { path, problem: plain(&other.into()) },
        }
    }

    pub(super) fn from_io(path: &str, error: &std::io::Error) -> Failure {
        match Errno::from_io_error(error) {
            Some(errno) => Failure::from_errno(path, errno),
            None => Failure::System { path: path.to_string(), problem: plain(error) },
        }
    }
}

/// The system's words, without its number, in lower case.
pub(super) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}
