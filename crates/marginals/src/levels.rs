//! The bounds on the whole, from small tables to large ones, by each of some orders; and how parts are bounded then.

use super::parts::{Level, Part, Parts};
use super::tuning::Sizes;
use super::weighted::Weights;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bounds that wait, and what is known of those that were made.
#[derive(Debug)]
pub(super) struct Levels {
    sizes: Sizes,
    open: VecDeque<(usize, Level)>,
    orders: Vec<Along>,
    bytes: u64,
    /// The best bound among those of tables that a part may have, and by which order.
    best: (f64, usize),
}

/// What is known of an order.
#[derive(Debug)]
struct Along {
    places: Arc<[usize]>,
    weights: Weights,
    /// The best bound so far.
    upper: f64,
    /// Whether larger tables may do better.
    split: bool,
}

impl Levels {
    /// Both kinds of weights on small tables, the better one from there on.
    pub fn new(orders: Vec<Arc<[usize]>>, sizes: &Sizes, memory: u64) -> Self {
        let bytes = sizes.whole.0.min(memory);
        let sizes = Sizes { whole: (bytes, sizes.whole.1.min(memory)), ..*sizes };
        let level = |places: &Arc<[usize]>, weights| Level { bytes, weights, places: places.clone() };
        let both = |(order, places)| [Weights::Equal, Weights::First].map(|weights| (order, level(places, weights)));
        let open = orders.iter().enumerate().flat_map(both).collect();
        let along = |places| Along { places, weights: Weights::First, upper: f64::INFINITY, split: true };
        Levels { sizes, open, orders: orders.into_iter().map(along).collect(), bytes, best: (f64::INFINITY, 0) }
    }

    /// The next bound on the whole: the index of its order, and how tables are made along it.
    pub fn next(&mut self) -> Option<(usize, Level)> {
        if self.open.is_empty() {
            self.bytes = self.bytes.saturating_mul(4).max(1);
            if self.bytes <= self.sizes.whole.1 {
                let split = self.orders.iter().enumerate().filter(|(_, along)| along.split);
                let level =
                    |along: &Along| Level { bytes: self.bytes, weights: along.weights, places: along.places.clone() };
                self.open = split.map(|(order, along)| (order, level(along))).collect();
            }
        }
        // what was not split is the same with other weights
        let waits = |(order, _): &(usize, Level)| self.orders[*order].split;
        std::iter::from_fn(|| self.open.pop_front()).find(waits)
    }

    /// Takes in the bound that a level gave along an order.
    pub fn note(&mut self, order: usize, level: &Level, part: &Part) {
        let (along, upper) = (&mut self.orders[order], part.upper.ln());
        along.split = part.split;
        if upper < along.upper {
            (along.upper, along.weights) = (upper, level.weights);
        }
        let fits = self.bytes <= self.sizes.part.max(self.sizes.whole.0);
        if fits && upper < self.best.0 {
            self.best = (upper, order);
        }
    }

    /// How parts are bounded.
    pub fn of_parts(&self, parts: &Parts<'_>) -> Level {
        let Along { places, weights, .. } = &self.orders[self.best.1];
        Level { bytes: self.sizes.part.min(parts.share()), weights: *weights, places: places.clone() }
    }
}
