//! Depth-first search along the reverse elimination order, pruned by mini-bucket messages. If the tables are exact,
//! every branch ends at a solution.

use super::{Leaf, Receiver};
use crate::elimination::{CostToGo, Limits, Outcome, Plan, Progress, Run};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::Order;
use crate::stop::Stop;
use std::sync::Arc;

/// Combinations between two checks of the stop flag: milliseconds.
const SLICE: u64 = 1 << 22;

/// Returns mini-bucket messages of at most `bytes` bytes for solutions that cost less than `ub`.
pub(super) fn eliminated(
    problem: &Arc<Problem>,
    order: &Order,
    bytes: u64,
    ub: Cost,
    stop: &Stop,
) -> Result<Outcome, Error> {
    let limits = Limits::new(bytes).with(|limits| limits.ub = Some(ub));
    let mut run = Run::new(problem.clone(), Plan::until(problem, order, &limits, stop)?);
    while run.advance(SLICE, stop) == Progress::More {
        stop.check()?;
    }
    match run.take_failure() {
        Some(error) => Err(error),
        None => run.finish().ok_or(Error::Stopped),
    }
}

/// The path of a depth-first search: positions of the order from `position` on are assigned, and the preceding position
/// tries its next value.
pub(super) struct Walk {
    ub: Cost,
    /// First position of the requested variables.
    first: usize,
    /// Whether values are tried by their costs instead of their numbers.
    by_cost: bool,
    position: usize,
    /// Values by variable.
    values: Vec<u32>,
    /// Next rank of a value to try, by position.
    next: Vec<u32>,
    /// Amount by which each value raises the bound, by position.
    rows: Vec<Vec<Cost>>,
    /// The values in the order in which they are tried, by position; empty if that is the order of their numbers.
    ranks: Vec<Vec<u32>>,
    /// Bound when the positions from here on are assigned.
    bounds: Vec<Cost>,
}

impl Walk {
    /// Creates the search for solutions that cost less than `ub`; the requested variables begin at position `first`.
    pub fn new(problem: &Problem, ub: Cost, first: usize, by_cost: bool) -> Walk {
        let count = problem.variables();
        let (rows, ranks) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let (values, next, bounds) = (vec![0; count], vec![0; count], vec![0; count + 1]);
        Walk { ub, first, by_cost, position: count, values, next, rows, ranks, bounds }
    }

    /// Computes the amount by which each value of a position raises the bound.
    fn rate(&mut self, guide: &CostToGo<'_>, position: usize) {
        let row = &mut self.rows[position];
        row.resize(guide.domain(position), 0);
        guide.rate(position, &self.values, row);
        if self.by_cost {
            let ranks = &mut self.ranks[position];
            ranks.clear();
            ranks.extend(0..row.len() as u32);
            ranks.sort_by_key(|&value| row[value as usize]);
        }
    }

    fn value(&self, position: usize, rank: usize) -> usize {
        if self.by_cost { self.ranks[position][rank] as usize } else { rank }
    }

    /// Tries at most `steps` values with these messages. Returns `None` if the search is not over, else whether all
    /// solutions were reported.
    pub fn search(
        &mut self,
        guide: &CostToGo<'_>,
        steps: u64,
        stop: &Stop,
        leaf: Receiver<'_>,
    ) -> Result<Option<bool>, Error> {
        let count = guide.positions();
        self.bounds[count] = guide.start();
        if self.bounds[count] >= self.ub {
            return Ok(Some(true));
        }
        if count == 0 {
            return Ok(Some(!matches!(leaf(&self.values, &mut self.ub)?, Leaf::Last)));
        }
        self.resume(guide);
        for _ in 0..steps {
            stop.check()?;
            let (place, before) = (self.position - 1, self.bounds[self.position]);
            let may = |&rank: &usize| before.saturating_add(self.rows[place][self.value(place, rank)]) < self.ub;
            let Some(rank) = (self.next[place] as usize..self.rows[place].len()).find(may) else {
                if self.position == count {
                    return Ok(Some(true));
                }
                self.position += 1;
                continue;
            };
            let value = self.value(place, rank);
            self.next[place] = rank as u32 + 1;
            self.values[guide.variable(place) as usize] = value as u32;
            self.bounds[place] = before.saturating_add(self.rows[place][value]);
            if place > 0 {
                self.position = place;
                self.next[place - 1] = 0;
                self.rate(guide, place - 1);
                continue;
            }
            match leaf(&self.values, &mut self.ub)? {
                Leaf::Refused => {}
                Leaf::Last => return Ok(Some(false)),
                // other values of variables that were not requested make no different solution
                Leaf::Taken if self.first == count => return Ok(Some(true)),
                Leaf::Taken => self.position = self.first + 1,
            }
        }
        Ok(None)
    }

    /// Bounds the present path by these messages, and cuts it where they exclude it.
    fn resume(&mut self, guide: &CostToGo<'_>) {
        for position in (self.position..guide.positions()).rev() {
            self.rate(guide, position);
            let value = self.values[guide.variable(position) as usize] as usize;
            self.bounds[position] = self.bounds[position + 1].saturating_add(self.rows[position][value]);
            if self.bounds[position] >= self.ub {
                self.position = position + 1;
                break;
            }
        }
        self.rate(guide, self.position - 1);
    }
}
