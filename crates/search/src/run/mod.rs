//! The state of a run, and the loop that decides what to do next. It works in rounds and slices of counted work, so
//! that with a budget of rounds nothing depends on the clock. The publisher keeps the clock and reports.

mod change_core;
pub(crate) mod clock;
mod early;
mod first_core;
pub(crate) mod goal;
pub(crate) mod greedy;
pub(crate) mod handover;
mod idle;
pub(crate) mod initial;
pub(crate) mod keeping;
pub(crate) mod messages;
mod opening;
pub(crate) mod passes;
mod places;
pub(crate) mod publisher;
pub(crate) mod reducing;
pub(crate) mod rules;
pub(crate) mod session;
mod solutions;
pub(crate) mod solve;
mod troubles;

use self::first_core::{FirstCore, check_heuristic, prepared};
use self::goal::{reached, settled};
use self::handover::DeviceHandover;
use self::initial::InitialSolution;
use self::messages::{Ending, Message, Totals};
use self::reducing::Reducing;
use super::event::StoppedBy;
use super::options::{Assertions, Options};
use super::scheduler::budget::TimeBudget;
use super::scheduler::concurrent_bounds::ConcurrentBounds;
use super::scheduler::group::DriverGroup;
use super::scheduler::portfolio::Portfolio;
use super::scheduler::threads::ThreadSplit;
use crate::bounds::{BoundResult, CONSTANT, Proof, REDUCTIONS};
use crate::core::context::SearchContext;
use crate::core::effort::Effort;
use crate::core::elite::LONGEST;
use crate::core::incumbent::SharedIncumbent;
use crate::core::pool::Pool;
use crate::core::size::fits_search;
use crate::device::Opened;
use crate::elimination::Gpu;
use crate::error::Error;
use crate::faults;
use crate::heuristics::Needs;
use crate::model::{Cost, FORBIDDEN, Network, Number};
use crate::reduce::{ReducedProblem, ValueBounds};
use crate::rng::{Rng, mix};
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;
use rustc_hash::FxHashSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub(crate) struct Run<'a> {
    network: &'a Network,
    options: &'a Options,
    stop: &'a Stop,
    tell: &'a mut dyn FnMut(Message),
    core: ReducedProblem,
    context: Arc<SearchContext>,
    pool: Pool,
    group: DriverGroup,
    bounds: ConcurrentBounds,
    /// The incumbent's cost and the bound, shared with work outside the loop.
    incumbent: SharedIncumbent,
    rng: Rng,
    /// The devices while they work; the CPU without one.
    device: Opened,
    /// The migration to a device that is being opened.
    handover: Option<DeviceHandover>,
    totals: Totals,
    budget: TimeBudget,
    /// The cell for the bound of the unreduced network, until that is taken.
    early: Option<Arc<OnceLock<Cost>>>,
    /// The first assignments, until the run begins.
    first: Vec<Vec<u32>>,
    /// The incumbent's cost, in the network's units; [`FORBIDDEN`] before the first solution.
    upper: Cost,
    /// The incumbent's best value in the file's convention, by the file's own numbers.
    value: Option<Number>,
    /// The lower bound proved here, in the network's units.
    lower: Cost,
    /// The lower bound of other runs, until a solution refutes it.
    believed: Cost,
    values: ValueBounds,
    /// Entries of the reduced problem's tables.
    size: u64,
    /// The first reductions, while they run beside the search of the unreduced network.
    reducing: Option<Reducing>,
    /// `upper` at the last reduction, and the search work up to then.
    tightened: (Cost, u64),
    /// Whether the system has no threads for a split.
    cannot_split: bool,
    /// Whether all domains are short enough for local search.
    has_room: bool,
    /// Whether a driver searches the reduced problem.
    has_search: bool,
    /// Slices of bounds while no driver searches.
    idle_slices: u64,
    /// Data of other processes that were refused, each reported once.
    refused: FxHashSet<String>,
}

