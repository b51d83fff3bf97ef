//! Which tool results become references, and where a conversation is cut. A call and its result are never parted, and the
//! newest user message always stays.

use serde::Deserialize;

use super::DUE;

/// Of the newest turns so many keep their results whole.
const TURNS_KEPT_WHOLE: usize = 3;
/// A result of fewer tokens is not worth a reference.
const WORTH_A_REFERENCE: f64 = 64.0;
/// What a reference costs in a result's place.
const REFERENCE_TOKENS: f64 = 48.0;
/// So much of the budget the newest turns may keep, beside the summary.
const TAIL_SHARE: f64 = 0.35;
/// What a summary may come to: a share of the budget, within bounds. In tokens.
const SUMMARY_SHARE: f64 = 0.1;
const MIN_SUMMARY_TOKENS: f64 = 64.0;
const MAX_SUMMARY_TOKENS: f64 = 8192.0;
/// Where what must stay fills the window nearly, so much of what it leaves.
const SUMMARY_SHARE_OF_REST: f64 = 0.5;

/// One message of a conversation.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Piece {
    pub kind: PieceKind,
    pub tokens: f64,
    /// Of a message of results: each of them.
    #[serde(default)]
    pub results: Vec<ResultPiece>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceKind {
    User,
    Assistant,
    /// Tool results, which follow the calls of the message before.
    Results,
}

/// One tool result.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResultPiece {
    pub tokens: f64,
    /// It is a reference already.
    pub is_reference: bool,
}

/// Where a conversation is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first message that stays; all before are summarised.
    pub keep_from: usize,
    /// The newest user message, where it is among those before: it stays as well.
    pub keep_user: Option<usize>,
}

/// The results that become references, as (message, position in it), oldest first. None of the newest turns.
pub fn plan_references(pieces: &[Piece]) -> Vec<(usize, usize)> {
    let turns = pieces.iter().filter(|piece| piece.kind == PieceKind::Results).count();
    let old_turns = turns.saturating_sub(TURNS_KEPT_WHOLE);
    let mut planned = Vec::new();
    let results = pieces.iter().enumerate().filter(|(_, piece)| piece.kind == PieceKind::Results);
    for (message, piece) in results.take(old_turns) {
        for (position, result) in piece.results.iter().enumerate() {
            if !result.is_reference && result.tokens >= WORTH_A_REFERENCE.max(REFERENCE_TOKENS) {
                planned.push((message, position));
            }
        }
    }
    planned
}

/// A provider counts otherwise than an estimate does. Makes estimates of a conversation, and of what a request has beside it,
/// come to the tokens that were counted. Answers how many of those an estimated one is.
pub fn scale_to(tokens: f64, pieces: &mut [Piece], fixed: &mut f64) -> f64 {
    let estimated = *fixed + pieces.iter().map(|piece| piece.tokens).sum::<f64>();
    let scale = tokens / estimated;
    if !scale.is_normal() || scale <= 0.0 {
        return 1.0;
    }
    *fixed *= scale;
    for piece in pieces {
        piece.tokens *= scale;
    }
    scale
}

/// How long a summary may be, in a conversation that is to come to no more than `budget`: in estimated tokens, of which each
/// is counted as `scale`.
pub fn summary_tokens(pieces: &[Piece], fixed: f64, budget: f64, scale: f64) -> f64 {
    let newest_user = pieces.iter().rfind(|piece| piece.kind == PieceKind::User);
    let rest = budget / DUE - fixed - newest_user.map_or(0.0, |piece| piece.tokens);
    let counted = (budget * SUMMARY_SHARE).min(rest * SUMMARY_SHARE_OF_REST);
    (counted / scale).clamp(MIN_SUMMARY_TOKENS, MAX_SUMMARY_TOKENS)
}

/// Where to cut so that what stays, beside a summary of `summary` tokens and `fixed` tokens of other things in a request,
/// comes to no more than `budget`; with `shortest`, as little as can be stays. Where what must stay is over the budget by
/// itself, all else goes. None where nothing could be summarised.
pub fn plan_cut(pieces: &[Piece], fixed: f64, summary: f64, budget: f64, shortest: bool) -> Option<Cut> {
    let newest_user = pieces.iter().rposition(|piece| piece.kind == PieceKind::User);
    let tokens_of = |index: Option<usize>| index.and_then(|index| pieces.get(index)).map_or(0.0, |piece| piece.tokens);
    let room = budget - fixed - summary;
    let share = if shortest { 0.0 } else { room * TAIL_SHARE };
    let mut tail = 0.0;
    let mut keep_from = None;
    // From the end: the longest tail within its share, and if none is, the shortest within the budget.
    for (index, piece) in pieces.iter().enumerate().rev() {
        tail += piece.tokens;
        if piece.kind == PieceKind::Results {
            continue;
        }
        let kept_user = newest_user.filter(|user| *user < index);
        let total = tail + tokens_of(kept_user);
        if total > room || (total > share && keep_from.is_some()) {
            break;
        }
        keep_from = Some(index);
    }
    // Nothing but the newest user message, if not even the last turn fits: whether that fits or not, nothing else can go.
    let keep_from = keep_from.unwrap_or(pieces.len());
    let keep_user = newest_user.filter(|user| *user < keep_from);
    let summarised = keep_from - usize::from(keep_user.is_some());
    (summarised > 0).then_some(Cut { keep_from, keep_user })
}

#[cfg(test)]
#[path = "plan_test.rs"]
mod tests;
