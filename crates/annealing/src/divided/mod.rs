//! Annealing of one state whose variables are divided among threads or processes. Each part holds its own variables'
//! functions only, so the parts together may hold a network that no single one can.
//!
//! A sweep visits color class by color class, and after each class the parts exchange the moves at their borders. The
//! coloring, the random draws and the temperatures do not depend on the number of parts. Therefore neither do the
//! values, except that a part may scale very large costs by itself.

mod layout;
mod peers;
#[cfg(test)]
mod tests;

pub use self::peers::{Peers, ThreadPeers, sums};

use self::layout::Layout;
use crate::core::schedule::Schedule;
use crate::error::Error;
use crate::fang::boltzmann::Boltzmann;
use crate::generation::ALL_MOVE;
use crate::heat_bath::{AllFunctions, HeatBath};
use crate::rng::{Rng, below, mix};
use crate::state::AnnealState;
use crate::stop::Stop;
use crate::sweep::visit_class;
use crate::threads;
use crate::tuning::divided::{COLD_MOVES, FIRST_SWEEPS, GREEDY_SWEEPS, GROWTH, HOT_MOVES, SURE};
use crate::value_tables::ValueTables;
use fangs_model::model::{Cost, FORBIDDEN, Network, Problem, Share, add};
use std::sync::Arc;
use std::time::Instant;

/// The number of functions that a thread evaluates at a time.
const TURN: usize = 1 << 12;
/// The bytes of a move in a message: the variable and its value.
const MOVE_BYTES: usize = 6;
/// The units of an anneal's progress in messages.
const PROGRESS: f64 = (1u64 << 30) as f64;

/// The assignment that the parts of a state have reached together, and counters of the work.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// The cost of all functions without forbidden tuples, in the network's units.
    pub cost: Cost,
    /// The number of functions whose tuple is forbidden.
    pub violated: i64,
    /// Sweeps of all anneals so far.
    pub sweeps: u64,
    /// Moves of all parts so far.
    pub moves: u64,
    /// Evaluated values of all parts so far.
    pub ratings: u64,
    /// The assignment, on the first part only.
    pub assignment: Option<Vec<u32>>,
}

/// The limits of a run. Those of the first part apply to all parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// When the run ends.
    pub deadline: Option<Instant>,
    /// The number of anneals. If it is set, the run ignores the clock.
    pub anneals: Option<u64>,
}

/// One part of a state.
pub struct DividedState<'a> {
    network: &'a Network,
    peers: &'a mut dyn Peers,
    tables: ValueTables,
    layout: Layout,
    state: AnnealState,
    schedule: Schedule,
    sweeps: u64,
    picks: Vec<u16>,
}

