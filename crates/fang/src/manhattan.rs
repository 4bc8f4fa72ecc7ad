//! The workload of the FANG paper's section 4: points on a plane that move toward goals.
//!
//! Each variable is a point, its possibilities are the other cells of the j x j square around it. The rating of a cell
//! is the sum of its Manhattan distances to the goals of the point, whose number is the load. `examples/manhattan.rs`
//! runs it on the CPU, `fangs bench fang` on both; `kernels/manhattan.cuh` is its device side.

use super::{Active, LocalHeuristic, State};
use crate::rng::Rng;

/// Side of the square in which points and goals start.
const SIDE: u64 = 4096;

/// A state: the cells of its points.
#[derive(Debug, PartialEq, Eq)]
pub struct Points {
    /// The cell of each variable.
    pub cells: Vec<[i32; 2]>,
    active: Active,
    rng: Rng,
}

impl Points {
    /// Returns a state with these points, active variables and random stream.
    pub fn new(cells: Vec<[i32; 2]>, active: Active, rng: Rng) -> Self {
        Points { cells, active, rng }
    }
}

impl Clone for Points {
    fn clone(&self) -> Self {
        Points { cells: self.cells.clone(), active: self.active.clone(), rng: self.rng.clone() }
    }

    // written out so that a population reuses the vectors of the states that it overwrites
    fn clone_from(&mut self, source: &Self) {
        self.cells.clone_from(&source.cells);
        self.active.clone_from(&source.active);
        self.rng.clone_from(&source.rng);
    }
}

impl State for Points {
    fn active(&mut self) -> &mut Active {
        &mut self.active
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

/// A heuristic that rates a cell by its distance to the goals of the point.
#[derive(Clone, Debug)]
pub struct Manhattan {
    side: i32,
    goals: Vec<Vec<[i32; 2]>>,
}

impl Manhattan {
    /// Returns the heuristic with `load` random goals for each of `variables` points, which move within squares of
    /// `side` cells; `side` must be odd.
    pub fn new(variables: usize, side: i32, load: usize, rng: &mut Rng) -> Self {
        let goals = (0..variables).map(|_| (0..load).map(|_| cell(rng)).collect()).collect();
        Manhattan { side, goals }
    }

    /// Returns a state of random points, none of which is active.
    pub fn state(&self, rng: &mut Rng) -> Points {
        let cells = self.goals.iter().map(|_| cell(rng)).collect();
        Points::new(cells, Active::new(self.goals.len()), rng.split())
    }

    /// Returns the number of points of a state.
    pub fn variables(&self) -> usize {
        self.goals.len()
    }

    /// Returns the side of the squares in which points move.
    pub fn side(&self) -> usize {
        self.side as usize
    }

    /// Returns the goals of each point.
    pub fn goals(&self) -> &[Vec<[i32; 2]>] {
        &self.goals
    }

    /// Returns the mean distance of all points to their goals.
    pub fn mean_distance(&self, states: &[Points]) -> f64 {
        let distance = |[x, y]: [i32; 2], [gx, gy]: [i32; 2]| u64::from(x.abs_diff(gx)) + u64::from(y.abs_diff(gy));
        let points = states.iter().flat_map(|state| state.cells.iter().zip(&self.goals));
        let pairs = points.flat_map(|(&point, goals)| goals.iter().map(move |&goal| distance(point, goal)));
        let (sum, count) = pairs.fold((0, 0u64), |(sum, count), distance| (sum + distance, count + 1));
        sum as f64 / count as f64
    }

    /// Returns the cell of a possibility; possibilities are numbered row by row, without the center.
    fn target(&self, [x, y]: [i32; 2], possibility: usize) -> [i32; 2] {
        let possibility = possibility as i32;
        let place = possibility + i32::from(possibility >= self.side * self.side / 2);
        [x + place % self.side - self.side / 2, y + place / self.side - self.side / 2]
    }

    /// Rates neighbouring cells of one row, the first of them at `[x, y]`.
    #[inline(always)]
    fn rate_run(&self, variable: usize, [x, y]: [i32; 2], ratings: &mut [u32]) {
        let distance = |&[gx, gy]: &[i32; 2], step: i32| (x + step - gx).unsigned_abs() + y.abs_diff(gy);
        let Some((goal, others)) = self.goals[variable].split_first() else { return };
        for (step, rating) in (0i32..).zip(ratings.iter_mut()) {
            *rating = distance(goal, step);
        }
        for goal in others {
            for (step, rating) in (0i32..).zip(ratings.iter_mut()) {
                *rating += distance(goal, step);
            }
        }
    }
}

fn cell(rng: &mut Rng) -> [i32; 2] {
    [rng.below(SIDE) as i32, rng.below(SIDE) as i32]
}

impl LocalHeuristic<Points> for Manhattan {
    /// The sum of distances.
    type Rating = u32;
    /// The largest sum of distances.
    type Aggregate = u32;

    fn possibilities(&self, _: &Points, _: usize) -> usize {
        (self.side * self.side - 1) as usize
    }

    fn rate(&self, state: &Points, variable: usize, possibility: usize) -> u32 {
        let [x, y] = self.target(state.cells[variable], possibility);
        self.goals[variable].iter().map(|&[gx, gy]| x.abs_diff(gx) + y.abs_diff(gy)).sum()
    }

    #[inline(always)]
    fn accumulate(&self, longest: &mut u32, rating: u32) {
        *longest = (*longest).max(rating);
    }

    /// Nearer cells have higher weights; the farthest cell has weight 0.
    #[inline(always)]
    fn map(&self, rating: u32, longest: &u32) -> u32 {
        longest - rating
    }

    fn assign(&self, state: &mut Points, variable: usize, possibility: usize) {
        state.cells[variable] = self.target(state.cells[variable], possibility);
    }

    // row by row, without division and branches within a row, so that the compiler vectorises it
    #[inline(always)]
    fn rate_all(&self, state: &Points, variable: usize, ratings: &mut [u32]) {
        let [x, y] = state.cells[variable];
        let radius = self.side / 2;
        let mut rest = ratings;
        for dy in -radius..=radius {
            // the center is no possibility, so its row is two runs
            let runs = if dy == 0 { [(-radius, radius), (1, radius)] } else { [(-radius, self.side), (0, 0)] };
            for (dx, length) in runs {
                let (run, tail) = rest.split_at_mut(length as usize);
                self.rate_run(variable, [x + dx, y + dy], run);
                rest = tail;
            }
        }
    }
}
