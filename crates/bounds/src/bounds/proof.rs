//! Certificates of bounds, made from the reductions, the cost shifts and the plan that led to them.

use super::cost_shifting::Shift;
use super::trace::BranchingTrace;
use super::tuning::proof::{LEAST_BYTES, LEAST_WORK, LOOKS, MORE_DEPTH, MORE_PASSES, MORE_WORK};
use crate::certificate::{
    Branch, Certificate, Cluster, Elimination, Ending, Graph, Join, Lemma, Rows, Search, Solution, Step,
};
use crate::elimination::{Plan, Source};
use crate::model::{Cost, Network, Problem};
use crate::reduce::{BoundProof, Forbidden, Reducer};
use crate::stop::Stop;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The steps that led to a bound, kept until a certificate is requested.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// The reductions with their log; `None` for the sum of the network's own minima.
    reducer: Option<Arc<Reducer>>,
    /// Cost shifting: the exponent of the power of two that costs were multiplied by, and the moves.
    shifting: Option<(u32, Vec<Step>)>,
    /// Join graphs, each built from the costs that the preceding one left.
    graphs: Vec<Arc<Graph>>,
    ending: Option<End>,
}

/// The bounding step that ends a proof.
#[derive(Clone, Debug)]
enum End {
    /// Bucket elimination along a plan, with the scopes of the functions it was made for.
    Plan(Plan, Vec<Box<[u32]>>),
    /// Sparse elimination; the plan gives its order and its size.
    Rows(Plan),
    /// A branch and bound on costs multiplied by 2^`bits`.
    Search { bits: u32, trace: BranchingTrace, bytes: SearchBytes },
}

/// The memory available to a branch and bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchBytes {
    /// Bytes of a node.
    pub node: u64,
    /// Bytes available in total.
    pub all: u64,
}

impl Proof {
    /// Returns the proof of the constant that the reductions left; `None` if they kept no log ([`Reducer::logged`]).
    pub fn reductions(reducer: &Arc<Reducer>) -> Option<Proof> {
        reducer.steps().map(|_| Proof { reducer: Some(reducer.clone()), ..Proof::default() })
    }

    /// Adds cost shifting after the reductions; returns `None` if it kept no journal ([`Shift::keep_journal`]).
    pub(crate) fn shifted(self, shift: &Shift) -> Option<Proof> {
        Some(Proof { shifting: Some((shift.bits(), shift.steps()?)), ..self })
    }

    /// Adds join graphs, between whose mini-buckets costs moved after cost shifting.
    pub(crate) fn joined(self, graphs: Vec<Arc<Graph>>) -> Proof {
        Proof { graphs, ..self }
    }

    /// Adds a branch and bound after the reductions. The proof includes branchings that the search makes later.
    pub(crate) fn searched(self, bits: u32, trace: &BranchingTrace, bytes: SearchBytes) -> Proof {
        Proof { ending: Some(End::Search { bits, trace: trace.clone(), bytes }), ..self }
    }

    pub(crate) fn eliminated(self, plan: &Plan, problem: &Problem) -> Proof {
        let scopes = problem.functions.iter().map(|function| function.scope[..].into()).collect();
        Proof { ending: Some(End::Plan(plan.clone(), scopes)), ..self }
    }

    /// Adds sparse elimination as the last step; `plan` gives its order and size.
    pub(crate) fn by_rows(self, plan: &Plan) -> Proof {
        Proof { ending: Some(End::Rows(plan.clone())), ..self }
    }

    /// Returns the certificate of `bound`, with the incumbent and its cost.
    pub fn certificate(&self, network: &Network, bound: Cost, solution: Option<(Cost, &[u32])>) -> Certificate {
        let solution = solution.map(|(cost, values)| Solution { cost, values: values.to_vec() });
        Certificate::new(network, bound, solution, self.branch(bound))
    }

    fn branch(&self, bound: Cost) -> Branch {
        let Some(reducer) = &self.reducer else {
            return Branch { steps: Vec::new(), ending: Ending::Constant };
        };
        let mut steps = reductions(reducer, bound);
        let names = Names(reducer);
        if self.shifting.is_some() || self.ending.is_some() {
            // always sound: a solution that costs as much as the bound does not contradict the bound
            steps.push(Step::Limit(bound));
        }
        let last = !matches!(self.ending, Some(End::Plan(..) | End::Rows(_)));
        self.moves(&names, if last { MORE_PASSES } else { 0 }, &mut steps);
        let ending = match &self.ending {
            None => Ending::Constant,
            Some(End::Plan(plan, scopes)) => Ending::Elimination(names.elimination(plan, scopes)),
            Some(End::Rows(plan)) => Ending::Rows(names.rows(plan)),
            Some(End::Search { bits, trace, bytes }) => {
                steps.push(Step::Scale(*bits));
                Ending::Search(names.search(trace, *bytes, bound))
            }
        };
        Branch { steps, ending }
    }

    /// Appends the steps of cost shifting and of the join graphs; the last graph may take `more` further passes.
    fn moves(&self, names: &Names<'_>, more: u32, steps: &mut Vec<Step>) {
        if let Some((bits, moves)) = &self.shifting {
            steps.push(Step::Scale(*bits));
            steps.extend(moves.iter().map(|step| names.step(step)));
        }
        for (place, graph) in (1..).zip(&self.graphs) {
            steps.push(Step::Graph(names.graph(graph, if place == self.graphs.len() { more } else { 0 })));
        }
    }
}

