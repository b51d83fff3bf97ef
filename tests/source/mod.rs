//! Reads Rust sources as far as the architecture needs: which module of the crate a file belongs to, and which modules its
//! paths lead to. It is no parser: it knows comments, strings, `use` groups and paths, and nothing of scopes or macros.

use std::path::Path;

/// The module of the crate's root that a file of `src/` belongs to; none for `lib.rs`, which knows them all.
pub fn module_of(path: &Path) -> Option<String> {
    let first = path.strip_prefix("src").ok()?.components().next()?;
    let name = first.as_os_str().to_str()?;
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (name != "lib").then(|| name.to_string())
}

/// The modules of the crate's root that paths in this file begin with, each with the number of its line: by `crate::`, or
/// by as many `super::` as lead out of the file's own module.
pub fn paths_to_modules(path: &Path, source: &str) -> Vec<(usize, String)> {
    let code = without_comments_and_strings(source);
    let depth = depth_of(path);
    let mut found = Vec::new();
    let mut rest = Tokens::new(&code);
    while let Some(token) = rest.next() {
        let leads_to_root = match token {
            "crate" => rest.take("::"),
            "super" => {
                let mut steps = 1;
                while rest.take_both("::", "super") {
                    steps += 1;
                }
                // Inline modules would need one step more: a step too few is no breach that could hide, since rustc
                // resolves `super` from them to this very file.
                steps == depth && rest.take("::")
            }
            _ => false,
        };
        if leads_to_root {
            first_names(&mut rest, &mut found);
        }
    }
    found
}

/// How many `super` lead from a file's module to the crate's root.
fn depth_of(path: &Path) -> usize {
    let parts: Vec<_> = path.components().skip(1).map(|part| part.as_os_str().to_string_lossy()).collect();
    match parts.last() {
        Some(last) if last == "mod.rs" => parts.len() - 1,
        _ => parts.len(),
    }
}

/// The names that follow `crate::`: one, or those that a group begins its branches with.
fn first_names(tokens: &mut Tokens<'_>, found: &mut Vec<(usize, String)>) {
    if !tokens.take("{") {
        if let Some(name) = tokens.next().filter(|name| is_name(name)) {
            found.push((tokens.line, name.to_string()));
        }
        return;
    }
    let mut nesting = 1;
    let mut at_start = true;
    while nesting > 0 {
        let Some(token) = tokens.next() else { return };
        match token {
            "{" => nesting += 1,
            "}" => nesting -= 1,
            "," if nesting == 1 => at_start = true,
            name if at_start && is_name(name) => {
                found.push((tokens.line, name.to_string()));
                at_start = false;
            }
            _ => at_start = false,
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_') && token != "self"
}

/// Names, `::`, and single characters of anything else.
struct Tokens<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Tokens<'a> {
    fn new(code: &'a str) -> Self {
        Tokens { rest: code, line: 1 }
    }

    fn next(&mut self) -> Option<&'a str> {
        let start = self.rest.trim_start();
        self.line += self.rest[..self.rest.len() - start.len()].matches('\n').count();
        let first = start.chars().next()?;
        let length = if first.is_alphanumeric() || first == '_' {
            start.find(|other: char| !other.is_alphanumeric() && other != '_').unwrap_or(start.len())
        } else if start.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, rest) = start.split_at(length);
        self.rest = rest;
        Some(token)
    }

    fn take(&mut self, expected: &str) -> bool {
        let before = (self.rest, self.line);
        if self.next() == Some(expected) {
            return true;
        }
        (self.rest, self.line) = before;
        false
    }

    fn take_both(&mut self, first: &str, second: &str) -> bool {
        let before = (self.rest, self.line);
        if self.take(first) && self.take(second) {
            return true;
        }
        (self.rest, self.line) = before;
        false
    }
}

/// The code with comments, strings and character literals left out; every line stays in its place.
pub fn without_comments_and_strings(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = skipped_length(rest, code.chars().last());
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        // A blank parts what stood on either side.
        code.push(' ');
        code.extend(rest[..length].chars().filter(|character| *character == '\n'));
        rest = &rest[length..];
    }
    code
}

