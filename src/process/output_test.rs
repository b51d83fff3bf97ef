//! Output is kept in order and decoded without tearing characters, however it comes in pieces.

use proptest::prelude::*;

use super::output::{Capture, Output, Stream, Taken};
use super::text::Utf8Decoder;

fn decoded(pieces: &[&[u8]], cut: bool) -> String {
    let mut decoder = Utf8Decoder::default();
    let mut text = String::new();
    for piece in pieces {
        decoder.push(piece, &mut text);
    }
    decoder.finish(cut, &mut text);
    text
}

fn captured(pieces: &[(Stream, &[u8])], max_bytes: usize) -> (Output, Taken) {
    let mut capture = Capture::new(max_bytes);
    let mut taken = Taken::All;
    for (stream, piece) in pieces {
        taken = capture.take(*stream, piece);
    }
    if taken == Taken::All {
        capture.end(Stream::Stdout);
        capture.end(Stream::Stderr);
    }
    (capture.into_output(), taken)
}

#[test]
fn a_character_in_two_pieces_is_one_character() {
    assert_eq!(decoded(&[b"a\xe2", b"\x80", b"\x94b"], false), "a—b");
    assert_eq!(decoded(&[b"\xf0\x9f", b"\x98\x80"], false), "😀");
}

#[test]
fn what_a_program_left_open_is_replaced_and_what_we_cut_is_left_out() {
    assert_eq!(decoded(&[b"a\xe2\x80"], false), "a\u{fffd}");
    assert_eq!(decoded(&[b"a\xe2\x80"], true), "a");
    assert_eq!(decoded(&[b"a\xff"], true), "a\u{fffd}");
}

#[test]
fn streams_that_take_turns_keep_their_order_and_their_characters() {
    use Stream::{Stderr, Stdout};
    let pieces: &[(Stream, &[u8])] =
        &[(Stderr, b"\xe2"), (Stdout, b"a"), (Stdout, b"b"), (Stderr, b"\x80\x94"), (Stdout, b"c")];
    let (output, taken) = captured(pieces, 100);
    assert_eq!(taken, Taken::All);
    let found: Vec<_> = output.pieces().collect();
    assert_eq!(found, [(Stderr, &b"\xe2"[..]), (Stdout, b"ab"), (Stderr, b"\x80\x94"), (Stdout, b"c")]);
    assert_eq!(output.text(), "ab—c");
    assert_eq!(output.text_of(Stderr), "—");
    assert_eq!(output.bytes_of(Stdout), b"abc");
}

#[test]
fn the_limit_holds_to_the_byte_and_is_shared() {
    use Stream::{Stderr, Stdout};
    assert_eq!(captured(&[(Stdout, b"abc"), (Stderr, b"de")], 5).1, Taken::All);
    let (output, taken) = captured(&[(Stdout, b"abc"), (Stderr, b"def")], 5);
    assert_eq!((output.bytes(), taken), (&b"abcde"[..], Taken::Full));
    let (output, _) = captured(&[(Stdout, "ab—".as_bytes())], 4);
    assert_eq!(output.text(), "ab");
    assert_eq!(captured(&[], 0).1, Taken::All);
}

proptest! {
    #[test]
    fn pieces_decode_as_the_whole(bytes: Vec<u8>, cuts in prop::collection::vec(0usize..64, 0..8)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decoded(&pieces, false), String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_text_cut_anywhere_is_its_beginning(text: String, at: prop::sample::Index) {
        let at = at.index(text.len() + 1);
        let cut = decoded(&[&text.as_bytes()[..at]], true);
        prop_assert!(text.starts_with(&cut));
        prop_assert!(text.len() - cut.len() < 4 + text.len() - at);
    }
}
