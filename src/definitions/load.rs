//! Reads what several folders define: later folders win by name, one folder has each name once. The same for agents and
//! skills, of which it knows nothing more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::failure::DefinitionFailure;

/// The most definitions of agents that are accepted from files, and the most skills.
pub const MAX_DEFINITIONS: usize = 200;

/// Something that a file defines.
pub(super) trait Definition: Sized {
    /// What messages call it.
    const NOUN: &'static str;

    /// The files of a folder that should each define one, sorted.
    ///
    /// # Errors
    /// What cannot be read, and why.
    fn files(folder: &Path) -> Result<Vec<PathBuf>, (PathBuf, String)>;

    /// # Errors
    /// The file cannot be used.
    fn read(file: &Path) -> Result<Self, String>;

    fn name(&self) -> &str;
}

/// All definitions by name.
///
/// # Errors
/// A folder or a file cannot be used, two files of one folder define the same name, or there are too many.
pub(super) fn load<D: Definition>(folders: &[PathBuf]) -> Result<BTreeMap<String, D>, DefinitionFailure> {
    let failure = |file: &Path, problem: &str| DefinitionFailure::new(D::NOUN, file, problem);
    let mut found = BTreeMap::new();
    for folder in folders {
        let files = D::files(folder).map_err(|(path, problem)| failure(&path, &problem))?;
        if files.len() > MAX_DEFINITIONS {
            let problem = format!("expected at most {MAX_DEFINITIONS} of them in this folder, got {}", files.len());
            return Err(failure(folder, &problem));
        }
        let mut files_by_name: BTreeMap<String, PathBuf> = BTreeMap::new();
        for file in files {
            let definition = D::read(&file).map_err(|problem| failure(&file, &problem))?;
            let name = definition.name().to_string();
            if let Some(other) = files_by_name.get(&name) {
                let problem =
                    format!("the name \"{name}\" is taken by {}; give one of the two another", other.display());
                return Err(failure(&file, &problem));
            }
            found.insert(name.clone(), definition);
            if found.len() > MAX_DEFINITIONS {
                let problem =
                    format!("expected at most {MAX_DEFINITIONS} of them in all folders, and this is one more");
                return Err(failure(&file, &problem));
            }
            files_by_name.insert(name, file);
        }
    }
    Ok(found)
}
