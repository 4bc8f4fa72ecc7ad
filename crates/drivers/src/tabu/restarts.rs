//! The beginnings of tabu walks.
//!
//! If all values are interchangeable, as the colors of a graph are, a solution is a partition of the variables. The
//! value of a class has no meaning, so that a region copied from another solution causes only conflicts. Walks then
//! come in pairs: both end together, and the next ones begin at children of their two best assignments, which inherit
//! classes (the greedy partition crossover of Galinier and Hao, "Hybrid Evolutionary Algorithms for Graph Coloring",
//! 1999; two at a time as in HEAD of Moalic and Gondran, "Variations on Memetic Algorithms for Graph Coloring
//! Problems", 2018). Otherwise walks begin at elites of which some values are changed.

use super::walk::TabuProgress;
use crate::core::elite::Elite;
use crate::core::pool::POOL;
use crate::rng::{below, mix};
use crate::threads;
use crate::tuning::tuning;
use crate::value_tables::ValueTables;
use crate::walks::search::Start;

/// The numbers of the decisions at the beginning of a walk, whose bits are mixed from its key and the number. Steps
/// have lower numbers.
mod decision {
    pub const ELITE: u64 = 1 << 40;
    /// Mixed with the variable.
    pub const VALUES: u64 = ELITE + 1;
    /// Mixed with the class.
    pub const CLASSES: u64 = ELITE + 2;
}

/// The method by which walks begin.
#[derive(Debug, Default)]
pub(crate) enum Restarts {
    /// Walks begin at elites.
    #[default]
    Elites,
    /// Walks begin at children of the previous walks. The first field is the number of values, all of which are
    /// interchangeable.
    TwoParents(usize, Vec<WalkPair>),
}

/// The best assignment of a walk that is over; `None` for other walks.
type Ended = Option<Vec<u16>>;

/// Two walks whose best assignments are crossed with each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct WalkPair {
    /// Number of times that both became equal and the pair began again.
    lives: u32,
    /// Number of pairs of walks since the pair began.
    walks: u32,
    /// The best assignment of this cycle.
    best: Option<(i64, Vec<u16>)>,
    /// The best assignment of the previous cycle.
    last: Option<(i64, Vec<u16>)>,
}

impl Restarts {
    /// Returns the method for a problem; `interchangeable` is its number of interchangeable values, if all are.
    pub fn new(interchangeable: Option<usize>) -> Restarts {
        match interchangeable {
            Some(values) => Restarts::TwoParents(values, Vec::new()),
            None => Restarts::Elites,
        }
    }

    /// Returns the number of walks, if there is room for `most` and `at_once` run in parallel. Pairs of walks need long
    /// walks.
    pub fn walks(&self, most: usize, at_once: usize) -> usize {
        match self {
            Restarts::Elites => most,
            Restarts::TwoParents(..) => at_once.next_multiple_of(2),
        }
    }

    /// Returns the number of steps of a round, if `most` would be usual.
    pub fn steps(&self, most: u32) -> u32 {
        match self {
            Restarts::Elites => most,
            Restarts::TwoParents(..) => tuning().tabu.short_walk.min(4 * most),
        }
    }

    /// Returns the number of new best assignments of a round that are offered to the pool. Pairs of walks have their
    /// own, and computing their costs takes the time of many steps.
    pub fn offers(&self) -> usize {
        match self {
            Restarts::Elites => POOL,
            Restarts::TwoParents(..) => 2,
        }
    }

    /// Returns the slots whose walks are over.
    pub fn over(&mut self, progress: &[TabuProgress]) -> Vec<usize> {
        match self {
            Restarts::Elites => {
                (0..progress.len()).filter(|&slot| progress[slot].is_over(tuning().tabu.patience)).collect()
            }
            Restarts::TwoParents(_, walk_pairs) => {
                walk_pairs.resize(progress.len() / 2, WalkPair::default());
                let pairs = progress.chunks_exact(2).zip(&*walk_pairs).enumerate();
                let over = pairs.filter(|(_, (pair, walk_pair))| pair.iter().all(|walk| walk_pair.ends(walk)));
                over.flat_map(|(k, _)| [2 * k, 2 * k + 1]).collect()
            }
        }
    }

