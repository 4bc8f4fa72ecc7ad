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
use self::reducing::Reducing;
use super::event::StoppedBy;
use super::options::{Assertions, Options};
use super::scheduler::budget::TimeBudget;
use super::scheduler::concurrent_bounds::ConcurrentBounds;
use super::scheduler::group::DriverGroup;
use super::scheduler::portfolio::Portfolio;
use super::scheduler::threads::ThreadSplit;
use crate::bounds::{BoundResult, CONSTANT, Proof, REDUCTIONS, Step};
use crate::core::context::SearchContext;
use crate::core::effort::Effort;
use crate::core::elite::LONGEST;
use crate::core::pool::Pool;
use crate::core::size::fits_search;
use crate::device::Opened;
use crate::elimination::Gpu;
use crate::error::Error;
use crate::faults;
use crate::heuristics::Needs;
use crate::ledger::{Ending, Ledger, Pulse, RunFacts, Totals};
use crate::model::{Cost, Network};
use crate::reduce::{ReducedProblem, ValueBounds};
use crate::rng::{Rng, mix};
use crate::stop::Stop;
use crate::threads;
use crate::tuning::tuning;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::time::Instant;

pub(crate) struct Run<'a> {
    network: &'a Network,
    options: &'a Options,
    stop: &'a Stop,
    /// The best-known solution and bound, and the events of the run.
    ledger: Ledger,
    pulse: Pulse<'a>,
    core: ReducedProblem,
    context: Arc<SearchContext>,
    pool: Pool,
    group: DriverGroup,
    bounds: ConcurrentBounds,
    rng: Rng,
    /// The devices while they work; the CPU without one.
    device: Opened,
    /// The migration to a device that is being opened.
    handover: Option<DeviceHandover>,
    totals: Totals,
    budget: TimeBudget,
    /// The first assignments, until the run begins.
    first: Vec<Vec<u32>>,
    values: ValueBounds,
    /// Entries of the reduced problem's tables.
    size: u64,
    /// The first reductions, while they run beside the search of the unreduced network.
    reducing: Option<Reducing>,
    /// The limit of better solutions at the last reduction, and the search work up to then.
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
        ledger: &Ledger,
        mut first: Vec<Vec<u32>>,
        stop: &'a Stop,
        pulse: Pulse<'a>,
    ) -> Result<Option<Self>, Error> {
        let resumed = options.keeping.resumed();
        // a resumed run does not repeat its draws
        let draw = resumed.map_or(options.seed, |resumed| mix(options.seed, resumed.checkpoint.rounds));
        let mut rng = Rng::new(draw);
        let FirstCore { core, context, reducing } =
            FirstCore::new(network, options, ledger, &mut first, stop, &mut rng)?;
        let least = core.problem.constant.max(network.least());
        let constant = if core.reducer.infeasible() { network.top() } else { least };
        let source = if options.reduce && !core.reducer.is_unreduced() { REDUCTIONS } else { CONSTANT };
        ledger.raise(constant, source, Proof::reductions(&core.reducer));
        if settled(network, options, ledger) {
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
            DeviceHandover::unless_there(&options.device, waits, &context, ledger.gap().closed(), stop)?;
        if handover.is_none() {
            ledger.note(device.to_string());
        }
        check_heuristic(options, &context, &device)?;
        let parts = || ThreadSplit::beside_device(Portfolio::may_split(options), &context);
        let (for_bounds, for_drivers) = device.cuda.is_some().then(parts).map(|all| (all.bounds, all.drivers)).unzip();
        let group = DriverGroup::new(options, &device, for_drivers.flatten(), ledger.gap().clone(), &mut rng);
        // a repeatable run computes bounds on the CPU
        let gpu = device.cuda.clone().filter(|_| options.rounds.is_none()).map(Gpu::new);
        let bounds = ConcurrentBounds::new(options, gpu.zip(for_bounds), ledger.clone());
        let values = ValueBounds::new(&core.reducer, stop)?;
        if options.facts && !reducing.as_ref().is_some_and(Reducing::is_on_its_way) {
            ledger.facts(RunFacts { core: &core, context: &context, options }.facts());
        }
        let has_room = fits_search(&core.problem);
        Ok(Some(Run {
            network,
            options,
            stop,
            ledger: ledger.clone(),
            pulse,
            values,
            size: reducing::size(&core.problem),
            reducing,
            core,
            budget: TimeBudget::new(options.rounds.is_none(), context.sweep_work),
            context,
            pool: Pool::new(ledger.costs().is_some()),
            group,
            bounds,
            rng,
            device,
            handover,
            totals: Totals::resumed(options),
            first,
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
        reached(self.network, self.options, &self.ledger)
    }

    fn gap(&self) -> Cost {
        self.ledger.limit().saturating_sub(self.ledger.bound())
    }

    pub fn run(mut self) -> Result<Ending, Error> {
        if !self.has_room {
            let message = format!(
                "a domain is longer than the {LONGEST} values that local search has room for: bounds work alone"
            );
            self.ledger.lose("search", message);
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
        self.resume();
        let stopped_by = loop {
            faults::panic_at("loop");
            if let Some(reason) = self.finished() {
                break reason;
            }
            self.take_device()?;
            self.take_reduced();
            self.split_threads();
            self.meet_keepers()?;
            self.ensure_search();
            let is_empty = self.core.problem.variables() == 0;
            if is_empty && !self.network.is_relaxed() {
                let _ = self.core_solution(&self.core.clone(), &[], REDUCTIONS)?;
                let proof = Proof::reductions(&self.core.reducer);
                self.raise(self.ledger.limit(), REDUCTIONS, proof);
                continue;
            }
            if is_empty {
                self.raise(self.core.problem.constant.min(self.ledger.limit()), REDUCTIONS, None);
            }
            if is_empty || !self.bound_slice()? {
                self.round()?;
            }
        };
        if self.handover.is_some() {
            self.ledger.note(DeviceHandover::missed(&self.options.device, self.stop)?);
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
        let (values_forbidden, values) = self.values.forbidden(self.ledger.limit());
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
            self.progress();
            std::thread::sleep(tuning().run.polling);
            return Ok(());
        }
        let began = Instant::now();
        let over = self.handover.as_ref().map_or(self.ledger.gap().closed(), DeviceHandover::over);
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
            self.ledger.note(note);
        }
        if let Some(message) = clipped {
            self.ledger.lose(source, message);
        }
        if let Some(nonsense) = nonsense {
            self.ledger.warn(nonsense);
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
        self.progress();
        if self.reached().is_some() {
            return Ok(());
        }
        let (upper, work) = self.tightened;
        if self.ledger.upper() < upper
            && self.budget.search_work - work > self.size.saturating_mul(tuning().run.tighten_every)
        {
            self.tighten();
        }
        Ok(())
    }

    /// Works on a slice of the bounds if one is due, and handles the result. Returns whether the search waited for it.
    /// A repeatable run alternates; otherwise the search continues beside a slice if a device searches, or if another
    /// thread computes the slice.
    fn bound_slice(&mut self) -> Result<bool, Error> {
        if let Some(step) = self.bounds.finished() {
            self.follow(step)?;
            return Ok(true);
        }
        self.tell_of_bounds();
        self.tell_of_losses();
        if self.bounds.are_parted() || self.device.cuda.is_some() && self.options.rounds.is_none() {
            if self.budget.search_work > 0 || !self.has_search {
                let one = self.context.is_large() && !self.context.is_vast();
                self.bounds.begin(&self.core, one, self.stop);
            }
            return Ok(false);
        }
        let alone = !self.has_search;
        if self.handover.is_some() && self.context.sweep_work > tuning().run.most_meanwhile && !alone {
            return Ok(false);
        }
        let Some(bounder) = self.bounds.here() else { return Ok(false) };
        self.budget.note_bounds(bounder.spent());
        // an anneal that takes as long as all before finds nothing until it ends
        let climbs = self.context.climbs();
        let (is_stalled, one) = (self.budget.is_stalled() && !climbs, rayon::current_num_threads() == 1);
        let price = if climbs { tuning().run.climbing_price } else { 1 };
        // the first slice of a dense form alone may take longer than a run
        let is_dense = !self.context.is_for_tables() && !self.context.is_for_sums();
        let due = match alone {
            true => !bounder.is_done(),
            false => (!one || !is_dense || is_stalled) && self.budget.bounds_are_due(bounder, price, is_stalled),
        };
        if !due {
            return Ok(false);
        }
        // slices leave threads idle: with alternating work a run on two threads used one and a half (results/scheduler)
        let is_beside = self.context.is_vast() || !TimeBudget::bounds_take_turns(bounder);
        if self.options.rounds.is_none() && rayon::current_num_threads() > 1 && is_beside {
            self.bounds.begin(&self.core, true, self.stop);
            return Ok(false);
        }
        let slice = || {
            faults::panic_at("bounds");
            bounder.step(&self.core, self.ledger.limit(), self.stop)
        };
        let step = threads::caught(slice).unwrap_or_else(|what| {
            self.bounds.lose(what);
            Step::Done
        });
        self.tell_of_bounds();
        if !self.has_search && self.has_room {
            self.idle_slices += 1;
            self.totals.rounds += u64::from(self.idle_slices.is_multiple_of(tuning().run.slices_of_a_round));
        }
        if let Step::Result(step) = step {
            self.follow(*step)?;
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
        if let Some(bounder) = self.bounds.here() {
            bounder.note_gap(closed);
        }
        // the values of the unreduced network are not those of the reduced problem
        let is_known = |step: &BoundResult| self.reducing.is_some() || !step.reduced.reducer.is_unreduced();
        if let Some(values) = step.value_bounds.take().filter(|_| is_known(&step)) {
            self.values.learn(&step.reduced.reducer, &values, reason, self.stop);
            threads::free(values, step.reduced.problem.variables());
            self.look_at_reduced();
            let (removable, of) = self.values.removable(&self.core.reducer, self.ledger.limit(), self.stop);
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
        self.raise(step.lower.min(self.ledger.limit()), &step.source, step.proof.take());
        Ok(solution)
    }

    /// Passes the lower bounds of values to the context, for heuristics that read them.
    fn look_at_reduced(&mut self) {
        if self.options.heuristic.as_ref().is_some_and(|heuristic| heuristic.needs().any(Needs::REDUCED)) {
            self.context.learn_reduced(self.values.reduced(&self.core.reducer));
        }
    }

    /// Takes a lower bound that the run has proved. A proof counts even if a better bound without a proof exists.
    fn raise(&mut self, bound: Cost, source: &str, proof: Option<Proof>) {
        if bound > self.ledger.proved() || proof.is_some() {
            self.ledger.count(self.totals);
            self.ledger.raise(bound, source, proof);
            (self.pulse)();
        }
    }

    /// Notes the counters of a round.
    fn progress(&mut self) {
        self.ledger.progress(self.totals);
        (self.pulse)();
    }

    /// Reports the sizes and memory of the run, if they are wanted.
    fn tell_facts(&self) {
        if self.options.facts {
            let Run { core, context, options, .. } = self;
            self.ledger.facts(RunFacts { core, context, options }.facts());
        }
    }
}
