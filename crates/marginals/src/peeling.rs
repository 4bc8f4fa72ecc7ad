//! A quick upper bound on a sum: functions are removed one by one. For a Bayesian network, each of whose tables sums to
//! 1 over a variable, the bound is at most 1 for any evidence and any maximised variables.

use super::sliced::{Sliced, sums_over};
use crate::error::Error;
use crate::model::{Factor, ROUNDOFF, Scaled};
use crate::stop::Stop;

/// Returns an upper bound on the largest sum, for any values of the `maximised` variables, which are given by their
/// indices in the whole. If only one function reads a summed variable, the variable is summed out of it, and the
/// function is replaced by its largest sum. Otherwise a function is replaced by its largest entry: first functions that
/// sum to more than 1 over each of their variables and so are no conditional probabilities, the smallest largest
/// entries first.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set.
pub(super) fn peel(sliced: &Sliced, maximised: impl Fn(u32) -> bool, stop: &Stop) -> Result<Scaled, Error> {
    let Sliced { functions, domains, .. } = sliced;
    let is_summed: Vec<bool> = sliced.variables.iter().map(|&v| !maximised(v)).collect();
    let mut reading: Vec<Vec<usize>> = vec![Vec::new(); domains.len()];
    for (index, function) in functions.iter().enumerate() {
        function.scope.iter().for_each(|&v| reading[v as usize].push(index));
    }
    let mut order: Vec<(bool, f64, usize)> = Vec::with_capacity(functions.len());
    for (index, function) in functions.iter().enumerate() {
        stop.check()?;
        let is_probability =
            function.scope.iter().any(|&v| is_summed[v as usize] && largest_sum(function, v, domains).ln() <= SLACK);
        order.push((is_probability, Scaled::with(most(function), function.exponent).ln(), index));
    }
    // the first one to remove is at the end
    order.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut left = vec![true; functions.len()];
    let mut open = is_summed;
    let is_alone = |v: u32, reading: &[Vec<usize>], open: &[bool]| open[v as usize] && reading[v as usize].len() == 1;
    let mut alone: Vec<u32> = (0..domains.len() as u32).filter(|&v| is_alone(v, &reading, &open)).collect();
    let (mut bound, mut rounding) = (sliced.constant, sliced.rounding);
    loop {
        stop.check()?;
        let (index, factor) = if let Some(v) = alone.pop() {
            let [index] = reading[v as usize][..] else { continue };
            open[v as usize] = false;
            (index, largest_sum(&functions[index], v, domains))
        } else if let Some((_, _, index)) = order.pop() {
            if !left[index] {
                continue;
            }
            (index, Scaled::with(most(&functions[index]), functions[index].exponent))
        } else {
            break;
        };
        left[index] = false;
        bound = bound.times(factor);
        rounding += (1 + functions[index].table.len()) as f64 * ROUNDOFF;
        for &v in &functions[index].scope {
            reading[v as usize].retain(|&other| other != index);
            if is_alone(v, &reading, &open) {
                alone.push(v);
            }
        }
    }
    for (&domain, _) in domains.iter().zip(&open).filter(|(_, open)| **open) {
        bound = bound.times(Scaled::new(domain.into()));
        rounding += ROUNDOFF;
    }
    Ok(bound.times(Scaled::new(1.0 + 2.0 * rounding)))
}

/// The tolerance for the logarithm of a sum of probabilities as files state them.
const SLACK: f64 = 1e-6;

fn most(function: &Factor) -> f64 {
    function.table.iter().copied().fold(0.0, f64::max)
}

/// Returns the largest sum over a variable.
fn largest_sum(function: &Factor, variable: u32, domains: &[u32]) -> Scaled {
    Scaled::with(sums_over(function, variable, domains).fold(0.0, f64::max), function.exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evidence;
    use crate::model::{Potentials, Variable};
    use crate::rng::Rng;
    use crate::simplify::Keep;
    use crate::tests::{enumerate, evidence, largest_sum, models, random, some_of};

    fn peeled(potentials: &Potentials, evidence: &Evidence, maximised: &[u32]) -> Option<Scaled> {
        let stop = Stop::new();
        let sliced = Sliced::new(potentials, evidence, |_| true, Keep::All, &stop).expect("it fits")?;
        Some(peel(&sliced, |v| maximised.contains(&v), &stop).expect("no stop is set"))
    }

    #[test]
    fn no_sum_is_larger() {
        let mut rng = Rng::new(47);
        for case in 0..models() / 4 {
            let potentials = random(&mut rng);
            let evidence = evidence(&mut rng, &potentials);
            let maximised = some_of(&mut rng, &potentials);
            let Some(bound) = peeled(&potentials, &evidence, &[]) else { continue };
            let z = enumerate(&potentials, &evidence).0;
            assert!(!z.is_above(bound), "case {case}: {z:?} {bound:?}");
            let (best, bound) =
                (largest_sum(&potentials, &evidence, &maximised), peeled(&potentials, &evidence, &maximised));
            assert!(bound.is_some_and(|bound| best <= bound.ln() + 1e-13 * best.abs().clamp(1.0, 1e6)), "case {case}");
        }
    }

    #[test]
    fn probabilities_are_at_most_one() {
        let mut rng = Rng::new(48);
        for case in 0..models() / 4 {
            let mut network = Potentials::new("network");
            let mut evidence = Evidence::default();
            for v in 0..2 + rng.below(7) as u32 {
                let domain = 2 + rng.below(2) as u32;
                let _ = network.variable(Variable { domain, name: None, values: None }).expect("it has values");
                let mut scope: Vec<u32> = (0..v).filter(|_| rng.below(3) == 0).take(3).collect();
                scope.push(v);
                let rows: usize =
                    scope[..scope.len() - 1].iter().map(|&u| network.domains[u as usize] as usize).product();
                let row = |rng: &mut Rng| {
                    let parts: Vec<f64> = (0..domain).map(|_| 1.0 + rng.below(9) as f64).collect();
                    let sum: f64 = parts.iter().sum();
                    parts.into_iter().map(move |part| part / sum)
                };
                let table: Vec<f64> = (0..rows).flat_map(|_| row(&mut rng).collect::<Vec<_>>()).collect();
                network.function(&scope, &table).expect("it fits");
                if rng.below(2) == 0 {
                    evidence.values.push((v, rng.below(domain.into()) as u32));
                }
            }
            let some = some_of(&mut rng, &network);
            for maximised in [&[][..], &some] {
                let bound = peeled(&network, &evidence, maximised).expect("no value contradicts another");
                assert!(bound.ln() < 1e-12, "case {case}: {bound:?}");
            }
        }
    }
}
