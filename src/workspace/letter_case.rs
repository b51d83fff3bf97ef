//! The name that a folder itself has for an entry, where its file system takes `README` and `readme` for one. Knows nothing
//! of the way to the folder.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Stat};

use super::folder;

/// The name under which the folder lists what was found as `name`: `name` itself wherever letter case counts.
pub(super) fn name_on_disk(folder: BorrowedFd<'_>, name: &[u8], found: &Stat) -> Vec<u8> {
    if !may_be_respelt(name) && !is_found_in_other_case(folder, name, found) {
        return name.to_vec();
    }
    let Ok(entries) = folder::entries(folder) else { return name.to_vec() };
    let names = entries.iter().map(|entry| (entry.name.as_slice(), entry.inode));
    listed_name(name, found.st_ino, names).to_vec()
}

/// Whether some file system takes the name for another one whatever its letter case: one with its characters composed
/// otherwise, without the dots and spaces at its end, or longer than eight letters.
fn may_be_respelt(name: &[u8]) -> bool {
    !name.is_ascii() || name.contains(&b'~') || matches!(name.last(), Some(b'.' | b' '))
}

/// One more look, so that the folder is read only where it is worth it.
fn is_found_in_other_case(folder: BorrowedFd<'_>, name: &[u8], found: &Stat) -> bool {
    with_other_case(name)
        .and_then(|swapped| rustix::fs::statat(folder, swapped.as_slice(), AtFlags::SYMLINK_NOFOLLOW).ok())
        .is_some_and(|other| other.st_ino == found.st_ino && other.st_dev == found.st_dev)
}

/// The name among those listed that `name` found: itself if it is there (two names of one file), else the one with its
/// letters, else the one that is the same file (another form of the same characters, a short name).
fn listed_name<'a>(name: &'a [u8], inode: u64, listed: impl Iterator<Item = (&'a [u8], u64)>) -> &'a [u8] {
    let folded = folded(name);
    let mut with_letters = None;
    let mut same_file = None;
    for (candidate, candidate_inode) in listed {
        if candidate == name {
            return candidate;
        }
        if self::folded(candidate) == folded {
            with_letters = Some(candidate);
        } else if candidate_inode == inode {
            same_file = Some(candidate);
        }
    }
    with_letters.or(same_file).unwrap_or(name)
}

fn folded(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_lowercase()
}

/// The name with the case of its letters changed; none where no letter has another.
fn with_other_case(name: &[u8]) -> Option<Vec<u8>> {
    let name = std::str::from_utf8(name).ok()?;
    let mut swapped = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_lowercase() {
            swapped.extend(character.to_uppercase());
        } else {
            swapped.extend(character.to_lowercase());
        }
    }
    (swapped != name).then(|| swapped.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::{listed_name, with_other_case};

    #[test]
    fn letters_change_their_case_and_names_without_letters_have_no_other() {
        assert_eq!(with_other_case(b"Read.me").unwrap(), b"rEAD.ME");
        assert_eq!(with_other_case("É1".as_bytes()).unwrap(), "é1".as_bytes());
        assert_eq!(with_other_case(b"1.2-3"), None);
        assert_eq!(with_other_case(b"\xff"), None);
    }

    #[test]
    fn the_name_that_the_folder_lists_is_taken() {
        let listed: [(&[u8], u64); 3] = [(b"Secret.txt", 7), (b"other", 8), (b"LONGNAME.TXT", 9)];
        assert_eq!(listed_name(b"SECRET.TXT", 7, listed.into_iter()), b"Secret.txt");
        assert_eq!(listed_name(b"LONGNA~1.TXT", 9, listed.into_iter()), b"LONGNAME.TXT");
        assert_eq!(listed_name(b"other", 7, listed.into_iter()), b"other");
        assert_eq!(listed_name(b"gone", 1, listed.into_iter()), b"gone");
    }
}
