//! What a shell command runs: each simple command in it, wherever it stands, on its own. Parsed by tree-sitter; the tree
//! is walked without recursion, for a model may nest as deep as it likes. When in doubt, nothing is allowed.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::pattern::CommandPattern;
use super::shell_words::{Word, word};

/// Longer commands count as unparsable.
const MAX_BYTES: usize = 32 * 1024;
/// Deeper ones too.
const MAX_DEPTH: usize = 200;
/// How often the parser may report before it is stopped: it reports every hundred steps.
const MAX_PARSE_REPORTS: usize = 200;
/// `sh -c` within `sh -c`.
const MAX_SCRIPTS: usize = 8;

/// The simple commands of one command line.
#[derive(Default)]
pub(super) struct ShellCommand {
    /// The line as the model wrote it.
    line: String,
    /// Every simple command, in each form that a rule may name: as written, without its assignments, behind its wrappers.
    forms: Vec<String>,
    /// Those whose command word is a path, by its last part.
    by_base_name: Vec<String>,
    /// Something in it cannot be known, or writes a file: never allowed.
    is_doubtful: bool,
    is_unparsable: bool,
}

impl ShellCommand {
    pub fn parse(line: &str) -> ShellCommand {
        let mut command = ShellCommand { line: line.trim().to_string(), ..ShellCommand::default() };
        let mut scripts = vec![(line.to_string(), 0)];
        while let Some((script, depth)) = scripts.pop() {
            let tree = if depth > MAX_SCRIPTS { None } else { parse(&script) };
            let understood = tree.is_some_and(|tree| command.collect(&tree, &script, depth, &mut scripts));
            if !understood {
                command.is_unparsable = true;
                return command;
            }
        }
        command.by_base_name = command.forms.iter().filter_map(|form| with_base_name(form)).collect();
        command
    }

    /// For an allow: every simple command matches, and nothing is in doubt.
    pub fn all_match(&self, pattern: &CommandPattern) -> bool {
        !self.is_unparsable
            && !self.is_doubtful
            && !self.forms.is_empty()
            && self.forms.iter().all(|form| pattern.matches(form))
    }

    /// For a deny or an ask: any of them matches, or nobody can tell.
    pub fn any_matches(&self, pattern: &CommandPattern) -> bool {
        self.is_unparsable
            || pattern.matches(&self.line)
            || self.forms.iter().chain(&self.by_base_name).any(|form| pattern.matches(form))
    }

    /// Takes in the commands of one script; false where it cannot be understood.
    fn collect(&mut self, tree: &Tree, source: &str, depth: usize, scripts: &mut Vec<(String, usize)>) -> bool {
        let mut cursor = tree.walk();
        let mut level = 0;
        loop {
            let node = cursor.node();
            if node.is_error() || node.is_missing() || level > MAX_DEPTH {
                return false;
            }
            if !self.visit(node, source, depth, scripts) {
                return false;
            }
            if cursor.goto_first_child() {
                level += 1;
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return true;
                }
                level -= 1;
            }
        }
    }

    fn visit(&mut self, node: Node<'_>, source: &str, depth: usize, scripts: &mut Vec<(String, usize)>) -> bool {
        match node.kind() {
            "command" => return self.simple_command(node, source, depth, scripts),
            "declaration_command" | "unset_command" | "test_command" => {
                let raw = source.get(node.byte_range()).unwrap_or_default();
                self.forms.push(raw.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            "variable_assignment" if node.parent().is_some_and(|parent| parent.kind() != "command") => {
                // A variable that is set for all that follows may change what it does.
                self.forms.push(source.get(node.byte_range()).unwrap_or_default().to_string());
            }
            "file_redirect" if writes_a_file(node, source) => self.is_doubtful = true,
            _ => {}
        }
        true
    }

    fn simple_command(
        &mut self,
        node: Node<'_>,
        source: &str,
        depth: usize,
        scripts: &mut Vec<(String, usize)>,
    ) -> bool {
        let mut assignments = Vec::new();
        let mut words = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => {
                    assignments.push(source.get(child.byte_range()).unwrap_or_default().to_string());
                }
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" | "comment" => {}
                "command_name" => words.push(child.child(0).map_or_else(|| word(child, source), |it| word(it, source))),
                _ => words.push(word(child, source)),
            }
        }
        if !assignments.is_empty() {
            assignments.extend(words.iter().map(|word| word.text.clone()));
            self.forms.push(assignments.join(" "));
        }
        self.unwrap_words(&words, depth, scripts)
    }

    /// The command itself, and those behind its wrappers.
    fn unwrap_words(&mut self, words: &[Word], depth: usize, scripts: &mut Vec<(String, usize)>) -> bool {
        let mut rest = words;
        while let Some((first, arguments)) = rest.split_first() {
            self.forms.push(join(rest));
            if first.is_dynamic {
                self.is_doubtful = true;
                return true;
            }
            match wrapper::look_behind(base_name(&first.text), arguments) {
                wrapper::Behind::Nothing => return true,
                wrapper::Behind::Command(inner) => rest = inner,
                wrapper::Behind::Script(script) if script.is_dynamic => return false,
                wrapper::Behind::Script(script) => {
                    scripts.push((script.text, depth + 1));
                    return true;
                }
                wrapper::Behind::Unknown => {
                    // Its options are not known: whatever follows may be the command.
                    self.is_doubtful = true;
                    for start in 1..rest.len() {
                        self.forms.push(join(rest.get(start..).unwrap_or_default()));
                    }
                    return true;
                }
            }
        }
        true
    }
}

