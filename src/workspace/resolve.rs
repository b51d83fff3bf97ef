//! Which file a path means: goes through its names one by one, follows links, and never looks at anything outside the root.
//! Opens no file.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::canonical::check_text;
use super::{CanonicalPath, Failure, Links, Root, Workspace, letter_case, open};

/// As many as the kernel follows.
const MAX_LINKS: usize = 40;
/// Links may make a path of few bytes a long way.
const MAX_STEPS: usize = 20_000;

pub(super) fn resolve(workspace: &Workspace, path: &str) -> Result<CanonicalPath, Failure> {
    check_text(path)?;
    let root_names = workspace.root_names();
    let mut way = Way {
        asked: path,
        workspace,
        root: workspace.open()?,
        depth: root_names.len(),
        root_names,
        place: Vec::new(),
        folder: None,
        is_file: false,
        missing: Vec::new(),
        ahead: VecDeque::new(),
        links: 0,
    };
    way.enter(path.as_bytes());
    for _ in 0..MAX_STEPS {
        match way.ahead.pop_front() {
            Some(name) => way.step(name)?,
            None => return way.arrive(),
        }
    }
    Err(Failure::TooLong { path: path.to_string() })
}

/// Where the resolution stands.
struct Way<'a> {
    asked: &'a str,
    workspace: &'a Workspace,
    root: Root,
    root_names: Vec<&'a [u8]>,
    /// How many of the root's own names lie above the place: all of them where it is inside. The folders above the root
    /// are known by name alone, and never looked at.
    depth: usize,
    /// Names from the root to here, all of which exist and none of which is a link.
    place: Vec<Vec<u8>>,
    /// The place, open; none where it is to be opened again.
    folder: Option<OwnedFd>,
    is_file: bool,
    /// Names below the place that do not exist.
    missing: Vec<Vec<u8>>,
    ahead: VecDeque<Vec<u8>>,
    links: usize,
}

impl Way<'_> {
    /// Puts the names of a path, or of a link's target, before what is ahead.
    fn enter(&mut self, path: &[u8]) {
        let mut names: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
        if path.first() == Some(&b'/') {
            let given = self.workspace.given_names();
            let is_given = !given.is_empty() && names.starts_with(&given);
            if is_given {
                names.drain(..given.len());
            }
            self.depth = if is_given { self.root_names.len() } else { 0 };
            self.place.clear();
            self.folder = None;
        }
        // `name/` says that it is a folder: `.` after it has the same effect.
        if path.last() == Some(&b'/') && !names.is_empty() {
            names.push(b".");
        }
        for name in names.into_iter().rev() {
            self.ahead.push_front(name.to_vec());
        }
    }

    fn step(&mut self, name: Vec<u8>) -> Result<(), Failure> {
        if self.is_file {
            return Err(Failure::NotFolder { path: self.asked.to_string() });
        }
        match name.as_slice() {
            b"." => Ok(()),
            b".." => {
                self.go_up();
                Ok(())
            }
            _ if self.depth < self.root_names.len() => {
                if self.root_names.get(self.depth) != Some(&name.as_slice()) {
                    return Err(self.outside());
                }
                self.depth += 1;
                Ok(())
            }
            _ if !self.missing.is_empty() => {
                self.missing.push(name);
                Ok(())
            }
            _ => self.go_down(name),
        }
    }

    fn go_up(&mut self) {
        if self.missing.pop().is_some() {
            return;
        }
        self.folder = None;
        if self.place.pop().is_none() {
            self.depth = self.depth.saturating_sub(1);
        }
    }

    fn go_down(&mut self, name: Vec<u8>) -> Result<(), Failure> {
        let folder = self.open_place()?;
        let found = match rustix::fs::statat(&folder, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => {
                self.missing.push(name);
                return Ok(());
            }
            Err(error) => return Err(self.failed(error)),
        };
        let kind = FileType::from_raw_mode(found.st_mode);
        let is_last = self.ahead.is_empty();
        if kind == FileType::Symlink {
            let target = self.read_link(&folder, &name)?;
            self.folder = Some(folder);
            self.enter(&target);
            return Ok(());
        }
        let listed = letter_case::name_on_disk(folder.as_fd(), &name, &found);
        if kind == FileType::Directory {
            // Where nothing is looked up in it, it need not be opened.
            self.folder = if is_last {
                None
            } else {
                Some(open::child(folder.as_fd(), &listed).map_err(|error| self.failed(error))?)
            };
        } else {
            self.is_file = true;
        }
        self.place.push(listed);
        Ok(())
    }

    fn open_place(&mut self) -> Result<OwnedFd, Failure> {
        if let Some(folder) = self.folder.take() {
            return Ok(folder);
        }
        let path = self.place.join(&b'/');
        open::folder_beneath(self.root.as_fd(), &path, self.root.opener).map_err(|error| self.failed(error))
    }

    fn read_link(&mut self, folder: &OwnedFd, name: &[u8]) -> Result<Vec<u8>, Failure> {
        if self.workspace.links == Links::Deny {
            return Err(Failure::LinkDenied { path: self.asked.to_string() });
        }
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Failure::LinkLoop { path: self.asked.to_string() });
        }
        // It was a link a moment ago.
        rustix::fs::readlinkat(folder, name, Vec::new()).map(|target| target.into_bytes()).map_err(
            |error| match error {
                Errno::INVAL => Failure::Changed { path: self.asked.to_string() },
                other => self.failed(other),
            },
        )
    }

    fn failed(&self, error: Errno) -> Failure {
        Failure::from_errno(self.asked, error)
    }

    fn outside(&self) -> Failure {
        let path = self.asked.to_string();
        if self.links > 0 { Failure::LinkOutside { path } } else { Failure::Outside { path } }
    }

    fn arrive(self) -> Result<CanonicalPath, Failure> {
        if self.depth < self.root_names.len() {
            return Err(self.outside());
        }
        let names = self.place.iter().chain(&self.missing).map(Vec::as_slice);
        CanonicalPath::from_names(names, self.asked)
    }
}
