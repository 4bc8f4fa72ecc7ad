//! Options of the commands that read a product of potentials and evidence.

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
}

#[derive(Args, Debug)]
pub struct EvidenceFlags {
    /// Observe the values that this evidence file states [default: none]
    #[arg(long, value_name = "EVID", help_heading = help::INPUT)]
    evidence: Option<PathBuf>,
    /// Observe values, by names or indices: A=x,B=y; may be repeated [default: none]
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', help_heading = help::INPUT)]
    observe: Vec<String>,
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
    evidence: Option<PathBuf>,
    observe: Vec<String>,
    soft: Vec<String>,
}

impl TryFrom<PotentialsFlags> for PotentialsInput {
    type Error = Error;

    fn try_from(flags: PotentialsFlags) -> Result<Self, Error> {
        let PotentialsFlags { file, format, temperature, vartype, evidence } = flags;
        let EvidenceFlags { evidence, observe, soft } = evidence;
        let options = ReadOptions::default().with(|options| options.vartype = vartype);
        let source = Source::new(file);
        if let (Source::File(path), None) = (&source, format) {
            let _ = Format::of_path(path)?;
        }
        Ok(PotentialsInput { source, format, options, temperature, evidence, observe, soft })
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
        let mut evidence = Evidence::default();
        if let Some(path) = &self.evidence {
            let formats::Evidence { pairs, warnings } = formats::read_evidence(path, &potentials.variables, stop)?;
            console.warn_of(&warnings);
            evidence.values = pairs;
        }
        for text in &self.observe {
            evidence.observe(&potentials, text)?;
        }
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
        files.reads("--evidence", self.evidence.as_deref())
    }

    /// Returns the name of the network in messages.
    pub fn name(&self) -> String {
        self.source.to_string()
    }
}
