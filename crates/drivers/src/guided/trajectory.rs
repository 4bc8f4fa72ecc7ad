//! A trajectory: some passes of a state while the temperature falls.

use super::round_context::RoundContext;
use super::state::GuidedState;
use super::visit::{Scratch, Visit};
use crate::core::picks::Picks;
use crate::core::schedule::Schedule;
use crate::fang::{Order, Pass, State as _};
use crate::heuristics::{Inputs, Needs, Neighbourhood, ValueHeuristic, Weights};
use crate::stop::Stop;

/// The length of a trajectory, and where on the schedule it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trajectory {
    pub passes: u32,
    /// The start: 0 is the hot end of the schedule, 1 the cold one.
    pub start: f64,
}

impl Trajectory {
    pub fn temperature(self, schedule: Schedule, pass: u32) -> f64 {
        let progress = f64::from(pass + 1) / f64::from(self.passes);
        schedule.at(self.start + (1.0 - self.start) * progress)
    }

    /// Makes the trajectory; returns `false` after a stop. The state ends at its best assignment after the first move.
    pub fn run(
        self,
        visit: &Visit<'_>,
        schedule: Schedule,
        state: &mut GuidedState,
        scratch: &mut Scratch,
        stop: &Stop,
    ) -> bool {
        // the messages of mini-buckets depend on the variables that come later in the elimination order
        let order = visit.round.guidance.as_ref().map_or(Order::Permuted, |guidance| Order::List(guidance.order));
        for pass in 0..self.passes {
            state.temperature = self.temperature(schedule, pass);
            state.pass = state.pass.saturating_add(1);
            if !run(visit, state, order, scratch, stop) {
                return false;
            }
            if let Some(neighbourhood) = visit.heuristic.neighbourhood() {
                for _ in 0..neighbourhood.proposals(visit.round.context.variables()) {
                    propose(visit, neighbourhood, state, scratch);
                }
            }
        }
        // whatever the heuristic prefers, a state should not end next to one of lower cost
        let settle =
            Visit { round: RoundContext { needs: CheapestValues.needs(), ..visit.round }, heuristic: &CheapestValues };
        let picks = state.picks;
        let done = run(&settle, state, Order::Permuted, scratch, stop);
        state.picks = Picks { ratings: state.picks.ratings, ..picks };
        state.return_to_best(&visit.round, &mut scratch.row);
        done
    }
}

fn run(visit: &Visit<'_>, state: &mut GuidedState, order: Order<'_>, scratch: &mut Scratch, stop: &Stop) -> bool {
    state.active().activate_all();
    pulp::Arch::new().dispatch(Pass { dispatch: visit, state, order, scratch, stop })
}

/// The heuristic of the last pass of each trajectory: values of lowest cost only.
#[derive(Clone, Copy, Debug)]
struct CheapestValues;

impl ValueHeuristic for CheapestValues {
    fn name(&self) -> &str {
        "settle"
    }

    fn needs(&self) -> Needs {
        Needs::COST | Needs::LEAST | Needs::CURRENT_COST
    }

    fn active(&self, inputs: &Inputs<'_>) -> bool {
        inputs.current_cost > inputs.least
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        for (weight, &cost) in weights.iter_mut().zip(inputs.cost) {
            *weight = u32::from(cost == inputs.least);
        }
    }
}

fn propose(visit: &Visit<'_>, neighbourhood: &dyn Neighbourhood, state: &mut GuidedState, scratch: &mut Scratch) {
    let round = &visit.round;
    let mut group = Vec::new();
    let mut rng = state.rng().clone();
    neighbourhood.propose(&round.context.view(&state.values), &mut rng, &mut group);
    *state.rng() = rng;
    let domain =
        |v: u32| if (v as usize) < round.context.variables() { round.context.tables.domain(v as usize) } else { 0 };
    if let Some(&senseless) = group.iter().find(|&&(v, value)| usize::from(value) >= domain(v)) {
        let _ = state.senseless.get_or_insert(senseless);
        return;
    }
    if group.is_empty() {
        return;
    }
    state.picks.proposed += 1;
    let (before, record, improved) = (state.energy, state.record, state.picks.improved);
    let mut left = Vec::with_capacity(group.len());
    for &(v, value) in &group {
        let old = state.values[v as usize];
        if old != value {
            let delta = state.delta(round, v as usize, value, &mut scratch.row);
            state.take(round, v as usize, value, delta);
            left.push((v, old));
        }
    }
    let rise = (state.energy - before).clamp(0, i64::from(u32::MAX)) as u32;
    let boltzmann = Weights::new(state.temperature);
    let drawn = (state.rng().draw() >> 32) as u32 % boltzmann.weight(0);
    if drawn < boltzmann.weight(rise) {
        state.picks.taken += 1;
        state.picks.taken_changed += left.len() as u64;
        state.picks.taken_improved += u64::from(state.energy < record);
        state.moves += left.len() as u64;
    } else {
        for &(v, old) in left.iter().rev() {
            let delta = state.delta(round, v as usize, old, &mut scratch.row);
            state.take(round, v as usize, old, delta);
        }
    }
    // intermediate assignments of a group do not count as improvements by samples
    state.picks.improved = improved;
    if let (true, Some(&(v, _))) = (round.asserts, group.first()) {
        visit.verify(state, v as usize);
    }
}
