//! Scaling of utilities. Problems with very small or very large utilities are solved in units of a power of two, in
//! which the largest utility is from 1 to 2. Tolerances and the range of doubles then do not matter, and no digit
//! changes.

use super::solution::Solution;
use crate::error::Error;
use crate::model::{Diagram, Idid, Other, Pomdp, scale};

/// Exponents of the largest utility for which utilities keep their units: sums and differences stay in range, and
/// absolute tolerances are at least as strict as relative ones.
const USUAL: std::ops::RangeInclusive<i64> = 0..=200;

/// A problem with tables of utilities.
pub(super) trait Utilities: Clone {
    /// Calls `each` with every table of utilities.
    fn tables(&mut self, each: &mut dyn FnMut(&mut [f64]));
}

impl Utilities for Diagram {
    fn tables(&mut self, each: &mut dyn FnMut(&mut [f64])) {
        self.utilities.iter_mut().for_each(|utility| each(&mut utility.table));
    }
}

impl Utilities for Pomdp {
    fn tables(&mut self, each: &mut dyn FnMut(&mut [f64])) {
        self.rewards.iter_mut().for_each(|rewards| each(rewards));
    }
}

/// The utilities of the first agent.
impl Utilities for Idid {
    fn tables(&mut self, each: &mut dyn FnMut(&mut [f64])) {
        self.frame.tables(each);
    }
}

/// Scales the utilities. Returns the exponent of the unit, 0 if nothing changes.
fn change(problem: &mut impl Utilities) -> i64 {
    let mut largest = 0.0f64;
    problem.tables(&mut |table| largest = table.iter().fold(largest, |most, utility| most.max(utility.abs())));
    if largest == 0.0 || !largest.is_finite() {
        return 0;
    }
    let exponent = largest.log2().floor() as i64;
    if USUAL.contains(&exponent) {
        return 0;
    }
    problem.tables(&mut |table| table.iter_mut().for_each(|utility| *utility = scale(*utility, -exponent)));
    exponent
}

/// Solves a problem in suitable units, and reports solutions in the original ones.
///
/// # Errors
/// Returns the errors of `solve`, and an error if a value exceeds the range of doubles.
pub(super) fn in_units<U: Utilities>(
    problem: &U,
    tell: &mut dyn FnMut(&Solution),
    solve: impl FnOnce(&U, &mut dyn FnMut(&Solution)) -> Result<Solution, Error>,
) -> Result<Solution, Error> {
    let mut changed = problem.clone();
    let exponent = change(&mut changed);
    if exponent == 0 {
        return solve(problem, tell);
    }
    let solution = solve(&changed, &mut |solution| {
        if let Some(own) = solution.times(exponent) {
            tell(&own);
        }
    })?;
    let too_large = || Error::Usage("the utilities are too large: their sums exceed the range of doubles".into());
    solution.times(exponent).ok_or_else(too_large)
}

/// Scales the utilities of the modelled agents, each in its own unit, because no value of theirs is reported.
pub(super) fn others_in_units(idid: &mut Idid) {
    match &mut idid.other {
        Other::Alone(process) => {
            let _ = change(process);
        }
        Other::Interactive(below) => {
            let _ = change(&mut **below);
            others_in_units(below);
        }
    }
}

impl Solution {
    /// Returns the solution with utilities multiplied by a power of two, or `None` if the value is out of range.
    fn times(&self, exponent: i64) -> Option<Solution> {
        let own = |number: f64| Some(scale(number, exponent)).filter(|number| number.is_finite());
        // subnormal numbers are rounded
        let is_rounded = |number: f64| number.abs() < f64::MIN_POSITIVE && exponent < 0;
        let meu = match self.meu {
            None => None,
            Some(meu) => Some(own(meu)?),
        };
        let error = own(self.error_bound)?;
        let bound = self.bound.and_then(own).map(|bound| if is_rounded(bound) { bound.next_up() } else { bound });
        let lower = self.lower.and_then(own).map(|lower| if is_rounded(lower) { lower.next_down() } else { lower });
        Some(Solution {
            meu,
            bound: if self.exact { meu } else { bound },
            lower,
            error_bound: if meu.is_some_and(is_rounded) { error.next_up().next_up() } else { error },
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_two() {
        for (largest, expected) in
            [(1.0, 0), (100.0, 0), (0.75, -1), (1e-300, -997), (5e-324, -1074), (1e300, 996), (0.0, 0)]
        {
            let mut process = crate::tests::process(crate::tests::TIGER);
            process.rewards = vec![vec![largest, -largest / 2.0]; 3];
            assert_eq!(change(&mut process), expected, "{largest}");
            if expected != 0 {
                assert!((1.0..2.0).contains(&process.rewards[0][0]), "{largest}");
                assert_eq!(scale(process.rewards[0][0], expected), largest);
            }
        }
    }

    /// If all utilities are multiplied by a power of two, the policy stays and values are multiplied by that power.
    #[test]
    fn magnitudes_change_no_digit() {
        use crate::model::DiagramKind;
        use crate::rng::Rng;
        use crate::stop::Stop;
        use crate::tests::{diagram, random_diagram, random_process};
        use crate::{Options, solve_pomdp};
        let mut rng = Rng::new(17);
        let times = |made: &Diagram, exponent: i64| {
            let mut made = made.clone();
            made.tables(&mut |table| table.iter_mut().for_each(|u| *u = scale(*u, exponent)));
            diagram(&made, &Options::default()).ok()
        };
        for case in 0..60 {
            let made = random_diagram(&mut rng, [DiagramKind::Recall, DiagramKind::Limited][case % 2]);
            let [Some(tiny), Some(small), Some(plain), Some(large)] =
                [-900, -300, 0, 900].map(|exponent| times(&made, exponent))
            else {
                continue;
            };
            for (found, exponent) in [(&small, 600), (&large, 1800)] {
                let own = tiny.times(exponent).expect("in range");
                assert_eq!((own.meu, own.bound, own.exact), (found.meu, found.bound, found.exact), "case {case}");
                assert_eq!((own.error_bound, &own.policy), (found.error_bound, &found.policy), "case {case}");
            }
            let (value, own) = (plain.meu.expect("a value"), tiny.times(900).and_then(|own| own.meu).expect("a value"));
            assert!((value - own).abs() <= plain.error_bound + 1e-9, "case {case}: {value} {own}");
        }
        for case in 0..40 {
            let made = random_process(&mut rng);
            let [tiny, large] = [-900, 900].map(|exponent| {
                let mut made = made.clone();
                made.tables(&mut |table| table.iter_mut().for_each(|u| *u = scale(*u, exponent)));
                let options = Options { horizon: Some(3), ..Options::default() };
                solve_pomdp(&made, &options, &Stop::new(), &mut |_| ()).expect("a value")
            });
            let own = tiny.times(1800).expect("in range");
            assert_eq!((own.meu, own.bound, &own.policy), (large.meu, large.bound, &large.policy), "case {case}");
        }
    }
}
