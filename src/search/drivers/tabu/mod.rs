//! Tabu search on gamma tables: the cost of every value of every variable under the others' values is kept up to date,
//! and the best move of a variable in conflict that is not tabu is taken, ties at random; a tabu move is free where it
//! gives a new best (aspiration). Tenures react to repetition and grow with the conflicts. Best where every difference
//! is 0 or 1, as in graph coloring.
//!
//! This is the host's side: how many walk how far, and what is worth keeping. What a walk does is in `walk`.

pub(crate) mod cpu;
pub(crate) mod cuda;
#[cfg(test)]
mod cuda_tests;
pub(crate) mod restarts;
pub(crate) mod walk;

use self::cpu::CpuTabuWalks;
use self::restarts::Restarts;
use self::walk::{Layout, Round, TabuWalks, WalkProgress, energy};
use super::annealing::state::Elite;
use crate::device::{Cuda, DeviceError, Source};
use crate::rng::Rng;
use crate::search::scheduler::driver::{Driver, Effort, POOL, Pool, SearchContext, shorter};
use crate::stop::Stop;
use cuda::CudaTabuWalks;
use rayon::prelude::*;
use std::cell::OnceCell;
use std::sync::Arc;

/// Above this many moves in all a step costs more than it can give.
const MOST_MOVES: usize = 200_000;
/// Work of a round at least, as the annealing's.
const ROUND_WORK: u64 = 20_000_000;

/// The share of pairs of walks at first. With one of nine DSJC250.5 with 28 colors was solved in 13 s of 60, by walks
/// alone in 3; with twenty of 28 a device left 1 to 5 conflicts of DSJC1000.1 with 20 colors in 20 s, with sixty of 68
/// 0 to 3, by walks alone none in 10.
const TWO_PARENT_WEIGHT: f64 = 60.0;
/// What they have at least, as annealing on large cores: where few conflicts are left gains are so rare that what
/// others once gained kept them at 44 % of the search's time on DSJC250.5 (results/notes/coloring.md).
const TWO_PARENT_FLOOR: f64 = 0.5;
/// Work of a run before a device's walks begin, a tenth of a second: making room for them takes half of that, and small
/// networks are done by then.
const BEGIN: u64 = 100_000_000;

/// The tabu driver.
pub(crate) struct Tabu {
    rng: Rng,
    device: Option<Arc<Cuda>>,
    walks: Box<dyn TabuWalks>,
    restarts: Restarts,
    /// How far each has come; none before the first round.
    progress: Vec<WalkProgress>,
    rounds: u32,
    /// What a device takes for the core, once that was asked for.
    kernels: OnceCell<Source>,
}

impl Tabu {
    /// A driver that has not begun.
    pub fn new(rng: Rng, device: Option<Arc<Cuda>>) -> Self {
        let walks = Box::new(CpuTabuWalks::default());
        Tabu {
            rng,
            device,
            walks,
            restarts: Restarts::Elites,
            progress: Vec::new(),
            rounds: 0,
            kernels: OnceCell::new(),
        }
    }

    /// TabuWalks for a core, where they do best.
    fn open(&mut self, context: &SearchContext, layout: &Arc<Layout>) -> Result<(), DeviceError> {
        self.walks = match &self.device {
            Some(cuda) => Box::new(CudaTabuWalks::new(cuda.clone(), context.portable)?),
            None => Box::new(CpuTabuWalks::default()),
        };
        self.restarts = Restarts::new(&context.tables.problem);
        let most = self.walks.suitable(context, layout)?;
        let at_once = match &self.device {
            _ if context.portable => 2,
            None => rayon::current_num_threads(),
            Some(_) => most,
        };
        let count = self.restarts.walks(most, at_once);
        self.walks.open(context, layout, count)?;
        self.progress = vec![WalkProgress::default(); count];
        Ok(())
    }