impl BoundProof for Proof {
    fn lemma(&self, bound: Cost, values: &BTreeMap<u32, Vec<u32>>) -> Option<(usize, Lemma)> {
        let reducer = self.reducer.as_ref()?;
        let logged = reducer.steps()?.len();
        let names = Names(reducer);
        let mut steps = vec![Step::Limit(bound)];
        self.moves(&names, MORE_PASSES, &mut steps);
        let problem = reducer.problem(&Stop::new()).ok()?;
        let sizes = |scope: &[u32]| scope.iter().map(|&v| u64::from(problem.domains[v as usize])).collect::<Vec<_>>();
        let clusters = self.graphs.last().map(|graph| graph.clusters.iter().map(|cluster| &cluster.over[..]));
        let scopes = clusters.into_iter().flatten().chain(problem.functions.iter().map(|function| &function.scope[..]));
        let (mut entries, mut cells) = (0u64, 0);
        for sizes in scopes.map(sizes) {
            entries = entries.saturating_add(sizes.iter().copied().fold(1, u64::saturating_mul));
            cells += sizes.iter().sum::<u64>();
        }
        let lemma = Lemma {
            steps,
            back: match &self.ending {
                Some(End::Plan(plan, scopes)) => Some(names.elimination(plan, scopes)),
                _ => None,
            },
            values: values.iter().map(|(&v, values)| (v, values[..].into())).collect(),
            work: entries.saturating_mul(LOOKS).saturating_add(LEAST_WORK),
            bytes: cells.saturating_mul(8 * MORE_DEPTH).saturating_add(LEAST_BYTES),
        };
        Some((logged, lemma))
    }
}

/// Returns the message for a certificate that proves less than the run did.
pub fn weaker(network: &Network, proven: Cost, found: Cost) -> String {
    let [proven, found] = [proven, found].map(|bound| match network.bound(bound) {
        Some(bound) => format!("the bound {bound}"),
        None => "that there is no solution".into(),
    });
    format!("the certificate proves {proven}: how {found} came about was not kept")
}

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

/// Translates variables of the reduced problem into those of the network.
struct Names<'a>(&'a Reducer);

impl Names<'_> {
    fn name(&self, variable: u32) -> u32 {
        self.0.variables()[variable as usize]
    }

    /// Returns the network's variables of a scope, ascending.
    fn names(&self, scope: &[u32]) -> Box<[u32]> {
        let mut names: Box<[u32]> = scope.iter().map(|&v| self.name(v)).collect();
        names.sort_unstable();
        names
    }

    fn step(&self, step: &Step) -> Step {
        match step {
            Step::Move { scope, variable, amounts } => {
                Step::Move { scope: self.names(scope), variable: self.name(*variable), amounts: amounts.clone() }
            }
            Step::TooDear { variable, values } => {
                let originals = self.0.values(*variable as usize);
                let values = values.iter().map(|&value| originals[value as usize]).collect();
                Step::TooDear { variable: self.name(*variable), values }
            }
            other => other.clone(),
        }
    }

    fn search(&self, trace: &BranchingTrace, bytes: SearchBytes, bound: Cost) -> Search {
        let SearchBytes { node, all } = bytes;
        let (list, deepest) = trace.list(bound);
        let mini = trace.mini();
        // a table of a mini-bucket has at most as many entries as combinations visited for it; entries of the run may
        // be half as wide as those of the replay
        let tables = mini.saturating_mul(size_of::<Cost>() as u64).min(all.saturating_mul(2));
        let fork = |&(variable, before, value): &(u32, u32, u32)| {
            let (parent, ..) = list[before as usize];
            let value = self.0.values(parent as usize).get(value as usize).copied().unwrap_or_default();
            (self.name(variable), before, value)
        };
        Search {
            work: trace.work().saturating_mul(MORE_WORK).saturating_add(LEAST_WORK),
            bytes: node.saturating_mul(u64::from(deepest) + MORE_DEPTH).saturating_add(tables),
            mini,
            forks: list.iter().map(fork).collect(),
        }
    }

    fn rows(&self, plan: &Plan) -> Rows {
        let order = plan.sequence.iter().map(|&v| self.name(v)).collect();
        let more = |taken: u64, least: u64| taken.saturating_mul(MORE_WORK).saturating_add(least);
        Rows { order, work: more(plan.joint_entries, LEAST_WORK), bytes: more(plan.placement.table_bytes, LEAST_BYTES) }
    }

    fn graph(&self, graph: &Graph, more: u32) -> Graph {
        let cluster = |cluster: &Cluster| Cluster { over: self.names(&cluster.over), ..*cluster };
        Graph { clusters: graph.clusters.iter().map(cluster).collect(), even: graph.even + more, ..*graph }
    }

    fn elimination(&self, plan: &Plan, scopes: &[Box<[u32]>]) -> Elimination {
        let variable = |&position: &u32| self.name(plan.sequence[position as usize]);
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
        let functions = scopes.iter().map(|scope| self.names(scope)).collect();
        Elimination { functions, joins: plan.steps.iter().map(join).collect() }
    }
}