impl<'a> Run<'a> {
    /// Reduces the network and prepares the first reduced problem. Returns `None` if the reductions have reached the
    /// goal.
    pub fn new(
        network: &'a Network,
        options: &'a Options,
        mut first: InitialSolution,
        stop: &'a Stop,
        tell: &'a mut dyn FnMut(Message),
    ) -> Result<Option<Self>, Error> {
        let resumed = options.keeping.resumed();
        // a resumed run does not repeat its draws
        let draw = resumed.map_or(options.seed, |resumed| mix(options.seed, resumed.checkpoint.rounds));
        let mut rng = Rng::new(draw);
        let FirstCore { core, context, reducing } = FirstCore::new(network, options, &mut first, stop, tell, &mut rng)?;
        let least = core.problem.constant.max(network.least());
        let constant = if core.reducer.infeasible() { network.top() } else { least };
        let (totals, incumbent) =
            (Totals::resumed(options), SharedIncumbent::new(first.upper.min(network.top()), stop));
        let proof = Proof::reductions(&core.reducer).map(Box::new);
        let source = if options.reduce && !core.reducer.is_unreduced() { REDUCTIONS } else { CONSTANT };
        tell(Message::Bound { bound: constant, source: source.into(), totals, proof });
        let lower = constant.max(first.lower);
        // a bound that the first solution refutes is not adopted
        let believed = resumed.map(|resumed| resumed.checkpoint.bound.cost).filter(|&bound| bound <= first.upper);
        let believed = believed.unwrap_or(Cost::MIN);
        if settled(network, options, first.found(), lower.max(believed)) {
            return Ok(None);
        }
        let for_devices = options.heuristic.as_ref().is_some_and(|heuristic| heuristic.is_for_devices());
        let context = match context {
            Some(context) => context,
            None => prepared(network, &core, options, &mut rng, stop)?,
        };
        // a repeatable run, and a heuristic for devices, begin on the device
        let waits = options.rounds.is_some() || for_devices;
        let (handover, device) =
            DeviceHandover::unless_there(&options.device, waits, &context, incumbent.closed(), stop)?;
        if handover.is_none() {
            tell(Message::Note(device.to_string()));
        }
        check_heuristic(options, &context, &device)?;
        let parts = || ThreadSplit::beside_device(Portfolio::may_split(options), &context);
        let (for_bounds, for_drivers) = device.cuda.is_some().then(parts).map(|all| (all.bounds, all.drivers)).unzip();
        let group = DriverGroup::new(options, &device, for_drivers.flatten(), incumbent.clone(), &mut rng);
        // a repeatable run computes bounds on the CPU
        let gpu = device.cuda.clone().filter(|_| options.rounds.is_none()).map(Gpu::new);
        let bounds = ConcurrentBounds::new(options, gpu.zip(for_bounds), incumbent.clone());
        let values = ValueBounds::new(&core.reducer, stop)?;
        if options.facts && !reducing.as_ref().is_some_and(Reducing::is_on_its_way) {
            tell(Message::facts(&core, &context, options));
        }
        let has_room = fits_search(&core.problem);
        Ok(Some(Run {
            network,
            options,
            stop,
            tell,
            values,
            size: reducing::size(&core.problem),
            reducing,
            core,
            budget: TimeBudget::new(options.rounds.is_none(), context.sweep_work),
            context,
            pool: Pool::new(first.upper < FORBIDDEN),
            group,
            bounds,
            incumbent,
            rng,
            device,
            handover,
            totals,
            first: first.assignments,
            early: first.early,
            upper: first.upper,
            value: first.value,
            lower,
            believed,
            tightened: (network.top(), 0),
            cannot_split: false,
            has_room,
            has_search: has_room,
            idle_slices: 0,
            refused: FxHashSet::default(),
        }))
    }

    /// Returns why the run ends. To be called after every message and before other long work.
    fn reached(&self) -> Option<StoppedBy> {
        reached(self.network, self.options, self.value.map(|value| (self.upper, value)), self.bound())
    }

