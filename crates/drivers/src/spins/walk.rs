//! An assignment of binary variables with the change by each flip: sweeps, and merging of another assignment. The
//! kernel does the same, flip by flip (`kernels/spins.cu`).

use crate::core::quadratic::form::WARP;
use crate::core::quadratic::{Quadratic, Row, Weight};
use crate::fang::boltzmann::Boltzmann;
use crate::rng::mix;
use crate::stop::Stop;

/// The rule of a sweep without a temperature: only flips that lower the value.
const DESCENT: Rule = Rule { limit: -1, boltzmann: Boltzmann::GREEDY, shift: 0 };
/// Number of variables between two checks of the stop flag in a merge.
const LOOK_EVERY: usize = 1 << 16;

/// The rule by which a sweep accepts flips.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Largest increase by an accepted flip.
    limit: i64,
    boltzmann: Boltzmann,
    /// The exponent of the unit of the temperature, which is two to the power of `shift`.
    shift: u32,
}

impl Rule {
    /// Returns the rule of a temperature, which is converted to units of two to the power of `shift`.
    pub fn at(temperature: f64, shift: u32) -> Rule {
        let boltzmann = Boltzmann::new(temperature / (1u64 << shift) as f64);
        Rule { limit: i64::from(boltzmann.numbers()[0]) << shift, boltzmann, shift }
    }

    /// Returns the limit and the slope of the weights of changes, in units, for the kernel.
    pub fn numbers(&self) -> [u32; 2] {
        self.boltzmann.numbers()
    }

    /// Returns whether a flip with this change is made.
    #[inline(always)]
    fn allows(&self, change: i64, draw: u64, v: usize) -> bool {
        let is_drawn = || self.boltzmann.weight((change >> self.shift) as u32) > (mix(draw, v as u64) >> 43) as u32;
        change <= self.limit && (change <= 0 || is_drawn())
    }
}

/// The words of an assignment: each variable's value in the lowest bit, and above it the value of the form with the
/// variable at 1 minus that with it at 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words<W: Weight> {
    pub words: Vec<W>,
    /// The form's value.
    pub value: i64,
}

impl<W: Weight> Words<W> {
    pub fn new(form: &Quadratic<W>, values: &[bool]) -> Words<W> {
        let word = |v: usize| (form.slope(values, v) << 1) + W::from(values[v]);
        Words { words: (0..values.len()).map(word).collect(), value: form.value(values) }
    }

    /// Returns the assignment.
    pub fn values(&self) -> Vec<bool> {
        values_of(&self.words)
    }

    #[inline(always)]
    fn is_one(word: W) -> bool {
        word & W::from(true) != W::default()
    }

    /// Returns the change by flipping a variable.
    #[inline(always)]
    fn change(word: W) -> W {
        let slope = word >> 1;
        if Self::is_one(word) { -slope } else { slope }
    }

    #[inline(always)]
    fn flip(&mut self, form: &Quadratic<W>, v: usize) {
        let word = self.words[v];
        self.value += Self::change(word).into();
        self.words[v] = word ^ W::from(true);
        let falls = Self::is_one(word);
        match form.row(v) {
            Row::Links(links) => links.iter().for_each(|&(other, weight)| {
                self.words[other as usize] += signed(weight, falls);
            }),
            Row::Short(row) => self.add(row, falls),
            Row::Long(row) => self.add(row, falls),
        }
    }

    #[inline(always)]
    fn add<R: Copy + Into<W>>(&mut self, row: &[R], falls: bool) {
        self.words.iter_mut().zip(row).for_each(|(word, &weight)| *word += signed(weight.into(), falls));
    }

    /// Visits each variable once; returns the number of flips.
    fn sweep(&mut self, form: &Quadratic<W>, rule: Rule, draw: u64) -> u64 {
        pulp::Arch::new().dispatch(Sweep { words: self, form, rule, draw })
    }

    /// Anneals by the rules, then descends until nothing flips. Returns the flips and the sweeps; `None` if `stop` was
    /// set.
    pub fn anneal(&mut self, form: &Quadratic<W>, rules: &[Rule], key: u64, stop: &Stop) -> Option<(u64, u32)> {
        let (mut flips, mut sweeps) = (0, 0);
        loop {
            let rule = rules.get(sweeps as usize).copied();
            let flipped = self.sweep(form, rule.unwrap_or(DESCENT), mix(key, sweeps.into()));
            (flips, sweeps) = (flips + flipped, sweeps + 1);
            if stop.is_set() {
                return None;
            }
            if rule.is_none() && flipped == 0 {
                return Some((flips, sweeps));
            }
        }
    }

