//! Standard output, and the output files of all commands.

use super::{help, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::files::Identity;
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_bounds::bounds::Proof;
use fangs_check as check;
use fangs_formats::SolutionFormat;
use fangs_model::model::{Cost, Network};
use fangs_report::{AppendedFile, Console, ReplacedFile, RowWriter, Verbosity};
use fangs_report::{beside_progress, end_progress, insist};
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::{ErrorKind, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

// no doc comment, because clap would show it in place of the command's description
#[derive(Args, Debug)]
pub struct OutputFlags {
    /// Write the best solution to a file, replaced as a whole at each improvement
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    pub solution: Option<PathBuf>,
    /// Form in which the solution is written
    #[arg(long, value_name = "HOW", default_value = "native", help_heading = help::OUTPUT,
        value_parser = values::named(SolutionFormat::ALL, help::SOLUTION_FORMATS))]
    pub solution_format: SolutionFormat,
    /// Write a certificate of the bound, for `fangs check FILE --certificate CERT`
    #[arg(long, value_name = "CERT", help_heading = help::OUTPUT)]
    pub certificate: Option<PathBuf>,
    /// Write a row for each solution, bound and second, as they happen
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    pub csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    pub json: bool,
}

impl OutputFlags {
    /// Returns the path of an output of these options.
    pub fn output(&self, name: &str) -> Option<PathBuf> {
        match name {
            "solution" => self.solution.clone(),
            "csv" => self.csv.clone(),
            _ => None,
        }
    }
}

/// Writes text to standard output, safe for a terminal. A reader that has closed the pipe is no failure.
pub fn print(text: &impl Display) -> Result<(), Error> {
    print_raw(terminal::text(&text.to_string()).as_bytes())
}

/// Writes machine-readable text to standard output.
pub fn print_raw(text: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut out = std::io::stdout().lock();
        out.write_all(text).and_then(|()| out.flush())
    };
    match beside_progress(write) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => {
            Err(Error::Io { path: "<stdout>".into(), action: "cannot write", source })
        }
        _ => Ok(()),
    }
}

/// Writes lines of text to standard output before the final object, safe for a terminal.
pub fn print_lines(text: &str) -> Result<(), Error> {
    end_progress();
    print(&text)
}

/// Writes one JSON object on a separate line.
pub fn print_json(object: &impl Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_string(object).map_err(|error| Error::Internal(format!("JSON: {error}")))?;
    // JSON may contain C1 control characters, which a terminal should not get
    for c in '\u{7f}'..='\u{9f}' {
        if text.contains(c) {
            text = text.replace(c, &format!("\\u{:04x}", u32::from(c)));
        }
    }
    text.push('\n');
    print_raw(text.as_bytes())
}

/// Writes the final object of a command as JSON or as text.
pub fn print_report(object: &(impl Serialize + Display), json: bool) -> Result<(), Error> {
    end_progress();
    if json { print_json(object) } else { print(object) }
}

/// Rows of a measurement in a CSV file, on disk as they come; does nothing if no file is wanted.
pub struct Rows(Option<RowWriter>);

impl Rows {
    /// Creates the file, if one is wanted.
    pub fn create(path: Option<PathBuf>) -> Result<Rows, Error> {
        path.iter().try_for_each(|path| named("--csv", path))?;
        let writer = path.map(|path| match AppendedFile::create(&path) {
            Ok(file) => Ok(RowWriter::new(file, true)),
            Err(source) => as_usage(Err(Error::Io { path, action: "cannot write", source })),
        });
        writer.transpose().map(Rows)
    }

    /// Adds a row. If it cannot be written, it is kept for the next attempt.
    pub fn push(&mut self, row: &impl Serialize) -> Result<(), Error> {
        let Some(writer) = &mut self.0 else { return Ok(()) };
        writer.push(row).map_err(|error| Error::Internal(format!("CSV: {error}")))?;
        // reported at the end, if it still fails then
        drop(writer.flush());
        Ok(())
    }

