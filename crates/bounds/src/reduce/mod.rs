//! Exact reductions of a [`Network`] to a [`Problem`], and the mapping of solutions back.
//!
//! A [`Reducer`] holds the network in a working state and applies, until nothing changes:
//! arc consistency on forbidden combinations (`consistency`), functional pairs and separable tables
//! (`simplification`), exact elimination of variables where the new table stays small (`elimination`),
//! dominated values (`dominance`), elimination of whole small components, and merging of tied variables where that is
//! asked for (`ties`). Every change keeps the cost of every assignment that counts (total below `top`), or replaces
//! it by one that is not worse; a variable that leaves takes along a table that says which value it takes.
//!
//! Each reduction works from its own queue of what changed since it last looked, so that the work follows
//! the changes and not the size of the network.

mod components;
mod consistency;
mod departure;
mod dominance;
mod elimination;
mod lift;
mod named;
mod outlook;
mod report;
mod simplification;
mod state;
mod table;
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
mod ties;
#[cfg(test)]
mod ties_tests;
mod tuning;
mod unreduced;
mod value_bounds;
mod worklist;

pub use report::{Reduction, Size, density};
pub use value_bounds::{BoundProof, Forbidden, ValueBounds};

use crate::Error;
use crate::certificate::{Certificate, Step};
use crate::memory;
use crate::model::{Cost, CostFunction, Costs, FORBIDDEN, Network, Problem, Scope, Table};
use crate::stop::Stop;
use crate::threads;
use departure::{Departure, Tie};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tuning::{Limits, PAIR_BYTES};
use worklist::Worklist;

/// The working state of the reductions; it lives as long as the search, because each better solution allows more.
#[derive(Clone, Debug, Default)]
pub struct Reducer {
    reduce: bool,
    /// The network, where it has global functions: variables may be added for them, behind its own.
    original: Option<Box<Network>>,
    infeasible: bool,
    top: Cost,
    constant: Cost,
    /// Number of values left of each variable.
    domains: Vec<u32>,
    /// The network's value of each value left; ascending, shared with departures.
    values: Vec<Arc<[u32]>>,
    /// Cost of each value left; the least is 0 between two reductions.
    unary: Vec<Vec<Cost>>,
    /// The least total of the dearest value at the last check: no check is needed while the limit stays above.
    dearest: Vec<Cost>,
    present: Vec<bool>,
    /// Functions of two and more present variables; a slot is never used again.
    functions: Vec<Option<Function>>,
    by_scope: FxHashMap<Scope, u32>,
    /// Slots of the functions of each variable, ascending.
    incidence: Vec<Vec<u32>>,
    departures: Vec<Departure>,
    /// Whether tied variables are merged.
    merges: bool,
    /// The variables behind the network's, which stand for two others each.
    ties: Vec<Tie>,
    /// The variables of the reduced problem, ascending.
    core: Vec<u32>,
    pending: Pending,
    limits: Limits,
    report: Reduction,
    /// The steps taken, for a certificate; only where one is wanted.
    log: Option<Vec<Step>>,
    lemmas: Vec<Forbidden>,
}

/// A working function: all costs at least 0, the least 0, no removed variable.
#[derive(Clone, Debug)]
struct Function {
    /// Ascending.
    scope: Scope,
    table: Table,
    /// For each value of each variable of the scope, the least cost with that value (see [`table::minima`]).
    minima: Costs,
    /// An upper bound on its finite entries.
    peak: Cost,
    /// The dearest support of the last scan: no scan is needed while the limit stays above.
    witness: Cost,
    /// Whether the table is in the form of [`Problem`] and shared with its equals.
    settled: bool,
}

/// Queued changes for each reduction.
#[derive(Clone, Debug, Default)]
struct Pending {
    /// Variables whose unary costs rose: their functions may have lost supports.
    moved: Worklist,
    scans: Worklist,
    /// Variables whose values may have become too dear.
    checks: Worklist,
    /// Functions that may have become functional or separable.
    shapes: Worklist,
    /// Functions that may tie their two variables.
    ties: Worklist,
    /// Variables that may have become cheap to eliminate.
    eliminations: Worklist,
    /// Variables that may have dominated values.
    dominance: Worklist,
    /// Entries compared for these since one was found.
    in_vain: usize,
    lower: bool,
}

