//! Characters on which the grammar and a shell disagree: where words end, and what may not stand in a text at all.

use super::tree::{Item, Items, Kind};
use super::word::NoWord;

/// Where a shell lets a word begin and end.
pub(super) fn is_boundary(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' | '`')
}

/// Characters that the grammar reads otherwise than a shell does.
pub(super) fn check_characters(text: &str, items: &Items) -> Result<(), NoWord> {
    let is_within = |at: usize, kinds: &dyn Fn(Item) -> bool| {
        items.all.iter().any(|item| item.start <= at && at < item.end && kinds(*item))
    };
    let is_text = |item: Item| {
        let source = text.get(item.start..item.end).unwrap_or_default();
        matches!(item.kind, Kind::RawString | Kind::HeredocBody | Kind::Comment)
            || (item.kind == Kind::Word && source.starts_with('"'))
    };
    let mut before = '\n';
    let mut escapes = false;
    let mut continues_word = false;
    for (at, character) in text.char_indices() {
        if continues_word && !matches!(character, ' ' | '\t' | '\n') {
            // In the middle of a word, where the grammar begins a new one.
            if !is_within(at - 1, &|item| item.kind == Kind::RawString) {
                return Err(NoWord);
            }
        }
        continues_word = false;
        let is_odd = (character.is_control() && !matches!(character, '\t' | '\n'))
            || (character.is_whitespace() && !character.is_ascii())
            || character == '\u{FEFF}';
        if is_odd && (character.is_control() || !is_within(at, &is_text)) {
            return Err(NoWord);
        }
        if escapes && character == '\n' {
            continues_word = !matches!(before, ' ' | '\t' | '\n');
        }
        if character == '\\' && !escapes {
            escapes = true;
        } else {
            escapes = false;
            before = character;
        }
    }
    Ok(())
}
