//! Walks by weights on hard functions ([`Weigher`]): for networks whose trouble is to find any allowed assignment, until one is known, and for those
//! whose functions mostly forbid and whose costs are the variables' own, as in satellite scheduling and weighted satisfiability.

use super::driver::{Driver, Effort, Field, Pool};
use super::state::Elite;
use super::weigh::{Land, Seats, Walked, Weigher};
use crate::model::{FORBIDDEN, Problem, Table};
use crate::rng::Rng;
use crate::stop::Stop;
use rayon::prelude::*;
use std::cell::OnceCell;

/// Walks, at least: one that remembers beside one that forgets.
const WALKS: usize = 2;
/// Work of a walk in a round: some ten milliseconds.
const ROUND_WORK: u64 = 5_000_000;

/// Their share at first, next to annealing's six, where nothing allowed is known: in its first rounds annealing finds something in most networks that the
/// greedy solution leaves open. And where something is.
const WEIGHT: f64 = 5.0;
const SOLVED_WEIGHT: f64 = 0.5;
/// What they have at least until something is: fewer violations in the best assignment say little of who will find one without.
const FLOOR: f64 = 0.5;

/// The driver.
pub(crate) struct Weights {
    rng: Rng,
    /// What the core's functions are like, once that was asked for.
    functions: OnceCell<Functions>,
    seats: Seats,
    walks: Vec<Weigher>,
}

/// What the functions of a core do.
#[derive(Clone, Copy)]
struct Functions {
    /// Some forbid something.
    forbid: bool,
    /// More than half of them do nothing else.
    mostly_forbid: bool,
}

impl Functions {
    fn of(problem: &Problem) -> Self {
        let (mut some, mut pure) = (0, 0);
        for function in &problem.functions {
            if let Table::Dense(costs) = &function.table
                && costs.iter().any(|&cost| cost >= FORBIDDEN)
            {
                some += 1;
                pure += usize::from(costs.iter().all(|&cost| cost == 0 || cost >= FORBIDDEN));
            }
        }
        Functions { forbid: some > 0, mostly_forbid: 2 * pure > problem.functions.len() }
    }
}

impl Weights {
    /// A driver that has not begun.
    pub fn new(rng: Rng) -> Self {
        Weights { rng, functions: OnceCell::new(), seats: Seats::default(), walks: Vec::new() }
    }

    fn open(&mut self, field: &Field, pool: &Pool) {
        let rows = &field.rows;
        self.seats = Seats::new(rows);
        let count = if field.portable { WALKS } else { rayon::current_num_threads().max(WALKS) };
        let land = Land { rows, seats: &self.seats };
        for k in 0..count {
            let mut random = || (0..rows.variables()).map(|v| self.rng.index(rows.domain(v)) as u16).collect();
            let begin = pool.elites().get(k).map_or_else(&mut random, |elite| elite.values.clone());
            self.walks.push(Weigher::new(land, begin, k % 2 == 1, self.rng.split()));
        }
    }
}

impl Driver for Weights {
    fn name(&self) -> &'static str {
        "weights"
    }

    fn population(&self) -> usize {
        self.walks.len()
    }

    fn fits(&self, field: &Field, pool: &Pool) -> bool {
        let functions = self.functions.get_or_init(|| Functions::of(&field.rows.problem));
        let pays = if pool.solved { functions.mostly_forbid } else { functions.forbid };
        pays && field.rows.all_copied()
    }

    fn weight(&self, _: &Field, pool: &Pool) -> f64 {
        if pool.solved { SOLVED_WEIGHT } else { WEIGHT }
    }

    fn floor(&self, _: &Field, pool: &Pool) -> f64 {
        if pool.solved { 0.0 } else { FLOOR }
    }

    fn round(&mut self, field: &Field, pool: &mut Pool, stop: &Stop) -> Effort {
        if field.variables() == 0 || !field.rows.all_copied() {
            return Effort { work: 1_000_000, ..Effort::default() };
        }
        if self.walks.is_empty() {
            self.open(field, pool);
        }
        let land = Land { rows: &field.rows, seats: &self.seats };
        let walked: Vec<Walked> = self.walks.par_iter_mut().map(|walk| walk.walk(land, ROUND_WORK, stop)).collect();
        for values in self.walks.iter_mut().filter_map(Weigher::take_found) {
            pool.offer(&Elite::new(&field.rows, values));
        }
        walked.iter().fold(Effort::default(), |mut effort, walked| {
            effort.moves += walked.moves;
            effort.ratings += walked.looked_at;
            effort.work += walked.work;
            effort
        })
    }

    fn rebase(&mut self, _: &Field, _: &(dyn Fn(&[u16]) -> Vec<u16> + Sync)) {
        // the shared pool carries over what the walks found
        self.walks.clear();
        self.functions = OnceCell::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use crate::search::testing::price;
    use std::sync::Arc;

    fn field(kind: &str, parameters: &[(&str, &str)], seed: u64) -> Field {
        let network = generate(kind, parameters, seed).expect("a family");
        let problem = Arc::new(Reducer::new(&network, true, &Stop::new()).expect("nobody stops").problem());
        let mut field = Field::new(&problem, price(&problem), None, &mut Rng::new(seed));
        field.portable = true;
        field
    }

    #[test]
    fn they_have_a_part_where_functions_forbid() {
        let weights = || Weights::new(Rng::new(1));
        let (known, unknown) = (Pool::new(true), Pool::default());
        let clauses = field("sat", &[], 1);
        assert!(weights().fits(&clauses, &known) && weights().fits(&clauses, &unknown));
        let mixed = field("random", &[("n", "30"), ("d", "5"), ("p1", "0.5"), ("p2", "0.3")], 1);
        assert!(!weights().fits(&mixed, &known) && weights().fits(&mixed, &unknown));
        let costs = field("potts", &[], 1);
        assert!(!weights().fits(&costs, &known) && !weights().fits(&costs, &unknown));
    }

    #[test]
    fn they_find_what_is_hidden() {
        let clauses = ("sat", &[("n", "200"), ("clauses", "820")][..]);
        let square = ("latin", &[("order", "16"), ("holes", "110")][..]);
        for (kind, parameters) in [clauses, square] {
            for seed in 1..4 {
                let (field, mut pool) = (field(kind, parameters, seed), Pool::default());
                let mut weights = Weights::new(Rng::new(seed));
                let mut rounds = 0;
                while !pool.solved {
                    assert!(weights.fits(&field, &pool) && rounds < 200, "{kind} {seed}");
                    let effort = weights.round(&field, &mut pool, &Stop::new());
                    assert!(effort.moves > 0 && effort.work >= ROUND_WORK && weights.population() == WALKS);
                    rounds += 1;
                }
                let allowed = pool.elites().iter().filter(|elite| elite.energy.violations == 0);
                assert!(allowed.clone().all(|elite| field.rows.energy(&elite.values) == elite.energy));
                assert!(allowed.count() > 0);
            }
        }
    }
}
