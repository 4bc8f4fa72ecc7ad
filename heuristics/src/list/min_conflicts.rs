//! Min-conflicts (Minton, Johnston, Philips, Laird: "Minimizing conflicts", 1992).

use crate::device::Source;
use crate::texts::HEURISTICS;
use crate::{Inputs, Needs, ValueHeuristic};

/// A heuristic in which variables in conflict take a cheapest value.
#[derive(Clone, Copy, Debug)]
pub struct MinConflicts;

/// The weight of each cheapest value. All others together have a 128th of it; without that noise, passes end in the
/// first assignment in which every variable in conflict has one best value.
const BEST: u32 = 1 << 20;

/// Defines the methods of a heuristic that weights values like min-conflicts and adds groups or starts.
macro_rules! as_min_conflicts {
    () => {
        fn needs(&self) -> $crate::Needs {
            $crate::MinConflicts.needs()
        }

        fn active(&self, inputs: &$crate::Inputs<'_>) -> bool {
            $crate::MinConflicts.active(inputs)
        }

        fn condition(&self) -> (&str, $crate::Needs) {
            $crate::MinConflicts.condition()
        }

        fn weigh(&self, inputs: &$crate::Inputs<'_>, weights: &mut [u32]) {
            $crate::MinConflicts.weigh(inputs, weights);
        }

        fn cuda(&self) -> Option<$crate::device::Source> {
            $crate::MinConflicts.cuda()
        }
    };
}
pub(super) use as_min_conflicts;

impl ValueHeuristic for MinConflicts {
    fn name(&self) -> &str {
        "min-conflicts"
    }

    fn about(&self) -> &str {
        "\
variables in conflict take a cheapest value, ties at random
A variable is in conflict where it costs more than the least that its functions can. It takes one of the values that
cost least under the others' values; now and then, one time in 128, any other."
    }

    fn needs(&self) -> Needs {
        Needs::COST | Needs::LEAST | Needs::CURRENT_COST
    }

    fn active(&self, inputs: &Inputs<'_>) -> bool {
        inputs.current_cost > 0.0
    }

    fn condition(&self) -> (&str, Needs) {
        ("current_cost > 0", Needs::CURRENT_COST)
    }

    fn cuda(&self) -> Option<Source> {
        Some(HEURISTICS.source("min_conflicts.cuh").agrees("Heuristic::BEST", BEST))
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        let noise = BEST / 128 / weights.len().max(1) as u32;
        for (weight, &cost) in weights.iter_mut().zip(inputs.cost) {
            *weight = if cost == inputs.least { BEST } else { noise };
        }
    }
}
