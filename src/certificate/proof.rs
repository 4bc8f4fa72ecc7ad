//! From the reductions, the shifts and the plan that led to a bound to its certificate.

use super::{Branch, Certificate, Elimination, Ending, Join, Search, Solution, Step};
use crate::inference::{Entry, Forks, Plan, Shift, Source};
use crate::model::{Cost, Network};
use crate::reduce::Reducer;
use std::sync::Arc;

/// What a bound follows from, kept until somebody wants the certificate.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// The reductions, which kept a log; none where the bound is that of the network's own minima.
    reducer: Option<Arc<Reducer>>,
    shifting: Option<Shifting>,
    plan: Option<Plan>,
    search: Option<Searched>,
}

/// A search over values.
#[derive(Clone, Debug)]
struct Searched {
    bits: u32,
    forks: Forks,
    /// Bytes of a node.
    node: u64,
}

/// How many times as much as the search the replay may do: it bounds in its own way, and visits each node anew. It took as much at
/// most where that was measured (results/notes/certificates.md).
const MORE_WORK: u64 = 8;
/// Work and nodes that it may have besides.
const LEAST_WORK: u64 = 1 << 22;
const MORE_DEPTH: u64 = 64;

/// How costs were shifted.
#[derive(Clone, Debug)]
struct Shifting {
    bits: u32,
    entries: Vec<Entry>,
}

impl Proof {
    /// The minima that the reductions lead to; `None` where they kept no log ([`Reducer::logged`]).
    pub fn reductions(reducer: &Arc<Reducer>) -> Option<Proof> {
        reducer.steps().map(|_| Proof { reducer: Some(reducer.clone()), ..Proof::default() })
    }

    /// Costs shifted after that; `None` where that kept no journal ([`Shift::keep_journal`]).
    pub fn shifted(mut self, shift: &Shift) -> Option<Proof> {
        self.shifting = Some(Shifting { bits: shift.bits(), entries: shift.entries()? });
        Some(self)
    }

    /// A search over values after the reductions, with costs multiplied by 2^`bits` and nodes of so many bytes. It may go on: what it
    /// branches on later is told as well.
    pub fn searched(mut self, bits: u32, forks: &Forks, node: u64) -> Proof {
        self.search = Some(Searched { bits, forks: forks.clone(), node });
        self
    }

    /// Elimination after that.
    pub fn eliminated(mut self, plan: &Plan) -> Proof {
        self.plan = Some(plan.clone());
        self
    }

    /// The certificate that `bound` is one, with the best solution known and its cost.
    pub fn certificate(&self, network: &Network, bound: Cost, solution: Option<(Cost, &[u32])>) -> Certificate {
        let solution = solution.map(|(cost, values)| Solution { cost, values: values.to_vec() });
        Certificate::new(network, bound, solution, self.branch(bound))
    }

    fn branch(&self, bound: Cost) -> Branch {
        let Some(reducer) = &self.reducer else {
            return Branch { steps: Vec::new(), ending: Ending::Constant };
        };
        let mut steps = reducer.steps().unwrap_or_default().to_vec();
        if self.shifting.is_some() || self.plan.is_some() || self.search.is_some() {
            // whatever was known then: what costs as much as the bound does not speak against it
            steps.push(Step::Limit(bound));
        }
        let core = Core::new(reducer);
        if let Some(Shifting { bits, entries }) = &self.shifting {
            steps.push(Step::Scale(*bits));
            steps.extend(entries.iter().map(|entry| core.step(entry)));
        }
        if let Some(searched) = &self.search {
            steps.push(Step::Scale(searched.bits));
            return Branch { steps, ending: Ending::Search(core.search(searched)) };
        }
        let ending = self.plan.as_ref().map_or(Ending::Constant, |plan| Ending::Elimination(core.elimination(plan)));
        Branch { steps, ending }
    }
}

/// The names that the network has for what the core consists of.
struct Core<'a> {
    reducer: &'a Reducer,
    scopes: Vec<Box<[u32]>>,
}

impl<'a> Core<'a> {
    fn new(reducer: &'a Reducer) -> Self {
        let variables = reducer.variables();
        let name = |&v: &u32| variables[v as usize];
        let problem = reducer.problem();
        let scopes = problem.functions.iter().map(|function| function.scope.iter().map(name).collect()).collect();
        Core { reducer, scopes }
    }

    fn step(&self, entry: &Entry) -> Step {
        let name = |&variable: &u32| self.reducer.variables()[variable as usize];
        match entry {
            Entry::Move { function, variable, amounts } => Step::Move {
                scope: self.scopes[*function as usize].clone(),
                variable: name(variable),
                amounts: amounts[..].into(),
            },
            Entry::Lost { variable, values } => {
                let originals = self.reducer.values(*variable as usize);
                let values = values.iter().map(|&value| originals[value as usize]).collect();
                Step::TooDear { variable: name(variable), values }
            }
        }
    }

    fn search(&self, Searched { forks, node, .. }: &Searched) -> Search {
        let (list, deepest) = forks.list();
        let name = |v: u32| self.reducer.variables()[v as usize];
        let fork = |fork: &crate::inference::Fork| {
            let parent = list[fork.before as usize].variable;
            let value = self.reducer.values(parent as usize).get(fork.value as usize).copied().unwrap_or_default();
            (name(fork.variable), fork.before, value)
        };
        Search {
            work: forks.work().saturating_mul(MORE_WORK).saturating_add(LEAST_WORK),
            bytes: node.saturating_mul(u64::from(deepest) + MORE_DEPTH),
            forks: list.iter().map(fork).collect(),
        }
    }

    fn elimination(&self, plan: &Plan) -> Elimination {
        let variable = |&position: &u32| self.reducer.variables()[plan.sequence[position as usize] as usize];
        let join = |step: &crate::inference::Step| {
            let mut join = Join { variable: variable(&step.position), ..Join::default() };
            for input in &step.inputs {
                match input.source {
                    Source::Unary => join.unary = true,
                    Source::Function(function) => join.functions.push(function),
                    Source::Message(from) => join.messages.push(from),
                }
            }
            join.keep = step.lowered.then(|| step.scope.iter().map(variable).collect());
            join
        };
        Elimination { functions: self.scopes.clone(), joins: plan.steps.iter().map(join).collect() }
    }
}