impl<'a> DividedState<'a> {
    /// Lays out a part of a network. `network` has all variables, and `problem` is the network without reductions.
    ///
    /// # Errors
    /// [`Error::Stopped`]; errors of the exchange.
    pub fn new(
        network: &'a Network,
        problem: &Arc<Problem>,
        peers: &'a mut dyn Peers,
        stop: &Stop,
    ) -> Result<DividedState<'a>, Error> {
        let (layout, statistics) = (Layout::new(problem, peers, stop)?, Statistics::of(network, peers.share()));
        let statistics = statistics.together(peers)?;
        let tables = ValueTables::until(problem, statistics.price(network), stop)?;
        let schedule = statistics.schedule(problem.variables(), tables.shift);
        let state = AnnealState::new(problem.variables(), Rng::new(0));
        Ok(DividedState { network, peers, tables, layout, state, schedule, sweeps: 0, picks: Vec::new() })
    }

    /// Makes anneals, each with `GROWTH` times as many sweeps as the one before, and reports what each one reaches.
    /// All parts call it together.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn run(
        &mut self,
        seed: u64,
        limits: Limits,
        stop: &Stop,
        report: &mut dyn FnMut(Reached),
    ) -> Result<(), Error> {
        let mut sweeps = FIRST_SWEEPS;
        for anneal in 0.. {
            if limits.anneals == Some(anneal) {
                return Ok(());
            }
            let moves = self.anneal(mix(seed, anneal), sweeps, limits, stop)?;
            if moves.is_none() && anneal > 0 {
                return Ok(());
            }
            let reached = self.reached()?;
            report(reached);
            let Some(moves) = moves else { return Ok(()) };
            if anneal == 0 {
                self.narrow(&moves);
            }
            sweeps = sweeps.saturating_mul(GROWTH);
        }
        Ok(())
    }

    /// Makes an anneal from random values and returns the moves of each sweep. It has fewer than `sweeps` sweeps if the
    /// time left is over before. Returns `None` if a part was stopped on the way; the state is greedy then, too.
    fn anneal(&mut self, key: u64, sweeps: u32, limits: Limits, stop: &Stop) -> Result<Option<Vec<u64>>, Error> {
        let (draw, began) = (mix(key, 0), Instant::now());
        for (v, value) in self.state.values.iter_mut().enumerate() {
            *value = below(mix(draw, v as u64), u64::from(self.network.domains()[v])) as u16;
        }
        let deadline = limits.deadline.filter(|_| limits.anneals.is_none() && self.peers.share().place == 0);
        let left = deadline.map(|end| SURE * end.saturating_duration_since(began).as_secs_f64());
        let (mut moves, mut stopped, mut of_time) = (Vec::new(), false, 0.0);
        for sweep in 0..sweeps {
            let progress = f64::max(of_time, f64::from(sweep) / f64::from((sweeps - 1).max(1)));
            if progress > 1.0 || stopped {
                break;
            }
            let boltzmann = Boltzmann::new(self.schedule.at(progress));
            let moved = self.sweep(mix(key, 1 + u64::from(sweep)), boltzmann)?;
            let elapsed = left.map_or(0.0, |left| began.elapsed().as_secs_f64() / left.max(1e-9));
            let own = [moved as i64, i64::from(stop.is_set()), (elapsed.min(2.0) * PROGRESS) as i64];
            let [moved, flags, elapsed] = self.sums(own)?;
            moves.push(moved as u64);
            (stopped, of_time) = (flags > 0, elapsed as f64 / PROGRESS);
        }
        for sweep in 0..GREEDY_SWEEPS {
            let _ = self.sweep(mix(key, 1 + u64::from(sweeps) + u64::from(sweep)), Boltzmann::GREEDY)?;
        }
        self.sweeps += moves.len() as u64 + u64::from(GREEDY_SWEEPS);
        Ok((!stopped).then_some(moves))
    }

    /// Visits each variable once, and returns the moves of this part.
    fn sweep(&mut self, key: u64, boltzmann: Boltzmann) -> Result<u64, Error> {
        let (count, before) = (self.layout.classes.len(), self.state.moves);
        let first = below(mix(key, 0), count.max(1) as u64) as usize;
        let mut messages = vec![Vec::new(); self.peers.share().of];
        for class in (0..count).map(|k| (first + k) % count) {
            let members = &self.layout.classes[class];
            let bath = HeatBath { tables: &self.tables, boltzmann, least: ALL_MOVE, source: AllFunctions };
            let _ = visit_class(bath, &self.state, members, mix(key, 1), &mut self.picks, &Stop::new());
            for (&v, &pick) in members.iter().zip(&self.picks) {
                let value = &mut self.state.values[v as usize];
                self.state.ratings += self.tables.domain(v as usize) as u64;
                if *value != pick {
                    *value = pick;
                    self.state.moves += 1;
                    for &reader in self.layout.readers(v) {
                        let message: &mut Vec<u8> = &mut messages[reader as usize];
                        message.extend(v.to_le_bytes());
                        message.extend(pick.to_le_bytes());
                    }
                }
            }
            for message in self.peers.exchange(&mut messages)? {
                for moved in message.chunks_exact(MOVE_BYTES) {
                    let (v, value) = moved.split_at(4);
                    let v = u32::from_le_bytes(v.try_into().unwrap_or_default());
                    self.state.values[v as usize] = u16::from_le_bytes(value.try_into().unwrap_or_default());
                }
            }
        }
        Ok(self.state.moves - before)
    }

    /// Narrows the temperatures to those between which an anneal made many and few moves.
    fn narrow(&mut self, moves: &[u64]) {
        let most = moves.iter().copied().max().unwrap_or(0) as f64;
        let variables = self.state.values.len() as f64;
        let at = |sweep: usize| self.schedule.at(sweep as f64 / (moves.len() - 1).max(1) as f64);
        let hot = moves.iter().rposition(|&moves| moves as f64 >= HOT_MOVES * most).map(at);
        let cold = moves.iter().position(|&moves| (moves as f64) < COLD_MOVES * variables).map(at);
        let hot = hot.unwrap_or(self.schedule.hot);
        let cold = cold.unwrap_or(self.schedule.cold);
        if cold < hot {
            self.schedule = Schedule { hot, cold };
        }
    }

    /// Evaluates the state from the network's own functions, each of them in one part.
    fn reached(&mut self) -> Result<Reached, Error> {
        let (share, domains) = (self.peers.share(), self.network.domains());
        let assignment: Vec<u32> = self.state.values.iter().map(|&value| value.into()).collect();
        let of_turn = |functions: &[fangs_model::model::CostFunction]| {
            let counted = functions.iter().filter(|function| share.counts(&function.scope, domains.len()));
            counted.fold([0, 0], |[cost, violated], function| {
                match fangs_check::entry(function, domains, &assignment) {
                    FORBIDDEN.. => [cost, violated + 1],
                    own => [add(cost, own), violated],
                }
            })
        };
        let turns = threads::map(self.network.functions().chunks(TURN), of_turn);
        let [cost, violated] = turns.into_iter().fold([0, 0], |all, one| [add(all[0], one[0]), all[1] + one[1]]);
        let (moves, ratings) = (self.state.moves as i64, self.state.ratings as i64);
        let [cost, violated, moves, ratings] = self.sums([cost, violated, moves, ratings])?;
        let assignment = self.gathered()?;
        let (moves, ratings) = (moves as u64, ratings as u64);
        Ok(Reached { cost, violated, sweeps: self.sweeps, moves, ratings, assignment })
    }

    /// Sends the own variables' values to the first part, which returns those of all.
    fn gathered(&mut self) -> Result<Option<Vec<u32>>, Error> {
        let (share, variables) = (self.peers.share(), self.state.values.len());
        let own = share.own(variables);
        let values = &self.state.values[own.start as usize..own.end as usize];
        let mut messages = vec![Vec::new(); share.of];
        messages[0].extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let received = self.peers.exchange(&mut messages)?;
        let all = || received.iter().flat_map(|message| message.chunks_exact(2));
        let value = |bytes: &[u8]| u16::from_le_bytes(bytes.try_into().unwrap_or_default()).into();
        Ok((share.place == 0).then(|| all().map(value).collect()))
    }

    fn sums<const N: usize>(&mut self, own: [i64; N]) -> Result<[i64; N], Error> {
        sums(self.peers, own)
    }
}

