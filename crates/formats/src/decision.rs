//! Problems of decision: diagrams, processes, interactive diagrams; and policies.

use super::id_xml::{read_bifxml, read_xdsl};
use super::{Format, Source, read_diagram, read_idid, read_pomdp, read_text};
use crate::error::{Error, ParseError, Warning};
use crate::model::{Diagram, Idid, PolicyFile, Pomdp};
use crate::stop::Stop;
use std::path::Path;
use std::str::FromStr;

/// A problem of decision.
#[derive(Clone, Debug)]
pub enum Decision {
    /// An influence diagram or a LIMID.
    Diagram(Box<Diagram>),
    /// A process of one or several agents.
    Pomdp(Box<Pomdp>),
    /// An interactive diagram.
    Idid(Box<Idid>),
}

/// The formats of such problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionFormat {
    /// `.uai` with `.id` and `.pvo` beside it.
    Diagram,
    /// `.bifxml`, as pyAgrum writes it.
    Bifxml,
    /// `.xdsl`, as GeNIe writes it.
    Xdsl,
    /// `.POMDP` and `.dpomdp`.
    Pomdp,
    /// `.idid`.
    Idid,
}

/// Every extension that is read; upper and lower case are the same.
const EXTENSIONS: [(&str, DecisionFormat); 7] = [
    ("uai", DecisionFormat::Diagram),
    ("id", DecisionFormat::Diagram),
    ("bifxml", DecisionFormat::Bifxml),
    ("xdsl", DecisionFormat::Xdsl),
    ("pomdp", DecisionFormat::Pomdp),
    ("dpomdp", DecisionFormat::Pomdp),
    ("idid", DecisionFormat::Idid),
];

impl DecisionFormat {
    /// The format of a file's name.
    ///
    /// # Errors
    /// No extension, or an unknown one: the message lists the known ones.
    pub fn of_path(path: &Path) -> Result<Self, Error> {
        let extension = |path: &Path| path.extension().map(|e| e.to_string_lossy().into_owned());
        let mut inner = extension(path);
        if inner.as_deref().is_some_and(super::input::is_compressed_extension) {
            inner = extension(Path::new(path.file_stem().unwrap_or_default()));
        }
        inner.unwrap_or_default().parse().map_err(|error: Error| {
            let missing = if path.exists() { "" } else { "no such file, and " };
            let hint = "--format NAME says it where the name does not";
            Error::Usage(format!("{}: {missing}{error}; {hint}", crate::terminal::path(path)))
        })
    }

    /// The format of this name.
    pub(super) fn called(name: &str) -> Option<Self> {
        EXTENSIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, format)| format)
    }
}

impl FromStr for DecisionFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        DecisionFormat::called(name).ok_or_else(|| {
            let what = match name.parse::<Format>() {
                Ok(format) => format!("the format {} has a network, which `fangs solve` reads", format.info().name),
                Err(_) if name.is_empty() => "no format extension".into(),
                Err(_) => format!("unknown format `{}`", name.escape_debug()),
            };
            let list = ".uai (with .id and .pvo), .bifxml, .xdsl, .POMDP, .dpomdp, .idid";
            Error::Usage(format!("{what}; decided are {list}"))
        })
    }
}

/// Reads a problem. The format follows from the file's name where `format` is none; standard input needs one.
///
/// # Errors
/// A file that cannot be read or parsed, with file, line and column where there is one; [`Error::Stopped`].
pub fn read_decision(
    source: &Source,
    format: Option<DecisionFormat>,
    stop: &Stop,
) -> Result<(Decision, Vec<Warning>), Error> {
    let format = match (format, source) {
        (Some(format), _) => format,
        (None, Source::File(path)) => DecisionFormat::of_path(path)?,
        (None, Source::Stdin) => {
            return Err(Error::Usage("standard input needs --format, such as pomdp or idid".into()));
        }
    };
    Ok(match (format, source) {
        (DecisionFormat::Diagram, Source::File(path)) => {
            let named_kinds = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("id"));
            let path = if named_kinds { path.with_extension("uai") } else { path.clone() };
            let (diagram, warnings) = read_diagram(&path, stop)?;
            (Decision::Diagram(diagram.into()), warnings)
        }
        (DecisionFormat::Diagram, Source::Stdin) => {
            return Err(Error::Usage("a diagram is three files: standard input does not hold them".into()));
        }
        (DecisionFormat::Bifxml, _) => {
            let (diagram, warnings) = read_bifxml(source, stop)?;
            (Decision::Diagram(diagram.into()), warnings)
        }
        (DecisionFormat::Xdsl, _) => {
            let (diagram, warnings) = read_xdsl(source, stop)?;
            (Decision::Diagram(diagram.into()), warnings)
        }
        (DecisionFormat::Pomdp, _) => {
            let (pomdp, warnings) = read_pomdp(source, stop)?;
            (Decision::Pomdp(pomdp.into()), warnings)
        }
        (DecisionFormat::Idid, _) => {
            let (idid, warnings) = read_idid(source, stop)?;
            (Decision::Idid(idid.into()), warnings)
        }
    })
}

/// Reads a policy that was written as JSON.
///
/// # Errors
/// A file that cannot be read, or is no policy, with line and column.
pub fn read_policy(path: &Path, stop: &Stop) -> Result<PolicyFile, Error> {
    let text = read_text(&Source::File(path.into()), stop)?;
    serde_json::from_slice(&text).map_err(|error| {
        let (line, column) = (error.line() as u64, error.column() as u64);
        let hint = Some(error.to_string());
        let file = path.display().to_string();
        ParseError { file, line, column, found: "other text".into(), expected: "a policy as JSON".into(), hint }.into()
    })
}
