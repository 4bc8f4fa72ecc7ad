//! One table a file: its options, its head and its lines.

pub mod cube;
pub mod dcop;
pub mod decide;
pub mod fang;
pub mod mbe;

use clap::builder::PossibleValue;

/// Names of options with their meaning.
fn named(words: &'static [(&'static str, &'static str)]) -> Vec<PossibleValue> {
    words.iter().map(|&(name, about)| PossibleValue::new(name).help(about)).collect()
}