impl Reducer {
    /// Loads a network and, where `reduce` is set, reduces it. Otherwise it only does what [`Problem`] demands:
    /// separate unary costs, merged functions of one scope, minima in the constant.
    ///
    /// # Errors
    /// [`Error::Stopped`] where `stop` is set before all functions are loaded; [`Error::Memory`]. Later stops only
    /// leave a larger reduced problem ([`Reducer::problem`] reports them).
    pub fn new(network: &Network, reduce: bool, stop: &Stop) -> Result<Self, Error> {
        let expanded = network.expanded();
        let mut reducer = Reducer::load(expanded, named::values(expanded), reduce, stop)?;
        if network.globals().len() > 0 {
            reducer.original = Some(network.clone().into());
        }
        reducer.report.before = Size::of(network);
        reducer.run(stop);
        Ok(reducer)
    }

    /// The same, with a log of the steps for [`Reducer::steps`].
    ///
    /// # Errors
    /// As [`Reducer::new`]; [`Error::Usage`] for networks with global cost functions.
    pub fn logged(network: &Network, reduce: bool, stop: &Stop) -> Result<Self, Error> {
        Certificate::must_suit(network)?;
        // the log starts with all values of the network
        let mut reducer = Reducer::load(network, named::Named::default(), reduce, stop)?;
        reducer.log = Some(Vec::new());
        reducer.run(stop);
        Ok(reducer)
    }

    /// A solution of total `upper` is known: only better totals count from now on. Reduces further.
    pub fn tighten(&mut self, upper: Cost, stop: &Stop) {
        if upper < self.top {
            self.lower_top(upper, stop);
            self.run(stop);
        }
    }

    /// The same with value bounds, which may forbid some values also where the top stays.
    pub fn tighten_by(&mut self, upper: Cost, bounds: &ValueBounds, stop: &Stop) {
        if upper < self.top {
            self.lower_top(upper, stop);
        }
        self.forbid(bounds, stop);
        self.run(stop);
    }

    fn lower_top(&mut self, upper: Cost, stop: &Stop) {
        self.top = upper;
        self.note(|_| Step::Limit(upper));
        self.infeasible |= self.constant >= self.top;
        self.pending.lower = true;
        // what a stop leaves out is only not reduced
        let _ = self.queue_dear(stop);
    }

    /// The reduced problem, its variables renumbered in their order. Where the reductions were stopped it may hold
    /// costs at or above the top.
    ///
    /// # Errors
    /// [`Error::Stopped`] once `stop` is set.
    pub fn problem(&self, stop: &Stop) -> Result<Problem, Error> {
        stop.check()?;
        let mut index = vec![u32::MAX; self.domains.len()];
        for (i, &v) in self.core.iter().enumerate() {
            index[v as usize] = i as u32;
        }
        let functions = stop.each(self.functions.iter().flatten()).map(|function| {
            let Function { scope, table, .. } = function?;
            Ok(CostFunction { scope: scope.iter().map(|&v| index[v as usize]).collect(), table: table.clone() })
        });
        let unary = stop.each(&self.core).map(|v| Ok(self.unary[*v? as usize].clone()));
        Ok(Problem {
            domains: self.core.iter().map(|&v| self.domains[v as usize]).collect(),
            unary: unary.collect::<Result<_, Error>>()?,
            functions: functions.collect::<Result<_, Error>>()?,
            constant: if self.infeasible { self.constant.max(self.top) } else { self.constant },
            top: self.top,
        })
    }

    /// The reduced problem, unless the search and the bounds need more memory for it than there is.
    ///
    /// # Errors
    /// [`Error::Memory`] with how much it would take.
    pub fn fitting_problem(&self, stop: &Stop) -> Result<Problem, Error> {
        let problem = self.problem(stop)?;
        fits(&problem, stop)?;
        Ok(problem)
    }

