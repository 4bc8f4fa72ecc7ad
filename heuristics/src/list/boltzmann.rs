//! The heat bath.

use crate::device::Source;
use crate::texts::HEURISTICS;
use crate::{Inputs, Needs, ValueHeuristic, Weights, above};

/// A heuristic that weights values by exp(-cost / temperature).
#[derive(Clone, Copy, Debug)]
pub struct Boltzmann;

impl ValueHeuristic for Boltzmann {
    fn name(&self) -> &str {
        "boltzmann"
    }

    fn about(&self) -> &str {
        "\
heat bath: values weighted by exp(-cost / temperature)
A value's rating is what it costs given the values of the variable's neighbours; the weight is
exp(-(rating - least) / temperature) through an integer table, so that every machine draws the same value. The
temperature falls along a geometric schedule whose ends come from the cost tables. The driver anneal uses the same
weights, without other heuristics, and is much faster."
    }

    fn needs(&self) -> Needs {
        Needs::COST | Needs::LEAST | Needs::TEMPERATURE
    }

    fn cuda(&self) -> Option<Source> {
        Some(HEURISTICS.source("boltzmann.cuh"))
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        let boltzmann = Weights::new(inputs.temperature);
        for (weight, &cost) in weights.iter_mut().zip(inputs.cost) {
            *weight = boltzmann.weight(above(cost, inputs.least));
        }
    }
}
