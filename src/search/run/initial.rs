//! What a run begins with, before threads, reductions and tables are made.

use super::greedy;
use super::messages::{Message, Totals};
use crate::check;
use crate::model::{Cost, FORBIDDEN, Network, Number};
use crate::rng::Rng;
use crate::search::options::Options;
use crate::stop::Stop;
use std::ops::ControlFlow;

pub(crate) struct InitialSolution {
    /// The warm start, or one by greedy choices; none in a run without rounds.
    pub assignment: Option<Vec<u32>>,
    /// The least cost of a solution told of, in the network's units; [`FORBIDDEN`] without one.
    pub upper: Cost,
    /// The best value told of, in the file's convention.
    pub value: Option<Number>,
}

impl InitialSolution {
    /// Tells of the warm start if there is one, or of solutions by greedy choices until one costs no more than `lower`.
    pub fn new(network: &Network, options: &Options, lower: Cost, stop: &Stop, tell: &mut dyn FnMut(Message)) -> Self {
        let totals = Totals::resumed(options);
        let known = options.keeping.resumed().and_then(|resumed| {
            let found = resumed.checkpoint.solution.as_ref()?;
            Some((resumed.upper?, found.value, &found.values))
        });
        let (mut upper, mut best) = known.map_or((FORBIDDEN, None), |(upper, value, _)| (upper, Some(value)));
        let mut found = |assignment: &[u32], source: &str| {
            // once the run is over nobody waits for one more
            let gives_up = || stop.is_set() && best.is_some();
            if let Some(evaluation) = check::evaluate_unless(network, assignment, gives_up)
                && evaluation.is_solution()
                && evaluation.cost < upper
                && let Some(value) = evaluation.value(network, assignment)
            {
                upper = evaluation.cost;
                if best.is_none_or(|best| network.units().is_better(value, best)) {
                    best = Some(value);
                }
                let (solution, source) = (assignment.into(), source.to_string());
                tell(Message::Solution { cost: upper, value, solution, source, totals });
            }
            if upper > lower { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let assignment = match &options.warm_start {
            Some(start) => {
                let _ = found(start, "warm-start");
                Some(start.clone())
            }
            None if let Some((.., values)) = known => Some(values.clone()),
            None if options.rounds == Some(0) || lower >= network.top() || !greedy::fits(network.expanded()) => None,
            None => {
                let rng = &mut Rng::new(options.seed);
                let own = network.domains().len();
                let mut found = |values: &[u32]| found(&values[..own], "greedy");
                let mut assignment = greedy::assignments(network.expanded(), rng, stop, &mut found);
                assignment.truncate(own);
                Some(assignment)
            }
        };
        InitialSolution { assignment, upper, value: best }
    }

    /// The least cost in the network's units and the best value, where there is a solution.
    pub fn found(&self) -> Option<(Cost, Number)> {
        self.value.map(|value| (self.upper, value))
    }
}
