//! Search steered by a plug-in heuristic: a population of states, each of which makes flights of FANG passes.
//!
//! A child of each state makes a flight: passes over all variables, in which the heuristic weighs values and FANG draws, while
//! the temperature falls; what its neighbourhood proposes is tried in between; a pass of cheapest values ends it. The child is
//! the best assignment of its flight, and replaces its parent where it is not worse, as in `anneal`: so states drift over
//! plateaus, no better one is lost, and heuristics may go uphill within a flight as they like. (Metropolis' rule between
//! parent and child would count the temperature twice.) How long flights are and how hot they begin goes by what paid.
//!
//! Costs of all values are kept up to date as tabu search does (`walk::Layout`), because passes of most heuristics change few
//! values; where tables are too large they are made at each visit.

mod cuda;
#[cfg(test)]
mod cuda_tests;
mod flight;
mod ground;
pub(super) mod speed;
mod state;
#[cfg(test)]
mod tests;
mod visit;

pub(super) use cuda::sources;

pub(crate) use super::driver::Field;
pub(crate) use super::rows::Rows;

use super::arms::Arms;
use super::driver::{Driver, Effort, Picks, Pool};
use super::schedule::Schedule;
use super::state::Elite;
use super::walk::Layout;
use crate::heuristics::{Needs, ValueHeuristic, View};
use crate::inference::Outcome;
use crate::rng::{Rng, mix};
use crate::stop::Stop;
use flight::Flight;
use ground::{Ground, Guide};
use rayon::prelude::*;
use state::{Places, State};
use std::sync::Arc;
use visit::{Scratch, Visit};

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
/// Costs of values kept by all states together, at most.
const MOST_KEPT: usize = 1 << 27;

/// The guided driver.
pub(crate) struct Guided {
    heuristic: Arc<dyn ValueHeuristic>,
    rng: Rng,
    asserts: bool,
    states: Vec<State>,
    children: Vec<State>,
    core: Option<Prepared>,
    schedule: Option<Schedule>,
    arms: Arms,
    guide: Option<Guiding>,
    /// Whether nonsense of the heuristic was reported.
    reported: bool,
}

/// What is made once a core.
struct Prepared {
    places: Places,
    layout: Option<Layout>,
    floors: Vec<i32>,
}

/// Mini-buckets to be guided by.
struct Guiding {
    outcome: Arc<Outcome>,
    positions: Vec<u32>,
    order: Vec<u32>,
}

impl Guided {
    /// A driver that has not begun. With `asserts` every assignment is verified.
    pub fn new(heuristic: Arc<dyn ValueHeuristic>, asserts: bool, rng: Rng) -> Self {
        Guided {
            heuristic,
            rng,
            asserts,
            states: Vec::new(),
            children: Vec::new(),
            core: None,
            schedule: None,
            arms: Arms::new(LENGTHS.len() * STARTS.len(), 0.2),
            guide: None,
            reported: false,
        }
    }

    /// A random assignment, or what the heuristic makes of it.
    fn start(&self, field: &Field, rng: &mut Rng) -> Vec<u16> {
        let mut values: Vec<u16> = (0..field.variables()).map(|v| rng.index(field.rows.domain(v)) as u16).collect();
        if let Some(start) = self.heuristic.start() {
            let shown = values.clone();
            start.start(&View::new(field, &shown), rng, &mut values);
            // what is beyond a domain is no value
            for (v, value) in values.iter_mut().enumerate() {
                *value = (*value).min(field.rows.domain(v) as u16 - 1);
            }
        }
        values
    }

    /// The flights of a round.
    fn flights(&mut self, field: &Field) -> Vec<(usize, Flight)> {
        let longest = (ROUND_WORK / (STATES as u64 * field.sweep_work).max(1)).clamp(SHORTEST, LONGEST);
        let mut choose = |_| {
            let arm = self.arms.choose(self.rng.unit());
            let passes = (longest / LENGTHS[arm / STARTS.len()]).max(2) as u32;
            (arm, Flight { passes, start: STARTS[arm % STARTS.len()] })
        };
        (0..self.states.len()).map(&mut choose).collect()
    }

