//! Assignment and scheduling: two variables exchange their values.

use crate::device::Source;
use crate::model::Problem;
use crate::rng::Rng;
use crate::texts::HEURISTICS;
use crate::{Boltzmann, Inputs, Needs, Neighbourhood, ValueHeuristic, View};

/// A heat bath with exchanges of two variables' values.
#[derive(Clone, Copy, Debug)]
pub struct Swap;

impl ValueHeuristic for Swap {
    fn name(&self) -> &str {
        "swap"
    }

    fn about(&self) -> &str {
        "\
assignment and scheduling: a heat bath with exchanges of two variables' values
Between passes two variables with domains of one size exchange their values, which keeps every value as often used as
before: where each person takes one place, or each place one person, a single change always breaks something. For
networks in which two variables with equally many values share a function."
    }

    fn needs(&self) -> Needs {
        Boltzmann.needs()
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        Boltzmann.weigh(inputs, weights);
    }

    fn cuda(&self) -> Option<Source> {
        Boltzmann.cuda()
    }

    fn fits(&self, problem: &Problem) -> Result<(), String> {
        let domain = |v: &u32| problem.domains[*v as usize];
        let equal =
            problem.functions.iter().any(|f| f.scope.windows(2).any(|pair| domain(&pair[0]) == domain(&pair[1])));
        if equal {
            Ok(())
        } else {
            Err("no function of the reduced problem has two variables with equally many values".into())
        }
    }

    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        Some(&Exchange)
    }
}

/// A neighbourhood that exchanges the values of two variables.
#[derive(Clone, Copy, Debug)]
pub struct Exchange;

impl Neighbourhood for Exchange {
    fn cuda(&self) -> Option<Source> {
        Some(HEURISTICS.including("exchange.cuh"))
    }

    fn propose(&self, view: &View<'_>, rng: &mut Rng, group: &mut Vec<(u32, u16)>) {
        let [u, v] = [0, 0].map(|_| rng.index(view.variables()));
        // compared by the network's values, because reductions may have removed different ones
        let [a, b] = [u, v].map(|variable| view.origin_value(variable, view.value(variable)));
        if let (false, Some(of_u), Some(of_v)) = (a == b, view.value_of_origin(u, b), view.value_of_origin(v, a)) {
            group.extend([(u as u32, of_u as u16), (v as u32, of_v as u16)]);
        }
    }
}
