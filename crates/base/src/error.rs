//! Errors, each with what its reader needs to correct it.

use crate::terminal::{among, line, path as shown};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// The kinds of errors. The command line turns [`Error::is_input`] ones into exit code 2, the rest into 1.
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
        /// What the system said.
        source: std::io::Error,
    },
    /// A file or stream that cannot be written, or another failure of the system with it.
    #[error("{}: {action}: {source}", shown(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, such as `cannot write`.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A network that cannot be built.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Options that do not fit together or do not fit the problem.
    #[error("{0}")]
    Usage(String),
    /// The stop flag was set before there was anything to return.
    #[error("stopped before anything was found")]
    Stopped,
    /// The stop flag was set before a file was at its end, such as a pipe that no process writes to.
    #[error("{}: stopped while waiting for its data", shown(.0))]
    Waiting(PathBuf),
    /// A certificate that does not prove its bound, or cannot be followed.
    #[error("{}", line(.0))]
    Refused(String),
    /// Not enough memory.
    #[error("out of memory: {0}")]
    Memory(String),
    /// An agent of a distributed problem that is lost or fails.
    #[error("{}", line(.0))]
    Agent(String),
    /// A bug of this program: a cost or a bound that does not agree with its recomputation.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// Whether the stop flag ended the work, not a failure.
    pub fn is_stop(&self) -> bool {
        matches!(self, Error::Stopped | Error::Waiting(_))
    }

    /// Whether the input or the options are at fault.
    pub fn is_input(&self) -> bool {
        matches!(self, Error::Parse(_) | Error::Unreadable { .. } | Error::Model(_) | Error::Usage(_))
    }
}

/// Why a network cannot be built.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModelError {
    /// A domain without values.
    #[error("variable {variable} has no value")]
    EmptyDomain {
        /// Its index.
        variable: usize,
    },
    /// A scope that names an unknown variable.
    #[error("function {function} reads variable {variable}, but there are {variables} variables")]
    UnknownVariable {
        /// Index of the function.
        function: usize,
        /// What the scope says.
        variable: u32,
        /// How many variables there are.
        variables: usize,
    },
    /// A scope that names a variable twice.
    #[error("function {function} reads variable {variable} twice")]
    RepeatedVariable {
        /// Index of the function.
        function: usize,
        /// The variable.
        variable: u32,
    },
    /// A table that does not fit its scope.
    #[error("function {function} has {found} entries, its scope has {expected} combinations of values")]
    TableSize {
        /// Index of the function.
        function: usize,
        /// Entries given.
        found: usize,
        /// Entries needed.
        expected: u64,
    },
    /// Evidence on a network of which only the part near its witness could be read.
    #[error(
        "evidence {value} of variable {variable}: the file's values differ so much that 64-bit costs hold only those \
         near one assignment, which has another value there (`formats::observe` finds another one; write 0, or -inf \
         in .LG, for what is impossible)"
    )]
    BeyondReach {
        /// The variable.
        variable: u32,
        /// Its value.
        value: u32,
    },
    /// A tuple with a value outside its variable's domain, or of the wrong length.
    #[error("function {function}: value {value} of variable {variable}, expected one{}", among(*domain))]
    ValueOutside {
        /// Index of the function.
        function: usize,
        /// The variable.
        variable: u32,
        /// The value given.
        value: u32,
        /// Its domain size.
        domain: u32,
    },
    /// A potential that is negative or not finite.
    #[error("function {function}: entry {entry} is no potential: finite and not negative")]
    NoPotential {
        /// Index of the function.
        function: usize,
        /// Index of the entry.
        entry: usize,
    },
    /// A finite cost too large for the arithmetic.
    #[error("function {function}: cost {cost} is beyond ±{limit}")]
    CostTooLarge {
        /// Index of the function.
        function: usize,
        /// The cost.
        cost: i64,
        /// What it must not pass.
        limit: i64,
    },
    /// Costs whose sum is too large for the arithmetic.
    #[error("function {function}: the largest costs of all functions add up to {limit} or more; smaller costs fit")]
    SumTooLarge {
        /// Index of the function that is one too many.
        function: usize,
        /// What they must not reach.
        limit: i64,
    },
}

/// A doubtful place in a file that was read nevertheless: its author may have meant something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The file as the user named it, `<stdin>` for standard input.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
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

/// Where a file departs from its format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text())]
pub struct ParseError {
    /// The file as the user named it, `<stdin>` for standard input.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
    pub column: u64,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// A hint.
    pub hint: Option<String>,
}

impl ParseError {
    fn text(&self) -> String {
        let ParseError { file, line: row, column, found, expected, hint } = self;
        let hint = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        line(&format!("{file}:{row}:{column}: found {found}, expected {expected}{hint}")).into_owned()
    }
}