    /// Returns the best lower bound, of this run or another.
    fn bound(&self) -> Cost {
        self.lower.max(self.believed)
    }

    fn gap(&self) -> Cost {
        self.upper.min(self.network.top()).saturating_sub(self.bound())
    }

    pub fn run(mut self) -> Result<Ending, Error> {
        if !self.has_room {
            let message = format!(
                "a domain is longer than the {LONGEST} values that local search has room for: bounds work alone"
            );
            (self.tell)(Message::Lost { source: "search".into(), message });
        }
        // drivers find better solutions than the greedy one at once, except on vast problems
        let resumed = self.options.keeping.resumed().is_some();
        let wanted = self.context.is_vast()
            || self.reducing.is_some()
            || resumed
            || !self.options.warm_starts.is_empty()
            || self.options.heuristic.is_some();
        for first in std::mem::take(&mut self.first).iter().filter(|_| wanted) {
            self.offer_projected(first);
        }
        self.incumbent.proved(self.lower);
        self.resume();
        let stopped_by = loop {
            faults::panic_at("loop");
            if let Some(reason) = self.finished() {
                break reason;
            }
            self.take_early();
            self.take_device()?;
            self.take_reduced();
            self.split_threads();
            self.meet_keepers()?;
            self.ensure_search();
            let is_empty = self.core.problem.variables() == 0;
            if is_empty && !self.network.is_relaxed() {
                let _ = self.core_solution(&self.core.clone(), &[], REDUCTIONS)?;
                let proof = Proof::reductions(&self.core.reducer);
                self.raise(self.upper.min(self.network.top()), REDUCTIONS, proof);
                continue;
            }
            if is_empty {
                self.raise(self.core.problem.constant.min(self.upper).min(self.network.top()), REDUCTIONS, None);
            }
            if is_empty || !self.bound_slice()? {
                self.round()?;
            }
        };
        if self.handover.is_some() {
            (self.tell)(Message::Note(DeviceHandover::missed(&self.options.device, self.stop)?));
        }
        let (source, Effort { moves, ratings, found, .. }) = self.group.finish(&mut self.pool);
        self.totals.moves += moves;
        self.totals.ratings += ratings;
        self.look_at_found(found)?;
        if let Some(source) = source {
            self.look_at_pool(source)?;
        }
        self.tell_last_states();
        self.bounds.finish();
        while let Some(mut step) = self.bounds.finished() {
            let _ = self.take(&mut step)?;
        }
        self.take_last_news()?;
        self.tell_of_bounds();
        self.tell_of_losses();
        self.report_violations();
        let (z, induced_width) = self.bounds.widths();
        let (values_forbidden, values) = self.values.forbidden(self.upper.min(self.network.top()));
        Ok(Ending {
            values: Some(values),
            values_forbidden: Some(values_forbidden),
            // the last messages may have reached the goal
            stopped_by: self.reached().unwrap_or(stopped_by),
            totals: self.totals,
            z,
            induced_width,
            device: self.device.name(),
        })
    }

    /// Takes the bound of the unreduced network once it is computed; the publisher has reported it.
    fn take_early(&mut self) {
        if let Some(lower) = self.early.take_if(|early| early.get().is_some()).and_then(|early| early.get().copied()) {
            self.lower = self.lower.max(lower);
            self.incumbent.proved(self.lower);
        }
    }

    /// Returns the stop flag for checking a solution. A check that does not take long is completed after the end of a
    /// run.
    pub(super) fn checking(&self) -> Stop {
        if self.context.is_vast() { self.stop.clone() } else { self.stop.unheeded() }
    }

    fn finished(&self) -> Option<StoppedBy> {
        let is_last = self.options.rounds.is_some_and(|rounds| self.totals.rounds >= rounds);
        let rounds = || is_last.then_some(StoppedBy::Rounds);
        let stopped = || self.stop.is_set().then(|| self.stop.cause().map(StoppedBy::from)).flatten();
        self.reached().or_else(rounds).or_else(stopped)
    }

