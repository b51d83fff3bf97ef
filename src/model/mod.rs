//! What a model is asked and what it answers: checks of both. Native providers come later.

pub mod well_formed;

mod answer;

pub use answer::{ModelAnswer, read_answer};