/// How many bytes from here on are a comment or a literal; 0 if the first one is code.
fn skipped_length(rest: &str, before: Option<char>) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    let in_name = before.is_some_and(|character| character.is_alphanumeric() || character == '_');
    if !in_name && let Some(length) = raw_string_length(rest) {
        return length;
    }
    if rest.starts_with('"') {
        return quoted_length(rest, '"');
    }
    // A lifetime has no second quote after one character; a character literal has.
    let mut characters = rest.chars();
    if characters.next() == Some('\'') {
        let second = characters.next();
        if second == Some('\\') || (second.is_some() && characters.next() == Some('\'')) {
            return quoted_length(rest, '\'');
        }
    }
    0
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut position = 0;
    while let Some(tail) = rest.get(position..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            position += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            position += 2;
            if depth == 0 {
                return position;
            }
        } else {
            position += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#` and their byte forms; `r#name` is a name.
fn raw_string_length(rest: &str) -> Option<usize> {
    let hashes_at = ["r", "br", "cr"].iter().find_map(|prefix| rest.starts_with(prefix).then_some(prefix.len()))?;
    let hashes = rest[hashes_at..].chars().take_while(|character| *character == '#').count();
    let body = hashes_at + hashes;
    if !rest[body..].starts_with('"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let length = rest[body + 1..].find(&end).map(|position| body + 1 + position + end.len());
    Some(length.unwrap_or(rest.len()))
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (position, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return position + 1,
            _ => {}
        }
    }
    rest.len()
}

#[test]
fn comments_strings_and_characters_are_left_out() {
    let cases = [
        ("a // crate::x\nb", "a  \nb"),
        ("a /* x /* y */ \n z */ b", "a  \n b"),
        (r#"f("crate::x \" y", 1)"#, "f( , 1)"),
        ("f(r#\"crate::x \" y\"#)", "f( )"),
        ("r#type::x", "r#type::x"),
        ("let c = '\"'; use crate::y;", "let c =  ; use crate::y;"),
        (r"let c = '\''; d", "let c =  ; d"),
        ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
    ];
    for (source, expected) in cases {
        assert_eq!(without_comments_and_strings(source), expected, "{source}");
    }
}

#[test]
fn paths_are_followed_to_the_modules_of_the_root() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("src/hooks/dispatch.rs", "use crate::host::{Effect, Host};", &["host"]),
        (
            "src/hooks/dispatch.rs",
            "use crate::{error::CoreError, types::{self, a, b}, event};",
            &["error", "types", "event"],
        ),
        ("src/hooks/dispatch.rs", "use super::registry::Snapshot;", &[]),
        ("src/hooks/dispatch.rs", "use super::super::agent::Family;", &["agent"]),
        ("src/hooks/mod.rs", "use super::agent::Family;", &["agent"]),
        ("src/event.rs", "use super::{types, hooks::Registry};", &["types", "hooks"]),
        ("src/tools/schema/shape.rs", "use super::super::super::session::Session;", &["session"]),
        ("src/agent/run.rs", "let x: crate :: model ::Answer = crate::hooks::f();", &["model", "hooks"]),
        ("src/agent/run.rs", "pub(crate) fn f() {} // crate::node\n", &[]),
        ("src/agent/run.rs", "pub(in crate::agent) fn f() {}", &["agent"]),
    ];
    for (path, source, expected) in cases {
        let found: Vec<_> = paths_to_modules(Path::new(path), source).into_iter().map(|(_, module)| module).collect();
        assert_eq!(found, *expected, "{path}: {source}");
    }
}

#[test]
fn a_path_is_found_at_its_line() {
    let source = "//! crate::x\n\nuse std::fs;\nuse crate::{\n    types,\n    agent::Family,\n};\n";
    let found = paths_to_modules(Path::new("src/hooks/mod.rs"), source);
    assert_eq!(found, [(5, "types".to_string()), (6, "agent".to_string())]);
}

#[test]
fn files_belong_to_the_module_below_src() {
    assert_eq!(module_of(Path::new("src/lib.rs")), None);
    assert_eq!(module_of(Path::new("src/error.rs")).as_deref(), Some("error"));
    assert_eq!(module_of(Path::new("src/tools/schema/shape.rs")).as_deref(), Some("tools"));
}