    /// Turns of the walks until a round's work is done or something better was found.
    fn advance(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, DeviceError> {
        let Some(layout) = context.layout().filter(|_| self.fits(context, pool)) else {
            return Ok(Effort { work: 1_000_000, ..Effort::default() });
        };
        if self.progress.is_empty() {
            self.open(context, layout)?;
        }
        let (mut effort, best) = (Effort::default(), pool.best());
        loop {
            let turn = self.turn(context, layout, pool, stop)?;
            effort.moves += turn.moves;
            effort.ratings += turn.ratings;
            effort.work += turn.work;
            if effort.work >= ROUND_WORK >> shorter(self.rounds) || pool.best() < best || stop.is_set() {
                self.rounds += 1;
                return Ok(effort);
            }
        }
    }

    /// A turn of the walks; what they found goes into the pool.
    fn turn(
        &mut self,
        context: &SearchContext,
        layout: &Layout,
        pool: &mut Pool,
        stop: &Stop,
    ) -> Result<Effort, DeviceError> {
        let steps = self.restarts.steps(self.walks.steps(layout, &self.progress) >> shorter(self.rounds));
        let over = self.restarts.over(&self.progress);
        let bests = self.walks.bests(&over)?;
        let ended = (&self.progress[..], &over[..]);
        let begin = self.restarts.begin(&context.tables, self.rng.draw(), ended, bests, pool.elites());
        let progress = self.walks.walk(context, &Round { steps, begin: &begin }, stop)?;
        let count = |progress: &[WalkProgress]| progress.iter().map(|walk| walk.moves).sum::<u64>();
        let moves = count(&progress) - count(&self.progress);
        self.keep(context, layout, &progress, pool)?;
        self.progress = progress;
        // a device begins its walks side by side
        let on_host = self.device.is_none() || context.portable;
        let begun = if on_host { over.len() as u64 * context.sweep_work } else { 0 };
        let conflicts = self.progress.iter().map(|walk| walk.conflicts as usize).sum::<usize>();
        let rated = conflicts * layout.moves() / context.variables();
        Ok(Effort {
            moves,
            ratings: u64::from(steps) * rated as u64,
            work: u64::from(steps) * self.walks.step_work(layout, &self.progress) + begun,
            ..Effort::default()
        })
    }

    /// Offers the new assignments among the walks' bests that the pool has room for.
    fn keep(
        &self,
        context: &SearchContext,
        layout: &Layout,
        progress: &[WalkProgress],
        pool: &mut Pool,
    ) -> Result<(), DeviceError> {
        let tables = &context.tables;
        let counted = |values: &[u16]| energy(tables, layout, values);
        let worst = pool.elites().get(POOL - 1).map_or(i64::MAX, |elite| counted(&elite.values));
        let new = |slot: &usize| {
            let (now, before) = (&progress[*slot], &self.progress[*slot]);
            let known = || pool.elites().iter().any(|elite| elite.hash == now.best_hash);
            (now.key, now.best_step) != (before.key, before.best_step) && now.best < worst && !known()
        };
        let mut slots: Vec<usize> = (0..progress.len()).filter(new).collect();
        slots.sort_by_key(|&slot| (progress[slot].best, progress[slot].best_hash));
        slots.dedup_by_key(|slot| progress[*slot].best_hash);
        slots.truncate(self.restarts.offers());
        let bests = self.walks.bests(&slots)?;
        let evaluated = |values: Vec<u16>| (counted(&values), Elite::new(tables, values));
        let elites: Vec<(i64, Elite)> = bests.into_par_iter().map(evaluated).collect();
        for (&slot, (counted, elite)) in slots.iter().zip(&elites) {
            let told = progress[slot].best;
            if told != *counted {
                // a device's memory or a kernel is wrong
                let cause = format!("a walk's best is {told}, counted again {counted}");
                return Err(DeviceError::Failed { what: "comparing energies".into(), cause });
            }
            pool.offer(elite);
        }
        Ok(())
    }
}

impl Driver for Tabu {
    fn population(&self) -> usize {
        self.progress.len()
    }

    fn weight(&self, context: &SearchContext, _: &Pool) -> f64 {
        if context.is_coloring() { TWO_PARENT_WEIGHT } else { 1.0 }
    }

    fn floor(&self, context: &SearchContext, _: &Pool) -> f64 {
        if context.is_coloring() { TWO_PARENT_FLOOR } else { 0.0 }
    }

    fn begins(&self, context: &SearchContext) -> u64 {
        if self.device.is_some() && !context.portable { BEGIN } else { 0 }
    }

    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        let moves = context.tables.moves();
        moves > 0 && moves <= MOST_MOVES && context.tables.all_copied()
    }

    fn kernels(&self, context: &SearchContext) -> Option<Source> {
        let cuda = self.device.as_ref().filter(|_| self.progress.is_empty())?;
        let layout = context.layout()?;
        Some(self.kernels.get_or_init(|| CudaTabuWalks::source(&cuda.info, &context.tables, layout)).clone())
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        self.advance(context, pool, stop).unwrap_or_else(|error| {
            // what the walks found is in the pool: others begin there on the CPU
            self.device = None;
            self.progress.clear();
            Effort { lost: Some(error), ..Effort::default() }
        })
    }

    fn rebase(&mut self, _: &SearchContext, _: &(dyn Fn(&[u16]) -> Vec<u16> + Sync)) {
        // the shared pool carries over what the walks found
        self.progress.clear();
        self.kernels = OnceCell::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::testing::{price, random_dense};

    #[test]
    fn rounds_offer_what_the_walks_found() {
        let mut rng = Rng::new(3);
        let stop = Stop::new();
        for _ in 0..4 {
            let problem = Arc::new(random_dense(&mut rng));
            let context = SearchContext::new(&problem, price(&problem), None, &mut rng);
            let mut tabu = Tabu::new(rng.split(), None);
            let mut pool = Pool::default();
            let effort = tabu.round(&context, &mut pool, &stop);
            assert!(effort.work > 0 && tabu.population() > 0);
            let bests = tabu.walks.bests(&(0..tabu.population()).collect::<Vec<_>>()).expect("the host works");
            let best = bests.iter().map(|values| context.tables.energy(values).total).min();
            assert!(best.is_some_and(|best| pool.best() <= best));
        }
    }
}
