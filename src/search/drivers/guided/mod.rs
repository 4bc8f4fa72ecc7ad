//! Search steered by a plug-in heuristic: a population of states, each of which makes flights of FANG passes.
//!
//! A child of each state makes a flight: passes over all variables, in which the heuristic weighs values and FANG draws, while
//! the temperature falls; what its neighbourhood proposes is tried in between; a pass of cheapest values ends it. The child is
//! the best assignment of its flight, and replaces its parent where it is not worse, as in `anneal`: so states drift over
//! plateaus, no better one is lost, and heuristics may go uphill within a flight as they like. (Metropolis' rule between
//! parent and child would count the temperature twice.) How long flights are and how hot they begin goes by what paid.
//!
//! Costs of all values are kept up to date as tabu search does (`walk::Layout`), because passes of most heuristics change few
//! values; where tables are too large, and on a device, they are made at each visit.
//!
//! The host decides which flights come next and who begins anew; where the states live is a [`Flock`]: the CPU's, or a device's with
//! the same states after every round.

mod cuda;
#[cfg(test)]
mod cuda_tests;
mod flight;
mod flock;
mod ground;
mod guide;
mod idle;
mod network;
pub(crate) mod speed;
mod state;
#[cfg(test)]
mod tests;
mod visit;

pub(crate) use network::sources;
pub(crate) use network::{MEMBERS, instance_of};

pub(crate) use crate::search::scheduler::driver::SearchContext;

use super::annealing::cpu::{clipped, most_states};
use super::annealing::state::Elite;
use super::annealing::temperature::{ENDS, Schedule};
use super::tabu::walk::Layout;
use crate::device::{Cuda, DeviceError, Opened};
use crate::elimination::Outcome;
use crate::heuristics::{Needs, ValueHeuristic, View};
use crate::rng::{Rng, mix};
use crate::search::scheduler::bandit::Arms;
use crate::search::scheduler::driver::{Driver, Effort, POOL, Picks, Pool};
use crate::stop::Stop;
use cuda::CudaFlock;
use flight::Flight;
use flock::{Flock, HostFlock, Landed, Turn};
use ground::Ground;
use guide::Guiding;
use rayon::prelude::*;
use state::{Places, State};
use std::sync::Arc;
use visit::Visit;

/// Its share at first: somebody asked for it.
const WEIGHT: f64 = 3.0;
/// Work of a run before its flights begin. A round of them is long; where they began at once, networks that the other drivers solve within
/// tenths of a second were solved that much later (results/notes/heuristics.md).
const BEGIN: u64 = 300_000_000;
/// What opens a run: flights of so many states, cold ones of that many passes, or fewer where they would take more than that work. They set out from the
/// first solution, which brings scen07 to 424807 where annealing has 1848156 a little later (results/notes/heuristics.md).
const OPENING_STATES: usize = 4;
const OPENING_PASSES: u64 = 8;
const OPENING_WORK: u64 = 20_000_000;
/// States, where nobody asks for another number; threads do not change it.
const STATES: usize = 16;
/// Work of a round, about: a flight is no longer than that allows.
const ROUND_WORK: u64 = 200_000_000;
/// The longest and the shortest flight.
const LONGEST: u64 = 512;
const SHORTEST: u64 = 8;
/// Lengths of flights as parts of the longest, and where on the schedule they begin: the choices of a flight are pairs.
const LENGTHS: [u64; 3] = [1, 8, 64];
const STARTS: [f64; 4] = [0.0, 0.35, 0.7, 1.0];
/// Flights without anything better after which a state begins anew.
const PATIENCE: u32 = 24;
/// States that move to another core, at most: each is lifted to the network and projected again. Others begin at the same places.
const MOVED: usize = 256;

/// The guided driver.
pub(crate) struct Guided {
    heuristic: Arc<dyn ValueHeuristic>,
    rng: Rng,
    asserts: bool,
    /// As long as it works.
    device: Option<Arc<Cuda>>,
    flock: Box<dyn Flock>,
    /// Of each state the flights since the last better one; none before the first round.
    stalled: Vec<u32>,
    core: Option<Prepared>,
    schedule: Option<Schedule>,
    arms: Arms,
    guide: Option<Guiding>,
    /// Mini-buckets that guided so far.
    guides: u64,
    /// Whether nonsense of the heuristic was reported.
    reported: bool,
    /// Whether it has drawn a value or proposed a group.
    acted: bool,
}

