//! The probability of a solution given the evidence, if the file is a probability model.

use fangs_base::Error;
use fangs_base::memory;
use fangs_base::stop::{Cause, Stop};
use fangs_formats as formats;
use fangs_marginals::{Evidence, Options, Prepared};
use fangs_model::model::{Network, ROUNDOFF};
use fangs_report::text::certain_digits;
use fangs_search::Clock;
use serde::Serialize;
use std::f64::consts::LN_10;
use std::fmt;
use std::time::{Duration, Instant};

/// The maximum number of entries of all functions, and of all cliques of the sum: about a second of work.
const MOST_ENTRIES: u64 = 1 << 26;
/// The time for the sum if the run has ended by a limit.
const LEAST_TIME: Duration = Duration::from_millis(200);

/// The probability of an assignment given the evidence: its product divided by the sum over all assignments that agree
/// with the evidence. The numbers are `None` if the sum is too large to be computed beside a search.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Probability {
    /// The natural logarithm of the probability.
    ln_probability: Option<f64>,
    log10_probability: Option<f64>,
    /// The largest possible error of the natural logarithm.
    probability_error: Option<f64>,
}

impl Probability {
    /// Computes the probability of an assignment of a network with evidence; `None` if the network's file has no
    /// potentials.
    pub fn of(network: &Network, values: &[u32], evidence: Vec<(u32, u32)>, stop: &Stop) -> Option<Probability> {
        let _ = network.reading()?;
        // after a limit, a short sum is completed; a signal leaves none
        let (ended, interrupted) = (stop.is_set(), stop.cause() == Some(Cause::Signal));
        let own = if ended { stop.unheeded() } else { stop.below() };
        let _clock = ended.then(|| Clock::start(Instant::now(), Some(LEAST_TIME), &own));
        let entries = network.functions().iter().map(|function| function.table.size() as u64).sum::<u64>();
        if interrupted || entries > MOST_ENTRIES {
            return Some(Probability::default());
        }
        let found = quotient(network, values, Evidence { values: evidence, weights: Vec::new() }, &own);
        Some(found.ok().flatten().unwrap_or_default())
    }
}

/// Computes the probability, unless the tables of the sum are too large.
fn quotient(network: &Network, values: &[u32], evidence: Evidence, stop: &Stop) -> Result<Option<Probability>, Error> {
    let potentials = formats::potentials_of(network, 1.0)?;
    let memory = memory::available() / 4;
    let options = Options::default().with(|options| {
        (options.variables, options.memory) = (Some(Vec::new()), Some(memory));
    });
    let prepared = Prepared::new(&potentials, &evidence, &options, stop)?;
    let tree = prepared.tree();
    if tree.clique_entries > MOST_ENTRIES || tree.bytes > memory {
        return Ok(None);
    }
    let sum = prepared.run(stop)?;
    let product = potentials.value(values).ln();
    // each product rounds once, the logarithm and the difference once each
    let roundings = potentials.functions.len() as f64 + product.abs() + 2.0;
    let error = sum.error_bound + potentials.rounding + roundings * ROUNDOFF;
    let ln = (product - sum.ln_z).min(0.0);
    Ok(ln.is_finite().then_some(Probability {
        ln_probability: Some(ln),
        log10_probability: Some(ln / LN_10),
        probability_error: Some(error),
    }))
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(ln), Some(log10), Some(error)) =
            (self.ln_probability, self.log10_probability, self.probability_error)
        else {
            return write!(f, "- (the sum over all assignments is too large here; see `fangs marginals -t`)");
        };
        match ln.exp() {
            p if p >= 1e-4 => write!(f, "{}", certain_digits(p, (p * error).max(p * 1e-5)))?,
            p => write!(f, "{p:.5e}")?,
        }
        let [ln, log10] = [certain_digits(ln, error), certain_digits(log10, error / LN_10)];
        write!(f, " (ln {ln}, log10 {log10})")
    }
}