/// What the temperatures and the cost of a violation follow from: sums over all parts.
#[derive(Clone, Copy, Debug)]
struct Statistics {
    /// The sum over functions and their variables of the variance of the costs, in units of 1/256.
    variance: i64,
    /// The least difference of two costs of a function.
    unit: i64,
    /// The sum over functions of the difference between the highest and the least cost.
    spread: Cost,
}

impl Statistics {
    /// Returns those of the functions that a part counts.
    fn of(network: &Network, share: Share) -> Statistics {
        let domains = network.domains();
        let of_turn = |functions: &[fangs_model::model::CostFunction]| {
            let mut all = Statistics { variance: 0, unit: i64::MAX, spread: 0 };
            for function in functions.iter().filter(|function| share.counts(&function.scope, domains.len())) {
                let costs: Vec<Cost> = function.entries(domains).filter(|&cost| cost < FORBIDDEN).collect();
                let Some((&first, &least, &most)) = costs
                    .first()
                    .zip(costs.iter().min())
                    .zip(costs.iter().max())
                    .map(|((first, least), most)| (first, least, most))
                else {
                    continue;
                };
                let steps = costs.iter().map(|&cost| (cost - first).abs()).filter(|&step| step > 0);
                all.unit = all.unit.min(steps.min().unwrap_or(i64::MAX));
                all.spread = all.spread.saturating_add(most - least);
                let mean = costs.iter().map(|&cost| (cost - least) as f64).sum::<f64>() / costs.len() as f64;
                let squares = costs.iter().map(|&cost| ((cost - least) as f64 - mean).powi(2)).sum::<f64>();
                let variance = 256.0 * squares / costs.len() as f64 * function.scope.len() as f64;
                all.variance = all.variance.saturating_add(variance as i64);
            }
            all
        };
        let turns = threads::map(network.functions().chunks(TURN), of_turn);
        turns.into_iter().fold(Statistics { variance: 0, unit: i64::MAX, spread: 0 }, |a, b| Statistics {
            variance: a.variance.saturating_add(b.variance),
            unit: a.unit.min(b.unit),
            spread: a.spread.saturating_add(b.spread),
        })
    }

    fn together(self, peers: &mut dyn Peers) -> Result<Statistics, Error> {
        let [variance, spread] = sums(peers, [self.variance, self.spread])?;
        let [unit] = peers::combined(peers, [self.unit], i64::min)?;
        Ok(Statistics { variance, unit, spread })
    }

    /// Returns what a violation costs: more than all other costs can differ.
    fn price(self, network: &Network) -> Cost {
        self.spread.saturating_add(1).min(network.top().saturating_sub(1)).max(1)
    }

    /// Returns the temperatures between which everything moves and nothing does, in units of 2^`shift`.
    fn schedule(self, variables: usize, shift: u32) -> Schedule {
        let scale = 0.5f64.powi(shift as i32);
        let unit = if self.unit == i64::MAX { 1.0 } else { self.unit as f64 };
        let spread = (self.variance as f64 / 256.0 / variables.max(1) as f64).sqrt();
        Schedule { hot: spread.max(4.0 * unit) * scale, cold: 0.15 * unit * scale }
    }
}
