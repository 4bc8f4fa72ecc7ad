//! Mini-bucket elimination by the plan of a certificate. A join replaces tables by one that never costs more, as long
//! as no table is joined twice. Therefore every plan is sound, and only the bound that it reaches matters.

use super::state::State;
use super::steps::ascending;
use super::tables;
use super::tables::{axes, combinations};
use super::tuning::BATCH;
use crate::certificate::{Elimination, Join};
use crate::model::{Cost, FORBIDDEN};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// The effort of following a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Combinations visited, saturating.
    pub joint_entries: u64,
    /// Most bytes of tables in memory at a time, saturating.
    pub bytes: u64,
}

impl Effort {
    /// Adds the effort of the next step, during which `held` further bytes of tables stay in memory.
    pub(super) fn add(&mut self, joint_entries: u64, bytes: u64, held: u64) {
        self.joint_entries = self.joint_entries.saturating_add(joint_entries);
        self.bytes = self.bytes.max(bytes.saturating_add(held));
    }
}

/// A plan with the scope of each message, in an order in which the variable that is eliminated next runs fastest.
pub(super) struct Layout<'a> {
    pub(super) plan: &'a Elimination,
    /// Index of the first elimination of each variable.
    turn: FxHashMap<u32, usize>,
    pub(super) scopes: Vec<Vec<u32>>,
    pub(super) effort: Effort,
}

