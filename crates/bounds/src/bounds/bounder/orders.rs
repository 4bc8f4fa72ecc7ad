//! The choice of the order that the next join graph follows. Which variables share a mini-bucket depends on chance: on
//! scen06 the first order ends at 1710, another at 2472. One round of passes shows which order is better
//! (results/notes/shifting.md), so several orders have a round each and the best of them continues.

use crate::model::Cost;
use crate::tuning::tuning;

/// The next step after a round of passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another round along the current order.
    Further,
    /// The first graph along the order of this number.
    Along(u32),
    /// No further graph.
    End,
}

/// The state of the search over orders, by their numbers; graphs begin with order 0.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    at: u32,
    /// Number of orders that have had a round.
    pub tried: u32,
    /// Whether the current order continues to its end.
    chosen: bool,
    /// Whether the best of the first orders has continued to its end.
    pub settled: bool,
    /// Bound along the current order.
    pub own: Option<Cost>,
    /// Best bound after one round, and its order.
    best: Option<(Cost, u32)>,
}

impl Orders {
    /// Records the bound of a round over the last graph along an order, and returns what is next. `others` states
    /// whether other orders may follow.
    pub fn note(&mut self, bound: Cost, others: bool) -> Next {
        let little =
            self.own.replace(bound).is_some_and(|own| bound - own <= bound.max(0) / tuning().join_graph.worthwhile);
        if self.chosen || !others {
            self.chosen = true;
            if !little {
                return Next::Further;
            }
            self.settled = true;
            return if others { self.another() } else { Next::End };
        }
        self.tried += 1;
        let (best, at) = *self.best.get_or_insert((bound, self.at));
        let leads = bound >= best;
        if leads {
            self.best = Some((bound, self.at));
        }
        self.chosen = self.tried >= tuning().join_graph.first_orders && leads;
        if self.chosen {
            return Next::Further;
        }
        if self.tried == tuning().join_graph.first_orders && !self.settled {
            self.chosen = true;
            return self.along(at);
        }
        self.another()
    }

    fn another(&mut self) -> Next {
        self.chosen = false;
        if self.tried >= tuning().join_graph.orders { Next::End } else { self.along(self.tried) }
    }

    fn along(&mut self, at: u32) -> Next {
        (self.at, self.own) = (at, None);
        Next::Along(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::JoinGraphTuning;

    /// Returns the numbers of the orders whose graphs are made, if the n-th order gains `gains[n]` in its first round
    /// and half as much in each further one.
    fn walk(gains: &[Cost], others: bool) -> Vec<u32> {
        let (mut orders, mut all, mut bound, mut at) = (Orders::default(), vec![0], 0, 0);
        let mut gain = gains[0];
        for _ in 0..1000 {
            bound += gain;
            gain /= 2;
            match orders.note(bound, others) {
                Next::Further => {}
                Next::Along(next) => {
                    at = next as usize;
                    all.push(next);
                    (bound, gain) = (0, gains.get(at).copied().unwrap_or(1));
                }
                Next::End => return all,
            }
        }
        panic!("it does not end: {all:?} at {at}");
    }

    #[test]
    fn the_best_of_the_first_goes_on_and_a_later_one_only_where_it_is_better() {
        let JoinGraphTuning { first_orders, orders, .. } = tuning().join_graph;
        let mut gains = vec![1000; orders as usize];
        gains[3] = 2000;
        gains[11] = 3000;
        let all = walk(&gains, true);
        let first: Vec<u32> = (0..first_orders).collect();
        assert_eq!(all[..first_orders as usize], first);
        assert_eq!(all[first_orders as usize..][..4], [3, first_orders, first_orders + 1, first_orders + 2]);
        assert_eq!(all.last(), Some(&(orders - 1)));
    }

    #[test]
    fn where_the_last_of_the_first_leads_it_goes_on_at_once() {
        let JoinGraphTuning { first_orders, orders, .. } = tuning().join_graph;
        let mut gains = vec![1000; orders as usize];
        gains[first_orders as usize - 1] = 2000;
        let all: Vec<u32> = (0..orders).collect();
        assert_eq!(walk(&gains, true), all);
    }

    #[test]
    fn one_order_goes_to_its_end() {
        assert_eq!(walk(&[1000], false), [0]);
    }
}
