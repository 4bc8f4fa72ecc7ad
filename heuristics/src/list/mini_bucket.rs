//! Guidance by mini-buckets (Kask, Dechter: "A general scheme for automatic generation of search heuristics from
//! specification dependencies", 2001).

use crate::device::Source;
use crate::texts::HEURISTICS;
use crate::{Inputs, Needs, ValueHeuristic, Weights, above};

/// A heuristic that weights values by the cost to go of the mini-buckets.
#[derive(Clone, Copy, Debug)]
pub struct MiniBucket;

impl ValueHeuristic for MiniBucket {
    fn name(&self) -> &str {
        "mini-bucket"
    }

    fn about(&self) -> &str {
        "\
values weighted by the mini-buckets' cost to go
Variables are visited along the reverse elimination order. A value's rating is the larger of two: how much it raises the
lower bound, given the variables visited before it, and half of what it costs under all others' values. Weights are
exp(-rating / temperature). Before the first mini-buckets are done it is a heat bath."
    }

    fn needs(&self) -> Needs {
        Needs::COST | Needs::LEAST | Needs::H | Needs::TEMPERATURE
    }

    fn cuda(&self) -> Option<Source> {
        Some(HEURISTICS.source("mini_bucket.cuh"))
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        let boltzmann = Weights::new(inputs.temperature);
        let rating = |cost: f64, h: f64| h.max((cost - inputs.least) / 2.0);
        let ratings = || inputs.cost.iter().zip(inputs.h).map(|(&cost, &h)| rating(cost, h));
        let least = ratings().fold(f64::INFINITY, f64::min);
        for (weight, rating) in weights.iter_mut().zip(ratings()) {
            *weight = boltzmann.weight(above(rating, least));
        }
    }
}
