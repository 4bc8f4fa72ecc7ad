//! The best-known solution and lower bound of a run.

use super::methods::CONSTANT;
use super::proof::Proof;
use crate::model::{Cost, FORBIDDEN, Network, Number, Units};
use std::sync::Arc;

/// A solution, its cost, and where and when it was found.
#[derive(Clone, Debug)]
pub struct Incumbent {
    /// The cost in the network's units.
    pub cost: Cost,
    /// The value in the file's convention, by the file's own numbers.
    pub value: Number,
    /// Value indices in file order.
    pub assignment: Arc<[u32]>,
    /// Name of the driver or bound step that found it.
    pub source: Arc<str>,
    /// Seconds from the run's origin until it was found.
    pub time_s: f64,
}

/// A lower bound, and where and when it was proved.
#[derive(Clone, Debug)]
pub struct LowerBound {
    /// The bound in the network's units.
    pub cost: Cost,
    /// Name of the step that proved it.
    pub source: Arc<str>,
    /// Seconds from the run's origin until it was proved.
    pub time_s: f64,
}

/// The incumbent, the lower bound and its proof. Every other part of a run asks it.
#[derive(Clone, Debug)]
pub struct BestKnown {
    /// The best solution by the file's own numbers.
    incumbent: Option<Incumbent>,
    /// The solution of least cost in the network's units. Rounding may rank it below the incumbent in the file's
    /// numbers.
    least: Option<Incumbent>,
    /// The best lower bound, perhaps of another run.
    bound: LowerBound,
    /// The best lower bound proved by this run.
    proved: LowerBound,
    /// The best bound that has a proof, and its proof.
    proof: (Cost, Arc<Proof>),
}

/// What a better solution has changed.
#[derive(Clone, Debug)]
pub struct Improvement {
    /// Whether the solution is also better by the file's own numbers, so that it is the incumbent.
    pub is_incumbent: bool,
    /// The bound of another run that the solution refutes; `None` if it refutes none.
    pub refuted: Option<LowerBound>,
}

impl BestKnown {
    /// Begins without a solution and with the constant bound, which is the sum of the functions' minima.
    pub fn new(network: &Network) -> BestKnown {
        let cost = network.least();
        let bound = LowerBound { cost, source: CONSTANT.into(), time_s: 0.0 };
        BestKnown { incumbent: None, least: None, bound: bound.clone(), proved: bound, proof: (cost, Arc::default()) }
    }

    /// Returns the best solution by the file's own numbers.
    pub fn incumbent(&self) -> Option<&Incumbent> {
        self.incumbent.as_ref()
    }

    /// Returns the solution of least cost in the network's units.
    pub fn least(&self) -> Option<&Incumbent> {
        self.least.as_ref()
    }

    /// Returns the least cost in the network's units; [`FORBIDDEN`] before the first solution.
    pub fn upper(&self) -> Cost {
        self.least.as_ref().map_or(FORBIDDEN, |least| least.cost)
    }

    /// Returns the least cost in the network's units and the best value in the file's convention.
    pub fn costs(&self) -> Option<(Cost, Number)> {
        Some((self.least.as_ref()?.cost, self.incumbent.as_ref()?.value))
    }

    /// Returns the best lower bound, of this run or another.
    pub fn bound(&self) -> &LowerBound {
        &self.bound
    }

    /// Returns the best lower bound that this run has proved.
    pub fn proved(&self) -> &LowerBound {
        &self.proved
    }

    /// Returns the best bound that has a proof, and its proof.
    pub fn proof(&self) -> &(Cost, Arc<Proof>) {
        &self.proof
    }

    /// Returns the proof, without copying it if nothing else holds it.
    pub fn into_proof(self) -> Proof {
        Arc::unwrap_or_clone(self.proof.1)
    }

    /// Takes a solution if it costs less than all before; returns what it changes. A bound of another run that it
    /// refutes is dropped. The caller has checked the solution, also against [`BestKnown::proved`].
    pub fn offer(&mut self, units: &Units, solution: Incumbent) -> Option<Improvement> {
        if solution.cost >= self.upper() {
            return None;
        }
        let is_refuted = solution.cost < self.bound.cost;
        let refuted = is_refuted.then(|| std::mem::replace(&mut self.bound, self.proved.clone()));
        let is_incumbent = self.incumbent.as_ref().is_none_or(|best| units.is_better(solution.value, best.value));
        if is_incumbent {
            self.incumbent = Some(solution.clone());
        }
        self.least = Some(solution);
        Some(Improvement { is_incumbent, refuted })
    }

    /// Takes a bound that this run has proved. Returns whether it is the best one. A proof counts even if a better
    /// bound without a proof exists.
    pub fn raise(&mut self, bound: LowerBound, proof: Option<Proof>) -> bool {
        if let Some(proof) = proof.filter(|_| bound.cost > self.proof.0) {
            self.proof = (bound.cost, proof.into());
        }
        if bound.cost > self.proved.cost {
            self.proved = bound.clone();
        }
        self.adopt(bound)
    }

    /// Takes a bound of another run until a solution refutes it. Returns whether it is the best one.
    pub fn adopt(&mut self, bound: LowerBound) -> bool {
        let is_best = bound.cost > self.bound.cost;
        if is_best {
            self.bound = bound;
        }
        is_best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;

    #[test]
    fn a_solution_refutes_bounds_of_other_runs_and_none_of_its_own() {
        let network = generate("grid", &[("side", "3")], 1).expect("a family");
        let bound = |cost| LowerBound { cost, source: "test".into(), time_s: 0.0 };
        let solution = |cost: Cost| Incumbent {
            cost,
            value: network.units().number(cost),
            assignment: Arc::default(),
            source: "test".into(),
            time_s: 0.0,
        };
        let mut known = BestKnown::new(&network);
        let least = network.least();
        assert!(known.raise(bound(least + 2), None) && !known.raise(bound(least + 1), Some(Proof::default())));
        assert_eq!((known.bound().cost, known.proof().0), (least + 2, least + 1));
        assert!(known.adopt(bound(least + 9)) && !known.adopt(bound(least + 8)));
        assert_eq!((known.bound().cost, known.proved().cost), (least + 9, least + 2));
        let improved = known.offer(network.units(), solution(least + 9)).expect("it is the first");
        assert!(improved.is_incumbent && improved.refuted.is_none());
        let improved = known.offer(network.units(), solution(least + 4)).expect("it is better");
        assert_eq!(improved.refuted.map(|bound| bound.cost), Some(least + 9));
        assert_eq!((known.bound().cost, known.upper()), (least + 2, least + 4));
        assert!(known.offer(network.units(), solution(least + 4)).is_none());
    }
}
