//! Standard output, and what is shared by the commands that write files.

use super::{help, values};
use clap::Args;
use fangs::Error;
use fangs::certificate::Proof;
use fangs::check;
use fangs::formats::SolutionFormat;
use fangs::model::{Cost, Network};
use fangs::record::ReplacedFile;
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

// no doc comment: clap would show it instead of what the command does
#[derive(Args, Debug)]
pub struct OutputFlags {
    /// Write the best solution to a file, replaced as a whole at each improvement
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    pub solution: Option<PathBuf>,
    /// How the solution is written
    #[arg(long, value_name = "HOW", default_value = "native", help_heading = help::OUTPUT,
        value_parser = values::named(SolutionFormat::ALL, help::SOLUTION_FORMATS))]
    pub solution_format: SolutionFormat,
    /// Write what proves the bound, for `fangs check FILE --certificate CERT`
    #[arg(long, value_name = "CERT", help_heading = help::OUTPUT)]
    pub certificate: Option<PathBuf>,
    /// Write a row for each solution, bound and second, as they happen
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    pub csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    pub json: bool,
}

/// Writes to standard output. A reader that has gone away is no failure.
pub fn print(text: &impl Display) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => {
            Err(Error::Io { path: "<stdout>".into(), action: "cannot write", source })
        }
        _ => Ok(()),
    }
}

/// Writes one JSON object on a line of its own.
pub fn print_json(object: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string(object).map_err(|error| Error::Internal(format!("JSON: {error}")))?;
    print(&format_args!("{text}\n"))
}

/// Writes the object as JSON or for people.
pub fn print_report(object: &(impl Serialize + Display), json: bool) -> Result<(), Error> {
    if json { print_json(object) } else { print(object) }
}

/// Rows of a measurement in a CSV file, on disk as they come; nothing where no file is wanted.
pub struct Rows(Option<(PathBuf, csv::Writer<File>)>);

impl Rows {
    /// Creates the file.
    pub fn create(path: Option<PathBuf>) -> Result<Rows, Error> {
        let writer = path.map(|path| match csv::Writer::from_path(&path) {
            Ok(writer) => Ok((path, writer)),
            Err(error) => Err(Error::Usage(Self::failed(&path, error).to_string())),
        });
        writer.transpose().map(Rows)
    }

    /// Adds a row.
    pub fn push(&mut self, row: &impl Serialize) -> Result<(), Error> {
        let Some((path, writer)) = &mut self.0 else { return Ok(()) };
        writer.serialize(row).and_then(|()| Ok(writer.flush()?)).map_err(|error| Self::failed(path, error))
    }

    fn failed(path: &Path, error: csv::Error) -> Error {
        Error::Io { path: path.into(), action: "cannot write", source: std::io::Error::other(error) }
    }
}

/// An output that cannot be created is the user's to mend, as long as nothing has been done yet.
pub fn as_usage<T>(result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(|error| match error {
        Error::Io { .. } => Error::Usage(error.to_string()),
        other => other,
    })
}

/// Writes the certificate of a bound.
pub fn certificate(
    file: &ReplacedFile,
    network: &Network,
    bound: Cost,
    solution: Option<&[u32]>,
    proof: &Proof,
) -> Result<(), Error> {
    let solution = solution.map(|values| (check::evaluate(network, values).cost, values));
    let text = proof.certificate(network, bound, solution).to_text()?;
    let cannot = |source| Error::Io { path: file.path().into(), action: "cannot write", source };
    file.write(text.as_bytes()).map_err(cannot)
}

/// Refuses outputs that would overwrite an input or each other.
pub fn all_different(inputs: &[Option<&Path>], outputs: &[Option<&Path>]) -> Result<(), Error> {
    // an output that does not exist yet is the same as another one if its folder and name are
    let place = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        })
    };
    let regular = |path: &&Path| path.metadata().map_or(true, |metadata| metadata.is_file());
    let mut taken: Vec<_> = inputs.iter().copied().flatten().filter_map(place).collect();
    for output in outputs.iter().copied().flatten().filter(regular) {
        let Some(place) = place(output) else { continue };
        if taken.contains(&place) {
            return Err(Error::Usage(format!("{}: would overwrite an input or another output", output.display())));
        }
        taken.push(place);
    }
    Ok(())
}
