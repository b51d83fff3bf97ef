//! Globs of files: what they are matched against is a path relative to workdir without `.` and `..`, so a glob is brought
//! to that form. One that could never match is a mistake.

use crate::glob::Glob;

/// A glob of `filePath`: `./` at the start means nothing, `/` at the end means the folder and all below.
///
/// # Errors
/// Says what is wrong with the glob.
pub fn file_glob(glob: &str) -> Result<Glob, String> {
    let (negation, positive) = match glob.strip_prefix('!') {
        Some(rest) => ("!", rest),
        None => ("", glob),
    };
    if positive.is_empty() {
        return Glob::new(glob);
    }
    let root = if positive.starts_with('/') { "/" } else { "" };
    let components = components(positive);
    let is_folder = components.last().is_some_and(|last| matches!(*last, "" | "."));
    let mut kept: Vec<&str> = Vec::new();
    for component in components {
        match component {
            "" | "." => {}
            ".." => match kept.last() {
                None if root == "/" => {}
                None | Some(&"..") => kept.push(".."),
                Some(before) if before.contains(['*', '?', '[', '{', '\\']) => {
                    return Err(format!("it never matches: paths have no .. in them; write it without {before}/.."));
                }
                Some(_) => {
                    kept.pop();
                }
            },
            other => kept.push(other),
        }
    }
    refuse_folders_in_braces(positive)?;
    let path = kept.join("/");
    match (path.as_str(), is_folder) {
        ("", _) => Glob::new(&format!("{negation}{root}**")),
        (path, true) => Glob::new(&format!("{negation}{{{root}{path},{root}{path}/**}}")),
        (path, false) => Glob::new(&format!("{negation}{root}{path}")),
    }
}

/// Parted at each `/` that stands in no class and in no braces.
fn components(glob: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    let mut braces = 0_usize;
    let mut class_from: Option<usize> = None;
    let mut escaped = false;
    for (at, character) in glob.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match character {
            '\\' => escaped = true,
            // The first `]` of a class is a member of it.
            ']' if class_from.is_some_and(|start| at > start + 1) => class_from = None,
            _ if class_from.is_some() => {}
            '[' => class_from = Some(at),
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            '/' if braces == 0 => {
                parts.push(glob.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(glob.get(from..).unwrap_or_default());
    parts
}

/// Within braces nothing is brought to form, so that what would need it is refused.
fn refuse_folders_in_braces(glob: &str) -> Result<(), String> {
    let is_odd = |part: &str| {
        let names: Vec<&str> = part.split('/').collect();
        names.len() > 1 && names.iter().any(|name| matches!(*name, "" | "." | ".."))
    };
    let mut depth = 0_usize;
    let mut part = String::new();
    for character in glob.chars() {
        match character {
            '{' | '}' | ',' if depth > 0 || character == '{' => {
                if depth > 0 && is_odd(&part) {
                    return Err(format!("it never matches: {part:?} within braces has a . or an empty name in it"));
                }
                part.clear();
                depth = if character == '{' { depth + 1 } else { depth - usize::from(character == '}') };
            }
            other => part.push(other),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "path_glob_test.rs"]
mod tests;
