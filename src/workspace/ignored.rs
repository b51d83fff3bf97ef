//! The rules of `.gitignore` files, those of the repository around the root included. Reads these files and no others.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, OFlags};

use super::{open, read};

const FILE_NAME: &str = ".gitignore";
/// What is longer is no list that somebody wrote.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The rules of one file.
struct Rules {
    matcher: Gitignore,
    base: Base,
}

/// Where a file of rules is.
enum Base {
    /// Above the root: what leads from there to the root, with a `/` at its end.
    Above(Vec<u8>),
    /// In the root or below: length of what leads from the root to it, with a `/` at its end.
    Below(usize),
}

/// The rules that hold at one place, those of outer folders first.
#[derive(Default)]
pub(super) struct Ignored {
    rules: Vec<Rules>,
}

impl Ignored {
    /// The rules of folders above the root, up to that of the git repository it is in; none where it is in none.
    pub(super) fn around(root: &Path) -> Ignored {
        let mut ignored = Ignored::default();
        let Some(repository) = root.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()) else {
            return ignored;
        };
        let mut above: Vec<&Path> =
            root.ancestors().skip(1).take_while(|folder| folder.starts_with(repository)).collect();
        above.reverse();
        for folder in above {
            let flags = open::LOOK_UP.difference(OFlags::NOFOLLOW);
            let Ok(opened) = rustix::fs::open(folder, flags, Mode::empty()) else { continue };
            let (Some(matcher), Ok(way)) = (read_rules(opened.as_fd()), root.strip_prefix(folder)) else { continue };
            let mut way = way.as_os_str().as_bytes().to_vec();
            way.push(b'/');
            ignored.rules.push(Rules { matcher, base: Base::Above(way) });
        }
        ignored
    }

    /// Adds the rules of a folder. `prefix`: the way to it from the root, with a `/` at its end unless it is the root.
    pub(super) fn enter(&mut self, folder: BorrowedFd<'_>, prefix: &[u8]) {
        if let Some(matcher) = read_rules(folder) {
            self.rules.push(Rules { matcher, base: Base::Below(prefix.len()) });
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rules.len()
    }

    /// Forgets the rules that were added since there were so many.
    pub(super) fn leave(&mut self, length: usize) {
        self.rules.truncate(length);
    }

    /// Whether a path from the root is ignored. The innermost rule that says anything decides.
    pub(super) fn ignores(&self, path: &[u8], is_folder: bool) -> bool {
        for Rules { matcher, base } in self.rules.iter().rev() {
            let joined;
            let path = match base {
                Base::Above(way) => {
                    joined = [way.as_slice(), path].concat();
                    joined.as_slice()
                }
                Base::Below(length) => path.get(*length..).unwrap_or(path),
            };
            match matcher.matched(Path::new(OsStr::from_bytes(path)), is_folder) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

fn read_rules(folder: BorrowedFd<'_>) -> Option<Gitignore> {
    let (file, _) = read::open_regular_in(folder, FILE_NAME.as_bytes(), FILE_NAME).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        // A line that is no pattern rules nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|matcher| !matcher.is_empty())
}