    /// Returns the beginnings of the walks in slots whose walks are over. `bests` are the best assignments of these.
    pub fn begin(
        &mut self,
        tables: &ValueTables,
        draw: u64,
        progress: &[TabuProgress],
        over: &[usize],
        bests: Vec<Vec<u16>>,
        elites: &[Elite],
    ) -> Vec<Start<TabuProgress>> {
        let key = |slot: usize| mix(draw, slot as u64) | 1;
        let begun =
            |slot: usize, values| Start { slot, progress: TabuProgress::new(key(slot), progress[slot].moves), values };
        let Restarts::TwoParents(values, walk_pairs) = self else {
            let start = |&slot: &usize| begun(slot, scattered(tables, key(slot), elites));
            return threads::map(over, start);
        };
        let mut of_slot: Vec<Ended> = vec![None; progress.len()];
        over.iter().zip(bests).for_each(|(&slot, best)| of_slot[slot] = Some(best));
        let begin = |(k, (walk_pair, bests)): (usize, (&mut WalkPair, &mut [Ended]))| {
            let slots = [2 * k, 2 * k + 1];
            let keys = slots.map(key);
            let (Some(first), Some(second)) = (bests[0].take(), bests[1].take()) else { return Vec::new() };
            let fresh = keys.map(|key| scattered(tables, key, &[]));
            let children = match slots.map(|slot| progress[slot].key) {
                [0, _] | [_, 0] => fresh,
                _ => {
                    let parents = [(progress[slots[0]].best, first), (progress[slots[1]].best, second)];
                    walk_pair.cross_bests(*values, parents, keys).unwrap_or(fresh)
                }
            };
            slots.into_iter().zip(children).map(|(slot, values)| begun(slot, values)).collect()
        };
        let pairs = walk_pairs.iter_mut().zip(of_slot.chunks_exact_mut(2)).enumerate();
        threads::map(pairs, begin).concat()
    }
}

impl WalkPair {
    /// Returns whether a walk of the pair is over. Lengths vary with the restarts: 1, 2, 1, 4 times the shortest, and
    /// so on.
    fn ends(&self, progress: &TabuProgress) -> bool {
        progress.key == 0
            || progress.step
                >= tuning().tabu.short_walk << (self.lives + 1).trailing_zeros().min(tuning().tabu.doublings)
    }

    /// Returns the children of the best assignments; `None` if these are equal, and the pair begins again.
    fn cross_bests(
        &mut self,
        values: usize,
        mut parents: [(i64, Vec<u16>); 2],
        keys: [u64; 2],
    ) -> Option<[Vec<u16>; 2]> {
        let better = &parents[usize::from(parents[1].0 < parents[0].0)];
        if self.best.as_ref().is_none_or(|best| better.0 < best.0) {
            self.best = Some(better.clone());
        }
        self.walks += 1;
        if self.walks.is_multiple_of(tuning().tabu.cycle) {
            let last = std::mem::replace(&mut self.last, self.best.take());
            parents[0] = last.unwrap_or_else(|| parents[0].clone());
        }
        let [(_, first), (_, second)] = &parents;
        if are_equal(values, first, second) {
            *self = WalkPair { lives: self.lives + 1, ..WalkPair::default() };
            return None;
        }
        Some([cross(values, [first, second], keys[0]), cross(values, [second, first], keys[1])])
    }
}

/// Returns an elite of which some values are changed; random values if there are no elites.
fn scattered(tables: &ValueTables, key: u64, elites: &[Elite]) -> Vec<u16> {
    let elite = below(mix(key, decision::ELITE), elites.len() as u64) as usize;
    let (values, scatter) = (mix(key, decision::VALUES), tuning().tabu.scatter);
    let value = |v: usize| {
        let bits = mix(values, v as u64);
        match elites.get(elite) {
            Some(elite) if below(bits, scatter) != 0 => elite.values[v],
            _ => below(mix(bits, 0), tables.domain(v) as u64) as u16,
        }
    };
    (0..tables.variables()).map(value).collect()
}

