//! Penalties by frequency, the long-term memory of tabu search (Glover: "Tabu search, part I", 1989).

use crate::device::Source;
use crate::texts::HEURISTICS;
use crate::{Inputs, Needs, ValueHeuristic, Weights, above};

/// A heat bath in which values cost more the longer the variable has had them.
#[derive(Clone, Copy, Debug)]
pub struct Frequency;

/// The penalty, in temperatures, of a value that the variable had after every visit.
const PENALTY: f64 = 2.0;

impl ValueHeuristic for Frequency {
    fn name(&self) -> &str {
        "frequency"
    }

    fn about(&self) -> &str {
        "\
heat bath with penalties for values that a variable has had for long
A value's rating is its cost and two temperatures times its frequency: the part of the variable's visits after which it
had the value. Values are weighted by exp(-rating / temperature). Penalties lead away from values that a state had
often; cheapest values are still found, as penalties fall with the temperature."
    }

    fn needs(&self) -> Needs {
        Needs::COST | Needs::LEAST | Needs::TEMPERATURE | Needs::FREQUENCY
    }

    fn cuda(&self) -> Option<Source> {
        Some(HEURISTICS.source("frequency.cuh"))
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        let boltzmann = Weights::new(inputs.temperature);
        let scale = PENALTY * inputs.temperature;
        for (weight, (&cost, &frequency)) in weights.iter_mut().zip(inputs.cost.iter().zip(inputs.frequency)) {
            *weight = boltzmann.weight(above(cost + scale * frequency, inputs.least));
        }
    }
}
