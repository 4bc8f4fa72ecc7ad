//! The output of `fangs marginals`: one JSON object, or a few lines and a table.

use super::table::TableRow;
use crate::cli::Exit;
use fangs_base::terminal::line;
use fangs_marginals::{Bounded, Evidence, Interval, Marginals, SumBounds, Tree};
use fangs_model::model::Potentials;
use fangs_report::text::certain_digits;
use fangs_report::text::grouped;
use indicatif::HumanBytes;
use serde::{Serialize, Serializer};
use std::f64::consts::LN_10;
use std::fmt;

/// The JSON object of a network, or the JSON line of a case.
#[derive(Serialize)]
pub struct Report<'a> {
    pub instance: &'a str,
    pub version: &'static str,
    /// `PR` for the sum alone, `MAR` with posteriors, `MMAP` for marginal MAP.
    pub task: &'static str,
    /// `exact`; `impossible evidence` if the sum is 0; `bounds` if the sum lies between two numbers; `memory` or
    /// `stopped` if there is no result.
    pub status: &'static str,
    pub ln_z: Option<f64>,
    pub log10_z: Option<f64>,
    pub error_bound: Option<f64>,
    pub posterior_error: Option<f64>,
    /// Bounds on the sum's logarithm, if exact tables did not fit.
    #[serde(flatten)]
    pub bounds: Option<Bounds>,
    pub underflow: bool,
    pub order: String,
    #[serde(flatten)]
    pub tree: Option<Tree>,
    pub device: String,
    pub threads: usize,
    pub load_s: f64,
    pub order_s: f64,
    pub collect_s: f64,
    pub distribute_s: f64,
    pub transfer_s: f64,
    pub kernels_s: f64,
    pub time_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    pub evidence: Observed<'a>,
    pub soft: Weighed<'a>,
    pub marginals: Option<Posteriors<'a>>,
    /// Intervals of the posteriors, if the sum is only bounded.
    #[serde(rename = "marginal_bounds", skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals<'a>>,
    /// The values of marginal MAP: the optimal ones, or those that have the lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Assigned>,
    /// Whether the checker recomputed the sum at these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
}

impl Report<'_> {
    /// Sets the exact logarithm of the sum, within an absolute error.
    pub fn exact(&mut self, ln_z: f64, error_bound: f64) {
        self.status = "exact";
        (self.ln_z, self.log10_z, self.error_bound) = (Some(ln_z), Some(ln_z / LN_10), Some(error_bound));
    }

    /// Returns the row of the table about the sum.
    pub fn sum_row(&self) -> TableRow {
        let (ln_z, error) = (self.ln_z, self.error_bound.unwrap_or(0.0));
        let bounds = |side: fn(&Bounds) -> Option<f64>, sign: f64| {
            ln_z.map(|ln_z| ln_z + sign * error).or_else(|| self.bounds.as_ref().and_then(side))
        };
        TableRow {
            status: self.status,
            ln_z,
            log10_z: self.log10_z,
            ln_z_lower: bounds(|bounds| bounds.ln_z_lower, -1.0),
            ln_z_upper: bounds(|bounds| bounds.ln_z_upper, 1.0),
            ..TableRow::default()
        }
    }

    /// Returns a row of the table for each posterior, each interval, or each value of marginal MAP.
    pub fn value_rows(&self) -> Vec<TableRow> {
        let potentials = self.evidence.0;
        let row = |v: usize, value: usize, probability: Option<f64>, [lower, upper]: Interval| TableRow {
            variable: Some(key(potentials, v)),
            value: Some(value_name(potentials, v, value)),
            probability,
            lower: Some(lower),
            upper: Some(upper),
            ..TableRow::default()
        };
        let error = self.posterior_error.unwrap_or(0.0);
        let mut rows = Vec::new();
        for (v, own) in self.marginals.iter().flat_map(Posteriors::each) {
            let exact = |&p: &f64| [p * (1.0 - error), (p * (1.0 + error)).min(1.0)];
            rows.extend((0..).zip(own).map(|(value, p)| row(v, value, Some(*p), exact(p))));
        }
        for (v, own) in self.intervals.iter().flat_map(|intervals| &intervals.each) {
            rows.extend((0..).zip(own).map(|(value, interval)| row(*v, value, None, *interval)));
        }
        rows.extend(self.assignment.iter().flat_map(|assigned| &assigned.0).map(|(name, value)| TableRow {
            variable: Some(name.clone()),
            value: Some(value.clone()),
            ..TableRow::default()
        }));
        rows
    }

    /// Sets bounds on the logarithm of the sum, and returns the exit code.
    pub fn bounded(&mut self, last: SumBounds) -> Exit {
        self.bounds = Some(last.into());
        match last {
            SumBounds { upper: f64::NEG_INFINITY, .. } => {
                self.status = "impossible evidence";
                Exit::Infeasible
            }
            SumBounds { open_parts: 0, lower, upper, .. } => {
                self.exact(lower / 2.0 + upper / 2.0, upper - lower);
                Exit::Done
            }
            SumBounds { upper, .. } => {
                self.status = if upper.is_finite() { "bounds" } else { "stopped" };
                if upper.is_finite() { Exit::Done } else { Exit::NoSolution }
            }
        }
    }
}