/// What is made once a core.
struct Prepared {
    places: Places,
    layout: Arc<Layout>,
}

impl Guided {
    /// A driver that has not begun; its flights are a device's where there is one and the heuristic has a text for it. With `asserts`
    /// every assignment is verified.
    pub fn new(heuristic: Arc<dyn ValueHeuristic>, asserts: bool, device: Option<Arc<Cuda>>, rng: Rng) -> Self {
        Guided {
            heuristic,
            rng,
            asserts,
            device,
            flock: Box::new(HostFlock::default()),
            stalled: Vec::new(),
            core: None,
            schedule: None,
            arms: Arms::new(LENGTHS.len() * STARTS.len(), 0.2),
            guide: None,
            guides: 0,
            reported: false,
            acted: false,
        }
    }

    /// A random assignment, or what the heuristic makes of it.
    fn start(heuristic: &dyn ValueHeuristic, context: &SearchContext, rng: &mut Rng) -> Vec<u16> {
        let mut values: Vec<u16> =
            (0..context.variables()).map(|v| rng.index(context.tables.domain(v)) as u16).collect();
        if let Some(start) = heuristic.start() {
            let shown = values.clone();
            start.start(&View::new(context, &shown), rng, &mut values);
            // what is beyond a domain is no value
            for (v, value) in values.iter_mut().enumerate() {
                *value = (*value).min(context.tables.domain(v) as u16 - 1);
            }
        }
        values
    }

    /// The flights of a round.
    fn flights(&mut self, context: &SearchContext) -> Vec<(usize, Flight)> {
        let longest = (ROUND_WORK / (STATES as u64 * context.sweep_work).max(1)).clamp(SHORTEST, LONGEST);
        let mut choose = |_| {
            let arm = self.arms.choose(self.rng.unit());
            let passes = (longest / LENGTHS[arm / STARTS.len()]).max(2) as u32;
            (arm, Flight { passes, start: STARTS[arm % STARTS.len()] })
        };
        (0..self.stalled.len()).map(&mut choose).collect()
    }

    /// What the heuristic did that makes no sense, or that it did nothing, told once.
    fn report(&mut self, ground: &Ground<'_>, landed: &[Landed], stop: &Stop) -> Option<String> {
        self.acted |= landed.iter().any(|landed| landed.picks.drawn + landed.picks.proposed > 0);
        if self.reported {
            return None;
        }
        let context = ground.context;
        let shown = vec![0; context.variables()];
        let view = View::new(context, &shown);
        let name = self.heuristic.name();
        let told = landed.iter().find_map(|landed| {
            let strange = landed.strange.map(|v| {
                format!("heuristic {name}: the weight of a value of variable {} is no number; it weighs 0", view.origin(v))
            });
            let weightless = landed.weightless.map(|(v, held)| {
                let (variable, value) = (view.origin(v), view.origin_value(v, held.into()));
                format!("heuristic {name}: all values of variable {variable} weigh 0; it keeps value {value}")
            });
            let senseless = landed.senseless.map(|(v, value)| {
                format!("heuristic {name}: it proposes value {value} for variable {v} of the core, which has no such value; passed over")
            });
            strange.or(weightless).or(senseless)
        });
        let known = self.heuristic.nonsense().map(|what| format!("heuristic {what}; it weighs 0"));
        let new = known.or(told).or_else(|| {
            let start = |slot| Self::start(&*self.heuristic, context, &mut Rng::new(slot));
            let starts = || (0..OPENING_STATES as u64).map(start).collect();
            let idle = || idle::explain(ground, &*self.heuristic, starts(), opening_flight(context), stop);
            if self.acted { None } else { idle() }
        });
        self.reported = new.is_some();
        new
    }
}

/// A flight of those that open a run.
fn opening_flight(context: &SearchContext) -> Flight {
    let most = OPENING_WORK / (OPENING_STATES as u64 * context.sweep_work).max(1);
    Flight { passes: most.clamp(1, OPENING_PASSES) as u32, start: 1.0 }
}

