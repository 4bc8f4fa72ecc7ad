//! Random cases and comparisons for tests of this crate and of crates above.

use super::{Outcome, Pairs, Place, Plan, Potential, execute};
use crate::Device;
use crate::error::Error;
use crate::model::{DecisionRule, scale};
use crate::rng::Rng;
use crate::stop::Stop;

fn random_table(rng: &mut Rng, pairs: &Pairs, scope: &[u32], utility: bool) -> Potential {
    let entries: usize = scope.iter().map(|&v| pairs.domains[v as usize] as usize).product();
    let entry = |rng: &mut Rng| match utility {
        true => rng.below(1000) as f64 / 8.0 - 40.0,
        // some entries are 0, and the products exceed the range of doubles
        false => scale(rng.below(1000) as f64, -(rng.below(40) as i64)),
    };
    Potential { scope: scope.into(), table: (0..entries).map(|_| entry(rng)).collect() }
}

/// Returns a chance variable with many functions: probabilities with half of the other variables, and utilities with
/// all of them; the second half are decisions.
pub fn hub(rng: &mut Rng, domain: u32, leaves: u32, probabilities: u32, utilities: u32) -> Pairs {
    let domains = [domain].into_iter().chain((0..leaves).map(|_| 2 + rng.below(3) as u32)).collect();
    let mut pairs = Pairs { domains, ..Pairs::default() };
    let half = leaves / 2;
    for number in 0..probabilities {
        let made = random_table(rng, &pairs, &[0, 1 + number % half], false);
        pairs.probabilities.push(made);
    }
    for number in 0..utilities {
        let other = [1 + number % leaves, 1 + (number * 7 + 1) % leaves];
        let scope = if other[0] == other[1] { vec![other[0], 0] } else { vec![other[0], 0, other[1]] };
        let made = random_table(rng, &pairs, &scope, true);
        pairs.utilities.push(made);
    }
    let decisions = (half + 1..=leaves).collect();
    pairs.blocks = vec![(false, vec![0]), (true, decisions), (false, (1..=half / 2).collect())];
    pairs
}

/// Returns the outcome of a case on the host.
pub fn on_host(pairs: &Pairs, plan: &Plan) -> Result<Outcome, Error> {
    let place = Place { device: &Device::default(), memory: f64::INFINITY };
    execute(pairs, plan, 0.0, place, &Stop::new()).map(|outcome| outcome.expect("there is room"))
}

/// Asserts that two outcomes agree within their errors, and that choices agree if both are certain. Returns the number
/// of such choices.
pub fn near(what: &str, a: &Outcome, b: &Outcome) -> usize {
    let error = a.error + b.error;
    assert!((a.utility - b.utility).abs() <= error, "{what}: {} {}, within {error}", a.utility, b.utility);
    let relative = a.normaliser_error + b.normaliser_error;
    let (own, other) = (a.normaliser, b.normaliser);
    let ratio = scale(other.mantissa, other.exponent - own.exponent) / own.mantissa;
    assert!(own.mantissa == other.mantissa || (ratio - 1.0).abs() <= relative, "{what}: {own:?} {other:?}");
    let all = a.left_probability.iter().zip(&b.left_probability);
    for (p, q) in all {
        assert!((p - q).abs() <= relative * p, "{what}: probabilities {p} and {q}");
    }
    let most = a.left_probability.iter().fold(0.0f64, |most, p| most.max(*p));
    let worth = a.left.iter().fold(0.0f64, |most, p| most.max(p.abs()));
    for (u, v) in a.left.iter().zip(&b.left) {
        assert!((u - v).abs() <= error * most + relative * worth, "{what}: utilities {u} and {v}");
    }
    assert_eq!(a.rules.len(), b.rules.len(), "{what}");
    let mut certain = 0;
    for (a, b) in a.rules.iter().zip(&b.rules) {
        let DecisionRule { decision, sees, choices, .. } = a;
        assert_eq!((*decision, sees, choices.len()), (b.decision, &b.sees, b.choices.len()), "{what}");
        for (row, (ours, theirs)) in choices.iter().zip(&b.choices).enumerate() {
            if a.certain[row] && b.certain[row] {
                assert_eq!(ours, theirs, "{what}, decision {decision}, row {row}");
                certain += 1;
            }
        }
    }
    certain
}
