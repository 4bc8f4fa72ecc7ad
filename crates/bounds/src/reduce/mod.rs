//! Exact reductions of a [`Network`] to a [`Problem`], and the mapping of solutions back.
//!
//! A [`Reducer`] holds the network in a working state and applies, until nothing changes: arc consistency on forbidden
//! combinations (`consistency`), functional pairs and separable tables (`simplification`), exact elimination of
//! variables whose new table stays small (`elimination`), dominated values (`dominance`), elimination of whole small
//! components, and on request merging of tied variables (`ties`). Every change keeps the cost of each assignment with a
//! total below `top`, or replaces the assignment by one that is not worse. A removed variable leaves a table that gives
//! its value.
//!
//! Each reduction has a queue of what changed since it last looked, so the work depends on the changes and not on the
//! size of the network.

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

/// The working state of the reductions; it lives as long as the search, because each better solution allows further
/// reductions.
#[derive(Clone, Debug, Default)]
pub struct Reducer {
    reduce: bool,
    /// The network if it has global functions: variables may be added for them, after its own.
    original: Option<Box<Network>>,
    infeasible: bool,
    top: Cost,
    constant: Cost,
    /// Number of remaining values of each variable.
    domains: Vec<u32>,
    /// The network's values of the remaining ones, by variable, ascending; shared with departures.
    values: Vec<Arc<[u32]>>,
    /// Unary cost of each remaining value; the least is 0 between two reductions.
    unary: Vec<Vec<Cost>>,
    /// By variable, the least total of the highest-cost value at the last check: while the limit stays above it, no
    /// check is needed.
    dearest: Vec<Cost>,
    present: Vec<bool>,
    /// Functions of two or more present variables; a slot is never used again.
    functions: Vec<Option<Function>>,
    by_scope: FxHashMap<Scope, u32>,
    /// Slots of the functions of each variable, ascending.
    incidence: Vec<Vec<u32>>,
    departures: Vec<Departure>,
    /// Whether tied variables are merged.
    merges: bool,
    /// Variables after the network's own that each stand for two others.
    ties: Vec<Tie>,
    /// The variables of the reduced problem, ascending.
    core: Vec<u32>,
    pending: Pending,
    limits: Limits,
    report: Reduction,
    /// The steps taken, for a certificate; `None` if none is wanted.
    log: Option<Vec<Step>>,
    /// Values that bounds excluded, with the proofs.
    lemmas: Vec<Forbidden>,
}

/// A working function: all costs are at least 0, the least is 0, and all variables are present.
#[derive(Clone, Debug)]
struct Function {
    /// Variables of the function, ascending.
    scope: Scope,
    table: Table,
    /// For each value of each variable of the scope, the least cost with that value (see [`table::minima`]).
    minima: Costs,
    /// An upper bound on its finite entries.
    peak: Cost,
    /// The highest cost of a support in the last scan: while the limit stays above it, no scan is needed.
    witness: Cost,
    /// Whether the table is in the form that [`Problem`] demands and shared with equal ones.
    settled: bool,
}

/// Queued changes for each reduction.
#[derive(Clone, Debug, Default)]
struct Pending {
    /// Variables whose unary costs rose: their functions may have lost supports.
    moved: Worklist,
    /// Functions whose values may have lost supports.
    scans: Worklist,
    /// Variables whose values may have reached the limit.
    checks: Worklist,
    /// Functions that may have become functional or separable.
    shapes: Worklist,
    /// Functions that may tie their two variables.
    ties: Worklist,
    /// Variables whose elimination may now pay.
    eliminations: Worklist,
    /// Variables that may have dominated values.
    dominance: Worklist,
    /// Entries compared for dominance since a dominated value was last found.
    in_vain: usize,
    /// Whether the limit has fallen.
    lower: bool,
}

impl Reducer {
    /// Loads a network and reduces it if `reduce` is set. Otherwise does only what [`Problem`] demands: separates unary
    /// costs, merges functions of equal scope, and moves minima to the constant.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set before all functions are loaded, and [`Error::Memory`] if the values
    /// do not fit. A later stop only leaves a larger reduced problem ([`Reducer::problem`] reports it).
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

    /// Like [`Reducer::new`], but keeps a log of the steps for [`Reducer::steps`].
    ///
    /// # Errors
    /// Returns the errors of [`Reducer::new`], and [`Error::Usage`] for networks with global cost functions.
    pub fn logged(network: &Network, reduce: bool, stop: &Stop) -> Result<Self, Error> {
        Certificate::must_suit(network)?;
        // the log starts with all values of the network
        let mut reducer = Reducer::load(network, named::Named::default(), reduce, stop)?;
        reducer.log = Some(Vec::new());
        reducer.run(stop);
        Ok(reducer)
    }

    /// Reduces further for a solution of total `upper`: from now on only lower totals count.
    pub fn tighten(&mut self, upper: Cost, stop: &Stop) {
        if upper < self.top {
            self.lower_top(upper, stop);
            self.run(stop);
        }
    }