/// Lower and upper bound on the logarithm of a sum, and numbers of exact and open parts of the sum.
#[derive(Serialize)]
pub struct Bounds {
    /// Lower bound on ln Z; null if there is none.
    pub ln_z_lower: Option<f64>,
    pub ln_z_upper: Option<f64>,
    pub exact_parts: u64,
    pub open_parts: u64,
}

impl From<SumBounds> for Bounds {
    fn from(SumBounds { lower, upper, exact_parts, open_parts, .. }: SumBounds) -> Self {
        let known = |bound: f64| bound.is_finite().then_some(bound);
        Bounds { ln_z_lower: known(lower), ln_z_upper: known(upper), exact_parts, open_parts }
    }
}

/// Posteriors by names of variables, in the order of the file.
pub struct Posteriors<'a> {
    pub potentials: &'a Potentials,
    pub found: &'a Marginals,
    /// Evidence whose variables are hidden; `None` if the user named variables.
    pub observed: Option<&'a Evidence>,
}

/// Intervals of posteriors by names of variables, in the order of the file.
pub struct Intervals<'a> {
    potentials: &'a Potentials,
    /// Variables and the intervals of their values.
    each: Vec<(usize, Box<[Interval]>)>,
}

/// Names of variables and of their values, in the given order of the variables.
#[derive(Clone, Debug)]
pub struct Assigned(Vec<(String, String)>);

/// Observed values by names of variables.
pub struct Observed<'a>(pub &'a Potentials, pub &'a Evidence);

/// Weights of values by names of variables.
pub struct Weighed<'a>(pub &'a Potentials, pub &'a Evidence);

/// Returns the name of a variable in the file, or its index if it has none.
fn key(potentials: &Potentials, variable: usize) -> String {
    potentials.variables[variable].name.as_ref().map_or_else(|| variable.to_string(), ToString::to_string)
}

/// Returns the name of a value in the file, or its index if it has none.
fn value_name(potentials: &Potentials, variable: usize, value: usize) -> String {
    let names = potentials.variables[variable].values.as_deref();
    names.map_or_else(|| value.to_string(), |names| names[value].to_string())
}

impl<'a> Intervals<'a> {
    /// Returns the intervals of the requested variables, or of all unobserved variables if none are named.
    pub fn new(potentials: &'a Potentials, evidence: &Evidence, asked: Option<&[u32]>, found: &Bounded) -> Self {
        let mut is_asked = vec![asked.is_none(); potentials.domains.len()];
        match asked {
            Some(asked) => asked.iter().for_each(|&v| is_asked[v as usize] = true),
            None => evidence.values.iter().for_each(|&(seen, _)| is_asked[seen as usize] = false),
        }
        let own = |v: usize| (v, found.intervals(v, potentials.domains[v]));
        Intervals { potentials, each: (0..is_asked.len()).filter(|&v| is_asked[v]).map(own).collect() }
    }
}

impl Serialize for Intervals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.each.iter().map(|(v, own)| (key(self.potentials, *v), own)))
    }
}

impl Posteriors<'_> {
    fn each(&self) -> impl Iterator<Item = (usize, &[f64])> {
        let hidden =
            |v: usize| self.observed.is_some_and(|evidence| evidence.values.iter().any(|&(u, _)| u as usize == v));
        let all = self.found.posteriors.iter().enumerate();
        all.filter_map(move |(v, own)| Some((v, own.as_deref()?)).filter(|_| !hidden(v)))
    }
}

impl Serialize for Posteriors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.each().map(|(v, own)| (key(self.potentials, v), own)))
    }
}

impl Serialize for Observed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Observed(potentials, evidence) = self;
        let named = |&(v, value): &(u32, u32)| {
            (key(potentials, v as usize), value_name(potentials, v as usize, value as usize))
        };
        serializer.collect_map(evidence.values.iter().map(named))
    }
}