    /// The variables of the network that the reduced problem's stand for, ascending; behind them those that stand for
    /// two others ([`Reducer::merge_ties`]).
    pub fn variables(&self) -> &[u32] {
        &self.core
    }

    /// The values of the network that those of its `index`-th variable stand for, ascending; numbers of combinations
    /// where it stands for two others.
    pub fn values(&self, index: usize) -> &[u32] {
        &self.values[self.core[index] as usize]
    }

    /// The network, where it has global functions.
    pub fn original(&self) -> Option<&Network> {
        self.original.as_deref()
    }

    /// Whether solutions of the reduced problem need not be solutions of the network ([`Network::is_relaxed`]).
    pub fn is_relaxed(&self) -> bool {
        self.original().is_some_and(Network::is_relaxed)
    }

    /// The values that are left of each variable of the expanded network, and of those behind them that stand for two.
    pub fn all_values(&self) -> &[Arc<[u32]>] {
        &self.values
    }

    /// The values that were left of a variable of the expanded network, when it left if it has.
    pub fn values_left(&self, variable: u32) -> &[u32] {
        &self.values[variable as usize]
    }

    /// The steps taken, where a log was kept.
    pub fn steps(&self) -> Option<&[Step]> {
        self.log.as_deref()
    }

    /// The lemmas that the steps use: why bounds forbade values.
    pub fn lemmas(&self) -> &[Forbidden] {
        &self.lemmas
    }

    /// Nothing below `top` exists; with a known solution of that total this proves it optimal.
    pub fn infeasible(&self) -> bool {
        self.infeasible
    }

    /// Statistics of the reductions. One that is [unreduced](Reducer::is_unreduced) has no functions to count: see
    /// [`ReducedProblem::report`].
    pub fn report(&self) -> Reduction {
        self.report_of(self.functions.iter().flatten().map(|function| (&function.scope[..], &function.table)))
    }

    /// The same, of functions over its variables.
    fn report_of<'a>(&self, functions: impl Iterator<Item = (&'a [u32], &'a Table)> + Clone) -> Reduction {
        let mut report = self.report.clone();
        report.after = self.size(functions.clone());
        let groups = components::groups(self.domains.len(), functions.map(|(scope, _)| scope), &Stop::new());
        // each variable removed is one of its own
        report.components = groups.map_or(0, |groups| groups.len() + self.core.len() - self.domains.len());
        report
    }

    /// Reduces until nothing changes or `stop` is set, then brings the tables into the form of [`Problem`].
    fn run(&mut self, stop: &Stop) {
        // cheapest first; after a change the cheaper ones run again
        while self.reduce && !self.done(stop) {
            self.propagate(stop);
            let changed = self.simplify(stop)
                || self.eliminate_cheap(stop)
                || self.remove_dominated(stop)
                || self.eliminate_components(stop)
                || (self.merges && self.merge_tied(stop));
            if !changed {
                break;
            }
        }
        if !self.reduce {
            self.eliminate_unread(stop);
        }
        // a stopped pass leaves valid tables
        let _ = self.settle(stop);
    }

    /// Logs a step where a log is kept.
    fn note(&mut self, step: impl FnOnce(&Self) -> Step) {
        if self.log.is_some() {
            let step = step(self);
            self.log.get_or_insert_default().push(step);
        }
    }

    /// Whether to stop: there is no solution, or the flag is set.
    #[track_caller]
    fn done(&self, stop: &Stop) -> bool {
        self.infeasible || stop.is_set()
    }

    /// The limit for an entry, everything else being at least 0.
    fn limit(&self) -> Cost {
        if self.top >= FORBIDDEN { FORBIDDEN } else { self.top.saturating_sub(self.constant).min(FORBIDDEN) }
    }

    /// Queues functions that new forbidden tuples may simplify: most have none after a small step of `top`.
    fn queue_dear(&mut self, stop: &Stop) -> Result<(), Error> {
        let limit = self.limit();
        let peak = |costs: &Vec<Cost>| costs.iter().copied().filter(|&cost| cost < FORBIDDEN).max().unwrap_or(0);
        let peaks = stop.each(&self.unary).map(|costs| costs.map(peak)).collect::<Result<Vec<Cost>, Error>>()?;
        for item in stop.each((0..).zip(&self.functions)) {
            let (slot, function) = item?;
            let Some(Function { scope, peak, .. }) = function else { continue };
            if scope.iter().fold(*peak, |total, &v| table::sum(total, peaks[v as usize])) >= limit {
                self.pending.shapes.push(slot);
                self.pending.ties.push(slot);
                scope.iter().for_each(|&v| self.pending.dominance.push(v));
            }
        }
        Ok(())
    }

    /// Forbids entries that alone reach the limit, and stores equal tables once.
    fn settle(&mut self, stop: &Stop) -> Result<(), Error> {
        self.core = (0..self.domains.len() as u32).filter(|&v| self.present[v as usize]).collect();
        self.note(|_| Step::Forbid);
        let limit = self.limit();
        let forbid = |cost: Cost| if cost >= limit { FORBIDDEN } else { cost };
        for v in stop.each(&self.core) {
            self.unary[*v? as usize].iter_mut().for_each(|cost| *cost = forbid(*cost));
        }
        let mut is_settled = true;
        for function in stop.each(self.functions.iter().flatten()) {
            let function = function?;
            is_settled &= function.settled && function.peak < limit;
        }
        if is_settled {
            return Ok(());
        }
        let mut sharing = table::Sharing::new(self.functions.len());
        for function in stop.each(self.functions.iter_mut().flatten()) {
            let function = function?;
            function.settled = true;
            sharing.share(&mut function.table, limit);
            function.peak = function.peak.min(limit.saturating_sub(1));
        }
        threads::free(sharing, self.functions.len());
        Ok(())
    }
}

