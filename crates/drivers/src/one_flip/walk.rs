//! Tabu walks by single flips (Glover, Lü, Hao, "Diversification-driven tabu search for unconstrained binary quadratic
//! problems", 2010). The change by each flip is kept up to date, in blocks of 64 variables with their best flips. A
//! step recomputes only the best flips of blocks that the last step has changed.

use crate::core::quadratic::{Quadratic, Row, Weight};
use crate::model::Cost;
use crate::rng::Rng;
use crate::stop::Stop;

/// Variables of a block.
const BLOCK: usize = 64;
/// The bit of a tabu flip, above the bits of [`Keys`].
const TABU: i64 = 1 << 62;
/// Padding of the last block.
const NONE: i64 = i64::MAX;
/// Largest number of steps of a walk, because steps are counted in 32 bits.
pub(super) const LONGEST: u32 = 1 << 30;
/// Steps between two checks of the stop flag.
const LOOK_EVERY: u32 = 256;

/// The format of the keys of flips: the change, shifted to be positive, in the high bits, and the step of the
/// variable's last flip in the low bits. The lowest key is the best flip, and among equal changes the least recent one.
/// Large changes leave few bits for the step, whose lowest bits are then missing.
#[derive(Clone, Copy, Debug, Default)]
struct Keys {
    /// Upper limit of the change by a flip, exclusive.
    largest: Cost,
    /// Number of bits of the step.
    time: u32,
    /// Number of the step's lowest bits that are missing.
    missing: u32,
}

impl Keys {
    fn of<W: Weight>(form: &Quadratic<W>) -> Keys {
        // a sign, and the bits below TABU
        let time = TABU.ilog2() - 1 - form.bits();
        Keys { largest: 1 << form.bits(), time, missing: LONGEST.ilog2().saturating_sub(time) }
    }

    #[inline(always)]
    fn key(self, change: Cost, step: u32) -> i64 {
        (change + self.largest) << self.time | i64::from(step >> self.missing)
    }

    /// Returns what a flip adds to the key of another variable: plus or minus the weight, if both flip in the same or
    /// in opposite directions.
    #[inline(always)]
    fn shifted(self, weight: Cost, same: bool) -> i64 {
        (if same { weight } else { -weight }) << self.time
    }

    #[inline(always)]
    fn change(self, key: i64) -> Cost {
        (key >> self.time) - self.largest
    }
}

/// A walk: an assignment to which the best flip that is not tabu is applied, step by step.
#[derive(Clone, Debug, Default)]
pub(super) struct FlipWalk {
    pub values: Vec<bool>,
    /// The form's value.
    pub value: Cost,
    /// The best assignment of the walk.
    pub best: Vec<bool>,
    /// The value of `best`.
    pub best_value: Cost,
    /// Number of steps since the best assignment.
    idle: u64,
    /// Variables flipped since the best assignment.
    since: Vec<u32>,
    rule: Keys,
    keys: Vec<i64>,
    /// The lowest key of each block.
    free: Vec<i64>,
    /// The lowest key of each block, ignoring [`TABU`].
    any: Vec<i64>,
    /// Blocks that have changed.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
    step: u32,
    /// For each step, modulo the length: variables whose flip is tabu until then.
    ends: Vec<Vec<u32>>,
    until: Vec<u32>,
}

impl FlipWalk {
    /// Returns a walk that begins at an assignment.
    pub fn new<W: Weight>(form: &Quadratic<W>, values: Vec<bool>) -> FlipWalk {
        let (n, value, rule) = (form.variables(), form.value(&values), Keys::of(form));
        let blocks = n.div_ceil(BLOCK);
        let mut keys = vec![NONE; blocks * BLOCK];
        keys.iter_mut().take(n).enumerate().for_each(|(v, own)| *own = rule.key(form.change(&values, v).into(), 0));
        FlipWalk {
            best: values.clone(),
            values,
            value,
            best_value: value,
            rule,
            keys,
            free: vec![NONE; blocks],
            any: vec![NONE; blocks],
            stale: (0..blocks as u32).collect(),
            is_stale: vec![true; blocks],
            ends: vec![Vec::new(); (tenure(n) + SPREAD as u32 + 1).next_power_of_two() as usize],
            until: vec![0; n],
            ..FlipWalk::default()
        }
    }

    /// Returns whether the walk has made `patience` steps without improvement, or the largest number of steps.
    pub fn is_over(&self, patience: u64) -> bool {
        self.idle >= patience || self.step >= LONGEST
    }

