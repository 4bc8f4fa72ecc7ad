//! Decision problems (influence diagrams, POMDPs, interactive diagrams) and policies.

use super::id::read_diagram;
use super::id_xml::{read_bifxml, read_xdsl};
use super::idid::read_idid;
use super::input::{Source, read_text};
use super::list::DecisionFormat;
use super::pomdp::read_pomdp;
use crate::error::{Error, ParseError, Warning};
use crate::model::{Diagram, Idid, PolicyFile, Pomdp};
use crate::stop::Stop;
use std::path::Path;

/// A decision problem.
#[derive(Clone, Debug)]
pub enum Decision {
    /// An influence diagram or a LIMID.
    Diagram(Box<Diagram>),
    /// A POMDP of one or several agents.
    Pomdp(Box<Pomdp>),
    /// An interactive dynamic influence diagram.
    Idid(Box<Idid>),
}

/// Reads a decision problem. If `format` is `None`, the format follows from the file's name; standard input needs a
/// format.
///
/// # Errors
/// Returns an error if the file cannot be read or parsed, with file, line and column if they are known, and
/// [`Error::Stopped`] if `stop` is set.
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

/// Reads a policy from a JSON file.
///
/// # Errors
/// Returns an error if the file cannot be read, or is not a policy; the error gives line and column.
pub fn read_policy(path: &Path, stop: &Stop) -> Result<PolicyFile, Error> {
    let text = read_text(&Source::File(path.into()), stop)?;
    serde_json::from_slice(&text).map_err(|error| {
        let (line, column) = (error.line() as u64, error.column() as u64);
        let hint = Some(error.to_string());
        let file = path.display().to_string();
        ParseError { file, line, column, found: "other text".into(), expected: "a policy as JSON".into(), hint }.into()
    })
}
