//! Where tabu walks begin.
//!
//! Where all values are interchangeable, as the colors of a graph are, a solution is a partition of the variables: what
//! value a class has means nothing, so that a region copied from another solution brings nothing but conflicts. There
//! walks come in pairs: both end together, and the next ones begin at children of the two bests, which
//! inherit classes (the greedy partition crossover of Galinier and Hao, "Hybrid Evolutionary Algorithms for Graph
//! Coloring", 1999; two at a time as in HEAD of Moalic and Gondran, "Variations on Memetic Algorithms for Graph
//! Coloring Problems", 2018). Elsewhere walks begin at elites of which some values are changed.

use super::walk::TabuProgress;
use crate::core::elite::Elite;
use crate::core::pool::POOL;
use crate::rng::{below, mix};
use crate::threads;
use crate::tuning::tabu::{CYCLE, DOUBLINGS, PATIENCE, SCATTER, SHORT_WALK};
use crate::value_tables::ValueTables;
use crate::walks::search::Start;

/// What the beginning of a walk decides, numbered: its bits are mixed from its key and this. Steps have their numbers.
mod decision {
    pub const ELITE: u64 = 1 << 40;
    /// Mixed once more with the variable.
    pub const VALUES: u64 = ELITE + 1;
    /// Mixed once more with the class.
    pub const CLASSES: u64 = ELITE + 2;
}

/// Where walks begin.
#[derive(Debug, Default)]
pub(crate) enum Restarts {
    /// At elites.
    #[default]
    Elites,
    /// At children of the walks before, where there are so many values and all are interchangeable.
    TwoParents(usize, Vec<WalkPair>),
}

/// The best of a walk that is over.
type Ended = Option<Vec<u16>>;

/// Two walks whose bests are crossed with each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct WalkPair {
    /// How often it has become one solution and begun again.
    lives: u32,
    /// Pairs of walks since then.
    walks: u32,
    /// The best of this cycle, and of the one before.
    best: Option<(i64, Vec<u16>)>,
    last: Option<(i64, Vec<u16>)>,
}

impl Restarts {
    /// Those that suit a core with so many interchangeable values.
    pub fn new(interchangeable: Option<usize>) -> Restarts {
        match interchangeable {
            Some(values) => Restarts::TwoParents(values, Vec::new()),
            None => Restarts::Elites,
        }
    }

    /// How many of `most` walks there are, where so many walk at the same time. What pairs of walks need is depth.
    pub fn walks(&self, most: usize, at_once: usize) -> usize {
        match self {
            Restarts::Elites => most,
            Restarts::TwoParents(..) => at_once.next_multiple_of(2),
        }
    }

    /// Steps of a round where `most` would do.
    pub fn steps(&self, most: u32) -> u32 {
        match self {
            Restarts::Elites => most,
            Restarts::TwoParents(..) => SHORT_WALK.min(4 * most),
        }
    }

    /// How many new bests of a round others are shown: pairs of walks have their own, and to count their costs takes as
    /// long as many steps.
    pub fn offers(&self) -> usize {
        match self {
            Restarts::Elites => POOL,
            Restarts::TwoParents(..) => 2,
        }
    }

    /// The walks whose walks are over.
    pub fn over(&mut self, progress: &[TabuProgress]) -> Vec<usize> {
        match self {
            Restarts::Elites => (0..progress.len()).filter(|&slot| progress[slot].is_over(PATIENCE)).collect(),
            Restarts::TwoParents(_, walk_pairs) => {
                walk_pairs.resize(progress.len() / 2, WalkPair::default());
                let pairs = progress.chunks_exact(2).zip(&*walk_pairs).enumerate();
                let over = pairs.filter(|(_, (pair, walk_pair))| pair.iter().all(|walk| walk_pair.ends(walk)));
                over.flat_map(|(k, _)| [2 * k, 2 * k + 1]).collect()
            }
        }
    }

    /// Where walks begin whose walks have come to the end of others. `bests` are those of the walks that are over.
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
    /// Whether a walk of the pair is over. Now and then they are longer: 1, 2, 1, 4 times the shortest, and so on.
    fn ends(&self, progress: &TabuProgress) -> bool {
        progress.key == 0 || progress.step >= SHORT_WALK << (self.lives + 1).trailing_zeros().min(DOUBLINGS)
    }

    /// The children of the walks' bests; none where these have become one solution, and the pair begins again.
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
        if self.walks.is_multiple_of(CYCLE) {
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

/// An elite of which some values are changed; random values where there are no elites.
fn scattered(tables: &ValueTables, key: u64, elites: &[Elite]) -> Vec<u16> {
    let elite = below(mix(key, decision::ELITE), elites.len() as u64) as usize;
    let values = mix(key, decision::VALUES);
    let value = |v: usize| {
        let bits = mix(values, v as u64);
        match elites.get(elite) {
            Some(elite) if below(bits, SCATTER) != 0 => elite.values[v],
            _ => below(mix(bits, 0), tables.domain(v) as u64) as u16,
        }
    };
    (0..tables.variables()).map(value).collect()
}

/// A child of two partitions: by turns the largest class of one of them that is left, without what is in the child
/// already. What is in no class of these gets a random one.
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

/// Whether two partitions have the same classes.
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
            // whether a class of the child has one of a parent, a largest one without what is taken
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
