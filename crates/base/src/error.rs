//! Errors, with what readers need to correct the cause.

use crate::terminal::{among, line, path as shown};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// An error. The command line turns errors for which [`Error::is_input`] holds into exit code 2, all others into 1.
#[derive(Debug, Error)]
pub enum Error {
    /// A file that cannot be parsed.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A file or stream that cannot be read.
    #[error("{}: cannot read: {source}", shown(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file or stream that cannot be written, or another failure of the system with it.
    #[error("{}: {action}: {source}", shown(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// The failed action, such as `cannot write`.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// A network that cannot be built.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Options that are incompatible with each other or with the problem.
    #[error("{0}")]
    Usage(String),
    /// The stop flag was set before there was a result.
    #[error("stopped before anything was found")]
    Stopped,
    /// The stop flag was set before a file was at its end, such as a pipe without a writer.
    #[error("{}: stopped while waiting for its data", shown(.0))]
    Waiting(PathBuf),
    /// A certificate that does not prove its bound, or that cannot be followed.
    #[error("{}", line(.0))]
    Refused(String),
    /// Not enough memory.
    #[error("out of memory: {0}")]
    Memory(String),
    /// A lost or failed agent of a distributed problem.
    #[error("{}", line(.0))]
    Agent(String),
    /// A bug of this program: a cost or a bound that differs from its recomputation.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// Returns whether the stop flag ended the work, rather than a failure.
    pub fn is_stop(&self) -> bool {
        matches!(self, Error::Stopped | Error::Waiting(_))
    }

    /// Returns whether the input or the options are at fault.
    pub fn is_input(&self) -> bool {
        matches!(self, Error::Parse(_) | Error::Unreadable { .. } | Error::Model(_) | Error::Usage(_))
    }
}

/// The reason why a network cannot be built.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModelError {
    /// A domain without values.
    #[error("variable {variable} has no value")]
    EmptyDomain {
        /// The index of the variable.
        variable: usize,
    },
    /// A scope with an unknown variable.
    #[error("function {function} reads variable {variable}, but there are {variables} variables")]
    UnknownVariable {
        /// The index of the function.
        function: usize,
        /// The unknown variable.
        variable: u32,
        /// The number of variables.
        variables: usize,
    },
    /// A scope with a repeated variable.
    #[error("function {function} reads variable {variable} twice")]
    RepeatedVariable {
        /// The index of the function.
        function: usize,
        /// The repeated variable.
        variable: u32,
    },
    /// A table that does not fit its scope.
    #[error("function {function} has {found} entries, its scope has {expected} combinations of values")]
    TableSize {
        /// The index of the function.
        function: usize,
        /// The number of entries given.
        found: usize,
        /// The number of entries needed.
        expected: u64,
    },
    /// Evidence that contradicts the witness of a network of which only entries near that witness are feasible.
    #[error(
        "evidence {value} of variable {variable}: the file's values differ so much that 64-bit costs hold only those \
         near one assignment, which has another value there (`formats::observe` finds another one; write 0, or -inf \
         in .LG, for what is impossible)"
    )]
    BeyondReach {
        /// The observed variable.
        variable: u32,
        /// The observed value.
        value: u32,
    },
    /// A tuple with a value outside its variable's domain, or of the wrong length.
    #[error("function {function}: value {value} of variable {variable}, expected one{}", among(*domain))]
    ValueOutside {
        /// The index of the function.
        function: usize,
        /// The variable whose domain does not contain the value.
        variable: u32,
        /// The value given.
        value: u32,
        /// The domain size of the variable.
        domain: u32,
    },
    /// A potential that is negative or not finite.
    #[error("function {function}: entry {entry} is no potential: finite and not negative")]
    NoPotential {
        /// The index of the function.
        function: usize,
        /// The index of the entry.
        entry: usize,
    },
    /// A finite cost that is too large for the arithmetic.
    #[error("function {function}: cost {cost} is beyond ±{limit}")]
    CostTooLarge {
        /// The index of the function.
        function: usize,
        /// The cost.
        cost: i64,
        /// The strict upper limit of its absolute value.
        limit: i64,
    },
    /// Costs whose sum is too large for the arithmetic.
    #[error("function {function}: the largest costs of all functions add up to {limit} or more; smaller costs fit")]
    SumTooLarge {
        /// The index of the function with which the sum exceeds the limit.
        function: usize,
        /// The strict upper limit of the sum.
        limit: i64,
    },
}

/// A warning about suspicious input in a file that was nevertheless read: its author may have meant something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The file as the user named it, `<stdin>` for standard input.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What was found and how it was read.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Warning { file, line: row, column, message } = self;
        f.write_str(&line(&format!("{file}:{row}:{column}: {message}")))
    }
}

/// A position at which a file departs from its format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text())]
pub struct ParseError {
    /// The file as the user named it, `<stdin>` for standard input.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// A hint for correcting the file.
    pub hint: Option<String>,
}

impl ParseError {
    fn text(&self) -> String {
        let ParseError { file, line: row, column, found, expected, hint } = self;
        let hint = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        line(&format!("{file}:{row}:{column}: found {found}, expected {expected}{hint}")).into_owned()
    }
}
