//! Lists that nobody has used for long are removed, as old sessions are. Knows nothing of what is in them.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::TaskList;

/// At most so many lists are looked at: whatever is left is looked at the next time.
const MAX_LISTS: usize = 10_000;

/// Removes the lists in the folder in which nothing was written since `before`. Blocks; what cannot be removed stays, and
/// is told to the log of the process alone.
pub fn remove_unused_lists(folder: &Path, before: SystemTime) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(MAX_LISTS) {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || newest(&path).is_none_or(|newest| newest >= before) {
            continue;
        }
        if let Err(problem) = TaskList::new(path).remove() {
            tracing::warn!(%problem, "an unused task list could not be removed");
        }
    }
}

/// When something was last written in a folder; nothing where that cannot be told.
fn newest(folder: &Path) -> Option<SystemTime> {
    let mut newest = fs::metadata(folder).ok()?.modified().ok()?;
    for entry in fs::read_dir(folder).ok()? {
        newest = newest.max(entry.ok()?.metadata().ok()?.modified().ok()?);
    }
    Some(newest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::tasks::{TaskTool, run_task_tool};

    #[test]
    fn only_lists_that_were_not_used_since_go() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["old", "new"] {
            let list = TaskList::new(folder.path().join(name));
            run_task_tool(TaskTool::Create, &json!({ "subject": "a", "description": "b" }), &list);
        }
        fs::write(folder.path().join("file"), "").unwrap();
        let now = SystemTime::now();
        let old = folder.path().join("old");
        for path in fs::read_dir(&old).unwrap().map(|entry| entry.unwrap().path()).chain([old.clone()]) {
            fs::File::open(path).unwrap().set_modified(now - Duration::from_secs(60)).unwrap();
        }
        remove_unused_lists(folder.path(), now - Duration::from_secs(30));
        assert!(!old.exists());
        assert!(folder.path().join("new/1.json").exists());
        assert!(folder.path().join("file").exists());
        remove_unused_lists(&folder.path().join("missing"), now);
    }
}
