//! The tables, one per file: options, head and lines.

pub mod cube;
pub mod dcop;
pub mod decide;
pub mod fang;
pub mod large;
pub mod mbe;

use clap::builder::PossibleValue;

/// Returns possible values of an option with their help.
fn named(words: &'static [(&'static str, &'static str)]) -> Vec<PossibleValue> {
    words.iter().map(|&(name, about)| PossibleValue::new(name).help(about)).collect()
}
