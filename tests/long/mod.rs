//! How long the long proofs are: `LITE_AGENT_LONG=1` runs them in full, otherwise a tenth of them.

/// So many cases by default, ten times as many in full.
#[expect(
    clippy::disallowed_methods,
    reason = "a switch of the tests, read before they begin; nothing sets it meanwhile"
)]
pub fn cases(share: u32) -> u32 {
    match std::env::var("LITE_AGENT_LONG").as_deref() {
        Ok("1") => share * 10,
        _ => share,
    }
}
