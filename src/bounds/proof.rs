//! The certificate of a bound, from the reductions, the shifts and the plan that led to it.

use super::tuning::proof::{LEAST_BYTES, LEAST_WORK, LOOKS, MORE_DEPTH, MORE_PASSES, MORE_WORK};
use super::{BranchingTrace, Entry, MiniBucket, Passes, Shift};
use crate::certificate::{
    Branch, Certificate, Cluster, Elimination, Ending, Graph, Join, Lemma, Rows, Search, Solution, Step,
};
use crate::elimination::{Plan, Source};
use crate::model::{Cost, Network, Problem};
use crate::reduce::{BoundProof, Forbidden, Reducer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The steps to a bound, kept until a certificate is requested.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// The reductions, which kept a log; none where the bound is that of the network's own minima.
    reducer: Option<Arc<Reducer>>,
    shifting: Option<Shifting>,
    /// Join graphs, each built from the costs that the one before left.
    graphs: Vec<Arc<Passes>>,
    plan: Option<Eliminated>,
    rows: Option<Plan>,
    search: Option<Searched>,
}

/// A plan, and the scopes of the functions that it joins, of the reduced problem's variables.
#[derive(Clone, Debug)]
struct Eliminated {
    plan: Plan,
    scopes: Vec<Box<[u32]>>,
}

/// A branch and bound search.
#[derive(Clone, Debug)]
struct Searched {
    bits: u32,
    trace: BranchingTrace,
    /// Bytes of a node, and of all that it has.
    bytes: (u64, u64),
}

/// How costs were shifted.
#[derive(Clone, Debug)]
struct Shifting {
    bits: u32,
    entries: Vec<Entry>,
}

impl Proof {
    /// The minima after the reductions; `None` where they kept no log ([`Reducer::logged`]).
    pub fn reductions(reducer: &Arc<Reducer>) -> Option<Proof> {
        reducer.steps().map(|_| Proof { reducer: Some(reducer.clone()), ..Proof::default() })
    }

    /// Costs shifted after that; `None` without a journal ([`Shift::keep_journal`]).
    pub fn shifted(mut self, shift: &Shift) -> Option<Proof> {
        self.shifting = Some(Shifting { bits: shift.bits(), entries: shift.entries()? });
        Some(self)
    }

    /// A branch and bound search after the reductions. Costs are multiplied by 2^`bits`; `bytes` holds the size of a
    /// node and of all memory. Branchings made later are recorded as well.
    pub fn searched(mut self, bits: u32, trace: &BranchingTrace, bytes: (u64, u64)) -> Proof {
        self.search = Some(Searched { bits, trace: trace.clone(), bytes });
        self
    }

    /// Costs moved between mini-buckets after that.
    pub fn joined(mut self, graphs: Vec<Arc<Passes>>) -> Proof {
        self.graphs = graphs;
        self
    }

    /// Elimination after that, of the functions of `problem`.
    pub fn eliminated(mut self, plan: &Plan, problem: &Problem) -> Proof {
        let scopes = problem.functions.iter().map(|function| function.scope.clone()).collect();
        self.plan = Some(Eliminated { plan: plan.clone(), scopes });
        self
    }

    /// Sparse elimination after that; `plan` has its size.
    pub fn by_rows(mut self, plan: &Plan) -> Proof {
        self.rows = Some(plan.clone());
        self
    }

    /// The certificate of `bound`, with the best solution known and its cost.
    pub fn certificate(&self, network: &Network, bound: Cost, solution: Option<(Cost, &[u32])>) -> Certificate {
        let solution = solution.map(|(cost, values)| Solution { cost, values: values.to_vec() });
        Certificate::new(network, bound, solution, self.branch(bound))
    }

    fn branch(&self, bound: Cost) -> Branch {
        let Some(reducer) = &self.reducer else {
            return Branch { steps: Vec::new(), ending: Ending::Constant };
        };
        let mut steps = reductions(reducer, bound);
        let core = Core::new(reducer);
        if self.shifting.is_some() || self.plan.is_some() || self.rows.is_some() || self.search.is_some() {
            // in any case: an assignment that costs as much as the bound does not contradict it
            steps.push(Step::Limit(bound));
        }
        let last = self.plan.is_none() && self.rows.is_none();
        self.moves(&core, if last { MORE_PASSES } else { 0 }, &mut steps);
        if let Some(searched) = &self.search {
            steps.push(Step::Scale(searched.bits));
            return Branch { steps, ending: Ending::Search(core.search(searched, bound)) };
        }
        let ending = match (&self.plan, &self.rows) {
            (Some(plan), _) => Ending::Elimination(core.elimination(plan)),
            (None, Some(plan)) => Ending::Rows(core.rows(plan)),
            (None, None) => Ending::Constant,
        };
        Branch { steps, ending }
    }

    /// Costs shifted and moved over join graphs, the last of which may have more passes.
    fn moves(&self, core: &Core, more: u32, steps: &mut Vec<Step>) {
        if let Some(Shifting { bits, entries }) = &self.shifting {
            steps.push(Step::Scale(*bits));
            steps.extend(entries.iter().map(|entry| core.step(entry)));
        }
        for (place, passes) in (1..).zip(&self.graphs) {
            steps.push(Step::Graph(core.graph(passes, if place == self.graphs.len() { more } else { 0 })));
        }
    }
}

