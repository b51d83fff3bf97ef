//! A home and a workdir of a test's own, and the hooks.json files in them.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};

use lite_agent::hooks::{ConfigFailure, HookFiles};

/// Two folders that are gone when it is dropped.
pub struct Folders {
    root: PathBuf,
}

impl Folders {
    /// `name` must be one that no other test of the program has.
    pub fn new(name: &str) -> Folders {
        let program = format!("{}-{name}", std::process::id());
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hooks").join(program);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("home")).unwrap();
        fs::create_dir_all(root.join("work")).unwrap();
        Folders { root }
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub fn global(&self) -> PathBuf {
        self.home().join("hooks.json")
    }

    pub fn project(&self) -> PathBuf {
        self.work().join(".lite-agent").join("hooks.json")
    }

    pub fn write_global(&self, content: impl AsRef<[u8]>) {
        fs::write(self.global(), content).unwrap();
    }

    pub fn write_project(&self, content: impl AsRef<[u8]>) {
        self.make_project_folder();
        fs::write(self.project(), content).unwrap();
    }

    pub fn make_project_folder(&self) {
        fs::create_dir_all(self.work().join(".lite-agent")).unwrap();
    }

    pub fn load(&self) -> Result<HookFiles, ConfigFailure> {
        HookFiles::load(&self.home(), &self.work())
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
