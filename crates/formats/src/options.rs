//! Options of formats.

use crate::error::Error;
use std::str::FromStr;

/// Options for reading some formats: `ReadOptions::default().with(|options| options.colors = Some(3))`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The number of decimal digits kept of real numbers; determined by their range if `None`.
    pub precision: Option<u32>,
    /// The number of colors of a `.col` graph.
    pub colors: Option<u32>,
    /// The values of the variables of a `.coo`; those that the file states if `None`.
    pub vartype: Option<Vartype>,
}

/// The values of the variables of a quadratic sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vartype {
    /// Values 0 and 1.
    Binary,
    /// Values -1 and +1.
    Spin,
}

impl FromStr for Vartype {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match &name.to_ascii_lowercase()[..] {
            "binary" => Ok(Vartype::Binary),
            "spin" => Ok(Vartype::Spin),
            _ => Err(Error::Usage(format!("unknown vartype `{}`; known are binary and spin", name.escape_debug()))),
        }
    }
}

impl ReadOptions {
    /// Returns the options after a change.
    pub fn with(mut self, change: impl FnOnce(&mut ReadOptions)) -> ReadOptions {
        change(&mut self);
        self
    }
}