impl BoundProof for Proof {
    fn lemma(&self, bound: Cost, values: &BTreeMap<u32, Vec<u32>>) -> Option<(usize, Lemma)> {
        let reducer = self.reducer.as_ref()?;
        let logged = reducer.steps()?.len();
        let core = Core::new(reducer);
        let mut steps = vec![Step::Limit(bound)];
        self.moves(&core, MORE_PASSES, &mut steps);
        let problem = reducer.problem();
        let room = |scope: &[u32]| {
            scope.iter().fold(1, |room: u64, &v| room.saturating_mul(problem.domains[v as usize].into()))
        };
        let clusters = self.graphs.last().map(|passes| passes.clusters.iter().map(|cluster| &cluster.scope));
        let functions = problem.functions.iter().map(|function| &function.scope);
        let scopes: Vec<_> = clusters.into_iter().flatten().chain(functions).collect();
        let entries = scopes.iter().map(|scope| room(scope)).fold(0, u64::saturating_add);
        let sizes = |scope: &[u32]| scope.iter().map(|&v| u64::from(problem.domains[v as usize])).sum::<u64>();
        let cells = scopes.iter().map(|scope| sizes(scope)).sum::<u64>();
        let lemma = Lemma {
            steps,
            back: self.plan.as_ref().map(|plan| core.elimination(plan)),
            values: values.iter().map(|(&v, values)| (v, values[..].into())).collect(),
            work: entries.saturating_mul(LOOKS).saturating_add(LEAST_WORK),
            bytes: cells.saturating_mul(8 * MORE_DEPTH).saturating_add(LEAST_BYTES),
        };
        Some((logged, lemma))
    }
}

/// The message where a certificate proves less than the run.
pub fn weaker(network: &Network, proven: Cost, found: Cost) -> String {
    let [proven, found] = [proven, found].map(|bound| match network.bound(bound) {
        Some(bound) => format!("the bound {bound}"),
        None => "that there is no solution".into(),
    });
    format!("the certificate proves {proven}: how {found} came about was not kept")
}

/// The steps of the reductions, with the lemmas behind bounds of values.
fn reductions(reducer: &Arc<Reducer>, bound: Cost) -> Vec<Step> {
    let log = reducer.steps().unwrap_or_default();
    let lemmas = reducer.lemmas().iter().filter_map(|Forbidden { proof, values }| {
        proof.lemma(bound, values).map(|(logged, lemma)| (logged, Step::Lemma(lemma)))
    });
    let mut lemmas: Vec<(usize, Step)> = lemmas.collect();
    lemmas.sort_by_key(|(place, _)| *place);
    let mut lemmas = lemmas.into_iter().peekable();
    let mut steps = Vec::new();
    for place in 0..=log.len() {
        while let Some((_, lemma)) = lemmas.next_if(|(at, _)| *at <= place) {
            steps.push(lemma);
        }
        steps.extend(log.get(place).cloned());
    }
    steps
}

/// The network's names of a reduced problem's variables, ascending.
fn named(reducer: &Reducer, scope: &[u32]) -> Box<[u32]> {
    let mut names: Box<[u32]> = scope.iter().map(|&v| reducer.variables()[v as usize]).collect();
    names.sort_unstable();
    names
}

/// The network's names for the parts of the reduced problem.
struct Core<'a> {
    reducer: &'a Reducer,
    scopes: Vec<Box<[u32]>>,
}

impl<'a> Core<'a> {
    fn new(reducer: &'a Reducer) -> Self {
        let problem = reducer.problem();
        let scopes = problem.functions.iter().map(|function| named(reducer, &function.scope)).collect();
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

    fn search(&self, Searched { trace, bytes: (node, all), .. }: &Searched, bound: Cost) -> Search {
        let (list, deepest) = trace.list(bound);
        let mini = trace.mini();
        // a table of a mini-bucket is no larger than the combinations visited for it; the run's entries may be half as
        // wide
        let tables = mini.saturating_mul(size_of::<Cost>() as u64).min(all.saturating_mul(2));
        let name = |v: u32| self.reducer.variables()[v as usize];
        let fork = |fork: &super::Branching| {
            let parent = list[fork.before as usize].variable;
            let value = self.reducer.values(parent as usize).get(fork.value as usize).copied().unwrap_or_default();
            (name(fork.variable), fork.before, value)
        };
        Search {
            work: trace.work().saturating_mul(MORE_WORK).saturating_add(LEAST_WORK),
            bytes: node.saturating_mul(u64::from(deepest) + MORE_DEPTH).saturating_add(tables),
            mini,
            forks: list.iter().map(fork).collect(),
        }
    }

    fn rows(&self, plan: &Plan) -> Rows {
        let order = plan.sequence.iter().map(|&v| self.reducer.variables()[v as usize]).collect();
        let more = |taken: u64, least: u64| taken.saturating_mul(MORE_WORK).saturating_add(least);
        Rows { order, work: more(plan.joint_entries, LEAST_WORK), bytes: more(plan.placement.table_bytes, LEAST_BYTES) }
    }

    fn graph(&self, passes: &Passes, more: u32) -> Graph {
        let cluster = |bucket: &MiniBucket| Cluster {
            over: named(self.reducer, &bucket.scope),
            to: bucket.to,
            beside: bucket.beside,
        };
        let clusters = passes.clusters.iter().map(cluster).collect();
        Graph { clusters, passes: passes.directed, even: passes.even + more }
    }

    fn elimination(&self, Eliminated { plan, scopes }: &Eliminated) -> Elimination {
        let variable = |&position: &u32| self.reducer.variables()[plan.sequence[position as usize] as usize];
        let join = |step: &crate::elimination::Step| {
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
        let functions = scopes.iter().map(|scope| named(self.reducer, scope)).collect();
        Elimination { functions, joins: plan.steps.iter().map(join).collect() }
    }
}