    /// Takes over the components of the differences from another assignment that lower the value (the differing
    /// variables induce components of the constraint graph). `room` is scratch memory. If `stop` is set, the remaining
    /// components are left as they are.
    pub fn take_better(&mut self, form: &Quadratic<W>, other: &Words<W>, room: &mut Room, stop: &Stop) {
        let Room { differs, part } = room;
        differs.clear();
        differs.extend(self.words.iter().zip(&other.words).map(|(&own, &other)| Self::is_one(own ^ other)));
        let mut left = differs.iter().filter(|&&differs| differs).count();
        for first in 0..differs.len() {
            if first.is_multiple_of(LOOK_EVERY) && stop.is_set() {
                return;
            }
            if !std::mem::take(&mut differs[first]) {
                continue;
            }
            part.clear();
            part.push(first as u32);
            left -= 1;
            let (mut at, mut twice) = (0, 0);
            while let Some(&v) = part.get(at) {
                at += 1;
                // the mean of both slopes counts the links within the component once
                let (own, other) = (self.words[v as usize], other.words[v as usize]);
                let slopes = (own >> 1).into() + (other >> 1).into();
                twice += if Self::is_one(own) { -slopes } else { slopes };
                // on dense forms the first variables are adjacent to all others
                let links = if left > 0 { form.links(v as usize) } else { &[] };
                for &(next, _) in links {
                    if std::mem::take(&mut differs[next as usize]) {
                        part.push(next);
                        left -= 1;
                    }
                }
            }
            if twice < 0 {
                part.iter().for_each(|&v| self.flip(form, v as usize));
            }
        }
    }
}

/// Returns the assignment that words represent.
pub(super) fn values_of<W: Weight>(words: &[W]) -> Vec<bool> {
    words.iter().map(|&word| Words::is_one(word)).collect()
}

/// Returns what a flip adds to the word of another variable, whose slope is above the lowest bit.
#[inline(always)]
fn signed<W: Weight>(weight: W, falls: bool) -> W {
    let twice = weight << 1;
    if falls { -twice } else { twice }
}

/// Scratch memory of merges.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    differs: Vec<bool>,
    part: Vec<u32>,
}

struct Sweep<'a, W: Weight> {
    words: &'a mut Words<W>,
    form: &'a Quadratic<W>,
    rule: Rule,
    draw: u64,
}

impl<W: Weight> pulp::WithSimd for Sweep<'_, W> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> u64 {
        let Sweep { words, form, rule, draw } = self;
        let (n, mut flips, mut at) = (words.words.len(), 0, 0);
        while at < n {
            let chunk = &words.words[at..n.min(at + WARP)];
            let end = at + chunk.len();
            // most chunks of a sweep at a low temperature have no flip
            if chunk.iter().map(|&word| Words::change(word)).fold(W::MAX, W::min).into() > rule.limit {
                at = end;
                continue;
            }
            for v in at..end {
                if rule.allows(Words::change(words.words[v]).into(), draw, v) {
                    words.flip(form, v);
                    flips += 1;
                }
            }
            at = end;
        }
        flips
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::quadratic::AnyQuadratic;
    use crate::core::quadratic::form::SweepForm;
    use crate::core::quadratic::testing::form_of;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use crate::rng::Rng;
    use std::sync::Arc;

    #[test]
    fn words_are_what_is_computed_again_and_merges_are_at_least_as_good_as_both() {
        compare::<i32>();
        compare::<i64>();
    }

    fn compare<W: Weight>()
    where
        AnyQuadratic: From<Arc<Quadratic<W>>>,
    {
        let (mut rng, stop, mut room) = (Rng::new(3), Stop::new(), Room::default());
        let mut mixed = 0;
        for case in 0..60u64 {
            let (family, settings): (_, &[_]) = match case % 2 {
                0 => ("ising", &[("side", "9")]),
                _ => ("large-sparse", &[("n", "60"), ("d", "2"), ("functions", "90")]),
            };
            let network = generate(family, settings, case).expect("a family");
            let quadratic = form_of::<W>(&network).expect("binary variables in pairs");
            let form = SweepForm::in_order(quadratic.clone(), &stop).expect("no stop is set");
            let quadratic = &quadratic.ordered(form.order());
            let n = form.variables();
            let mut random = || -> Vec<bool> { (0..n).map(|_| rng.below(2) == 1).collect() };
            let (first, second) = (random(), random());
            let mut walk = Words::new(quadratic, &first);
            let rules: Vec<Rule> = (0..4).map(|k| Rule::at(form.hot / f64::from(1 << k), form.shift)).collect();
            let (flips, sweeps) = walk.anneal(quadratic, &rules, case, &stop).expect("no stop is set");
            assert!(flips > 0 && sweeps > 4);
            assert_eq!(walk, Words::new(quadratic, &walk.values()), "case {case}");
            assert!(walk.words.iter().all(|&word| Words::change(word) >= W::default()), "case {case}");
            let mut other = Words::new(quadratic, &second);
            let _ = other.anneal(quadratic, &rules[2..], case, &stop);
            let before = walk.clone();
            walk.take_better(quadratic, &other, &mut room, &stop);
            assert_eq!(walk, Words::new(quadratic, &walk.values()), "case {case}");
            assert!(walk.value <= before.value.min(other.value), "case {case}");
            mixed += u32::from(walk != before && walk != other);
            let own = form.own(&walk.values());
            assert_eq!(Words::new(quadratic, &form.ordered(&own)), walk);
            let problem = Reducer::unreduced(&network, &stop).expect("no stop is set").1;
            assert_eq!(problem.cost(&own), quadratic.zero + walk.value, "case {case}");
        }
        assert!(mixed > 10, "{mixed}");
    }
}