    /// What the heuristic did that makes no sense, told once.
    fn report(&mut self, field: &Field) -> Option<String> {
        let told = self.children.iter().find_map(|child| {
            let view = View::new(field, &child.values);
            let name = self.heuristic.name();
            let weightless = child.weightless.map(|v| {
                let held = view.origin_value(v, view.value(v));
                format!("heuristic {name}: all values of variable {} weigh 0; it keeps value {held}", view.origin(v))
            });
            let senseless = child.senseless.map(|(v, value)| {
                format!("heuristic {name}: it proposes value {value} for variable {v} of the core, which has no such value; passed over")
            });
            weightless.or(senseless)
        });
        let known = self.heuristic.nonsense().map(|what| format!("heuristic {what}; it weighs 0"));
        let new = known.or(told).filter(|_| !self.reported);
        self.reported |= new.is_some();
        new
    }
}

impl Prepared {
    fn new(field: &Field, states: usize) -> Self {
        let rows = &field.rows;
        let places = Places::new(&rows.width);
        let layout = Layout::new(rows);
        let floors = layout.floors.clone();
        let kept = rows.all_copied() && places.end() * states <= MOST_KEPT;
        Prepared { places, layout: kept.then_some(layout), floors }
    }

    /// What states stand on, without what others have found.
    fn ground<'a>(&'a self, field: &'a Field, needs: Needs, asserts: bool) -> Ground<'a> {
        let Prepared { places, layout, floors } = self;
        Ground { field, places, layout: layout.as_ref(), floors, needs, incumbent: None, guide: None, asserts }
    }
}

impl Driver for Guided {
    fn name(&self) -> &'static str {
        "guided"
    }

    fn population(&self) -> usize {
        self.states.len()
    }

    fn round(&mut self, field: &Field, pool: &mut Pool, stop: &Stop) -> Effort {
        let wanted = field.population.unwrap_or(STATES).max(1);
        let core = self.core.take().unwrap_or_else(|| Prepared::new(field, 2 * wanted));
        let guide = self.guide.take();
        let incumbent = pool.elites().first().map(|elite| elite.values.clone());
        let to_go = guide.as_ref().and_then(|guide| Some((guide, guide.outcome.cost_to_go()?)));
        let ground = Ground {
            incumbent: incumbent.as_deref(),
            guide: to_go.map(|(guide, to_go)| Guide { to_go, positions: &guide.positions, order: &guide.order }),
            ..core.ground(field, self.heuristic.needs(), self.asserts)
        };
        let effort = self.advance(&ground, wanted, pool, stop);
        self.core = Some(core);
        self.guide = guide;
        effort
    }

    fn guide(&mut self, outcome: &Arc<Outcome>) {
        if !self.heuristic.needs().any(Needs::H) {
            return;
        }
        if let Some(to_go) = outcome.cost_to_go() {
            let order: Vec<u32> = (0..to_go.positions()).rev().map(|position| to_go.variable(position)).collect();
            let mut positions = vec![0; order.len()];
            for (place, &v) in order.iter().rev().enumerate() {
                positions[v as usize] = place as u32;
            }
            self.guide = Some(Guiding { outcome: outcome.clone(), positions, order });
            // states keep their values in the form that guides read
            self.states.iter_mut().for_each(State::widen);
        }
    }

    fn rebase(&mut self, field: &Field, translate: &(dyn Fn(&[u16]) -> Vec<u16> + Sync)) {
        self.guide = None;
        self.schedule = None;
        let core = Prepared::new(field, 2 * self.states.len().max(1));
        let ground = core.ground(field, self.heuristic.needs(), self.asserts);
        // what states remember is by the old core's values
        self.states.par_iter_mut().for_each(|state| {
            let values = translate(&state.values);
            *state = State::default();
            state.begin(&ground, values);
        });
        self.children.clear();
        self.core = Some(core);
    }
}

