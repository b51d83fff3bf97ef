//! What a folder lists. Reads names and kinds, and opens nothing that it lists.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Any bytes but `/` and NUL.
    pub name: Vec<u8>,
    pub kind: EntryKind,
    pub(super) inode: u64,
}

/// What a name stands for, not looking through links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    File,
    Folder,
    Link,
    /// A pipe, a socket, a device.
    Special,
}

impl EntryKind {
    fn of(kind: FileType) -> EntryKind {
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Special,
        }
    }
}

/// All entries of a folder, in the order of their names' bytes.
pub(super) fn entries(folder: BorrowedFd<'_>) -> Result<Vec<Entry>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let listing = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    let mut entries = Vec::new();
    for entry in Dir::new(listing)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                // Gone meanwhile.
                Err(_) => continue,
            },
            kind => kind,
        };
        entries.push(Entry { name: name.to_vec(), kind: EntryKind::of(kind), inode: entry.ino() });
    }
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

/// What a special file is called.
pub(super) fn special_kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::BlockDevice | FileType::CharacterDevice => "device",
        _ => "special file",
    }
}
