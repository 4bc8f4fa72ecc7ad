//! Options of the commands that read a product of potentials and evidence.

use super::evidence::EvidenceFlags;
use super::output::Files;
use super::{help, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::stop::{Cause, Stop};
use fangs_formats::{self as formats, Format, ReadOptions, Source, Vartype};
use fangs_marginals::Evidence;
use fangs_model::model::Potentials;
use fangs_report::Console;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct PotentialsFlags {
    /// The network: .bif, .uai, .LG, or any other with --temperature, also compressed; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format of the network: bif, uai, LG and others [default: by the file's extension]
    #[arg(long, value_name = "NAME", help_heading = help::INPUT)]
    format: Option<Format>,
    /// Read costs as potentials exp(-cost / T) [default: none, costs are refused]
    #[arg(long, value_name = "T", value_parser = positive, help_heading = help::INPUT)]
    temperature: Option<f64>,
    /// Values of the variables of a .coo without a header: binary (0, 1) or spin (-1, +1) [default: by its header]
    #[arg(long, value_name = "KIND", help_heading = help::INPUT)]
    vartype: Option<Vartype>,
    #[command(flatten)]
    evidence: EvidenceFlags,
    /// Weight the values of a variable by likelihoods, one for each: A=0.2:0.8; may be repeated [default: none]
    #[arg(long, value_name = "NAME=W:W", value_delimiter = ',', help_heading = help::INPUT)]
    soft: Vec<String>,
}

/// Parses a number above 0.
fn positive(text: &str) -> Result<f64, String> {
    values::finite(text).ok().filter(|number| *number > 0.0).ok_or_else(|| "expected a number above 0".into())
}

/// A product of potentials to read, and its evidence.
#[derive(Clone, Debug)]
pub struct PotentialsInput {
    source: Source,
    format: Option<Format>,
    options: ReadOptions,
    pub temperature: Option<f64>,
    evidence: EvidenceFlags,
    soft: Vec<String>,
}

impl TryFrom<PotentialsFlags> for PotentialsInput {
    type Error = Error;

    fn try_from(flags: PotentialsFlags) -> Result<Self, Error> {
        let PotentialsFlags { file, format, temperature, vartype, evidence, soft } = flags;
        let options = ReadOptions::default().with(|options| options.vartype = vartype);
        let source = Source::new(file);
        if let (Source::File(path), None) = (&source, format) {
            let _ = Format::of_path(path)?;
        }
        Ok(PotentialsInput { source, format, options, temperature, evidence, soft })
    }
}

impl PotentialsInput {
    /// Reads the network and the evidence; `console` gets warnings. Returns [`Error::Stopped`] or [`Error::Waiting`]
    /// once `stop` is set.
    pub fn load(&self, console: &Console, stop: &Stop) -> Result<(Potentials, Evidence), Error> {
        let read = formats::read_potentials(&self.source, self.format, &self.options, self.temperature, stop);
        let potentials = read.map_err(|error| match error {
            Error::Stopped if stop.cause() == Some(Cause::Memory) => {
                Error::Memory(format!("{} could not be read to its end", self.source))
            }
            error => error,
        })?;
        console.warn_of(&potentials.warnings);
        let seen = self.evidence.of_potentials(&potentials, console, stop)?;
        let mut evidence = Evidence { values: seen.pairs(), weights: Vec::new() };
        for text in &self.soft {
            evidence.weigh(&potentials, text)?;
        }
        Ok((potentials, evidence))
    }

    /// Returns the files read and standard output.
    pub fn files(&self) -> Result<Files, Error> {
        let files = Files::default().stream("standard output", std::io::stdout(), true);
        let files = match &self.source {
            Source::Stdin => files.stream("standard input", std::io::stdin(), false),
            Source::File(path) => files.reads("the network", Some(path))?,
        };
        self.evidence.files(files)
    }

    /// Returns the name of the network in messages.
    pub fn name(&self) -> String {
        self.source.to_string()
    }

    /// Returns the file's name without its folder.
    pub fn file_name(&self) -> String {
        let name = match &self.source {
            Source::File(path) => path.file_name(),
            Source::Stdin => None,
        };
        name.map_or_else(|| self.name(), |name| name.to_string_lossy().into_owned())
    }
}
