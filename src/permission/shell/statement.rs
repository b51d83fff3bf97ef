//! From the tree of a text to its simple commands. Whatever the tree holds is looked at, without recursion; what is of
//! no known form, or lies where a shell would read it otherwise, makes the text one that cannot be parsed.

use super::character::{check_characters, is_boundary};
use super::expansion;
use super::heredoc::Heredoc;
use super::tree::{Item, Items, Kind, parse};
use super::variable::{is_number, is_plain_variable};
use super::word::{NoWord, Word, check_heredoc, read_word};
use super::{ShellCommand, is_reserved};

/// Adds all commands of a text.
///
/// # Errors
/// The text cannot be parsed, or not in a way that a shell would surely agree with.
pub(super) fn read(command: &mut ShellCommand, text: &str, level: usize, must_be_allowed: bool) -> Result<(), NoWord> {
    let items = parse(text).ok_or(NoWord)?;
    check_characters(text, &items)?;
    for item in items.all.iter().filter(|item| item.kind == Kind::Expansion) {
        let source = text.get(item.start..item.end).unwrap_or_default();
        command.unallowable |= !expansion::note(source, &mut command.variables);
    }
    let mut reader = Reader {
        text,
        items: &items,
        command,
        waiting: vec![(0, Place::Statement)],
        found: Vec::new(),
        evaluates: false,
        literal_dollar: false,
    };
    while let Some((index, place)) = reader.waiting.pop() {
        let item = reader.items.get(index).ok_or(NoWord)?;
        reader.visit(index, item, place)?;
    }
    let Reader { found, evaluates, literal_dollar, .. } = reader;
    let evaluates = evaluates || found.iter().any(|parts| evaluates_names(&parts.words));
    if evaluates && literal_dollar {
        // `x='a[$(rm y)]'; echo $((x))` runs what the quotes seemed to keep.
        return Err(NoWord);
    }
    for parts in found {
        command.add_command(&parts.assignments, parts.words, &parts.inputs, level, must_be_allowed);
    }
    Ok(())
}

/// Commands that evaluate what their arguments name, indexes of arrays included.
fn evaluates_names(words: &[Word]) -> bool {
    const EVALUATING: [&str; 14] = [
        "let",
        "test",
        "[",
        "read",
        "unset",
        "declare",
        "typeset",
        "local",
        "mapfile",
        "readarray",
        "getopts",
        "wait",
        "compgen",
        "complete",
    ];
    words.first().is_some_and(|first| EVALUATING.contains(&first.text.as_str()))
        // Wherever it stands: behind `builtin`, for one.
        || words.iter().zip(words.iter().skip(1)).any(|(name, next)| name.text == "printf" && next.text.starts_with("-v"))
}

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Statement,
    /// Inside a word that was read whole.
    Word,
    /// Inside `(( … ))` or `$(( … ))`.
    Arithmetic,
}

/// A simple command as it was found.
#[derive(Default)]
struct Parts {
    assignments: Vec<Word>,
    words: Vec<Word>,
    /// Texts that it can read from its standard input.
    inputs: Vec<Word>,
}

struct Reader<'a> {
    text: &'a str,
    items: &'a Items,
    command: &'a mut ShellCommand,
    waiting: Vec<(usize, Place)>,
    found: Vec<Parts>,
    /// Something in it evaluates values of variables.
    evaluates: bool,
    literal_dollar: bool,
}