/// Whether a heuristic that is for devices only flies on one: what to say to the user where it does not.
pub(crate) fn ready(
    context: &SearchContext,
    heuristic: &dyn ValueHeuristic,
    device: &Opened,
    asserts: bool,
) -> Result<(), String> {
    let Some(cuda) = &device.cuda else {
        return Err(format!("a heuristic in CUDA needs a device, and there is none: {device}"));
    };
    if let Some(what) = cuda::unfit(context, heuristic) {
        return Err(format!("{what}, and a heuristic in CUDA weighs nothing on the CPU"));
    }
    if context.variables() == 0 {
        return Ok(());
    }
    // what is compiled is kept
    let core = Prepared::new(context);
    let ground = core.ground(context, heuristic.needs(), asserts);
    let flock = CudaFlock::new(cuda, &ground, heuristic, wanted(context));
    flock.map(|_| ()).map_err(|error| error.to_string())
}

/// How many states there are to be, where that does not depend on the device.
fn wanted(context: &SearchContext) -> Option<usize> {
    context.population.map(|wanted| wanted.max(1)).or(context.portable.then_some(STATES))
}

impl Prepared {
    fn new(context: &SearchContext) -> Self {
        let layout = context.layout().cloned().unwrap_or_else(|| Arc::new(Layout::new(&context.tables)));
        Prepared { places: Places::new(&context.tables.width), layout }
    }

    /// What states stand on, without what others have found.
    fn ground<'a>(&'a self, context: &'a SearchContext, needs: Needs, asserts: bool) -> Ground<'a> {
        let Prepared { places, layout } = self;
        let floors = &layout.floors;
        let (incumbent, reduced, guide) = (None, None, None);
        Ground { context, places, layout, keeps: false, floors, needs, incumbent, reduced, guide, asserts }
    }
}

impl Driver for Guided {
    fn name(&self) -> &'static str {
        "guided"
    }

    fn population(&self) -> usize {
        self.stalled.len()
    }

    fn weight(&self, _: &SearchContext, _: &Pool) -> f64 {
        WEIGHT
    }

    fn begins(&self, _: &SearchContext) -> u64 {
        BEGIN
    }

    /// Flights on the CPU that set out from the first solution, by states that nobody keeps: before a device is there, and where a run must be the
    /// same with it.
    fn open_run(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Option<Effort> {
        let may = !self.heuristic.is_for_devices() && (self.device.is_none() || context.portable);
        let first = pool.elites().first().filter(|_| may && context.variables() > 0)?.values.clone();
        let core = Prepared::new(context);
        let ground = core.ground(context, self.heuristic.needs(), self.asserts);
        let mut start = |slot: usize| match self.heuristic.start() {
            // half of them where the heuristic begins, if it says where
            Some(_) if slot % 2 == 1 => Self::start(&*self.heuristic, context, &mut self.rng.split()),
            _ => first.clone(),
        };
        let starts = (0..OPENING_STATES).map(&mut start).collect();
        let flights = [(0, opening_flight(context)); OPENING_STATES];
        let visit = Visit { ground: Ground { incumbent: Some(&first), ..ground }, heuristic: &*self.heuristic };
        let turn = Turn { draw: self.rng.draw(), schedule: context.schedule, flights: &flights };
        let (mut flock, mut effort) = (HostFlock::default(), Effort::default());
        // the CPU's flights do not fail
        flock.open(&ground, starts).ok()?;
        let (landed, _) = flock.fly(&visit, &turn, stop).ok()?;
        self.account(context, &flock, &flights, &landed, &mut effort);
        effort.nonsense = self.report(&ground, &landed, stop);
        flock.states.iter().for_each(|state| pool.offer(&Elite::new(&context.tables, state.values.clone())));
        self.core = Some(core);
        Some(effort)
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        // without a device there is nothing to do for a heuristic in CUDA
        if context.variables() == 0 || self.heuristic.is_for_devices() && self.device.is_none() {
            return Effort { work: 1_000_000, ..Effort::default() };
        }
        let core = self.core.take().unwrap_or_else(|| Prepared::new(context));
        let guide = self.guide.take();
        let incumbent = pool.elites().first().map(|elite| elite.values.clone());
        let reduced = context.reduced();
        let ground = Ground {
            incumbent: incumbent.as_deref(),
            reduced: reduced.as_ref().map(|reduced| &reduced[..]),
            guide: guide.as_ref().and_then(Guiding::shown),
            ..core.ground(context, self.heuristic.needs(), self.asserts)
        };
        let mut effort = Effort::default();
        if let Err(error) = self.advance(&ground, pool, stop, &mut effort) {
            // what was found is in the pool: new states begin on the CPU
            self.device = None;
            self.stalled.clear();
            effort.lost = Some(error);
        }
        self.core = Some(core);
        self.guide = guide;
        effort
    }

    fn guide(&mut self, outcome: &Arc<Outcome>) {
        if !self.heuristic.needs().any(Needs::H) {
            return;
        }
        self.guides += 1;
        if let Some(guide) = Guiding::new(outcome, self.guides) {
            if !guide.is_dense() && self.device.is_some() {
                // what states on a device have found is in the pool: new ones begin on the CPU
                self.stalled.clear();
            }
            self.guide = Some(guide);
        }
    }

    fn rebase(&mut self, context: &SearchContext, translate: &(dyn Fn(&[u16]) -> Vec<u16> + Sync)) {
        self.guide = None;
        self.schedule = None;
        self.core = None;
        let mut slots: Vec<usize> = (0..std::mem::take(&mut self.stalled).len()).collect();
        slots.sort_by_key(|&slot| (self.flock.energy(slot), slot));
        slots.truncate(MOVED);
        slots.sort_unstable();
        if slots.is_empty() || context.variables() == 0 {
            return;
        }
        let core = Prepared::new(context);
        let ground = core.ground(context, self.heuristic.needs(), self.asserts);
        let moved = slots.iter().map(|&slot| self.flock.values(slot)).collect::<Result<Vec<_>, _>>();
        // what states remember is by the old core's values. A device that fails now fails again in the next round, which says so
        if let Ok(moved) = moved
            && let Ok(count) = self.choose(&ground, &mut Effort::default())
        {
            let moved: Vec<Vec<u16>> = moved.par_iter().map(|values| translate(values)).collect();
            let starts = moved.iter().cycle().take(count).cloned().collect();
            if self.flock.open(&ground, starts).is_ok() {
                self.stalled = vec![0; count];
            }
        }
        self.core = Some(core);
    }
}