    /// Makes up to `steps` steps, at most [`LONGEST`], of a walk that is not over. Returns their number; fewer once
    /// `stop` is set.
    pub fn advance<W: Weight>(&mut self, form: &Quadratic<W>, steps: u32, rng: &mut Rng, stop: &Stop) -> u32 {
        let mut made = 0;
        while made < steps && !stop.is_set() {
            let some = LOOK_EVERY.min(steps - made);
            pulp::Arch::new().dispatch(Steps { walk: self, form, steps: some, rng });
            made += some;
        }
        made
    }

    #[inline(always)]
    fn step<W: Weight>(&mut self, form: &Quadratic<W>, rng: &mut Rng) {
        self.step += 1;
        let at = self.step as usize & (self.ends.len() - 1);
        let mut ended = std::mem::take(&mut self.ends[at]);
        for v in ended.drain(..) {
            // a variable that was flipped again meanwhile is tabu for longer
            if self.until[v as usize] == self.step {
                self.keys[v as usize] &= !TABU;
                self.touch(v as usize / BLOCK);
            }
        }
        self.ends[at] = ended;
        self.settle();
        let (free, at_free) = least(&self.free);
        let (any, at_any) = least(&self.any);
        let aspires = free >= TABU || self.value + self.rule.change(any) < self.best_value;
        let (wanted, block) = if aspires { (any, at_any) } else { (free, at_free) };
        let place = self.keys[block * BLOCK..][..BLOCK].iter().position(|key| key & !TABU == wanted);
        let Some(place) = place else { return };
        let v = block * BLOCK + place;
        self.flip(form, v);
        let until = self.step + tenure(self.values.len()) + rng.index(SPREAD) as u32;
        self.until[v] = until;
        self.keys[v] |= TABU;
        let at = until as usize & (self.ends.len() - 1);
        self.ends[at].push(v as u32);
        self.idle += 1;
        if self.value < self.best_value {
            self.note();
        }
    }

    /// Records the present assignment as the best.
    fn note(&mut self) {
        (self.best_value, self.idle) = (self.value, 0);
        for v in self.since.drain(..) {
            self.best[v as usize] = self.values[v as usize];
        }
    }

    /// Recomputes the best flips of blocks that have changed.
    #[inline(always)]
    fn settle(&mut self) {
        let mut stale = std::mem::take(&mut self.stale);
        for block in stale.drain(..) {
            let block = block as usize;
            self.is_stale[block] = false;
            let (mut free, mut any) = (NONE, NONE);
            for &key in &self.keys[block * BLOCK..][..BLOCK] {
                free = free.min(key);
                any = any.min(key & !TABU);
            }
            (self.free[block], self.any[block]) = (free, any);
        }
        self.stale = stale;
    }

    #[inline(always)]
    fn touch(&mut self, block: usize) {
        if !self.is_stale[block] {
            self.is_stale[block] = true;
            self.stale.push(block as u32);
        }
    }

    /// Flips a variable.
    #[inline(always)]
    fn flip<W: Weight>(&mut self, form: &Quadratic<W>, v: usize) {
        let rule = self.rule;
        let own = rule.change(self.keys[v] & !TABU);
        self.value += own;
        let was = self.values[v];
        self.values[v] = !was;
        self.since.push(v as u32);
        self.keys[v] = rule.key(-own, self.step) | (self.keys[v] & TABU);
        self.touch(v / BLOCK);
        match form.row(v) {
            Row::Links(links) => {
                for &(other, weight) in links {
                    let other = other as usize;
                    self.keys[other] += rule.shifted(weight.into(), self.values[other] == was);
                    self.touch(other / BLOCK);
                }
            }
            Row::Short(row) => self.add(row, was),
            Row::Long(row) => self.add(row, was),
        }
    }

    #[inline(always)]
    fn add<R: Copy + Into<Cost>>(&mut self, row: &[R], was: bool) {
        let rule = self.rule;
        let others = self.keys.iter_mut().zip(&self.values).zip(row);
        others.for_each(|((key, &value), &weight)| *key += rule.shifted(weight.into(), value == was));
        (0..self.free.len()).for_each(|block| self.touch(block));
    }

    /// Moves towards another assignment by the best of the flips that lead there, and stops at the best assignment in
    /// the middle third of the path (Wang, Lü, Glover, Hao, "Path relinking for unconstrained binary quadratic
    /// programming", 2012). Returns the number of steps.
    pub fn relink<W: Weight>(&mut self, form: &Quadratic<W>, guide: &[bool]) -> usize {
        let mut open: Vec<usize> = (0..guide.len()).filter(|&v| self.values[v] != guide[v]).collect();
        let way = open.len();
        let (mut flipped, mut best) = (Vec::with_capacity(way), (Cost::MAX, 0));
        while flipped.len() < (2 * way).div_ceil(3) {
            let keys = open.iter().map(|&v| self.keys[v] & !TABU).enumerate();
            let Some((_, at)) = keys.map(|(at, key)| (key, at)).min() else { break };
            let v = open.swap_remove(at);
            self.flip(form, v);
            flipped.push(v);
            if flipped.len() >= way / 3 && self.value < best.0 {
                best = (self.value, flipped.len());
            }
        }
        flipped[best.1..].iter().rev().for_each(|&v| self.flip(form, v));
        (self.best_value, self.idle) = (Cost::MAX, 0);
        self.note();
        flipped.len()
    }
}