fn parse(script: &str) -> Option<Tree> {
    if script.len() > MAX_BYTES || nests_too_deep(script) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut reports = 0;
    let mut progress = |_state: &ParseState| {
        reports += 1;
        if reports > MAX_PARSE_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = script.as_bytes();
    let tree =
        parser.parse_with_options(&mut |offset, _| bytes.get(offset..).unwrap_or_default(), None, Some(options))?;
    if tree.root_node().has_error() { None } else { Some(tree) }
}

/// A look before the parser, whose time grows with the nesting: counts what opens without closing.
fn nests_too_deep(script: &str) -> bool {
    // Each may be the body of the one before it.
    if script.matches("()").count() > MAX_DEPTH {
        return true;
    }
    let mut brackets: usize = 0;
    let mut blocks: usize = 0;
    for word in script.split(|it: char| it.is_whitespace() || it == ';') {
        match word {
            "if" | "for" | "while" | "until" | "case" | "select" => blocks += 1,
            "fi" | "done" | "esac" => blocks = blocks.saturating_sub(1),
            _ => {}
        }
        for byte in word.bytes() {
            match byte {
                b'(' | b'{' | b'[' => brackets += 1,
                b')' | b'}' | b']' => brackets = brackets.saturating_sub(1),
                _ => {}
            }
        }
        if brackets > MAX_DEPTH || blocks > MAX_DEPTH {
            return true;
        }
    }
    false
}

/// Whether a redirection opens a file for writing that is not `/dev/null`.
fn writes_a_file(node: Node<'_>, source: &str) -> bool {
    let raw = source.get(node.byte_range()).unwrap_or_default();
    let operator: String = raw.trim_start_matches(|it: char| it.is_ascii_digit()).chars().take(3).collect();
    let target = node.child_by_field_name("destination").map(|destination| word(destination, source));
    let Some(target) = target else { return true };
    if operator.starts_with('<') && !operator.starts_with("<>") {
        return false;
    }
    // `>&1` and `>&-` name descriptors.
    let to_descriptor = (operator.starts_with(">&") || operator.starts_with("&>"))
        && !target.is_dynamic
        && (target.text == "-" || target.text.bytes().all(|byte| byte.is_ascii_digit()));
    !to_descriptor && (target.is_dynamic || target.text != "/dev/null")
}

fn join(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn base_name(command: &str) -> &str {
    command.rsplit('/').next().unwrap_or(command)
}

/// `/bin/rm x` as `rm x`; nothing where the command word is no path.
fn with_base_name(form: &str) -> Option<String> {
    let end = form.find(' ').unwrap_or(form.len());
    let (first, rest) = form.split_at_checked(end)?;
    first.contains('/').then(|| format!("{}{rest}", base_name(first)))
}

#[path = "shell_wrapper.rs"]
mod wrapper;

#[cfg(test)]
#[path = "shell_test.rs"]
mod tests;