impl Guided {
    /// Where flights are made from now on, by how many states. `effort` tells why it is not the device where there is
    /// one, and of fewer states than were asked for.
    fn choose(&mut self, ground: &Ground<'_>, effort: &mut Effort) -> Result<usize, DeviceError> {
        let context = ground.context;
        let wanted = wanted(context);
        let on_host = |told: &mut Option<String>| match context.population {
            // its assignments, and lists of numbers for variables and for values; and the same of its child
            Some(wanted) => {
                let state = size_of::<State>() + 24 * context.variables() + 4 * context.tables.moves();
                clipped(wanted, most_states(2 * state), told)
            }
            None => STATES,
        };
        let Some(device) = &self.device else {
            self.flock = Box::new(HostFlock::default());
            return Ok(on_host(&mut effort.clipped));
        };
        let lists = ground.guide.as_ref().is_some_and(|guide| !guide.to_go.is_dense());
        let lists = || lists.then(|| "the mini-buckets' messages are lists, which devices do not look up".to_string());
        if let Some(what) = cuda::unfit(context, &*self.heuristic).or_else(lists) {
            effort.note = Some(format!("{}: {what}: its flights are made on the CPU", device.label()));
            self.flock = Box::new(HostFlock::default());
            return Ok(on_host(&mut effort.clipped));
        }
        // memory goes back before more is taken
        self.flock = Box::new(HostFlock::default());
        let flock = CudaFlock::new(device, ground, &*self.heuristic, wanted)?;
        let count = match wanted {
            Some(wanted) => clipped(wanted, flock.most()?, &mut effort.clipped),
            None => flock.suitable()?,
        };
        self.flock = Box::new(flock);
        Ok(count)
    }

    /// First states.
    fn open(
        &mut self,
        ground: &Ground<'_>,
        pool: &mut Pool,
        draw: u64,
        effort: &mut Effort,
    ) -> Result<(), DeviceError> {
        let count = self.choose(ground, effort)?;
        let heuristic = &*self.heuristic;
        let start = |slot| Self::start(heuristic, ground.context, &mut Rng::new(mix(draw, slot as u64)));
        let starts = (0..count).into_par_iter().map(start).collect();
        self.flock.open(ground, starts)?;
        self.stalled = vec![0; count];
        self.offer(ground, pool, (0..count).collect())
    }