    fn round(&mut self) -> Result<(), Error> {
        self.ensure_search();
        if !self.has_search {
            self.totals.rounds += 1;
            (self.tell)(Message::Progress(self.totals));
            std::thread::sleep(tuning().run.polling);
            return Ok(());
        }
        let began = Instant::now();
        let over = self.handover.as_ref().map_or(self.incumbent.closed(), DeviceHandover::over);
        let (group, context, pool) = (&mut self.group, &self.context, &mut self.pool);
        let (
            source,
            Effort { moves, ratings, work, note, clipped, lost, picks, nonsense, fault, found, lost_partner: _ },
        ) = self.bounds.for_search().run(|| group.round(context, pool, over));
        self.totals.rounds += 1;
        self.totals.moves += moves;
        self.totals.ratings += ratings;
        self.totals.population = self.group.population();
        self.budget.note_round(began, work, picks.rounds > 0);
        if self.budget.is_stalled() {
            self.bounds.have_device(began.elapsed());
        }
        self.totals.picks.add(&picks);
        self.totals.picks.work = self.budget.plugin_part();
        if let Some(fault) = fault {
            self.tell_of_losses();
            return Err(Error::Internal(fault));
        }
        if let Some(note) = note {
            (self.tell)(Message::Note(note));
        }
        if let Some(message) = clipped {
            (self.tell)(Message::Lost { source: source.into(), message });
        }
        if let Some(nonsense) = nonsense {
            (self.tell)(Message::Nonsense(nonsense));
        }
        if let Some(error) = lost {
            // other devices that fail as well do not take its place
            self.tell_of_losses();
            self.lose_device(&error);
        }
        self.look_at_found(found)?;
        // also if the pool's best is an old assignment with violations
        self.look_at_pool(source)?;
        if self.options.assertions >= Assertions::Round {
            self.pool.assert_energies(&self.core.problem)?;
        }
        (self.tell)(Message::Progress(self.totals));
        if self.reached().is_some() {
            return Ok(());
        }
        let (upper, work) = self.tightened;
        if self.upper < upper && self.budget.search_work - work > self.size.saturating_mul(tuning().run.tighten_every) {
            self.tighten();
        }
        Ok(())
    }

    /// Works on a slice of the bounds if one is due, and handles the result. Returns whether the search waited for it.
    /// A repeatable run alternates; otherwise the search continues beside a slice if a device searches, or if another
    /// thread computes the slice.
    fn bound_slice(&mut self) -> Result<bool, Error> {
        let upper = self.upper.min(self.network.top());
        if let Some(step) = self.bounds.finished() {
            self.follow(step)?;
            return Ok(true);
        }
        self.tell_of_bounds();
        self.tell_of_losses();
        if self.bounds.are_parted() || self.device.cuda.is_some() && self.options.rounds.is_none() {
            if self.budget.search_work > 0 || !self.has_search {
                let one = self.context.is_large() && !self.context.is_vast();
                self.bounds.begin(&self.core, upper, one, self.stop);
            }
            return Ok(false);
        }
        let alone = !self.has_search;
        if self.handover.is_some() && self.context.sweep_work > tuning().run.most_meanwhile && !alone {
            return Ok(false);
        }
        let Some(bounds) = self.bounds.here() else { return Ok(false) };
        self.budget.note_bounds(bounds.bounder.spent());
        // an anneal that takes as long as all before finds nothing until it ends
        let climbs = self.context.climbs();
        let (is_stalled, one) = (self.budget.is_stalled() && !climbs, rayon::current_num_threads() == 1);
        let price = if climbs { tuning().run.climbing_price } else { 1 };
        // the first slice of a dense form alone may take longer than a run
        let is_dense = !self.context.is_for_tables() && !self.context.is_for_sums();
        let due = match alone {
            true => !bounds.bounder.is_done(),
            false => (!one || !is_dense || is_stalled) && bounds.is_due(self.budget.with_a_slice(price), is_stalled),
        };
        if !due {
            return Ok(false);
        }
        // slices leave threads idle: with alternating work a run on two threads used one and a half (results/scheduler)
        let is_beside = self.context.is_vast() || !bounds.takes_turns();
        if self.options.rounds.is_none() && rayon::current_num_threads() > 1 && is_beside {
            self.bounds.begin(&self.core, upper, true, self.stop);
            return Ok(false);
        }
        let slice = || {
            faults::panic_at("bounds");
            bounds.slice(&self.core, upper, self.stop)
        };
        let step = threads::caught(slice).unwrap_or_else(|what| {
            self.bounds.lose(what);
            None
        });
        self.tell_of_bounds();
        if !self.has_search && self.has_room {
            self.idle_slices += 1;
            self.totals.rounds += u64::from(self.idle_slices.is_multiple_of(tuning().run.slices_of_a_round));
        }
        if let Some(step) = step {
            self.follow(step)?;
        }
        Ok(true)
    }