/// Returns a child of two partitions. The parents alternate in passing on their largest class without the variables
/// that the child has already. Variables that remain get random classes.
fn cross(values: usize, parents: [&[u16]; 2], key: u64) -> Vec<u16> {
    const LEFT: u16 = u16::MAX;
    let mut child = vec![LEFT; parents[0].len()];
    let classes = mix(key, decision::CLASSES);
    let mut sizes = parents.map(|parent| {
        let mut sizes = vec![0u32; values];
        parent.iter().for_each(|&class| sizes[usize::from(class)] += 1);
        sizes
    });
    for class in 0..values {
        let of = class % 2;
        let tie = |k: usize| mix(classes, (class * values + k) as u64);
        let Some(largest) = (0..values).max_by_key(|&k| (sizes[of][k], tie(k))) else { continue };
        for (v, taken) in child.iter_mut().enumerate() {
            if *taken == LEFT && usize::from(parents[of][v]) == largest {
                *taken = class as u16;
                for (sizes, parent) in sizes.iter_mut().zip(parents) {
                    sizes[usize::from(parent[v])] -= 1;
                }
            }
        }
    }
    let random = mix(key, decision::VALUES);
    for (v, class) in child.iter_mut().enumerate().filter(|(_, class)| **class == LEFT) {
        *class = below(mix(random, v as u64), values as u64) as u16;
    }
    child
}

/// Returns whether two partitions have the same classes.
fn are_equal(values: usize, a: &[u16], b: &[u16]) -> bool {
    let mut other = vec![None; values];
    let mut used = vec![false; values];
    a.iter().zip(b).all(|(&a, &b)| match other[usize::from(a)] {
        Some(other) => other == b,
        None => {
            other[usize::from(a)] = Some(b);
            !std::mem::replace(&mut used[usize::from(b)], true)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn partition(rng: &mut Rng, n: usize, values: usize) -> Vec<u16> {
        (0..n).map(|_| rng.index(values) as u16).collect()
    }

    fn renamed(rng: &mut Rng, values: usize, partition: &[u16]) -> Vec<u16> {
        let mut names: Vec<u16> = (0..values as u16).collect();
        rng.shuffle(&mut names);
        partition.iter().map(|&class| names[usize::from(class)]).collect()
    }

    #[test]
    fn names_of_classes_do_not_matter() {
        let mut rng = Rng::new(1);
        for _ in 0..200 {
            let values = 3 + rng.index(5);
            let a = partition(&mut rng, 40, values);
            let b = renamed(&mut rng, values, &a);
            assert!(are_equal(values, &a, &b));
            let child = cross(values, [&a, &b], rng.draw());
            assert!(are_equal(values, &a, &child), "a partition crossed with itself");
            let mut c = b.clone();
            let v = rng.index(40);
            c[v] = (c[v] + 1) % values as u16;
            let alone = a.iter().filter(|&&class| class == a[v]).count() == 1;
            assert_eq!(are_equal(values, &a, &c), alone && !b.contains(&c[v]));
        }
    }

    #[test]
    fn children_have_the_largest_classes_of_both() {
        let mut rng = Rng::new(2);
        for _ in 0..200 {
            let values = 3 + rng.index(5);
            let parents = [partition(&mut rng, 40, values), partition(&mut rng, 40, values)];
            let child = cross(values, [&parents[0], &parents[1]], rng.draw());
            assert!(child.iter().all(|&class| usize::from(class) < values));
            let members = |partition: &[u16], class: usize| -> Vec<usize> {
                (0..40).filter(|&v| usize::from(partition[v]) == class).collect()
            };
            // finds a class of the parent, a largest one without the variables taken, that the child's class contains
            let inherits = |class: usize, parent: &[u16], taken: &[usize]| {
                let left =
                    |class| members(parent, class).into_iter().filter(|v| !taken.contains(v)).collect::<Vec<_>>();
                let most = (0..values).map(|class| left(class).len()).max();
                let within = |left: &Vec<usize>| left.iter().all(|&v| usize::from(child[v]) == class);
                (0..values).map(left).find(|left| Some(left.len()) == most && within(left))
            };
            let first = inherits(0, &parents[0], &[]).expect("a class of the first parent");
            assert!(inherits(1, &parents[1], &first).is_some(), "a class of the second parent");
        }
    }
}
