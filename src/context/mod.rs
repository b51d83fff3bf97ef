//! What of a conversation may make room for the rest, once it comes near the end of the model's window. Pure: works on
//! outlines with token counts, and knows no messages, no model and no store.

mod plan;

pub use plan::{Cut, Piece, PieceKind, ResultPiece, plan_cut, plan_references, scale_to, summary_tokens};

/// A conversation is compacted once it fills so much of the window.
const DUE: f64 = 0.8;
/// A compaction that frees less than this is not worth it.
const WORTHWHILE: f64 = 0.05;
/// After one that was not, the conversation must grow by this before the next.
const GROWTH: f64 = 1.1;

/// Whether a conversation of so many tokens wants to be compacted.
pub fn is_due(tokens: f64, window: f64) -> bool {
    tokens >= window * DUE
}

/// What a compacted conversation may come to.
pub fn budget(window: f64) -> f64 {
    window * DUE
}

/// After a compaction: the size below which none is tried, so that one that frees nothing is not tried again before each
/// model call.
pub fn quiet_below(before: f64, after: f64) -> f64 {
    if after > before * (1.0 - WORTHWHILE) { after * GROWTH } else { 0.0 }
}

/// The same after a compaction of our own. Where it left more than the budget nothing is left that could go, until the
/// conversation has grown.
pub fn quiet_below_own(before: f64, after: f64, budget: f64) -> f64 {
    if after >= budget { after * GROWTH } else { quiet_below(before, after) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compaction_that_freed_little_is_not_tried_until_the_conversation_has_grown() {
        assert!((quiet_below(800.0, 790.0) - 869.0).abs() < 1e-6);
        assert!(quiet_below(870.0, 400.0) < 1.0);
        assert!((quiet_below_own(2000.0, 900.0, 800.0) - 990.0).abs() < 1e-6);
        assert!(quiet_below_own(870.0, 400.0, 800.0) < 1.0);
    }
}
