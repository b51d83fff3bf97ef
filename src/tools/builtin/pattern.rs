//! Globs of `glob` and `grep`: `*` and `?` stop at `/`, `**` does not, dot files match. Knows nothing of files.

use globset::{GlobBuilder, GlobMatcher};

use crate::workspace::shown;

/// A compiled glob takes many times its length.
const MAX_PATTERN_BYTES: usize = 1_024;
const SPECIAL: &[char] = &['*', '?', '[', ']', '{', '}', '\\'];

/// A pattern for paths relative to some folder.
pub(super) struct PathPattern {
    matcher: GlobMatcher,
    is_negated: bool,
    /// Names that every path that matches begins with.
    fixed: Vec<String>,
    /// How many names such a path has, where that is certain.
    names: Option<usize>,
}

impl PathPattern {
    /// The pattern of `glob`, for whole paths. `root`: absolute patterns may begin with it.
    ///
    /// # Errors
    /// It is no glob, or goes up.
    pub(super) fn of_paths(pattern: &str, root: &str) -> Result<PathPattern, String> {
        let within = pattern.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).unwrap_or(pattern);
        PathPattern::new(pattern, within, false)
    }

    /// The filter of `grep`: without a `/` it is for names in any folder; a leading `!` turns it round.
    ///
    /// # Errors
    /// As `of_paths`.
    pub(super) fn of_names(pattern: &str) -> Result<PathPattern, String> {
        let (is_negated, positive) = pattern.strip_prefix('!').map_or((false, pattern), |rest| (true, rest));
        if positive.contains('/') {
            PathPattern::new(pattern, positive, is_negated)
        } else {
            PathPattern::new(pattern, &format!("**/{positive}"), is_negated)
        }
    }

    fn new(asked: &str, pattern: &str, is_negated: bool) -> Result<PathPattern, String> {
        let refused = |problem: &str| Err(format!("the glob {} {problem}", shown(asked)));
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if pattern.is_empty() {
            return refused("is empty");
        }
        if pattern.len() > MAX_PATTERN_BYTES {
            return refused("is too long: at most 1024 bytes");
        }
        if pattern.starts_with('/') {
            return refused("is absolute; it must be relative to `path`, which is inside the working folder");
        }
        if pattern.split('/').any(|name| name == "..") {
            return refused("goes up with '..'; give the folder as `path`");
        }
        // `folder/` means what is in it.
        let whole = if pattern.ends_with('/') { format!("{pattern}**") } else { pattern.to_string() };
        let built =
            GlobBuilder::new(&whole).literal_separator(true).backslash_escape(true).empty_alternates(true).build();
        let matcher = match built {
            Ok(glob) => glob.compile_matcher(),
            Err(error) => return refused(&format!("is none: {}", error.kind())),
        };
        let is_fixed = |name: &&str| !name.is_empty() && !name.contains(SPECIAL);
        let all = whole.split('/').count();
        // The last name is not a folder that is gone into.
        let fixed = whole.split('/').take(all - 1).take_while(is_fixed).map(str::to_string).collect();
        let names = (!whole.contains("**") && !whole.contains(['{', '\\', '['])).then_some(all);
        Ok(PathPattern { matcher, is_negated, fixed, names })
    }

    /// Whether the path, relative to the folder, matches.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.matcher.is_match(path) != self.is_negated
    }

    /// Whether a path in this folder may match.
    pub(super) fn may_match_below(&self, folder: &str) -> bool {
        if self.is_negated {
            return true;
        }
        let mut depth = 0;
        let mut fixed = self.fixed.iter();
        for name in folder.split('/') {
            depth += 1;
            if fixed.next().is_some_and(|fixed| fixed != name) {
                return false;
            }
        }
        self.names.is_none_or(|names| depth < names)
    }
}

#[cfg(test)]
mod tests {
    use super::PathPattern;

    #[test]
    fn paths_match_as_globs_say() {
        for (pattern, path, expected) in [
            ("*.ts", "a.ts", true),
            ("*.ts", "src/a.ts", false),
            ("**/*.ts", "a.ts", true),
            ("**/*.ts", "src/deep/a.ts", true),
            ("src/**", "src/a/b", true),
            ("src/", "src/a/b", true),
            ("src/**", "other/a", false),
            ("*", ".hidden", true),
            ("**/*", "a/.b/c", true),
            ("{a,b}/?.[ch]", "b/x.c", true),
            ("{a,b}/?.[ch]", "b/xy.c", false),
            ("[!a]", "b", true),
            ("[!a]", "a", false),
            ("./a/*", "a/b", true),
            ("/work/project/a/*", "a/b", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("é*", "étude", true),
        ] {
            let compiled = PathPattern::of_paths(pattern, "/work/project").unwrap();
            assert_eq!(compiled.matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn names_match_in_any_folder() {
        for (pattern, path, expected) in [
            ("*.ts", "src/a.ts", true),
            ("*.ts", "a.ts", true),
            ("*.{ts,js}", "src/a.js", true),
            ("src/*.ts", "src/a.ts", true),
            ("src/*.ts", "other/src/a.ts", false),
            ("!*.ts", "src/a.ts", false),
            ("!*.ts", "src/a.js", true),
        ] {
            assert_eq!(PathPattern::of_names(pattern).unwrap().matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn folders_that_hold_no_match_are_not_gone_into() {
        for (pattern, folder, expected) in [
            ("*.ts", "src", false),
            ("**/*.ts", "src/deep", true),
            ("src/*.ts", "src", true),
            ("src/*.ts", "other", false),
            ("src/*.ts", "src/deep", false),
            ("src/*/x/**", "src/a", true),
            ("src/*/x/**", "lib/a", false),
            ("{a,b/c}/d", "b/c", true),
            ("a/**/b", "a/x/y", true),
        ] {
            let compiled = PathPattern::of_paths(pattern, "/root").unwrap();
            assert_eq!(compiled.may_match_below(folder), expected, "{pattern} {folder}");
        }
        assert!(PathPattern::of_names("!src/*.ts").unwrap().may_match_below("src"));
    }

    #[test]
    fn what_is_no_glob_is_refused() {
        for (pattern, problem) in [
            ("[a", "is none"),
            ("{a", "is none"),
            ("", "is empty"),
            ("/etc/*", "is absolute"),
            ("../*", "goes up"),
            ("a/../b", "goes up"),
        ] {
            let refused = PathPattern::of_paths(pattern, "/root").err().unwrap();
            assert!(refused.contains(problem), "{refused}");
        }
        assert!(PathPattern::of_paths(&"{".repeat(2_000), "/root").is_err());
        // Neither hangs nor overflows the stack.
        let nested = format!("{}a{}", "{".repeat(500), "}".repeat(500));
        let _ = PathPattern::of_paths(&nested, "/root");
        let _ = PathPattern::of_paths(&"{a,b}".repeat(200), "/root");
    }
}