impl<'a> Layout<'a> {
    /// Checks a plan for a network with domains of these sizes; an absent variable has size 0.
    pub(super) fn new(plan: &'a Elimination, sizes: &[usize]) -> Result<Layout<'a>, String> {
        let mut turn = FxHashMap::default();
        for (index, join) in plan.joins.iter().enumerate() {
            let _ = turn.entry(join.variable).or_insert(index);
        }
        let mut functions = vec![false; plan.functions.len()];
        let mut unary = vec![false; sizes.len()];
        let mut layout = Layout { plan, turn, scopes: Vec::new(), effort: Effort::default() };
        let mut messages = Vec::new();
        let mut bytes = 0u64;
        let once = |used: Option<&mut bool>, what: String| match used.map(|used| std::mem::replace(used, true)) {
            None => Err(format!("there is no {what}")),
            Some(true) => Err(format!("{what} is joined twice")),
            Some(false) => Ok(()),
        };
        let known = |&v: &u32| sizes.get(v as usize).is_some_and(|&size| size > 0);
        let room = |scope: &[u32]| combinations(&scope.iter().map(|&v| sizes[v as usize]).collect::<Vec<_>>());
        let mut scopes = FxHashSet::default();
        for scope in &plan.functions {
            if !scopes.insert(scope) {
                return Err(format!("the plan has the function over {scope:?} twice"));
            }
            if !ascending(scope)?.iter().all(known) {
                return Err(format!("the plan's function over {scope:?} reads a variable that is not there"));
            }
        }
        for (index, join) in plan.joins.iter().enumerate() {
            let refused = |what: String| format!("join {index}: {what}");
            let v = join.variable;
            if !known(&v) {
                return Err(refused(format!("there is no variable {v}")));
            }
            if join.unary {
                once(unary.get_mut(v as usize), format!("the cost table of variable {v}")).map_err(refused)?;
            }
            let mut scope = vec![v];
            let mut inputs = 0u64;
            for &function in &join.functions {
                let used = functions.get_mut(function as usize);
                once(used, format!("function {function}")).map_err(refused)?;
                scope.extend(&plan.functions[function as usize]);
                if join.keep.is_none() {
                    inputs = inputs.saturating_add(room(&plan.functions[function as usize]));
                }
            }
            for &message in &join.messages {
                once(messages.get_mut(message as usize), format!("earlier message {message}")).map_err(refused)?;
                scope.extend(&layout.scopes[message as usize]);
            }
            scope.sort_unstable();
            scope.dedup();
            let joint = room(&scope);
            if let Some(keep) = &join.keep {
                let single = !join.unary && join.functions.len() + join.messages.len() == 1;
                if !single || !keep.iter().all(|u| scope.binary_search(u).is_ok()) {
                    return Err(refused("only variables of a single table can be kept".into()));
                }
                scope.clone_from(keep);
                scope.sort_unstable();
                scope.dedup();
            } else {
                scope.retain(|&u| u != v);
            }
            layout.arrange(&mut scope);
            let entries = room(&scope);
            layout.effort.add(joint, entries.saturating_add(inputs).saturating_mul(8), bytes);
            let freed = join.messages.iter().map(|&message| room(&layout.scopes[message as usize]));
            let freed = freed.fold(0, u64::saturating_add).saturating_mul(8);
            bytes = bytes.saturating_add(entries.saturating_mul(8)).saturating_sub(freed);
            messages.push(false);
            layout.scopes.push(scope);
        }
        Ok(layout)
    }

    /// Returns the effort including the backward pass: all messages, the costs outside each of them, and copies of
    /// some.
    pub(super) fn both_ways(&self, sizes: &[usize]) -> Effort {
        let room = |scope: &Vec<u32>| combinations(&scope.iter().map(|&v| sizes[v as usize]).collect::<Vec<_>>());
        let messages = self.scopes.iter().map(room).fold(0, u64::saturating_add);
        Effort {
            joint_entries: self.effort.joint_entries.saturating_mul(2),
            bytes: self.effort.bytes.saturating_add(messages.saturating_mul(24)),
        }
    }

    /// Sorts variables so that the first to be eliminated comes last, where it runs fastest.
    fn arrange(&self, scope: &mut [u32]) {
        scope.sort_by_key(|v| (std::cmp::Reverse(self.turn.get(v).copied().unwrap_or(usize::MAX)), *v));
    }

    /// Returns a lower bound on the network's costs without its constant, scaled.
    pub(super) fn run(&self, state: &State) -> i128 {
        let mut messages: Vec<Option<Vec<Cost>>> = Vec::with_capacity(self.plan.joins.len());
        for (join, scope) in self.plan.joins.iter().zip(&self.scopes) {
            let taken: Vec<(u32, Vec<Cost>)> = join
                .messages
                .iter()
                .filter_map(|&message| Some((message, messages[message as usize].take()?)))
                .collect();
            messages.push(Some(self.message(state, join, scope, &taken)));
        }
        // tables that were not joined count with their least cost, which is 0 for functions and unary costs
        let least = |message: &Vec<Cost>| i128::from(message.iter().copied().fold(FORBIDDEN, Cost::min));
        messages.iter().flatten().map(least).sum()
    }

    pub(super) fn messages(&self, state: &State) -> Vec<Vec<Cost>> {
        let mut messages: Vec<Vec<Cost>> = Vec::with_capacity(self.plan.joins.len());
        for (join, scope) in self.plan.joins.iter().zip(&self.scopes) {
            let taken: Vec<_> = join.messages.iter().map(|&from| (from, messages[from as usize].clone())).collect();
            messages.push(self.message(state, join, scope, &taken));
        }
        messages
    }

    fn message(&self, state: &State, join: &Join, scope: &[u32], taken: &[(u32, Vec<Cost>)]) -> Vec<Cost> {
        if join.keep.is_some() {
            return self.lower(state, join, scope, taken);
        }
        let inputs = self.inputs(state, join);
        minimise(
            &self.terms(state, join, scope, &inputs, taken),
            &state.sizes(scope),
            state.values[join.variable as usize].len(),
        )
    }

    /// Makes the backward pass through a mini-bucket. `rest` is the cost of everything else for each combination of the
    /// message. Returns the least cost of each value of the variable, and of each combination of the messages that the
    /// mini-bucket takes.
    pub(super) fn back(
        &self,
        state: &State,
        join: &Join,
        scope: &[u32],
        taken: &[(u32, Vec<Cost>)],
        rest: &[Cost],
    ) -> (Vec<Cost>, Vec<Vec<Cost>>) {
        let inputs = self.inputs(state, join);
        let terms = self.terms(state, join, scope, &inputs, taken);
        let (sizes, domain) = (state.sizes(scope), state.values[join.variable as usize].len());
        let mut own = vec![FORBIDDEN; domain];
        let mut below: Vec<Vec<Cost>> = taken.iter().map(|(_, costs)| vec![FORBIDDEN; costs.len()]).collect();
        let messages = terms.len() - taken.len();
        let mut place = Place::new(0, &sizes, &terms);
        for &rest in rest {
            for (value, own) in own.iter_mut().enumerate() {
                let cost = |(start, term): (&usize, &Term)| term.costs[start + value * term.own];
                let total = place.starts.iter().zip(&terms).map(cost).fold(rest, |a, b| (a + b).min(FORBIDDEN));
                *own = (*own).min(total);
                for ((start, term), below) in place.starts.iter().zip(&terms).skip(messages).zip(&mut below) {
                    let below = &mut below[start + value * term.own];
                    *below = (*below).min(total);
                }
            }
            place.advance(&sizes, &terms);
        }
        (own, below)
    }

    /// Returns the functions of a join and its variable's unary costs, with their variables sorted.
    fn inputs(&self, state: &State, join: &Join) -> Vec<(Vec<u32>, Vec<Cost>)> {
        let mut inputs: Vec<(Vec<u32>, Vec<Cost>)> = Vec::new();
        for &function in &join.functions {
            let scope = &self.plan.functions[function as usize];
            // an absent function costs nothing
            let Some(function) = state.function(scope) else { continue };
            let mut arranged = scope.to_vec();
            self.arrange(&mut arranged);
            let order: Vec<usize> = arranged.iter().filter_map(|u| scope.binary_search(u).ok()).collect();
            inputs.push((arranged, tables::project(&function.table, &state.sizes(scope), &order)));
        }
        if join.unary {
            inputs.push((vec![join.variable], state.unary[join.variable as usize].clone()));
        }
        inputs
    }

    /// Returns all tables of a join, the messages last.
    fn terms<'t>(
        &'t self,
        state: &State,
        join: &Join,
        scope: &[u32],
        inputs: &'t [(Vec<u32>, Vec<Cost>)],
        taken: &'t [(u32, Vec<Cost>)],
    ) -> Vec<Term<'t>> {
        let messages = taken.iter().map(|(message, costs)| (&self.scopes[*message as usize][..], &costs[..]));
        let all = inputs.iter().map(|(scope, costs)| (&scope[..], &costs[..])).chain(messages);
        all.map(|(own, costs)| Term::new(own, &state.sizes(own), costs, scope, join.variable)).collect()
    }

    fn lower(&self, state: &State, join: &Join, scope: &[u32], taken: &[(u32, Vec<Cost>)]) -> Vec<Cost> {
        let order = |own: &[u32]| scope.iter().filter_map(|v| own.iter().position(|u| u == v)).collect::<Vec<_>>();
        if let Some((message, costs)) = taken.first() {
            let own = &self.scopes[*message as usize];
            let table = crate::model::Table::dense(costs.clone());
            return tables::project(&table, &state.sizes(own), &order(own));
        }
        let function = join.functions.first().map(|&function| &self.plan.functions[function as usize]);
        match function.and_then(|own| Some((own, state.function(own)?))) {
            Some((own, function)) => tables::project(&function.table, &state.sizes(own), &order(own)),
            None => vec![0; combinations(&state.sizes(scope)) as usize],
        }
    }
}

