//! One word of a shell command as the shell would make it: quotes removed, and where it is not known before the command
//! runs. Reads the source on its own and trusts the tree only for where an expansion ends, so that a word which the tree
//! took for longer or shorter than a shell would is found out. Knows nothing of commands.

use super::tree::Ends;

/// Why a source is no word: the command counts as one that cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoWord;

/// A word with its quotes removed; expansions stand in it as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    /// From which byte of `text` on it is known only when the command runs.
    pub dynamic_from: Option<usize>,
    /// Where in `text` its last expansion ends.
    pub dynamic_end: usize,
    /// An expansion stands outside quotes, so that it may be several words or none.
    pub splits: bool,
    pub quoted: bool,
    /// It is a pattern of file names.
    pub has_glob: bool,
    /// Quoting kept a `$` or a backtick from being an expansion.
    pub literal_dollar: bool,
}

impl Word {
    pub(super) fn literal(text: &str) -> Word {
        Word { text: text.to_string(), ..Word::default() }
    }

    /// Takes text that stood between quotes.
    pub(super) fn quote(&mut self, text: &str) {
        self.text.push_str(text);
        self.quoted = true;
    }

    /// A word of which nothing is known.
    pub(super) fn unknown() -> Word {
        Word { dynamic_from: Some(0), splits: true, ..Word::default() }
    }

    pub(super) fn is_static(&self) -> bool {
        self.dynamic_from.is_none()
    }

    fn mark_dynamic(&mut self, quoted: bool) {
        let here = self.text.len();
        self.dynamic_from.get_or_insert(here);
        self.splits |= !quoted;
    }
}

/// Reads all of `source`, which begins at byte `offset` of the command, as one word.
///
/// # Errors
/// It is more or less than one word, or not closed.
pub(super) fn read_word(source: &str, offset: usize, ends: &Ends) -> Result<Word, NoWord> {
    let mut reader = Reader { source, at: 0, offset, ends, word: Word::default(), brace: None };
    while let Some(character) = reader.peek() {
        reader.unquoted(character)?;
    }
    Ok(reader.word)
}

