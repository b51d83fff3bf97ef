//! The syntax tree of a shell command, flat: nodes in the order of the text. Bounded in bytes, in levels, in work and in
//! time; what goes over a bound, or holds an error, is no tree. Knows nothing of what the nodes mean for a rule.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::decode::Characters;
use crate::work_time::work_time;

pub(super) const MAX_BYTES: usize = 32 * 1024;
pub(super) const MAX_LEVELS: usize = 200;

/// How often the parser asks whether to go on. What a person would write takes a fraction of it.
const MAX_PROGRESS_CALLS: usize = 250;
/// Only for what the bounds above miss: of work, so that no verdict depends on what else the machine does.
const MAX_PARSE_TIME: Duration = Duration::from_millis(10);

/// The parser looks at a pipeline in many ways at once, and takes long between two looks at the clock.
const MAX_PIPES: usize = 500;

/// Where each expansion that begins at a byte ends.
pub(super) type Ends = HashMap<usize, usize>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Holds statements and tokens, and means nothing by itself.
    Container,
    /// The same, as a level: `if`, `while`, `for`, `case`, a function.
    Nested,
    /// `for` and `select`, over words.
    Loop,
    /// `{ … }` or `(( … ))`.
    Compound,
    Redirected,
    Command,
    CommandName,
    /// `declare`, `export`, `unset` and the like: commands that the grammar tells apart.
    Declaration,
    Test,
    Assignment,
    Array,
    FileRedirect,
    HeredocRedirect,
    HerestringRedirect,
    FileDescriptor,
    HeredocStart,
    HeredocBody,
    HeredocEnd,
    Word,
    RawString,
    Regex,
    /// Part of a word, of an expansion or of an expression.
    Part,
    Expression,
    Subshell,
    CommandSubstitution,
    ProcessSubstitution,
    ArithmeticExpansion,
    /// `${…}` and `$name`.
    Expansion,
    ArithmeticFor,
    Comment,
    Token,
}

impl Kind {
    fn of(node: &Node<'_>) -> Option<Kind> {
        if !node.is_named() {
            return Some(Kind::Token);
        }
        Some(match node.kind() {
            "program" | "list" | "pipeline" | "elif_clause" | "else_clause" | "do_group" | "case_item"
            | "negated_command" => Kind::Container,
            "if_statement" | "while_statement" | "case_statement" | "function_definition" => Kind::Nested,
            "for_statement" => Kind::Loop,
            "compound_statement" => Kind::Compound,
            "subshell" => Kind::Subshell,
            "redirected_statement" => Kind::Redirected,
            "command" => Kind::Command,
            "command_name" => Kind::CommandName,
            "declaration_command" | "unset_command" => Kind::Declaration,
            "test_command" => Kind::Test,
            "variable_assignment" => Kind::Assignment,
            "variable_assignments" => Kind::Container,
            "array" => Kind::Array,
            "file_redirect" => Kind::FileRedirect,
            "heredoc_redirect" => Kind::HeredocRedirect,
            "herestring_redirect" => Kind::HerestringRedirect,
            "file_descriptor" => Kind::FileDescriptor,
            "heredoc_start" => Kind::HeredocStart,
            "heredoc_body" => Kind::HeredocBody,
            "heredoc_end" => Kind::HeredocEnd,
            "word" | "number" | "string" | "translated_string" | "ansi_c_string" | "concatenation"
            | "brace_expression" | "extglob_pattern" => Kind::Word,
            "raw_string" => Kind::RawString,
            "regex" => Kind::Regex,
            "string_content"
            | "heredoc_content"
            | "variable_name"
            | "special_variable_name"
            | "test_operator"
            | "subscript" => Kind::Part,
            "binary_expression"
            | "unary_expression"
            | "ternary_expression"
            | "postfix_expression"
            | "parenthesized_expression" => Kind::Expression,
            "command_substitution" => Kind::CommandSubstitution,
            "process_substitution" => Kind::ProcessSubstitution,
            "arithmetic_expansion" => Kind::ArithmeticExpansion,
            "expansion" | "simple_expansion" => Kind::Expansion,
            "c_style_for_statement" => Kind::ArithmeticFor,
            "comment" => Kind::Comment,
            // A later grammar may know more than is looked at here.
            _ => return None,
        })
    }

    pub(super) fn is_word(self) -> bool {
        matches!(self, Kind::Word | Kind::RawString) || self.is_expansion()
    }

    pub(super) fn is_expansion(self) -> bool {
        matches!(
            self,
            Kind::CommandSubstitution | Kind::ProcessSubstitution | Kind::ArithmeticExpansion | Kind::Expansion
        )
    }

