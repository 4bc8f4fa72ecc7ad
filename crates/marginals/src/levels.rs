//! The schedule of upper bounds on the whole sum, from small tables to large ones along several orders, and the choice
//! of how parts are bounded.

use super::parts::{Level, Part, Parts};
use super::tuning::Sizes;
use super::weighted::Weights;
use std::collections::VecDeque;
use std::sync::Arc;

/// The bounds on the whole that are still to be computed, and the results of those computed so far.
#[derive(Debug)]
pub(super) struct Levels {
    sizes: Sizes,
    open: VecDeque<(usize, Level)>,
    orders: Vec<Along>,
    bytes: u64,
    /// The logarithm of the best bound among those whose tables are no larger than a part's, and the index of its
    /// order.
    best: (f64, usize),
}

/// The results of one elimination order.
#[derive(Debug)]
struct Along {
    /// The position of each variable in the order.
    places: Arc<[usize]>,
    weights: Weights,
    /// The logarithm of the best bound so far; infinity if there is none.
    upper: f64,
    /// Whether the last bound split buckets, so that larger tables may improve it.
    split: bool,
}

impl Levels {
    /// Returns a schedule that tries both kinds of weights with the smallest tables; larger tables use the better kind
    /// of each order.
    pub fn new(orders: Vec<Arc<[usize]>>, sizes: &Sizes, memory: u64) -> Self {
        let bytes = sizes.whole.0.min(memory);
        let sizes = Sizes { whole: (bytes, sizes.whole.1.min(memory)), ..*sizes };
        let level = |places: &Arc<[usize]>, weights| Level { bytes, weights, places: places.clone() };
        let both = |(order, places)| [Weights::Equal, Weights::First].map(|weights| (order, level(places, weights)));
        let open = orders.iter().enumerate().flat_map(both).collect();
        let along = |places| Along { places, weights: Weights::First, upper: f64::INFINITY, split: true };
        Levels { sizes, open, orders: orders.into_iter().map(along).collect(), bytes, best: (f64::INFINITY, 0) }
    }

    /// Returns the next bound to compute: the index of its order, and the tables and weights. Returns `None` if the
    /// largest tables were tried or no bucket was split.
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
        // without split buckets, other weights give the same bound
        let waits = |(order, _): &(usize, Level)| self.orders[*order].split;
        std::iter::from_fn(|| self.open.pop_front()).find(waits)
    }

    /// Records the bound that `level` gave along an order.
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

    /// Returns the tables, weights and order with which parts are bounded: those of the best bound with tables of that
    /// size.
    pub fn of_parts(&self, parts: &Parts<'_>) -> Level {
        let Along { places, weights, .. } = &self.orders[self.best.1];
        Level { bytes: self.sizes.part.min(parts.share()), weights: *weights, places: places.clone() }
    }
}