/// Whether search and bounds have room for a problem.
///
/// # Errors
/// [`Error::Memory`] with how much it would take.
fn fits(problem: &Problem, stop: &Stop) -> Result<(), Error> {
    let (mut widest, mut pairs) = (0, 0u64);
    for function in stop.each(&problem.functions) {
        let arity = function?.scope.len();
        widest = widest.max(arity);
        pairs += (arity as u64).pow(2);
    }
    let what = || format!("which variables share a function ({widest} in the largest one)");
    if pairs > u64::from(u32::MAX) {
        let most = u32::MAX;
        return Err(Error::Memory(format!("{} is a matter of {pairs} pairs, {most} are kept at most", what())));
    }
    memory::must_fit(pairs * PAIR_BYTES, what)
}

/// A reduced problem and how it came from the network. One that is reduced further does not make bounds of this one
/// wrong, and assignments go back by their own reductions. Clones share both.
#[derive(Clone, Debug)]
pub struct ReducedProblem {
    /// The reductions that led to it.
    pub reducer: Arc<Reducer>,
    /// The problem that they left.
    pub problem: Arc<Problem>,
}

impl ReducedProblem {
    /// What the reductions left.
    ///
    /// # Errors
    /// [`Error::Memory`] where search and bounds have no room for it, [`Error::Stopped`] once `stop` is set.
    pub fn new(reducer: impl Into<Arc<Reducer>>, stop: &Stop) -> Result<Self, Error> {
        let reducer = reducer.into();
        let problem = Arc::new(reducer.fitting_problem(stop)?);
        Ok(ReducedProblem { reducer, problem })
    }

    /// Statistics of the reductions, and the size of what they left.
    pub fn report(&self) -> Reduction {
        let functions = self.problem.functions.iter().map(|function| (&function.scope[..], &function.table));
        if self.reducer.is_unreduced() { self.reducer.report_of(functions) } else { self.reducer.report() }
    }
}

/// The first of the least costs.
fn cheapest(costs: &[Cost]) -> usize {
    costs.iter().enumerate().min_by_key(|&(_, cost)| cost).map_or(0, |(value, _)| value)
}