impl Assigned {
    /// Names the values of these variables.
    pub fn new(potentials: &Potentials, variables: &[u32], values: &[u32]) -> Self {
        let named = |(&v, &value): (&u32, &u32)| {
            (key(potentials, v as usize), value_name(potentials, v as usize, value as usize))
        };
        Assigned(variables.iter().zip(values).map(named).collect())
    }
}

impl Serialize for Assigned {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Weighed<'_> {
    fn is_without_evidence(&self) -> bool {
        self.1.values.is_empty() && self.1.weights.is_empty()
    }
}

impl Serialize for Weighed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Weighed(potentials, evidence) = self;
        serializer.collect_map(evidence.weights.iter().map(|(v, own)| (key(potentials, *v as usize), own)))
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = match self.status {
            "exact" => "exact",
            "impossible evidence" if self.soft.is_without_evidence() => {
                "the sum is 0: no assignment has a product above 0"
            }
            "impossible evidence" => "impossible evidence: no assignment has a product above 0",
            "memory" => "not enough memory",
            "bounds" => "bounded from both sides: exact tables have too little memory or time",
            _ => "stopped before there was a result",
        };
        writeln!(f, "{}: {ended}", line(self.instance))?;
        if let (Some(ln_z), Some(log10_z), Some(error)) = (self.ln_z, self.log10_z, self.error_bound) {
            writeln!(f, "ln Z        {} (within {error:.1e})", certain_digits(ln_z, error))?;
            writeln!(f, "log10 Z     {}", certain_digits(log10_z, error / LN_10))?;
        }
        if let Some(bounds) = &self.bounds {
            let shown = |bound: Option<f64>| bound.map_or("unknown".into(), |bound| bound.to_string());
            writeln!(f, "ln Z        {} to {}", shown(bounds.ln_z_lower), shown(bounds.ln_z_upper))?;
            let (exact, open) = (grouped(bounds.exact_parts), grouped(bounds.open_parts));
            writeln!(f, "parts       {exact} exact, {open} open")?;
        }
        if let Some(tree) = &self.tree {
            let (cliques, entries) = (grouped(tree.cliques), grouped(tree.clique_entries));
            writeln!(f, "tree        {cliques} cliques, {entries} entries, induced width {}", tree.induced_width)?;
            writeln!(f, "memory      {} of tables", HumanBytes(tree.bytes))?;
        }
        let Report { load_s, order_s, collect_s, distribute_s, time_s, threads, .. } = self;
        write!(
            f,
            "time        {time_s:.3} s: reading {load_s:.3}, order {order_s:.3}, collect {collect_s:.3}, distribute \
             {distribute_s:.3}; "
        )?;
        match self.device.as_str() {
            "cpu" => writeln!(f, "{threads} threads")?,
            device => writeln!(f, "copies {:.3}, kernels {:.3}; {device}", self.transfer_s, self.kernels_s)?,
        }
        for (name, value) in self.assignment.iter().flat_map(|assigned| &assigned.0) {
            writeln!(f, "{}  {}", line(name), line(value))?;
        }
        for (v, own) in self.intervals.iter().flat_map(|intervals| &intervals.each) {
            let potentials = self.evidence.0;
            write!(f, "{}", line(&key(potentials, *v)))?;
            for (value, [least, most]) in own.iter().enumerate() {
                // rounded outwards, so that the interval that is shown holds
                let (least, most) = ((least * 1e6).floor() / 1e6, (most * 1e6).ceil() / 1e6);
                write!(f, "  {} {least:.6} to {most:.6}", line(&value_name(potentials, *v, value)))?;
            }
            writeln!(f)?;
        }
        let Some(posteriors) = &self.marginals else { return Ok(()) };
        for (v, own) in posteriors.each() {
            let potentials = posteriors.potentials;
            write!(f, "{}", line(&key(potentials, v)))?;
            for (value, p) in own.iter().enumerate() {
                write!(f, "  {} {p:.6}", line(&value_name(potentials, v, value)))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Returns the text of a `.MAR` file: the number of variables, then the domain size and the posterior of each.
pub fn mar(found: &Marginals) -> String {
    let mut text = format!("MAR\n{}", found.posteriors.len());
    for posterior in found.posteriors.iter() {
        let posterior = posterior.as_deref().unwrap_or_default();
        text.push_str(&format!(" {}", posterior.len()));
        posterior.iter().for_each(|p| text.push_str(&format!(" {p}")));
    }
    text.push('\n');
    text
}
