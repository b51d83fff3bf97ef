//! Properties over random conversations and windows, and a few plain cases.

use proptest::prelude::*;

use super::*;

fn piece(kind: PieceKind, tokens: f64) -> Piece {
    let results =
        if kind == PieceKind::Results { vec![ResultPiece { tokens, is_reference: false }] } else { Vec::new() };
    Piece { kind, tokens, results }
}

/// Prompts, each with some turns of calls and a last answer; the last prompt may be without one.
fn conversation() -> impl Strategy<Value = Vec<Piece>> {
    let turn = (1.0..400.0_f64, 1.0..3000.0_f64);
    let exchange = (1.0..300.0_f64, proptest::collection::vec(turn, 0..6), 1.0..300.0_f64);
    (proptest::collection::vec(exchange, 1..12), any::<bool>()).prop_map(|(exchanges, open)| {
        let mut pieces = Vec::new();
        for (prompt, turns, answer) in exchanges {
            pieces.push(piece(PieceKind::User, prompt));
            for (call, result) in turns {
                pieces.push(piece(PieceKind::Assistant, call));
                pieces.push(piece(PieceKind::Results, result));
            }
            pieces.push(piece(PieceKind::Assistant, answer));
        }
        if open {
            pieces.pop();
        }
        pieces
    })
}

proptest! {
    #[test]
    fn no_cut_parts_a_call_from_its_result_or_drops_the_newest_prompt_or_is_over_the_budget(
        pieces in conversation(),
        window in 500.0..40_000.0_f64,
        fixed in 0.0..300.0_f64,
        shortest in any::<bool>(),
    ) {
        let budget = crate::context::budget(window);
        let summary = summary_tokens(&pieces, fixed, budget, 1.0);
        prop_assert!((MIN_SUMMARY_TOKENS..=MAX_SUMMARY_TOKENS).contains(&summary));
        let newest = pieces.iter().rposition(|piece| piece.kind == PieceKind::User).unwrap();
        let must_stay = fixed + summary + pieces[newest].tokens;
        let Some(Cut { keep_from, keep_user }) = plan_cut(&pieces, fixed, summary, budget, shortest) else {
            // Nothing could go but the newest prompt, or a tail that fits is all that there is.
            let all: f64 = pieces.iter().map(|piece| piece.tokens).sum();
            prop_assert!(pieces.len() == 1 || fixed + summary + all <= budget);
            return Ok(());
        };
        prop_assert!(keep_from <= pieces.len());
        prop_assert!(pieces.get(keep_from).is_none_or(|piece| piece.kind != PieceKind::Results));
        prop_assert!(newest >= keep_from || keep_user == Some(newest));
        let kept: f64 = pieces[keep_from..].iter().map(|piece| piece.tokens).sum();
        let user = keep_user.map_or(0.0, |user| pieces[user].tokens);
        if must_stay <= budget {
            prop_assert!(fixed + summary + kept + user <= budget + 1e-6);
        } else {
            prop_assert_eq!((keep_from, keep_user), (pieces.len(), Some(newest)));
        }
    }

    #[test]
    fn references_leave_the_newest_turns_alone(pieces in conversation()) {
        let turns: Vec<usize> =
            (0..pieces.len()).filter(|index| pieces[*index].kind == PieceKind::Results).collect();
        let newest: Vec<usize> = turns.iter().rev().take(TURNS_KEPT_WHOLE).copied().collect();
        for (message, position) in plan_references(&pieces) {
            prop_assert!(!newest.contains(&message));
            prop_assert!(pieces[message].results[position].tokens >= WORTH_A_REFERENCE);
        }
    }
}

#[test]
fn one_long_run_of_one_prompt_keeps_the_prompt_and_its_last_turns() {
    let mut pieces = vec![piece(PieceKind::User, 50.0)];
    for _ in 0..100 {
        pieces.push(piece(PieceKind::Assistant, 20.0));
        pieces.push(piece(PieceKind::Results, 80.0));
    }
    let cut = plan_cut(&pieces, 0.0, 200.0, 8000.0, false).unwrap();
    assert_eq!(cut.keep_user, Some(0));
    assert!(cut.keep_from > 100 && cut.keep_from < pieces.len());
}

#[test]
fn a_conversation_of_one_prompt_has_nothing_to_summarise() {
    assert_eq!(plan_cut(&[piece(PieceKind::User, 50.0)], 0.0, 10.0, 800.0, true), None);
    assert_eq!(plan_cut(&[], 0.0, 10.0, 800.0, true), None);
}

#[test]
fn where_the_newest_prompt_alone_is_over_the_budget_all_else_goes() {
    let mut pieces =
        vec![piece(PieceKind::User, 50.0), piece(PieceKind::Assistant, 20.0), piece(PieceKind::User, 900.0)];
    let cut = Some(Cut { keep_from: 3, keep_user: Some(2) });
    assert_eq!(plan_cut(&pieces, 10.0, summary_tokens(&pieces, 10.0, 800.0, 1.0), 800.0, false), cut);
    pieces.push(piece(PieceKind::Assistant, 20.0));
    pieces.push(piece(PieceKind::Results, 80.0));
    let cut = Some(Cut { keep_from: 5, keep_user: Some(2) });
    assert_eq!(plan_cut(&pieces, 10.0, 64.0, 800.0, false), cut);
    assert_eq!(plan_cut(&[piece(PieceKind::User, 900.0)], 10.0, 64.0, 800.0, false), None);
}

#[test]
fn a_summary_beside_a_long_prompt_leaves_room_in_the_window() {
    let pieces = [piece(PieceKind::User, 50.0), piece(PieceKind::User, 170_000.0)];
    let tokens = summary_tokens(&pieces, 1_000.0, 160_000.0, 1.0);
    assert!(tokens > 1_000.0 && 171_000.0 + tokens < 200_000.0, "{tokens}");
    assert!((summary_tokens(&pieces[..1], 1_000.0, 40_000.0, 1.0) - 4_000.0).abs() < 1e-6);
    assert!((summary_tokens(&pieces[..1], 1_000.0, 40_000.0, 2.0) - 2_000.0).abs() < 1e-6);
    assert!((summary_tokens(&pieces, 1_000.0, 40_000.0, 1.0) - MIN_SUMMARY_TOKENS).abs() < 1e-6);
}

#[test]
fn estimates_are_scaled_to_what_was_counted() {
    let mut pieces = [piece(PieceKind::User, 50.0), piece(PieceKind::Assistant, 40.0)];
    let mut fixed = 10.0;
    assert_eq!(scale_to(300.0, &mut pieces, &mut fixed), 3.0);
    assert_eq!((fixed, pieces[0].tokens, pieces[1].tokens), (30.0, 150.0, 120.0));
    for counted in [0.0, f64::NAN, f64::INFINITY] {
        assert_eq!(scale_to(counted, &mut pieces, &mut fixed), 1.0);
        assert_eq!((fixed, pieces[0].tokens), (30.0, 150.0));
    }
    let mut nothing = 0.0;
    assert_eq!(scale_to(300.0, &mut [], &mut nothing), 1.0);
    assert_eq!(nothing, 0.0);
}