impl<'a> Reader<'a> {
    fn source(&self, item: Item) -> &'a str {
        self.text.get(item.start..item.end).unwrap_or_default()
    }

    fn wait_for_children(&mut self, index: usize, place: Place) {
        let children: Vec<usize> = self.items.children(index).map(|(child, _)| child).collect();
        self.waiting.extend(children.into_iter().map(|child| (child, place)));
    }

    fn visit(&mut self, index: usize, item: Item, place: Place) -> Result<(), NoWord> {
        match (item.kind, place) {
            (Kind::Token | Kind::FileDescriptor | Kind::HeredocEnd, _) => {}
            (Kind::Loop, Place::Statement) => {
                self.check_gaps(index, item, true)?;
                self.loop_variable(index)?;
                self.wait_for_children(index, Place::Statement);
            }
            (Kind::Comment, _) => self.check_comment(item)?,
            (Kind::CommandSubstitution | Kind::ProcessSubstitution, Place::Word | Place::Arithmetic) => {
                self.substitution(index, item)?;
            }
            (Kind::ArithmeticExpansion, Place::Word | Place::Arithmetic) => self.arithmetic(index, item)?,
            (_, Place::Word) => self.wait_for_children(index, Place::Word),
            (_, Place::Arithmetic) => self.wait_for_children(index, Place::Arithmetic),
            (Kind::Compound, _) if self.source(item).starts_with("((") => {
                self.check_gaps(index, item, true)?;
                self.arithmetic(index, item)?;
                let text = self.source(item);
                self.found.push(Parts { words: vec![Word::literal(text)], ..Parts::default() });
            }
            (Kind::ArithmeticFor, _) => {
                self.arithmetic_for(index, item)?;
            }
            (Kind::Container | Kind::Nested | Kind::Compound | Kind::Subshell, _) => {
                self.check_gaps(index, item, true)?;
                self.wait_for_children(index, Place::Statement);
            }
            (Kind::Command | Kind::Declaration | Kind::Redirected | Kind::Assignment, _) => {
                let mut parts = Parts::default();
                self.simple(index, item, &mut parts)?;
                if !parts.words.is_empty() || !parts.assignments.is_empty() {
                    self.found.push(parts);
                }
            }
            (Kind::Test, _) => self.test(index, item)?,
            (Kind::Expression, _) => self.wait_for_children(index, Place::Statement),
            (Kind::Regex, _) => {
                let source = self.source(item);
                let expands = ["$(", "${", "$["].iter().any(|start| source.contains(start));
                if expands || source.contains(['\'', '"', '\\', '`', '\n', ';', '&']) {
                    return Err(NoWord);
                }
            }
            (kind, _) if kind.is_word() || kind == Kind::Part => {
                self.word(index, item)?;
            }
            _ => return Err(NoWord),
        }
        Ok(())
    }

    /// A command, a declaration, or either with its redirections. Without recursion: what is within is flattened.
    fn simple(&mut self, index: usize, item: Item, parts: &mut Parts) -> Result<(), NoWord> {
        let mut open = vec![(index, item)];
        while let Some((index, item)) = open.pop() {
            match item.kind {
                Kind::Command | Kind::Declaration | Kind::Redirected => {
                    self.check_gaps(index, item, false)?;
                    let children: Vec<_> = self.items.children(index).collect();
                    if item.kind == Kind::Redirected && !self.merges(&children) {
                        return self.redirected_statement(&children);
                    }
                    open.extend(children.into_iter().rev());
                }
                Kind::CommandName => {
                    let word = self.word(index, item)?;
                    if !word.quoted
                        && word.is_static()
                        && word.text != "time"
                        && word.text != "coproc"
                        && is_reserved(&word.text)
                    {
                        return Err(NoWord);
                    }
                    parts.words.push(word);
                }
                Kind::Assignment => {
                    let word = self.assignment(index, item)?;
                    let is_before = parts.words.is_empty();
                    if is_before { parts.assignments.push(word) } else { parts.words.push(word) }
                }
                Kind::FileRedirect => {
                    let extra = self.file_redirect(index, item)?;
                    parts.words.extend(extra);
                }
                Kind::HeredocRedirect => self.heredoc(index, item, parts)?,
                Kind::HerestringRedirect => {
                    self.check_gaps(index, item, false)?;
                    for (child, child_item) in self.items.children(index) {
                        if child_item.kind.is_word() {
                            let input = self.word(child, child_item)?;
                            parts.inputs.push(input);
                        } else if !matches!(child_item.kind, Kind::Token | Kind::FileDescriptor) {
                            return Err(NoWord);
                        }
                    }
                }
                Kind::Token => parts.words.push(self.word(index, item)?),
                Kind::Comment => self.check_comment(item)?,
                kind if kind.is_word() || kind == Kind::Part => parts.words.push(self.word(index, item)?),
                Kind::Regex => {
                    self.visit(index, item, Place::Statement)?;
                    parts.words.push(Word::literal(self.source(item)));
                }
                _ => return Err(NoWord),
            }
        }
        Ok(())
    }

    /// Whether a redirected statement is one simple command, words after its redirections included.
    fn merges(&self, children: &[(usize, Item)]) -> bool {
        !children.iter().any(|(_, child)| {
            !matches!(
                child.kind,
                Kind::Command
                    | Kind::Declaration
                    | Kind::FileRedirect
                    | Kind::HeredocRedirect
                    | Kind::HerestringRedirect
                    | Kind::Comment
            )
        })
    }

    /// A statement of several commands, with redirections.
    fn redirected_statement(&mut self, children: &[(usize, Item)]) -> Result<(), NoWord> {
        let mut rest = Parts::default();
        for (index, item) in children {
            match item.kind {
                Kind::FileRedirect => rest.words.extend(self.file_redirect(*index, *item)?),
                Kind::HeredocRedirect => self.heredoc(*index, *item, &mut rest)?,
                Kind::HerestringRedirect => self.simple(*index, *item, &mut rest)?,
                _ => self.waiting.push((*index, Place::Statement)),
            }
        }
        // A shell takes words there for those of the last command, or for a mistake.
        if !rest.words.is_empty() {
            return Err(NoWord);
        }
        Ok(())
    }

    /// What a loop gives its variable.
    fn loop_variable(&mut self, index: usize) -> Result<(), NoWord> {
        let children: Vec<_> = self.items.children(index).collect();
        let (_, name) = children.iter().find(|(_, child)| child.kind == Kind::Part).ok_or(NoWord)?;
        let name = self.source(*name);
        let mut values = children.iter().filter(|(_, child)| child.kind.is_word()).peekable();
        let is_known = values.peek().is_some() && values.all(|(_, child)| is_number(self.source(*child)));
        if !is_known {
            self.command.variables.bind_name(name);
        }
        self.command.unallowable |= !is_plain_variable(name);
        Ok(())
    }

    /// `{name}>`: a redirection that assigns.
    fn file_descriptor(&mut self, item: Item) -> Result<(), NoWord> {
        let source = self.source(item);
        self.command.unallowable |= source.starts_with('{');
        if source.contains('[') { Err(NoWord) } else { self.check_start(item) }
    }

    /// Notes where it writes, and returns the words that the grammar took for further targets.
    fn file_redirect(&mut self, index: usize, item: Item) -> Result<Vec<Word>, NoWord> {
        self.check_gaps(index, item, false)?;
        let mut operator = "";
        let mut words = Vec::new();
        for (child, child_item) in self.items.children(index) {
            match child_item.kind {
                Kind::Token if operator.is_empty() => operator = self.source(child_item),
                Kind::FileDescriptor => self.file_descriptor(child_item)?,
                kind if kind.is_word() => words.push(self.word(child, child_item)?),
                _ => return Err(NoWord),
            }
        }
        if matches!(operator, ">&-" | "<&-") {
            return Ok(words);
        }
        if words.is_empty() {
            return Err(NoWord);
        }
        let target = words.remove(0);
        let duplicates = matches!(operator, ">&" | "<&")
            && target.is_static()
            && target.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if operator == ">&" && !duplicates && (target.literal_dollar || !target.is_static()) {
            // A shell expands a name there a second time, quotes or not: `>&'$(rm x)'` runs `rm`.
            return Err(NoWord);
        }
        let writes = operator.contains('>') && !duplicates;
        self.command.unallowable |= writes && !(target.is_static() && target.text == "/dev/null");
        Ok(words)
    }

    fn heredoc(&mut self, index: usize, item: Item, parts: &mut Parts) -> Result<(), NoWord> {
        let mut start = None;
        let mut body = None;
        let mut end = None;
        let mut is_other_command = false;
        for (child, child_item) in self.items.children(index) {
            match child_item.kind {
                Kind::HeredocStart => start = Some(child_item),
                Kind::HeredocBody => body = Some((child, child_item)),
                Kind::HeredocEnd => end = Some(child_item),
                Kind::Token => is_other_command |= matches!(self.source(child_item), "&&" | "||" | "|" | "|&"),
                Kind::FileDescriptor => self.file_descriptor(child_item)?,
                Kind::FileRedirect => parts.words.extend(self.file_redirect(child, child_item)?),
                Kind::HerestringRedirect => self.simple(child, child_item, parts)?,
                kind if kind.is_word() => {
                    if is_other_command {
                        return Err(NoWord);
                    }
                    parts.words.push(self.word(child, child_item)?);
                }
                _ => self.waiting.push((child, Place::Statement)),
            }
        }
        let (Some(start), Some(end)) = (start, end) else { return Err(NoWord) };
        let heredoc = Heredoc::find(self.text, start)?;
        let is_line =
            self.text.get(heredoc.body_end..end.start).is_some_and(|gap| gap.trim_start_matches('\t').is_empty());
        if !is_line || self.source(end).trim_matches(['\t', '\n']) != heredoc.delimiter {
            return Err(NoWord);
        }
        let source = self.text.get(heredoc.body_start..heredoc.body_end).ok_or(NoWord)?;
        if heredoc.expands {
            parts.inputs.push(check_heredoc(source, heredoc.body_start, &self.items.ends)?);
        } else {
            parts.inputs.push(Word { literal_dollar: source.contains(['$', '`']), ..Word::literal(source) });
        }
        self.check_gaps(index, item, true)?;
        if let Some((index, body)) = body {
            if body.start + 1 < heredoc.body_start {
                return Err(NoWord);
            }
            self.wait_for_children(index, Place::Word);
        }
        Ok(())
    }

    /// Reads a word whole, and leaves what stands in it to be looked at.
    fn word(&mut self, index: usize, item: Item) -> Result<Word, NoWord> {
        self.check_start(item)?;
        self.check_end(item)?;
        let word = read_word(self.source(item), item.start, &self.items.ends)?;
        let is_redirected = self.text.get(item.end..).is_some_and(|rest| rest.starts_with(['<', '>']));
        if is_redirected && word.text.starts_with('{') {
            // `{a[x]}>` assigns, which the grammar does not know.
            return Err(NoWord);
        }
        self.literal_dollar |= word.literal_dollar;
        if item.kind.is_expansion() {
            self.waiting.push((index, Place::Word));
        } else {
            self.wait_for_children(index, Place::Word);
        }
        Ok(word)
    }

    fn check_start(&self, item: Item) -> Result<(), NoWord> {
        let before = self.text.get(..item.start).and_then(|text| text.chars().next_back());
        if before.is_none_or(is_boundary) { Ok(()) } else { Err(NoWord) }
    }

    fn check_end(&self, item: Item) -> Result<(), NoWord> {
        let after = self.text.get(item.end..).and_then(|text| text.chars().next());
        if after.is_none_or(is_boundary) { Ok(()) } else { Err(NoWord) }
    }

    fn assignment(&mut self, index: usize, item: Item) -> Result<Word, NoWord> {
        let children: Vec<_> = self.items.children(index).collect();
        let array = children.iter().find(|(_, child)| child.kind == Kind::Array).copied();
        let word = match array {
            None => return self.word(index, item),
            Some((array, array_item)) => {
                self.check_start(item)?;
                self.check_end(item)?;
                self.check_gaps(array, array_item, true)?;
                self.wait_for_children(array, Place::Statement);
                let name = self.text.get(item.start..array_item.start).unwrap_or_default();
                if name.contains(['$', '`', '\\', '\'', '"']) {
                    return Err(NoWord);
                }
                Word { dynamic_from: Some(name.len()), ..Word::literal(self.source(item)) }
            }
        };
        Ok(word)
    }

    fn test(&mut self, index: usize, item: Item) -> Result<(), NoWord> {
        self.check_gaps(index, item, true)?;
        let source = self.source(item);
        self.command.variables.test(source);
        const EVALUATING: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
        self.evaluates |= EVALUATING.iter().any(|operator| source.contains(operator));
        self.wait_for_children(index, Place::Statement);
        self.found.push(Parts { words: vec![Word::literal(source)], ..Parts::default() });
        Ok(())
    }

    fn substitution(&mut self, index: usize, item: Item) -> Result<(), NoWord> {
        let source = self.source(item);
        if source.starts_with("$((") {
            // Within a heredoc the grammar takes arithmetic for a substitution.
            self.check_arithmetic(source)?;
        }
        if let Some(inner) = source.strip_prefix('`') {
            // Within backticks a backslash means something else, and they end at the next one, quotes or not.
            let inner = inner.strip_suffix('`').ok_or(NoWord)?;
            if inner.contains(['`', '\\']) {
                return Err(NoWord);
            }
        }
        self.check_gaps(index, item, true)?;
        self.wait_for_children(index, Place::Statement);
        Ok(())
    }

    fn arithmetic(&mut self, index: usize, item: Item) -> Result<(), NoWord> {
        self.check_arithmetic(self.source(item))?;
        self.wait_for_children(index, Place::Arithmetic);
        Ok(())
    }

    /// What a person would write there holds no quotes.
    fn check_arithmetic(&mut self, source: &str) -> Result<(), NoWord> {
        self.evaluates = true;
        self.command.variables.evaluate(source);
        // `@` only as an index: as an operator it may run a value.
        let has_operator = source.replace("[@]", "").contains('@');
        if has_operator || source.contains(['\'', '"', '\\', '`']) { Err(NoWord) } else { Ok(()) }
    }

    fn arithmetic_for(&mut self, index: usize, item: Item) -> Result<(), NoWord> {
        self.check_gaps(index, item, true)?;
        let is_body = |kind| matches!(kind, Kind::Container | Kind::Compound);
        let children: Vec<_> = self.items.children(index).collect();
        let body = children.iter().find(|(_, child)| is_body(child.kind)).ok_or(NoWord)?;
        let head = self.text.get(item.start..body.1.start).ok_or(NoWord)?;
        self.check_arithmetic(head.strip_prefix("for").unwrap_or(head))?;
        for (child, child_item) in children {
            let place = if is_body(child_item.kind) { Place::Statement } else { Place::Arithmetic };
            self.waiting.push((child, place));
        }
        Ok(())
    }

    /// Between the parts of a node is nothing but blanks: whatever else a shell sees there, the tree does not.
    fn check_gaps(&self, index: usize, item: Item, newlines: bool) -> Result<(), NoWord> {
        let (start, end) = if index == 0 { (0, self.text.len()) } else { (item.start, item.end) };
        let mut at = start;
        let children = self.items.children(index).map(|(_, child)| (child.start, child.end));
        for (child_start, child_end) in children.chain([(end, end)]) {
            let gap = self.text.get(at..child_start).ok_or(NoWord)?;
            let mut characters = gap.chars();
            while let Some(character) = characters.next() {
                let is_blank = match character {
                    ' ' | '\t' => true,
                    '\n' => newlines,
                    '\\' => characters.next() == Some('\n'),
                    _ => false,
                };
                if !is_blank {
                    return Err(NoWord);
                }
            }
            at = child_end;
        }
        Ok(())
    }

    /// A shell sees a comment only where a word could begin.
    fn check_comment(&self, item: Item) -> Result<(), NoWord> {
        self.check_start(item)?;
        let mut before = self.text.get(..item.start).unwrap_or_default().chars().rev().skip(1);
        if before.next() == Some('\\') { Err(NoWord) } else { Ok(()) }
    }
}