/// Checks the body of a heredoc whose delimiter was not quoted: every expansion in it is one of the tree.
///
/// # Errors
/// A shell would see an expansion that the tree does not know.
pub(super) fn check_heredoc(source: &str, offset: usize, ends: &Ends) -> Result<Word, NoWord> {
    let mut reader = Reader { source, at: 0, offset, ends, word: Word::default(), brace: None };
    while let Some(character) = reader.peek() {
        if character == '"' {
            reader.push();
        } else {
            reader.quoted(character)?;
        }
    }
    Ok(reader.word)
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    offset: usize,
    ends: &'a Ends,
    word: Word,
    /// Where in the word's text an unquoted brace opened, if one did.
    brace: Option<usize>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn rest(&self) -> &str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Takes a character as it is.
    fn push(&mut self) {
        if let Some(character) = self.skip() {
            self.word.text.push(character);
        }
    }

    fn push_quoted(&mut self, character: char) {
        self.word.literal_dollar |= matches!(character, '$' | '`');
        self.word.text.push(character);
    }

    fn unquoted(&mut self, character: char) -> Result<(), NoWord> {
        match character {
            '\\' => {
                self.skip();
                self.word.quoted = true;
                match self.skip() {
                    None => return Err(NoWord),
                    Some('\n') => {}
                    Some(escaped) => self.push_quoted(escaped),
                }
            }
            '\'' => {
                self.skip();
                self.word.quoted = true;
                loop {
                    match self.skip() {
                        None => return Err(NoWord),
                        Some('\'') => break,
                        Some(inner) => self.push_quoted(inner),
                    }
                }
            }
            '"' => self.double_quotes()?,
            '$' => self.dollar(false)?,
            '`' => self.expansion(false)?,
            '<' | '>' if self.rest().get(1..2) == Some("(") => self.expansion(false)?,
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => return Err(NoWord),
            '*' | '?' | '[' => {
                self.glob();
                self.push();
            }
            '{' => {
                let here = self.word.text.len();
                self.brace.get_or_insert(here);
                self.push();
            }
            ',' | '.' if self.brace.is_some() && (character == ',' || self.rest().starts_with("..")) => {
                self.brace_expansion();
                self.push();
            }
            _ => self.push(),
        }
        Ok(())
    }

    /// `{a,b}` and `{1..9}` become several words.
    fn brace_expansion(&mut self) {
        let from = self.brace.unwrap_or_default().min(self.word.dynamic_from.unwrap_or(usize::MAX));
        self.word.dynamic_from = Some(from);
        self.word.dynamic_end = self.word.text.len() + 1;
        self.word.splits = true;
    }

    /// A pattern of file names may become any word that such a file has. What begins with plain text cannot become an
    /// option; what begins with `-`, or with a pattern, can.
    fn glob(&mut self) {
        self.word.has_glob = true;
        let may_be_option = self.word.text.is_empty() || self.word.text.starts_with('-');
        let is_class = self.rest().starts_with('[') || self.rest().starts_with('?');
        if may_be_option && (is_class || !self.word.text.is_empty()) {
            self.mark_dynamic_here();
        }
    }

    fn mark_dynamic_here(&mut self) {
        self.word.mark_dynamic(false);
        self.word.dynamic_end = self.word.text.len() + 1;
    }

    fn double_quotes(&mut self) -> Result<(), NoWord> {
        self.skip();
        self.word.quoted = true;
        loop {
            match self.peek() {
                None => return Err(NoWord),
                Some('"') => break,
                Some(character) => self.quoted(character)?,
            }
        }
        self.skip();
        Ok(())
    }

    /// A character between double quotes, or in a heredoc.
    fn quoted(&mut self, character: char) -> Result<(), NoWord> {
        match character {
            '\\' => {
                self.skip();
                match self.peek() {
                    Some('\n') => {
                        self.skip();
                    }
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => {
                        self.skip();
                        self.push_quoted(escaped);
                    }
                    _ => self.word.text.push('\\'),
                }
            }
            '$' => self.dollar(true)?,
            '`' => self.expansion(true)?,
            _ => self.push(),
        }
        Ok(())
    }

    fn dollar(&mut self, quoted: bool) -> Result<(), NoWord> {
        let mut after = self.rest().chars().skip(1);
        match after.next() {
            Some('\'') if !quoted => {
                self.at += 2;
                self.ansi_c()
            }
            Some('"') if !quoted => {
                self.at += 1;
                self.double_quotes()
            }
            Some('(' | '{' | '[' | '*' | '@' | '#' | '?' | '-' | '$' | '!' | '_') => self.expansion(quoted),
            Some(next) if next.is_ascii_alphanumeric() => self.expansion(quoted),
            _ => {
                self.push();
                Ok(())
            }
        }
    }

    /// Takes an expansion whole, to where the tree says that it ends.
    fn expansion(&mut self, quoted: bool) -> Result<(), NoWord> {
        let end = self.ends.get(&(self.offset + self.at)).ok_or(NoWord)? - self.offset;
        let source = self.source.get(self.at..end).filter(|source| !source.is_empty()).ok_or(NoWord)?;
        if source.starts_with("${") && !self.has_plain_braces(source) {
            return Err(NoWord);
        }
        self.word.mark_dynamic(quoted);
        self.word.text.push_str(source);
        self.word.dynamic_end = self.word.text.len();
        self.at = end;
        Ok(())
    }

    /// `${…}` without quotes and nested braces of its own. `@` only as an index: as an operator it may run a value.
    fn has_plain_braces(&self, source: &str) -> bool {
        let Some(inner) = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else { return false };
        let mut at = 0;
        let mut before = ' ';
        while let Some(character) = inner.get(at..).and_then(|rest| rest.chars().next()) {
            let nested = self.ends.get(&(self.offset + self.at + 2 + at));
            match character {
                '$' | '`' => match nested.and_then(|end| end.checked_sub(self.offset + self.at + 2)) {
                    // Only a plain nested one: a second level of braces is not looked into.
                    Some(end) if end > at && !inner.get(at..end).unwrap_or("{").contains('{') => {
                        at = end;
                        before = ' ';
                        continue;
                    }
                    _ => return false,
                },
                '@' if before != '[' && at != 0 => return false,
                '\'' | '"' | '\\' | '{' | '}' | '(' | ')' | '<' | '>' | '\n' => return false,
                _ => {}
            }
            before = character;
            at += character.len_utf8();
        }
        true
    }

    /// The rest of `$'…'`.
    fn ansi_c(&mut self) -> Result<(), NoWord> {
        self.word.quoted = true;
        loop {
            match self.skip().ok_or(NoWord)? {
                '\'' => return Ok(()),
                '\\' => self.ansi_c_escape()?,
                other => self.push_quoted(other),
            }
        }
    }

    fn ansi_c_escape(&mut self) -> Result<(), NoWord> {
        let letter = self.skip().ok_or(NoWord)?;
        let plain = match letter {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => letter,
            'x' => return self.coded(16, 2, 0),
            'u' => return self.coded(16, 4, 0),
            'U' => return self.coded(16, 8, 0),
            '0'..='7' => return self.coded(8, 2, letter.to_digit(8).unwrap_or_default()),
            'c' => return Err(NoWord),
            other => {
                self.word.text.push('\\');
                other
            }
        };
        self.push_quoted(plain);
        Ok(())
    }

    /// A character by its code. Bytes that are no character by themselves are not followed, nor is the end of the text
    /// that NUL is.
    fn coded(&mut self, radix: u32, most: usize, first: u32) -> Result<(), NoWord> {
        let mut code = first;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|character| character.to_digit(radix)) else { break };
            self.skip();
            code = code.checked_mul(radix).and_then(|code| code.checked_add(digit)).ok_or(NoWord)?;
        }
        let is_byte = radix == 8 || most == 2;
        let character = char::from_u32(code).filter(|_| code != 0 && !(is_byte && code > 0x7f)).ok_or(NoWord)?;
        self.push_quoted(character);
        Ok(())
    }
}