    fn advance(
        &mut self,
        ground: &Ground<'_>,
        pool: &mut Pool,
        stop: &Stop,
        effort: &mut Effort,
    ) -> Result<(), DeviceError> {
        let context = ground.context;
        let draw = self.rng.draw();
        if self.stalled.is_empty() {
            self.open(ground, pool, draw, effort)?;
        }
        let schedule = self.schedule.unwrap_or(context.schedule);
        let flights = self.flights(context);
        let visit = Visit { ground: *ground, heuristic: &*self.heuristic };
        let (landed, complete) = self.flock.fly(&visit, &Turn { draw, schedule, flights: &flights }, stop)?;
        self.account(context, &*self.flock, &flights, &landed, effort);
        if !complete {
            return Ok(());
        }
        if self.schedule.is_none() {
            let samples =
                (0..self.stalled.len().min(4)).map(|slot| self.flock.values(slot)).collect::<Result<Vec<_>, _>>()?;
            let samples: Vec<&[u16]> = samples.iter().map(|values| &values[..]).collect();
            self.schedule = Some(context.schedule.settled(&context.tables, &samples, ENDS[0]));
        }
        for ((landed, &(arm, flight)), stalled) in landed.iter().zip(&flights).zip(&mut self.stalled) {
            self.arms.note(arm, if landed.better { 1.0 } else { 0.0 }, f64::from(flight.passes));
            *stalled = if landed.better { 0 } else { *stalled + 1 };
        }
        self.arms.settle();
        let better = (0..landed.len()).filter(|&slot| landed[slot].better).collect();
        self.offer(ground, pool, better)?;
        let begun = self.renew(ground, pool)?;
        // random assignments are nothing to others
        if self.heuristic.start().is_some() {
            self.offer(ground, pool, begun)?;
        }
        effort.nonsense = self.report(ground, &landed, stop);
        Ok(())
    }

    /// What the flights came to.
    fn account(
        &self,
        context: &SearchContext,
        flock: &dyn Flock,
        flights: &[(usize, Flight)],
        landed: &[Landed],
        effort: &mut Effort,
    ) {
        let mut picks = Picks { rounds: 1, bytes: flock.bytes(), compiled: flock.compiled(), ..Picks::default() };
        landed.iter().for_each(|landed| picks.add(&landed.picks));
        let n = context.variables() as u64;
        let passes: u64 = flights.iter().map(|(_, flight)| u64::from(flight.passes) + 1).sum();
        let moves: u64 = landed.iter().map(|landed| landed.moves).sum();
        // a visit looks at its row, a change at its neighbours' rows, twice
        let change = 2 * context.sweep_work / n.max(1);
        picks.settled = moves.saturating_sub(picks.changed + picks.taken_changed);
        effort.moves = moves;
        effort.ratings = picks.ratings;
        effort.work = (40 * n * passes + 4 * picks.ratings + change * moves) / flock.speed();
        effort.fault = landed.iter().find_map(|landed| landed.fault.clone());
        effort.picks = picks;
    }

    /// Offers the assignments of the best of some states.
    fn offer(&self, ground: &Ground<'_>, pool: &mut Pool, mut slots: Vec<usize>) -> Result<(), DeviceError> {
        slots.sort_by_key(|&slot| (self.flock.energy(slot), slot));
        slots.truncate(POOL);
        for slot in slots {
            let values = self.flock.values(slot)?;
            let (told, counted) = (self.flock.energy(slot), ground.energy(&values));
            if told != counted && self.device.is_some() && ground.exact() {
                // a device's memory or a kernel is wrong; the CPU's own states are what `--assert` is for
                let cause = format!("a state's cost is {told}, counted again {counted}");
                return Err(DeviceError::Failed { what: "comparing energies".into(), cause });
            }
            pool.offer(&Elite::new(&ground.context.tables, values));
        }
        Ok(())
    }

    /// States that have stalled begin anew: at an elite of the pool, or where the heuristic begins. Returns the latter.
    fn renew(&mut self, ground: &Ground<'_>, pool: &Pool) -> Result<Vec<usize>, DeviceError> {
        let mut begun = Vec::new();
        for slot in 0..self.stalled.len() {
            if self.stalled[slot] < PATIENCE {
                continue;
            }
            let mut rng = Rng::new(self.rng.draw());
            let elites = pool.elites();
            let values = match elites.get(rng.index(elites.len().max(1))) {
                Some(elite) if rng.below(2) == 0 => elite.values.clone(),
                _ => {
                    begun.push(slot);
                    Self::start(&*self.heuristic, ground.context, &mut rng)
                }
            };
            self.flock.begin(ground, slot, values)?;
            self.stalled[slot] = 0;
        }
        Ok(begun)
    }
}