/// A table as it is read for a message.
pub(super) struct Term<'a> {
    costs: &'a [Cost],
    /// Strides along the variables of the message.
    steps: Vec<usize>,
    /// Stride along the eliminated variable.
    own: usize,
}

impl<'a> Term<'a> {
    /// Creates the term of a table over the variables `own` with these sizes, for a message that lacks `v`.
    pub(super) fn new(own: &[u32], sizes: &[usize], costs: &'a [Cost], message: &[u32], v: u32) -> Self {
        let along = axes(sizes);
        let step = |u: &u32| own.iter().position(|w| w == u).and_then(|k| along[k].get(1).copied()).unwrap_or(0);
        Term { costs, steps: message.iter().map(step).collect(), own: step(&v) }
    }
}

/// Returns the least sum over the values of the eliminated variable for each combination of the others.
pub(super) fn minimise(terms: &[Term], sizes: &[usize], domain: usize) -> Vec<Cost> {
    let (row, outer) = sizes.split_last().map_or((1, sizes), |(&row, outer)| (row, outer));
    let mut message = vec![0; combinations(sizes) as usize];
    let rows = (BATCH / row).max(1);
    let fill = |(batch, out): (usize, &mut [Cost])| {
        let mut place = Place::new(batch * rows, outer, terms);
        let mut totals = vec![0; domain];
        for out in out.chunks_exact_mut(row) {
            for (along, out) in out.iter_mut().enumerate() {
                totals.fill(0);
                for (start, term) in place.starts.iter().zip(terms) {
                    let step = term.steps.last().copied().unwrap_or(0);
                    let costs = &term.costs[start + along * step..];
                    if term.own == 1 {
                        totals.iter_mut().zip(costs).for_each(|(total, &cost)| *total = (*total + cost).min(FORBIDDEN));
                    } else {
                        let costs = (0..domain).map(|value| costs[value * term.own]);
                        totals.iter_mut().zip(costs).for_each(|(total, cost)| *total = (*total + cost).min(FORBIDDEN));
                    }
                }
                *out = totals.iter().copied().fold(FORBIDDEN, Cost::min);
            }
            place.advance(outer, terms);
        }
    };
    // a thread pool costs more than one batch
    if message.len() <= row * rows {
        fill((0, &mut message));
    } else {
        message.par_chunks_mut(row * rows).enumerate().for_each(fill);
    }
    message
}

/// A combination of the slower variables of a message, and its offset in each table.
struct Place {
    digits: Vec<usize>,
    starts: Vec<usize>,
}

impl Place {
    fn new(mut index: usize, sizes: &[usize], terms: &[Term]) -> Self {
        let mut digits = vec![0; sizes.len()];
        for (digit, &size) in digits.iter_mut().zip(sizes).rev() {
            *digit = index % size;
            index /= size;
        }
        let start = |term: &Term| digits.iter().zip(&term.steps).map(|(digit, step)| digit * step).sum();
        Place { starts: terms.iter().map(start).collect(), digits }
    }

    fn advance(&mut self, sizes: &[usize], terms: &[Term]) {
        for (k, (digit, &size)) in self.digits.iter_mut().zip(sizes).enumerate().rev() {
            *digit += 1;
            if *digit < size {
                self.starts.iter_mut().zip(terms).for_each(|(start, term)| *start += term.steps[k]);
                return;
            }
            *digit = 0;
            self.starts.iter_mut().zip(terms).for_each(|(start, term)| *start -= (size - 1) * term.steps[k]);
        }
    }
}
