//! One assignment of binary variables with what each flip would change: sweeps, and the better parts of another
//! assignment. The kernel does the same, flip by flip (`kernels/spins.cu`).

use super::form::WARP;
use crate::fang::boltzmann::Boltzmann;
use crate::rng::mix;
use crate::search::drivers::quadratic::{Quadratic, Row};
use crate::stop::Stop;

/// A sweep without a temperature: only what makes the assignment better.
const DESCENT: Rule = Rule { limit: -1, boltzmann: Boltzmann::GREEDY };
/// Parts of an assignment between two looks at the stop flag.
const LOOK_EVERY: usize = 1 << 16;

/// Which flips a sweep makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// None that costs more.
    limit: i32,
    boltzmann: Boltzmann,
}

impl Rule {
    pub fn at(temperature: f64) -> Rule {
        let boltzmann = Boltzmann::new(temperature);
        Rule { limit: boltzmann.numbers()[0] as i32, boltzmann }
    }

    /// As the kernel has it.
    pub fn numbers(&self) -> [u32; 2] {
        self.boltzmann.numbers()
    }

    /// Whether a flip that changes so much is made.
    #[inline(always)]
    fn allows(&self, change: i32, draw: u64, v: usize) -> bool {
        let is_drawn = || self.boltzmann.weight(change as u32) > (mix(draw, v as u64) >> 43) as u32;
        change <= self.limit && (change <= 0 || is_drawn())
    }
}

/// Each variable's value in the lowest bit, above it what the form gains where it is 1 and not 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub words: Vec<i32>,
    /// The form's value.
    pub value: i64,
}

impl Words {
    pub fn new(form: &Quadratic, values: &[bool]) -> Words {
        let word = |v: usize| form.slope(values, v) << 1 | i32::from(values[v]);
        Words { words: (0..values.len()).map(word).collect(), value: form.value(values) }
    }

    /// What flipping a variable changes.
    #[inline(always)]
    fn change(word: i32) -> i32 {
        let slope = word >> 1;
        if word & 1 == 1 { -slope } else { slope }
    }

    #[inline(always)]
    fn flip(&mut self, form: &Quadratic, v: usize) {
        let word = self.words[v];
        self.value += i64::from(Words::change(word));
        self.words[v] = word ^ 1;
        let sign = if word & 1 == 1 { -2 } else { 2 };
        match form.row(v) {
            Row::Links(links) => links.iter().for_each(|&(other, weight)| self.words[other as usize] += sign * weight),
            Row::Short(row) => self.add(row, sign),
            Row::Long(row) => self.add(row, sign),
        }
    }

    #[inline(always)]
    fn add<W: Copy + Into<i32>>(&mut self, row: &[W], sign: i32) {
        self.words.iter_mut().zip(row).for_each(|(word, &weight)| *word += sign * weight.into());
    }

    /// Each variable in turn; returns how many flipped.
    fn sweep(&mut self, form: &Quadratic, rule: Rule, draw: u64) -> u64 {
        pulp::Arch::new().dispatch(Sweep { words: self, form, rule, draw })
    }

    /// Anneals along the rules, then descends as long as anything flips. Returns the flips and the sweeps made, or none
    /// where `stop` was set.
    pub fn anneal(&mut self, form: &Quadratic, rules: &[Rule], key: u64, stop: &Stop) -> Option<(u64, u32)> {
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

    /// Where two assignments differ, the variables fall into parts that do not see each other: takes those of the other
    /// one that are better. `part` and `differs` are room. Where `stop` is set later parts are left as they are.
    pub fn take_better(&mut self, form: &Quadratic, other: &Words, room: &mut Room, stop: &Stop) {
        let Room { differs, part } = room;
        differs.clear();
        differs.extend(self.words.iter().zip(&other.words).map(|(own, other)| (own ^ other) & 1 == 1));
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
                // the mean of both slopes: what lies between them within the part is counted once
                let (own, other) = (self.words[v as usize], other.words[v as usize]);
                let slopes = i64::from(own >> 1) + i64::from(other >> 1);
                twice += if own & 1 == 1 { -slopes } else { slopes };
                // on dense forms the first ones see all others
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

/// Room for merges.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    differs: Vec<bool>,
    part: Vec<u32>,
}

struct Sweep<'a> {
    words: &'a mut Words,
    form: &'a Quadratic,
    rule: Rule,
    draw: u64,
}

impl pulp::WithSimd for Sweep<'_> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> u64 {
        let Sweep { words, form, rule, draw } = self;
        let (n, mut flips, mut at) = (words.words.len(), 0, 0);
        while at < n {
            let chunk = &words.words[at..n.min(at + WARP)];
            let end = at + chunk.len();
            // most chunks of a cool sweep have none
            if chunk.iter().map(|&word| Words::change(word)).fold(i32::MAX, i32::min) > rule.limit {
                at = end;
                continue;
            }
            for v in at..end {
                if rule.allows(Words::change(words.words[v]), draw, v) {
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
    use super::super::form::Form;
    use super::*;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use crate::rng::Rng;

    #[test]
    fn words_are_what_is_computed_again_and_merges_are_at_least_as_good_as_both() {
        let (mut rng, stop, mut room) = (Rng::new(3), Stop::new(), Room::default());
        let mut mixed = 0;
        for case in 0..60u64 {
            let (family, settings): (_, &[_]) = match case % 2 {
                0 => ("ising", &[("side", "9")]),
                _ => ("large-sparse", &[("n", "60"), ("d", "2"), ("functions", "90")]),
            };
            let network = generate(family, settings, case).expect("a family");
            let form = Form::of(&network, &stop).expect("no stop is set").expect("binary variables in pairs");
            let n = form.variables();
            let mut random = || -> Vec<bool> { (0..n).map(|_| rng.below(2) == 1).collect() };
            let (first, second) = (random(), random());
            let quadratic = &form.quadratic;
            let mut walk = Words::new(quadratic, &first);
            let rules: Vec<Rule> = (0..4).map(|k| Rule::at(form.hot / f64::from(1 << k))).collect();
            let (flips, sweeps) = walk.anneal(quadratic, &rules, case, &stop).expect("no stop is set");
            assert!(flips > 0 && sweeps > 4);
            let of = |walk: &Words| walk.words.iter().map(|word| word & 1 == 1).collect::<Vec<_>>();
            assert_eq!(walk, Words::new(quadratic, &of(&walk)), "case {case}");
            assert!(walk.words.iter().all(|&word| Words::change(word) >= 0), "case {case}");
            let mut other = Words::new(quadratic, &second);
            let _ = other.anneal(quadratic, &rules[2..], case, &stop);
            let before = walk.clone();
            walk.take_better(quadratic, &other, &mut room, &stop);
            assert_eq!(walk, Words::new(quadratic, &of(&walk)), "case {case}");
            assert!(walk.value <= before.value.min(other.value), "case {case}");
            mixed += u32::from(walk != before && walk != other);
            let own = form.own(&walk.words);
            assert_eq!(Words::new(quadratic, &form.ordered(&own)), walk);
            let problem = Reducer::unreduced(&network, &stop).expect("no stop is set").1;
            assert_eq!(problem.cost(&own), quadratic.zero + walk.value, "case {case}");
        }
        assert!(mixed > 10, "{mixed}");
    }
}