    fn follow(&mut self, mut step: BoundResult) -> Result<(), Error> {
        let (before, reason) = (self.gap(), step.proof.as_ref().filter(|_| step.value_bounds.is_some()).cloned());
        let solution = self.take(&mut step)?;
        if self.reached().is_some() {
            return Ok(());
        }
        if let Some(solution) = solution {
            self.offer_projected(&solution);
        }
        let closed = (before - self.gap()) as f64 / before.max(1) as f64;
        if let Some(bounds) = self.bounds.here() {
            bounds.note(closed);
        }
        // the values of the unreduced network are not those of the reduced problem
        let is_known = |step: &BoundResult| self.reducing.is_some() || !step.reduced.reducer.is_unreduced();
        if let Some(values) = step.value_bounds.take().filter(|_| is_known(&step)) {
            self.values.learn(&step.reduced.reducer, &values, reason, self.stop);
            threads::free(values, step.reduced.problem.variables());
            self.look_at_reduced();
            let upper = self.upper.min(self.network.top());
            let (removable, of) = self.values.removable(&self.core.reducer, upper, self.stop);
            if removable > of / tuning().run.worth_tightening {
                self.tighten();
            }
        }
        if let Some(outcome) = step.outcome.filter(|_| Arc::ptr_eq(&step.reduced.problem, &self.core.problem)) {
            self.group.guide(outcome);
        }
        Ok(())
    }

    /// Takes the bound of a step. Returns the lifted assignment of the step; `None` if it has none.
    fn take(&mut self, step: &mut BoundResult) -> Result<Option<Vec<u32>>, Error> {
        let solution = match &step.assignment {
            Some(assignment) => self.core_solution(&step.reduced, assignment, &step.source)?,
            None => None,
        };
        // a bound of the reduced problem holds for solutions better than the incumbent
        self.raise(step.lower.min(self.upper).min(self.network.top()), &step.source, step.proof.take());
        Ok(solution)
    }

    /// Passes the lower bounds of values to the context, for heuristics that read them.
    fn look_at_reduced(&mut self) {
        if self.options.heuristic.as_ref().is_some_and(|heuristic| heuristic.needs().any(Needs::REDUCED)) {
            self.context.learn_reduced(self.values.reduced(&self.core.reducer));
        }
    }

    fn raise(&mut self, bound: Cost, source: &str, proof: Option<Proof>) {
        // a proof is reported even if a better bound without a proof exists
        if bound > self.lower || proof.is_some() {
            self.lower = self.lower.max(bound);
            self.incumbent.proved(self.lower);
            let (source, totals) = (source.to_string(), self.totals);
            (self.tell)(Message::Bound { bound, source, totals, proof: proof.map(Box::new) });
        }
    }
}