    /// Like [`Reducer::tighten`], but also removes values that bounds exclude, even if the top stays.
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
        // if stopped, some reductions are merely missed
        let _ = self.queue_dear(stop);
    }

    /// Returns the reduced problem, its variables renumbered in ascending order. If the reductions were stopped, it may
    /// hold costs at or above the top.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
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

    /// Returns the reduced problem if search and bounds have enough memory for it.
    ///
    /// # Errors
    /// Returns [`Error::Memory`] with the bytes needed otherwise.
    pub fn fitting_problem(&self, stop: &Stop) -> Result<Problem, Error> {
        let problem = self.problem(stop)?;
        fits(&problem, stop)?;
        Ok(problem)
    }

    /// Returns the network's variable of each variable of the reduced problem, ascending; the last ones are variables
    /// that each stand for two others ([`Reducer::merge_ties`]).
    pub fn variables(&self) -> &[u32] {
        &self.core
    }

    /// Returns the network's value of each value of the reduced problem's variable `index`, ascending; for a variable
    /// that stands for two others, numbers of combinations.
    pub fn values(&self, index: usize) -> &[u32] {
        &self.values[self.core[index] as usize]
    }

    /// Returns the network if it has global functions.
    pub fn original(&self) -> Option<&Network> {
        self.original.as_deref()
    }

    /// Returns whether a solution of the reduced problem may be no solution of the network ([`Network::is_relaxed`]).
    pub fn is_relaxed(&self) -> bool {
        self.original().is_some_and(Network::is_relaxed)
    }

    /// Returns the remaining values of each variable of the expanded network, followed by those of the variables that
    /// each stand for two others.
    pub fn all_values(&self) -> &[Arc<[u32]>] {
        &self.values
    }

    /// Returns the remaining values of a variable of the expanded network, or those that it had when it was removed.
    pub fn values_left(&self, variable: u32) -> &[u32] {
        &self.values[variable as usize]
    }

    /// Returns the steps taken; `None` if no log was kept.
    pub fn steps(&self) -> Option<&[Step]> {
        self.log.as_deref()
    }

    /// Returns the lemmas that the steps use: the values that bounds excluded, with the proofs.
    pub fn lemmas(&self) -> &[Forbidden] {
        &self.lemmas
    }

    /// Returns whether no solution below `top` exists. If a solution of total `top` is known, it is then optimal.
    pub fn infeasible(&self) -> bool {
        self.infeasible
    }

    /// Returns the statistics of the reductions. An [unreduced](Reducer::is_unreduced) one has no functions to count:
    /// use [`ReducedProblem::report`].
    pub fn report(&self) -> Reduction {
        self.report_of(self.functions.iter().flatten().map(|function| (&function.scope[..], &function.table)))
    }

    /// Returns the statistics of the reductions for functions over the reducer's variables.
    fn report_of<'a>(&self, functions: impl Iterator<Item = (&'a [u32], &'a Table)> + Clone) -> Reduction {
        let mut report = self.report.clone();
        report.after = self.size(functions.clone());
        let groups = components::groups(self.domains.len(), functions.map(|(scope, _)| scope), &Stop::new());
        // each removed variable is a separate component
        report.components = groups.map_or(0, |groups| groups.len() + self.core.len() - self.domains.len());
        report
    }

    /// Reduces until nothing changes or `stop` is set, then brings the tables into the form of [`Problem`].
    fn run(&mut self, stop: &Stop) {
        // the reductions that take least come first, and run again after each change
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
        // if stopped, the tables are still valid
        let _ = self.settle(stop);
    }

    /// Adds a step to the log if one is kept.
    fn note(&mut self, step: impl FnOnce(&Self) -> Step) {
        if self.log.is_some() {
            let step = step(self);
            self.log.get_or_insert_default().push(step);
        }
    }

    /// Returns whether to stop: there is no solution, or the flag is set.
    #[track_caller]
    fn done(&self, stop: &Stop) -> bool {
        self.infeasible || stop.is_set()
    }

    /// Returns the limit of a single entry, all other costs being at least 0.
    fn limit(&self) -> Cost {
        if self.top >= FORBIDDEN { FORBIDDEN } else { self.top.saturating_sub(self.constant).min(FORBIDDEN) }
    }

    /// Queues functions that new forbidden tuples may simplify: after a small decrease of `top` most have none.
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

    /// Forbids entries that reach the limit alone, and stores equal tables once.
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

/// Checks that search and bounds have enough memory for a problem.
///
/// # Errors
/// Returns [`Error::Memory`] with the bytes needed otherwise.
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

/// A reduced problem with the reductions that led to it. Its bounds stay valid when the network is reduced further, and
/// its assignments are lifted by its own reductions. Clones share both parts.
#[derive(Clone, Debug)]
pub struct ReducedProblem {
    /// The reductions that led to the problem.
    pub reducer: Arc<Reducer>,
    /// The reduced problem.
    pub problem: Arc<Problem>,
}

impl ReducedProblem {
    /// Makes the reduced problem of a reducer.
    ///
    /// # Errors
    /// Returns [`Error::Memory`] if search and bounds lack the memory for it, and [`Error::Stopped`] once `stop` is
    /// set.
    pub fn new(reducer: impl Into<Arc<Reducer>>, stop: &Stop) -> Result<Self, Error> {
        let reducer = reducer.into();
        let problem = Arc::new(reducer.fitting_problem(stop)?);
        Ok(ReducedProblem { reducer, problem })
    }

    /// Returns the statistics of the reductions, and the size of the reduced problem.
    pub fn report(&self) -> Reduction {
        let functions = self.problem.functions.iter().map(|function| (&function.scope[..], &function.table));
        if self.reducer.is_unreduced() { self.reducer.report_of(functions) } else { self.reducer.report() }
    }
}

/// Returns the index of the first least cost.
fn cheapest(costs: &[Cost]) -> usize {
    costs.iter().enumerate().min_by_key(|&(_, cost)| cost).map_or(0, |(value, _)| value)
}
