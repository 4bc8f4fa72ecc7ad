//! The result of `fangs solve` with what the command knows beside it: the evidence and the solution's probability.

use super::probability::Probability;
use super::several::Several;
use crate::cli::evidence::Seen;
use fangs_base::stop::Stop;
use fangs_model::model::{Network, Observations};
use fangs_report::SolveReport;
use serde::Serialize;
use std::fmt;

/// The summary of a run, its evidence and the probability of its solution, as JSON and as text.
#[derive(Serialize)]
pub struct Solved<'a> {
    #[serde(flatten)]
    report: SolveReport<'a>,
    /// The observed values, if evidence is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Seen<'a>>,
    /// The probability of the solution given the evidence, if the file is a probability model.
    #[serde(flatten)]
    probability: Option<Probability>,
    /// Several solutions, if they are asked for.
    #[serde(flatten)]
    several: Option<Several<'a>>,
}

impl<'a> Solved<'a> {
    /// Adds the evidence and the probability of a solution to a summary.
    pub fn new(
        report: SolveReport<'a>,
        network: &'a Network,
        seen: Option<&'a Observations>,
        values: Option<&[u32]>,
        stop: &Stop,
    ) -> Self {
        let pairs = || seen.map(Observations::pairs).unwrap_or_default();
        Solved {
            report,
            evidence: seen.map(|seen| Seen::new(network.variables(), seen)),
            probability: values.and_then(|values| Probability::of(network, values, pairs(), stop)),
            several: None,
        }
    }

    /// Adds several solutions.
    pub fn with(self, several: Option<Several<'a>>) -> Self {
        Solved { several, ..self }
    }
}

impl fmt::Display for Solved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)?;
        if let Some(evidence) = self.evidence.as_ref().filter(|evidence| !evidence.is_empty()) {
            writeln!(f, "{:<12}{evidence}", "evidence")?;
        }
        if let Some(probability) = &self.probability {
            writeln!(f, "{:<12}{probability}", "probability")?;
        }
        self.several.as_ref().map_or(Ok(()), |several| several.fmt(f))
    }
}
