//! Where the supervisor lies: beside the addon, in a checkout and in the platform's package alike.

use std::path::{Path, PathBuf};

/// The supervisor's file name.
pub const SUPERVISOR_FILE: &str = "lite-agent-supervisor";

/// The supervisor beside the addon.
///
/// # Errors
/// It is not there, or cannot be executed, or this platform has none: the message says where it was looked for and what
/// to do.
#[cfg(target_os = "linux")]
pub fn locate_supervisor(addon_folder: &Path) -> Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;

    let path = addon_folder.join(SUPERVISOR_FILE);
    let shown = path.display();
    match std::fs::metadata(&path) {
        Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => Ok(path),
        Ok(found) if found.is_file() => Err(format!(
            "the supervisor that runs commands is not executable: {shown}; run `chmod +x` on it, or install lite-agent \
             again"
        )),
        Ok(_) => Err(format!("the supervisor that runs commands is no file: {shown}; install lite-agent again")),
        Err(cause) => Err(format!(
            "the supervisor that runs commands was looked for at {shown} and cannot be used: {cause}; install lite-agent \
             again (in a checkout, `npm run build`)"
        )),
    }
}

/// There is none for this platform.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn locate_supervisor(_addon_folder: &Path) -> Result<PathBuf, String> {
    Err("commands can be run on Linux only so far: leave out bash, background commands and command hooks here"
        .to_string())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_missing_supervisor_is_told_with_its_place() {
        let message = locate_supervisor(Path::new("/no/such/folder")).unwrap_err();
        assert!(message.contains("/no/such/folder/lite-agent-supervisor"), "{message}");
        assert!(message.contains("No such file"), "{message}");
    }

    #[test]
    fn a_supervisor_that_cannot_be_executed_is_told() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp/locate-supervisor-test");
        std::fs::create_dir_all(folder.join("folder").join(SUPERVISOR_FILE)).unwrap();
        std::fs::write(folder.join(SUPERVISOR_FILE), "").unwrap();
        let message = locate_supervisor(&folder).unwrap_err();
        assert!(message.contains("not executable"), "{message}");
        let message = locate_supervisor(&folder.join("folder")).unwrap_err();
        assert!(message.contains("no file"), "{message}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