/// Steps, compiled once for each vector instruction set.
struct Steps<'a, W: Weight> {
    walk: &'a mut FlipWalk,
    form: &'a Quadratic<W>,
    steps: u32,
    rng: &'a mut Rng,
}

impl<W: Weight> pulp::WithSimd for Steps<'_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        (0..self.steps).for_each(|_| self.walk.step(self.form, self.rng));
    }
}

/// Returns the approximate work of a step, in nanoseconds: the blocks that it recomputes, and the best flips of all.
pub(super) fn step_work<W: Weight>(form: &Quadratic<W>) -> u64 {
    let blocks = form.variables().div_ceil(BLOCK);
    (50 + 20 * blocks.min(form.degree() + 2) + blocks) as u64 + form.row_work() / 2
}

/// Returns the least number of steps for which a flip is tabu (Glover, Lü, Hao, 2010, section 3.3).
fn tenure(n: usize) -> u32 {
    (n / 100) as u32 + 1
}
/// The number of random additional steps for which a flip is tabu.
const SPREAD: usize = 10;

/// Returns the lowest key and its index.
#[inline(always)]
fn least(keys: &[i64]) -> (i64, usize) {
    let mut least = NONE;
    for &key in keys {
        least = least.min(key);
    }
    (least, keys.iter().position(|&key| key == least).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::quadratic::testing::form;
    use fangs_testing::cores::{pairs as random, scaled};

    #[test]
    fn what_is_kept_is_what_is_computed_again() {
        compare::<i32>(1);
        for factor in [1, 1 << 30, 1 << 45] {
            compare::<i64>(factor);
        }
    }

    fn compare<W: Weight>(factor: Cost) {
        let mut rng = Rng::new(7);
        for (n, by_rows) in [1, 2, 5, 63, 64, 65, 130].into_iter().flat_map(|n| [(n, false), (n, n < 50)]) {
            let form = form::<W>(&scaled(&random(n, &mut rng), factor)).expect("a quadratic form");
            let form = if by_rows { form.with_rows(&Stop::new()).expect("no stop") } else { form };
            let draw = |rng: &mut Rng| (0..n).map(|_| rng.below(2) == 1).collect::<Vec<_>>();
            let mut walk = FlipWalk::new(&form, draw(&mut rng));
            let check = |walk: &FlipWalk| {
                assert_eq!((walk.value, walk.best_value), (form.value(&walk.values), form.value(&walk.best)));
                for v in 0..n {
                    assert_eq!(walk.rule.change(walk.keys[v] & !TABU), form.change(&walk.values, v).into());
                }
            };
            for _ in 0..20 {
                let before = walk.best_value;
                assert_eq!(walk.advance(&form, 50, &mut rng, &Stop::new()), 50);
                check(&walk);
                assert!(walk.best_value <= before && walk.best_value <= walk.value);
                let guide = draw(&mut rng);
                let distance = |values: &[bool]| (0..n).filter(|&v| values[v] != guide[v]).count();
                let way = distance(&walk.values);
                let _ = walk.relink(&form, &guide);
                check(&walk);
                assert_eq!(walk.best, walk.values);
                let gone = way - distance(&walk.values);
                assert!(gone <= way && (gone >= way / 3 && 3 * gone <= 2 * way + 2), "{gone} of {way}");
            }
        }
    }

    #[test]
    fn walks_find_optima_of_small_networks() {
        let mut rng = Rng::new(8);
        for case in 0..30 {
            let problem = scaled(&random(12, &mut rng), 1 << (case % 3 * 20));
            let form = form::<i64>(&problem).expect("a quadratic form");
            let all = (0..1u32 << 12).map(|bits| (0..12).map(|v| bits >> v & 1 == 1).collect::<Vec<_>>());
            let optimum = all.map(|values| form.value(&values)).min();
            let mut walk = FlipWalk::new(&form, vec![false; 12]);
            let _ = walk.advance(&form, 2000, &mut rng, &Stop::new());
            assert_eq!(Some(walk.best_value), optimum);
        }
    }
}