impl Guided {
    fn advance(&mut self, ground: &Ground<'_>, wanted: usize, pool: &mut Pool, stop: &Stop) -> Effort {
        let field = ground.field;
        if field.variables() == 0 {
            return Effort { work: 1_000_000, ..Effort::default() };
        }
        let draw = self.rng.draw();
        if self.states.is_empty() {
            let begin = |slot: usize| {
                let mut state = State::default();
                state.begin(ground, self.start(field, &mut Rng::new(mix(draw, slot as u64))));
                state
            };
            self.states = (0..wanted).into_par_iter().map(begin).collect();
            self.offer(field, pool);
        }
        let schedule = self.schedule.unwrap_or(field.schedule);
        let flights = self.flights(field);
        let visit = Visit { ground: *ground, heuristic: &*self.heuristic };
        self.children.resize_with(self.states.len(), State::default);
        let slots = self.states.par_iter().zip(&mut self.children).zip(&flights).enumerate();
        let fly = |scratch: &mut Scratch,
                   (slot, ((state, child), &(_, flight))): (usize, ((&State, &mut State), _))| {
            child.clone_from(state);
            *crate::fang::State::rng(child) = Rng::new(mix(draw, (1 << 32) + slot as u64));
            Flight::fly(flight, &visit, schedule, child, scratch, stop)
        };
        let complete = slots.map_init(Scratch::default, fly).all(|done| done);
        let mut effort = self.account(field, &flights);
        if !complete {
            return effort;
        }
        if self.schedule.is_none() {
            let samples: Vec<&[u16]> = self.children.iter().take(4).map(|child| &child.values[..]).collect();
            self.schedule = Some(field.schedule.settled(&field.rows, &samples));
        }
        for (slot, &(arm, flight)) in flights.iter().enumerate() {
            let (state, child) = (&mut self.states[slot], &mut self.children[slot]);
            let better = child.energy < state.energy;
            self.arms.note(arm, if better { 1.0 } else { 0.0 }, f64::from(flight.passes));
            let stalled = if better { 0 } else { state.stalled + 1 };
            if child.energy <= state.energy {
                std::mem::swap(state, child);
            } else {
                state.learn_from(child);
            }
            state.stalled = stalled;
        }
        self.arms.settle();
        self.renew(ground, pool);
        self.offer(field, pool);
        effort.nonsense = self.report(field);
        effort
    }

    /// What the flights came to.
    fn account(&self, field: &Field, flights: &[(usize, Flight)]) -> Effort {
        let mut picks = Picks { rounds: 1, ..Picks::default() };
        self.children.iter().for_each(|child| picks.add(&child.picks));
        picks.bytes = self.states.iter().chain(&self.children).map(State::bytes).sum();
        let n = field.variables() as u64;
        let passes: u64 = flights.iter().map(|(_, flight)| u64::from(flight.passes) + 1).sum();
        let moves: u64 = self.children.iter().map(|child| child.moves).sum();
        // a visit looks at its row, a change at its neighbours' rows, twice
        let change = 2 * field.sweep_work / n.max(1);
        Effort {
            moves,
            ratings: picks.ratings,
            work: 40 * n * passes + 4 * picks.ratings + change * moves,
            fault: self.children.iter().find_map(|child| child.fault.clone()),
            picks,
            ..Effort::default()
        }
    }

    /// Offers the assignments of states that are better than they were, or begin.
    fn offer(&self, field: &Field, pool: &mut Pool) {
        for state in self.states.iter().filter(|state| state.stalled == 0) {
            pool.offer(&Elite::new(&field.rows, state.values.clone()));
        }
    }

    /// States that have stalled begin anew: at an elite of the pool, or where the heuristic begins.
    fn renew(&mut self, ground: &Ground<'_>, pool: &Pool) {
        for slot in 0..self.states.len() {
            if self.states[slot].stalled < PATIENCE {
                continue;
            }
            let bits = self.rng.draw();
            let mut rng = Rng::new(bits);
            let elites = pool.elites();
            let values = match elites.get(rng.index(elites.len().max(1))) {
                Some(elite) if rng.below(2) == 0 => elite.values.clone(),
                _ => self.start(ground.field, &mut rng),
            };
            self.states[slot].begin(ground, values);
        }
    }
}
