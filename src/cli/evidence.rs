//! Evidence of all commands that read a network: observed values from a file and from the command line.

use super::help;
use super::output::Files;
use clap::Args;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_formats::{self as formats, Evidence};
use fangs_model::model::{Names, Network, Observations, Potentials, Variable};
use fangs_report::Console;
use fangs_report::text::{counted, grouped};
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::{Path, PathBuf};

// no doc comment, because clap would show it in place of the command's description
#[derive(Args, Clone, Debug)]
pub struct EvidenceFlags {
    /// Observe the values that this evidence file states [default: none]
    #[arg(long, value_name = "EVID", help_heading = help::INPUT)]
    evidence: Option<PathBuf>,
    /// Observe values, by names or indices: A=x,B=y; may be repeated [default: none]
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', help_heading = help::INPUT)]
    observe: Vec<String>,
}

impl EvidenceFlags {
    /// Returns whether no evidence is given.
    pub fn is_empty(&self) -> bool {
        self.evidence.is_none() && self.observe.is_empty()
    }

    /// Returns the path of the evidence file.
    pub fn path(&self) -> Option<&Path> {
        self.evidence.as_deref()
    }

    /// Adds the evidence file to those that the command reads.
    pub fn files(&self, files: Files) -> Result<Files, Error> {
        files.reads("--evidence", self.path())
    }

    /// Returns what the file and the command line observe of these variables; `None` if neither is given.
    pub fn of(&self, variables: &[Variable], console: &Console, stop: &Stop) -> Result<Option<Observations>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        let read = self.path().map(|path| formats::read_evidence(path, variables, stop)).transpose()?;
        let Evidence { mut observations, warnings } = read.unwrap_or_default();
        console.warn_of(&warnings);
        if !self.observe.is_empty() {
            let names = Names::new(variables);
            self.observe.iter().try_for_each(|text| observations.observe(&names, text))?;
        }
        Ok(Some(observations))
    }

    /// Fixes the observed variables of a network. Warns if a function of the network excludes the evidence. Returns the
    /// observations, or `None` if no evidence is given.
    pub fn apply(&self, network: &mut Network, console: &Console, stop: &Stop) -> Result<Option<Observations>, Error> {
        let Some(seen) = self.of(network.variables(), console, stop)? else { return Ok(None) };
        if let Some(found) = seen.impossible_in(network) {
            let name = network.function_name(found.function);
            console.warn(&found.message(&Names::new(network.variables()), name));
        }
        formats::observe(network, &seen.pairs(), stop)?;
        let source = self.path().map_or("--observe".into(), terminal::path);
        console.tell(&match seen.list().len() {
            0 => format!("{source}: no evidence in it: no variable is observed"),
            count => format!("{source}: evidence applied to {}", counted(count, "variable")),
        });
        Ok(Some(seen))
    }

    /// Returns the observations of a product of potentials. Warns if a potential excludes them.
    pub fn of_potentials(
        &self,
        potentials: &Potentials,
        console: &Console,
        stop: &Stop,
    ) -> Result<Observations, Error> {
        let seen = self.of(&potentials.variables, console, stop)?.unwrap_or_default();
        if let Some(found) = seen.impossible_of(potentials) {
            console.warn(&found.message(&Names::new(&potentials.variables), None));
        }
        Ok(seen)
    }
}

/// Observed values by names of variables, as a JSON object and as text.
pub struct Seen<'a> {
    variables: &'a [Variable],
    observations: &'a Observations,
}

impl<'a> Seen<'a> {
    /// Names the observations of these variables.
    pub fn new(variables: &'a [Variable], observations: &'a Observations) -> Self {
        Seen { variables, observations }
    }

    /// Returns whether nothing is observed.
    pub fn is_empty(&self) -> bool {
        self.observations.list().is_empty()
    }

    fn named(&self) -> impl Iterator<Item = (String, String)> {
        let names = Names::new(self.variables);
        let all = self.observations.list().iter();
        all.map(move |own| (names.name(own.variable), names.value_name(own.variable, own.value)))
    }
}

impl Serialize for Seen<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.named())
    }
}

/// The number of observations that the text form lists.
const LISTED: usize = 6;

impl fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.named().map(|(name, value)| format!("{}={}", terminal::line(&name), terminal::line(&value)));
        f.write_str(&all.take(LISTED).collect::<Vec<_>>().join(", "))?;
        match self.observations.list().len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, " and {} more", grouped(more)),
        }
    }
}