    /// Whether it is a level of nesting: a list of many commands is none, however the grammar builds it.
    fn nests(self) -> bool {
        matches!(
            self,
            Kind::Nested
                | Kind::Loop
                | Kind::Compound
                | Kind::Subshell
                | Kind::Expression
                | Kind::ArithmeticFor
                | Kind::Array
        ) || self.is_expansion()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// The index after its last descendant.
    pub next: usize,
}

/// All nodes, parents before children, in the order of the text.
pub(super) struct Items {
    pub all: Vec<Item>,
    pub ends: Ends,
}

impl Items {
    pub(super) fn get(&self, index: usize) -> Option<Item> {
        self.all.get(index).copied()
    }

    /// The indexes of a node's children.
    pub(super) fn children(&self, parent: usize) -> impl Iterator<Item = (usize, Item)> + '_ {
        let end = self.get(parent).map_or(0, |item| item.next);
        let mut index = parent + 1;
        std::iter::from_fn(move || {
            let item = self.get(index).filter(|_| index < end)?;
            let found = (index, item);
            index = item.next.max(index + 1);
            Some(found)
        })
    }
}

/// The nodes of a text; nothing if it cannot be parsed within the bounds.
pub(super) fn parse(text: &str) -> Option<Items> {
    let pipes = text.bytes().filter(|byte| *byte == b'|').count();
    if is_lopsided(text) || pipes > MAX_PIPES { None } else { flatten(&parse_tree(text)?) }
}

/// Whether more brackets or compound commands are open, or closed too often, than there may be levels. The parser would
/// find it as well, and takes long for it.
fn is_lopsided(text: &str) -> bool {
    let brackets = [(b'(', b')'), (b'[', b']'), (b'{', b'}')];
    let words = [("if", "fi"), ("do", "done"), ("case", "esac")];
    brackets.iter().any(|(opening, closing)| drifts(text.bytes(), opening, closing))
        || words.iter().any(|(opening, closing)| {
            drifts(text.split(|character: char| !character.is_ascii_alphanumeric()), opening, closing)
        })
}

fn drifts<T: PartialEq>(mut tokens: impl Iterator<Item = T>, opening: &T, closing: &T) -> bool {
    let mut open = 0_usize;
    let mut closed = 0_usize;
    tokens.any(|token| {
        open += usize::from(token == *opening);
        closed += usize::from(token == *closing);
        open.abs_diff(closed) > MAX_LEVELS
    })
}

fn parse_tree(text: &str) -> Option<Tree> {
    thread_local! {
        static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
    }
    PARSER.with_borrow_mut(|kept| {
        if kept.is_none() {
            let mut parser = Parser::new();
            parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *kept = Some(parser);
        }
        let parser = kept.as_mut()?;
        let start = work_time();
        let mut calls = 0;
        let mut progress = |state: &tree_sitter::ParseState| {
            calls += 1;
            // How the parser would recover is of no interest, and can take seconds.
            let over =
                state.has_error() || calls > MAX_PROGRESS_CALLS || work_time().saturating_sub(start) > MAX_PARSE_TIME;
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let bytes = text.as_bytes();
        // The whole text at once: the scanner is not to be trusted with a text that ends early.
        let mut rest = |at: usize, _| bytes.get(at..).unwrap_or_default();
        let tree = parser.parse_custom_encoding::<Characters, _, _>(&mut rest, None, Some(options));
        if tree.is_none() {
            // What was stopped would go on with the next text otherwise.
            parser.reset();
        }
        tree.filter(|tree| !tree.root_node().has_error())
    })
}

fn flatten(tree: &Tree) -> Option<Items> {
    let mut all: Vec<Item> = Vec::new();
    let mut ends = Ends::new();
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut levels = 0;
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return None;
        }
        let kind = Kind::of(&node)?;
        if kind.is_expansion() {
            ends.insert(node.start_byte(), node.end_byte());
        }
        levels += usize::from(kind.nests());
        if levels > MAX_LEVELS {
            return None;
        }
        open.push((all.len(), kind.nests()));
        all.push(Item { kind, start: node.start_byte(), end: node.end_byte(), next: 0 });
        if cursor.goto_first_child() {
            continue;
        }
        loop {
            let (index, nests) = open.pop()?;
            levels -= usize::from(nests);
            let next = all.len();
            if let Some(item) = all.get_mut(index) {
                item.next = next;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return Some(Items { all, ends });
            }
        }
    }
}