    /// Writes the remaining rows; waits for a pipe's reader until the stop flag is set.
    pub fn finish(self, stop: &Stop) -> Result<(), Error> {
        let Some(mut writer) = self.0 else { return Ok(()) };
        let result = insist(stop, || writer.flush());
        result.map_err(|source| Error::Io { path: writer.path().into(), action: "cannot write", source })
    }
}

/// Refuses `-` as the name of an output, because the command's result goes to standard output.
fn named(name: &str, path: &Path) -> Result<(), Error> {
    match path == Path::new("-") {
        true => Err(Error::Usage(format!(
            "{name} -: expected a file, as standard output has the result (/dev/stdout mixes both, ./- is a file)"
        ))),
        false => Ok(()),
    }
}

/// Turns an error about an output that cannot be created into an error of usage, as long as no work has been done.
pub fn as_usage<T>(result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(|error| match error {
        Error::Io { .. } => Error::Usage(error.to_string()),
        other => other,
    })
}

/// Writes the certificate of a bound; returns the line that seals it.
pub fn certificate(
    mut file: ReplacedFile,
    network: &Network,
    bound: Cost,
    solution: Option<&[u32]>,
    proof: &Proof,
    stop: &Stop,
) -> Result<String, Error> {
    let solution = solution.map(|values| (check::evaluate(network, values).cost, values));
    let text = proof.certificate(network, bound, solution).to_text()?;
    let seal = text.lines().last().unwrap_or_default().to_string();
    file.write_to_end(text.into_bytes(), stop)?;
    Ok(seal)
}

/// Writes the report of a run and, if its file could not be written, the solution; the JSON object contains it anyway.
pub fn print_run(report: &(impl Serialize + Display), json: bool, lost: Option<String>) -> Result<(), Error> {
    if lost.is_some() {
        Console::new(Verbosity::Quiet)
            .warn("the best solution is on standard output, as its file could not be written");
    }
    print_report(report, json)?;
    lost.filter(|_| !json).map_or(Ok(()), |solution| print_raw(solution.as_bytes()))
}

/// The files of a command, each with the name of its argument, in one list so that all are compared.
#[derive(Default)]
pub struct Files(Vec<(String, Identity, bool)>);

impl Files {
    /// Adds a file that is read. Fails if the command writes it too.
    pub fn reads(self, name: &str, path: Option<&Path>) -> Result<Files, Error> {
        self.with(name, path, false)
    }

    /// Adds a file that is written. Fails if the command reads or writes it under another name.
    pub fn writes(self, name: &str, path: Option<&Path>) -> Result<Files, Error> {
        self.with(name, path, true)
    }

    /// Adds standard input or output, if it is a regular file.
    #[cfg(unix)]
    pub fn stream(mut self, name: &str, stream: impl AsFd, written: bool) -> Files {
        let file = stream.as_fd().try_clone_to_owned().ok().map(File::from);
        let regular = file.filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()));
        self.0.extend(regular.and_then(|file| Some((name.into(), Identity::of_open(&file)?, written))));
        self
    }

    #[cfg(not(unix))]
    pub fn stream<T>(self, _: &str, _: T, _: bool) -> Files {
        self
    }

    fn with(mut self, name: &str, path: Option<&Path>, written: bool) -> Result<Files, Error> {
        let Some(path) = path else { return Ok(self) };
        if written {
            named(name, path)?;
        }
        let Some(identity) = Identity::of(path) else { return Ok(self) };
        let name = format!("{name} {}", terminal::path(path));
        if let Some((other, ..)) = self.0.iter().find(|(_, known, out)| *known == identity && (*out || written)) {
            return Err(Error::Usage(format!("{other} and {name} are the same file: the run would overwrite it")));
        }
        self.0.push((name, identity, written));
        Ok(self)
    }
}
