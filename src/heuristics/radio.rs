//! Radio links: frequencies whose distance to a partner's is given.

use super::{Boltzmann, Ejection, Inputs, Needs, Neighbourhood, ValueHeuristic};
use crate::model::{FORBIDDEN, Problem};

/// A heat bath with chains: a link takes a frequency, and partners follow.
#[derive(Clone, Copy, Debug)]
pub struct Radio;

impl ValueHeuristic for Radio {
    fn name(&self) -> &str {
        "radio"
    }

    fn about(&self) -> &str {
        "\
radio links: a heat bath with chains that keep partners at their distance
Between passes a link takes another frequency, and each link that a forbidden pair then names follows with its cheapest one, and
those after it: a link and its partner move together, where one alone would break their distance. For networks with forbidden
pairs of values. (Where a distance leaves each frequency one partner the reductions have merged the two links already; chains
then move the links around them.)"
    }

    fn needs(&self) -> Needs {
        Boltzmann.needs()
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        Boltzmann.weigh(inputs, weights);
    }

    fn fits(&self, problem: &Problem) -> Result<(), String> {
        let forbids = problem.functions.iter().any(|f| f.entries(&problem.domains).any(|cost| cost >= FORBIDDEN));
        if forbids { Ok(()) } else { Err("no function of the core forbids anything: there are no distances".into()) }
    }

    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        Some(&Ejection { depth: 3 })
    }
}
