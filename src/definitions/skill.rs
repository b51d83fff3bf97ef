//! Skills: folders with a SKILL.md, whose front matter is listed to the model and whose body is read when it asks for
//! it. Knows nothing of how they are listed.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::failure::DefinitionFailure;
use super::field::{Fields, NAME, is_name};
use super::load::{Definition, load};
use super::{file, folder, front_matter, yaml};
use crate::config_file::dangling_link;
use crate::json::quote;

const FILE_NAME: &str = "SKILL.md";

/// Something that the model can read up on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`; the folder's name, where the file says none.
    pub name: String,
    /// What it is for, as the model reads it. Not empty, and possibly of several lines.
    pub description: String,
    /// Each once.
    pub tags: Vec<String>,
    /// Absolute folder of SKILL.md, as it was found: links are not resolved.
    pub folder: PathBuf,
}

/// Reads `<folder>/*/SKILL.md` of the folders, less what is in folders whose name begins with a dot. Folders must be
/// absolute; one that is missing has nothing, and a folder in it without such a file is no skill. Of skills with one
/// name that of the last folder counts. Sorted by name. Blocks.
///
/// # Errors
/// A folder or a file is there and cannot be used, two skills of one folder have the same name, or there are more than
/// [`MAX_DEFINITIONS`](super::MAX_DEFINITIONS).
pub fn load_skills(folders: &[PathBuf]) -> Result<Vec<Skill>, DefinitionFailure> {
    Ok(load::<Skill>(folders)?.into_values().collect())
}

impl Skill {
    /// The body of SKILL.md as it is now, without the blanks around it. Blocks.
    ///
    /// # Errors
    /// The file is no longer there, is no regular file of at most 256 KiB and UTF-8, or has lost its front matter. The
    /// message names the file.
    pub fn read(&self) -> Result<String, String> {
        let path = self.folder.join(FILE_NAME);
        let body = file::read(&path).and_then(|text| front_matter::parts(&text).map(|parts| parts.body.to_string()));
        body.map_err(|problem| DefinitionFailure::new(Skill::NOUN, &path, &problem).message)
    }
}

impl Definition for Skill {
    const NOUN: &'static str = "skill";

    fn files(folder: &Path) -> Result<Vec<PathBuf>, (PathBuf, String)> {
        let names = folder::names(folder, may_be_folder).map_err(|problem| (folder.to_path_buf(), problem))?;
        let mut files = Vec::new();
        for name in names {
            let skill_folder = folder.join(name);
            let file = skill_folder.join(FILE_NAME);
            match fs::metadata(&skill_folder) {
                Ok(metadata) if !metadata.is_dir() => continue,
                Ok(_) => {}
                Err(error) => return Err((skill_folder.clone(), unreadable(&skill_folder, &error))),
            }
            // Of the name itself: where it is a link to nowhere, reading it will say so.
            match fs::symlink_metadata(&file) {
                Ok(_) => files.push(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err((skill_folder.clone(), unreadable(&skill_folder, &error))),
            }
        }
        Ok(files)
    }

    fn read(file: &Path) -> Result<Skill, String> {
        let text = file::read(file)?;
        let parts = front_matter::parts(&text)?;
        let fields = Fields::new(yaml::read(parts.front_matter)?, &["name", "description", "tags"])?;
        let folder = file.parent().unwrap_or(file);
        let name = match fields.name()? {
            Some(name) => name.to_string(),
            None => name_of(folder)?,
        };
        Ok(Skill {
            name,
            description: fields.required_text("description")?.to_string(),
            tags: fields.words("tags")?.unwrap_or_default(),
            folder: folder.to_path_buf(),
        })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Files are not looked at, however many there are. What cannot be told will be, on looking closer.
fn may_be_folder(entry: &DirEntry) -> bool {
    entry.file_type().map_or(true, |kind| kind.is_dir() || kind.is_symlink())
}

fn name_of(folder: &Path) -> Result<String, String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    if is_name(&name) {
        return Ok(name.into_owned());
    }
    let shown = quote(&name);
    Err(format!(
        "expected a key \"name\", for the name of the folder cannot be the skill's: expected {NAME}, got {shown}"
    ))
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound && dangling_link(path).is_some_and(|link| link == path) {
        return "expected a folder, got a link whose target does not exist".to_string();
    }
    format!("expected a folder that can be read, got: {error}")
}
