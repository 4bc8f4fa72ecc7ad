use super::bounds::bound_by;
use super::intervals::Interval;
use super::peeling::peel;
use super::tuning::Sizes;
use super::*;
use crate::check::{MarginalsClaim, check_marginals};
use crate::error::Error;
use crate::model::Potentials;
use crate::model::{Factor, Scaled, Variable, scale};
use crate::order::Method;
use crate::order::Order;
use crate::order::Ordering;
use crate::rng::Rng;
use crate::simplify::Keep;
use crate::stop::Stop;
use std::time::Duration;

/// Returns the number of random products to enumerate; FANGS_RANDOM_MODELS sets it.
pub(super) fn models() -> u64 {
    std::env::var("FANGS_RANDOM_MODELS").ok().and_then(|models| models.parse().ok()).unwrap_or(2000)
}

/// Returns a product of up to nine variables, with zeros, equal tables, constants, unary functions and repeated scopes.
pub(super) fn random(rng: &mut Rng) -> Potentials {
    let mut potentials = Potentials::new("random");
    for _ in 0..1 + rng.below(9) {
        let domain = [1, 2, 2, 3, 4][rng.index(5)];
        let _ = potentials.variable(Variable { domain, name: None, values: None }).expect("it has values");
    }
    let n = potentials.domains.len();
    // most potentials are near 1, some span hundreds of powers of ten
    let spread = [1, 1, 1, 40, 400][rng.index(5)];
    let zeros = rng.below(4);
    for _ in 0..rng.index(2 * n + 2) {
        let mut scope: Vec<u32> = (0..n as u32).collect();
        rng.shuffle(&mut scope);
        scope.truncate(rng.index(4.min(n + 1)));
        let entries: usize = scope.iter().map(|&v| potentials.domains[v as usize] as usize).product();
        let kind = rng.below(7);
        // in some functions the first variable determines the last one
        let domain = scope.last().map_or(1, |&v| potentials.domains[v as usize] as usize);
        let run = scope.first().map_or(1, |&v| entries / potentials.domains[v as usize] as usize).max(domain);
        let mut only = 0;
        let table: Vec<f64> = (0..entries)
            .map(|at| match kind {
                0 => 0.5,
                1 if at % run == 0 => {
                    only = rng.index(domain);
                    f64::from(u8::from(only == 0))
                }
                1 => f64::from(u8::from(at % domain == only)),
                _ if rng.below(10) < zeros => 0.0,
                _ => scale((rng.below(1 << 20) + 1) as f64, rng.below(2 * spread) as i64 - spread as i64 - 20),
            })
            .collect();
        potentials.function(&scope, &table).expect("it fits");
    }
    potentials
}

/// Returns random evidence: observed values and weights of some variables.
pub(super) fn evidence(rng: &mut Rng, potentials: &Potentials) -> Evidence {
    let mut evidence = Evidence::default();
    for (variable, &domain) in (0..).zip(&potentials.domains) {
        match rng.below(6) {
            0 => evidence.values.push((variable, rng.below(domain.into()) as u32)),
            1 => evidence.weights.push((variable, (0..domain).map(|_| rng.below(4) as f64 / 2.0).collect())),
            _ => {}
        }
    }
    evidence
}

/// Returns the sum and the sums of each value, by enumeration.
pub(super) fn enumerate(potentials: &Potentials, evidence: &Evidence) -> (Scaled, Vec<Vec<Scaled>>) {
    let mut sums: Vec<Vec<Scaled>> = potentials.domains.iter().map(|&d| vec![Scaled::ZERO; d as usize]).collect();
    let mut products = Vec::new();
    let sizes = potentials.domains.iter().map(|&domain| domain as usize).collect();
    let mut odometer = crate::model::Odometer::new(sizes);
    loop {
        let values: Vec<u32> = odometer.digits.iter().map(|&digit| digit as u32).collect();
        if evidence.values.iter().all(|&(variable, value)| values[variable as usize] == value) {
            let weigh = |product: Scaled, (variable, weights): &(u32, Vec<f64>)| {
                product.times(Scaled::new(weights[values[*variable as usize] as usize]))
            };
            let product = evidence.weights.iter().fold(potentials.value(&values), weigh);
            products.push(product);
            for (sums, &value) in sums.iter_mut().zip(&values) {
                sums[value as usize] = sums[value as usize].plus(product);
            }
        }
        if odometer.advance().is_none() {
            return (sum(&products), sums);
        }
    }
}

/// Returns the sum, added pairwise to limit rounding.
fn sum(products: &[Scaled]) -> Scaled {
    match products {
        [] => Scaled::ZERO,
        [one] => *one,
        _ => {
            let (first, second) = products.split_at(products.len() / 2);
            sum(first).plus(sum(second))
        }
    }
}

/// Returns a result as a claim for the checker.
fn claim(evidence: &Evidence, found: &Marginals) -> MarginalsClaim {
    let all = (0..).zip(&found.posteriors);
    MarginalsClaim {
        values: evidence.values.clone(),
        weights: evidence.weights.clone(),
        ln_z: Some(found.ln_z).filter(|ln_z| ln_z.is_finite()),
        at_least: false,
        error_bound: found.error_bound,
        posteriors: all.filter_map(|(v, own)| Some((v, own.as_deref()?.to_vec()))).collect(),
        posterior_error: found.posterior_error,
    }
}

/// Compares a result with enumeration. Returns whether the sum is above 0.
pub(super) fn agrees(case: u64, potentials: &Potentials, evidence: &Evidence, found: &Marginals) -> bool {
    let (z, sums) = enumerate(potentials, evidence);
    assert!(!found.underflow);
    if z == Scaled::ZERO {
        assert_eq!(found.ln_z, f64::NEG_INFINITY, "case {case}");
        assert!(found.posteriors.iter().all(Option::is_none));
        return false;
    }
    // the error of the enumeration itself
    let own = 1e-13;
    assert!((found.ln_z - z.ln()).abs() <= found.error_bound + own, "case {case}: {} {}", found.ln_z, z.ln());
    assert!(found.error_bound < 1e-10 && found.posterior_error < 1e-10, "{found:?}");
    for (variable, (posterior, sums)) in found.posteriors.iter().zip(sums).enumerate() {
        let posterior = posterior.as_ref().expect("all are asked for");
        assert!((posterior.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for (&own_value, sum) in posterior.iter().zip(sums) {
            let exact = Scaled { exponent: sum.exponent - z.exponent, ..sum }.double() / z.mantissa;
            let off = (own_value - exact).abs();
            let bound = exact * (found.posterior_error + own) + f64::MIN_POSITIVE;
            assert!(off <= bound, "case {case}, variable {variable}: {own_value} {exact}");
        }
    }
    true
}

#[test]
fn sums_and_posteriors_are_those_of_enumeration() {
    let mut rng = Rng::new(39);
    let mut possible = 0;
    for case in 0..models() {
        let potentials = random(&mut rng);
        let evidence = evidence(&mut rng, &potentials);
        let n = potentials.domains.len();
        let order = match rng.below(3) {
            0 => Ordering::Promising,
            1 => Ordering::Rule(Method::ALL[rng.index(4)].1),
            _ => {
                let mut places: Vec<usize> = (0..n).collect();
                rng.shuffle(&mut places);
                Ordering::Given(places)
            }
        };
        let options = Options::default().with(|options| options.order = order);
        let found = compute(&potentials, &evidence, &options, &Stop::new()).expect("it fits");
        possible += u64::from(agrees(case, &potentials, &evidence, &found));
        let claim = claim(&evidence, &found);
        let _ = check_marginals(&potentials, &claim, &Stop::new()).unwrap_or_else(|error| panic!("{case}: {error}"));
        // fewer posteriors, by a smaller tree
        let variable = rng.index(n);
        let some = options.with(|options| options.variables = Some(vec![variable as u32]));
        let own = compute(&potentials, &evidence, &some, &Stop::new()).expect("it fits");
        let off = own.error_bound + found.error_bound;
        assert!(own.ln_z == found.ln_z || (own.ln_z - found.ln_z).abs() <= off, "case {case}");
        for (other, posterior) in own.posteriors.iter().enumerate() {
            assert_eq!(posterior.is_some(), other == variable && found.ln_z > f64::NEG_INFINITY, "case {case}");
        }
    }
    assert!(possible > models() / 2, "{possible}");
}

#[test]
fn soft_evidence_of_ones_changes_nothing_and_of_an_indicator_observes() {
    let mut rng = Rng::new(40);
    for _ in 0..100 {
        let potentials = random(&mut rng);
        let compute =
            |evidence: &Evidence| compute(&potentials, evidence, &Options::default(), &Stop::new()).expect("it fits");
        let weights = |weight: &dyn Fn(u32) -> f64| {
            let all = (0..).zip(&potentials.domains);
            all.map(|(variable, &domain)| (variable, (0..domain).map(weight).collect())).collect()
        };
        let (none, ones) = (Evidence::default(), Evidence { weights: weights(&|_| 1.0), ..Evidence::default() });
        let (plain, ones) = (compute(&none), compute(&ones));
        assert!(plain.ln_z == ones.ln_z || (plain.ln_z - ones.ln_z).abs() <= plain.error_bound + ones.error_bound);
        let first = |value| f64::from(u8::from(value == 0));
        let soft = compute(&Evidence { weights: weights(&first), ..Evidence::default() });
        let values = (0..potentials.domains.len() as u32).map(|variable| (variable, 0)).collect();
        let hard = compute(&Evidence { values, ..Evidence::default() });
        assert!(soft.ln_z == hard.ln_z || (soft.ln_z - hard.ln_z).abs() <= soft.error_bound + hard.error_bound);
    }
}

#[test]
fn large_tables_go_by_tiles_and_threads() {
    let mut rng = Rng::new(41);
    for _ in 0..6 {
        let mut potentials = Potentials::new("t");
        for domain in [7, 6, 9, 3, 11, 5, 4] {
            let _ = potentials.variable(Variable { domain, name: None, values: None }).expect("a variable");
        }
        for scope in [&[0u32, 1, 2, 3][..], &[4, 1, 2, 3], &[3, 2, 5], &[6, 4, 3, 0], &[5, 1]] {
            let entries: u32 = scope.iter().map(|&v| potentials.domains[v as usize]).product();
            let table: Vec<f64> = (0..entries).map(|_| rng.below(9) as f64 / 8.0).collect();
            potentials.function(scope, &table).expect("it fits");
        }
        let mut places: Vec<usize> = (0..7).collect();
        rng.shuffle(&mut places);
        let options = Options::default().with(|options| options.order = Ordering::Given(places));
        let evidence = Evidence::default();
        let found = compute(&potentials, &evidence, &options, &Stop::new()).expect("it fits");
        assert!(agrees(0, &potentials, &evidence, &found));
    }
}

#[test]
fn contradicting_evidence_is_impossible_and_too_little_memory_an_error() {
    let mut rng = Rng::new(42);
    let potentials = loop {
        let potentials = random(&mut rng);
        if potentials.domains[0] > 1 && potentials.functions.len() > 3 {
            break potentials;
        }
    };
    let evidence = Evidence { values: vec![(0, 0), (0, 1)], weights: vec![] };
    let found = compute(&potentials, &evidence, &Options::default(), &Stop::new()).expect("a result");
    assert_eq!(found.ln_z, f64::NEG_INFINITY);
    let little = Options::default().with(|options| options.memory = Some(8));
    let error = compute(&potentials, &Evidence::default(), &little, &Stop::new()).expect_err("no room");
    assert!(matches!(error, Error::Memory(_)), "{error}");
}

#[test]
fn barren_variables_are_left_out() {
    let mut chain = Potentials::new("chain");
    for _ in 0..30 {
        let _ = chain.variable(Variable { domain: 3, name: None, values: None }).expect("a variable");
    }
    chain.function(&[0], &[0.2, 0.3, 0.5]).expect("it fits");
    for v in 1..30 {
        chain.function(&[v - 1, v], &[0.1, 0.2, 0.7, 0.3, 0.3, 0.4, 0.6, 0.1, 0.3]).expect("it fits");
    }
    let evidence = Evidence { values: vec![(4, 1)], weights: vec![] };
    let options = Options::default().with(|options| options.variables = Some(vec![2]));
    let prepared = Prepared::new(&chain, &evidence, &options, &Stop::new()).expect("a plan");
    assert_eq!(prepared.tree().cliques, 4);
    let (few, all) = (prepared.run(&Stop::new()).expect("a sum"), Options::default());
    let all = compute(&chain, &evidence, &all, &Stop::new()).expect("a sum");
    assert!((few.ln_z - all.ln_z).abs() <= few.error_bound + all.error_bound);
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-15);
    assert!(few.posteriors[2].as_deref().zip(all.posteriors[2].as_deref()).is_some_and(|(a, b)| near(a, b)));
}

#[test]
fn bounds_hold_and_meet_once_all_parts_are_known() {
    let mut rng = Rng::new(43);
    let (mut steps, mut loose, mut known) = (0, 0, 0);
    for case in 0..models() / 2 {
        let potentials = random(&mut rng);
        let evidence = evidence(&mut rng, &potentials);
        let (z, sums) = enumerate(&potentials, &evidence);
        let ln_z = z.ln();
        let whole = 8 << rng.below(6);
        let exact = [1.0, 6.0, 40.0][rng.index(3)];
        let part = 8 << rng.below(6);
        // with parts alone, and with a component search in parallel
        for states in [0, tuning::SIZES.states] {
            let sizes = Sizes { whole: (whole, 16 * whole), part, exact, states };
            let mut before = (f64::NEG_INFINITY, f64::INFINITY);
            let mut tell = |bounds: &SumBounds| {
                let SumBounds { lower, upper, .. } = *bounds;
                // the logarithm of the enumeration is rounded as well
                let off = 1e-13 + 2.0 * f64::EPSILON * ln_z.abs().min(1e4);
                assert!(lower <= ln_z + off && ln_z <= upper + off, "case {case}: {lower} {ln_z} {upper}");
                assert!(
                    lower >= before.0 && upper <= before.1 && lower <= upper,
                    "case {case}: {lower} {upper} {before:?}"
                );
                before = (lower, upper);
                steps += 1;
                loose += u64::from(upper > ln_z + 1e-6);
            };
            // in every other case with a search that finds nothing and whose time limit cannot grow
            let seek = (case % 2 == 0).then_some(Seek { search: |_, _, _| None, time: Duration::MAX });
            let options = Options { seek, ..Options::default() };
            let found = bound_by(&sizes, &potentials, &evidence, &options, &Stop::new(), &mut tell).expect("bounds");
            for (v, own) in sums.iter().enumerate().filter(|_| ln_z > f64::NEG_INFINITY) {
                let intervals = found.intervals(v, potentials.domains[v]);
                let holds = |(sum, [least, most]): (&Scaled, &Interval)| {
                    (least - 1e-12..=most + 1e-12).contains(&(sum.ln() - ln_z).exp())
                };
                assert!(own.iter().zip(&intervals).all(holds), "case {case}: {own:?} {ln_z} {intervals:?}");
                known += u64::from(intervals.iter().any(|own| own[0] > 0.0));
            }
            let last = found.bounds;
            assert!(
                last.open_parts == 0 && (last.lower == last.upper || last.upper - last.lower < 1e-11),
                "{case}: {last:?}"
            );
        }
    }
    assert!(steps > models() && loose > models() / 4 && known > models() / 4, "{steps} {loose} {known}");
}

/// Returns some random variables to be maximised.
pub(super) fn some_of(rng: &mut Rng, potentials: &Potentials) -> Vec<u32> {
    let mut maximised: Vec<u32> = (0..potentials.domains.len() as u32).collect();
    rng.shuffle(&mut maximised);
    maximised.truncate(rng.index(maximised.len() + 1));
    maximised
}

/// Returns the logarithm of the largest sum, by enumeration.
pub(super) fn largest_sum(potentials: &Potentials, evidence: &Evidence, maximised: &[u32]) -> f64 {
    let sizes: Vec<usize> = maximised.iter().map(|&v| potentials.domains[v as usize] as usize).collect();
    let mut best = f64::NEG_INFINITY;
    let mut odometer = crate::model::Odometer::new(sizes);
    loop {
        let mut fixed = evidence.clone();
        fixed.values.extend(maximised.iter().zip(&odometer.digits).map(|(&v, &value)| (v, value as u32)));
        best = best.max(enumerate(potentials, &fixed).0.ln());
        if odometer.advance().is_none() {
            return best;
        }
    }
}

#[test]
fn the_largest_sums_are_those_of_enumeration() {
    let mut rng = Rng::new(44);
    let mut possible = 0;
    for case in 0..models() / 2 {
        let potentials = random(&mut rng);
        let evidence = evidence(&mut rng, &potentials);
        let maximised = some_of(&mut rng, &potentials);
        let best = largest_sum(&potentials, &evidence, &maximised);
        let options = Options::default();
        let prepared = PreparedMap::new(&potentials, &evidence, &maximised, &options, &Stop::new()).expect("a plan");
        let found = prepared.run(&Stop::new()).expect("it fits");
        assert!(found.ln_value == best || (found.ln_value - best).abs() <= found.error_bound + 1e-13, "case {case}");
        assert_eq!(found.values.len(), if best > f64::NEG_INFINITY { maximised.len() } else { 0 }, "case {case}");
        possible += u64::from(best > f64::NEG_INFINITY);
    }
    assert!(possible > models() / 4, "{possible}");
}

#[test]
fn bounds_on_the_largest_sum_hold_and_meet() {
    let mut rng = Rng::new(45);
    let (mut steps, mut loose, mut below, mut checked) = (0, 0, 0, 0);
    for case in 0..models() / 2 {
        let potentials = random(&mut rng);
        let evidence = evidence(&mut rng, &potentials);
        let maximised = some_of(&mut rng, &potentials);
        let best = largest_sum(&potentials, &evidence, &maximised);
        let whole = 8 << rng.below(6);
        let exact = [1.0, 6.0, 40.0][rng.index(3)];
        let sizes = Sizes { whole: (whole, 16 * whole), part: 8 << rng.below(6), exact, states: 0 };
        // with so little memory that sums do not fit even after all maximised variables have values
        let assignments: f64 = potentials.domains.iter().map(|&domain| f64::from(domain)).product();
        let memory = (assignments <= 200.0 && rng.below(2) == 0).then_some(16);
        let options = Options::default().with(|options| options.memory = memory);
        let prepared = PreparedMap::new(&potentials, &evidence, &maximised, &options, &Stop::new()).expect("a plan");
        let is_maximised = |v: u32| maximised.contains(&v);
        let whole = Sliced::new(&potentials, &evidence, is_maximised, Keep::All, &Stop::new()).expect("it fits");
        let most = |whole| peel(&whole, is_maximised, &Stop::new()).expect("no stop is set").ln();
        let peeled = whole.map_or(f64::INFINITY, most);
        let mut before = (f64::NEG_INFINITY, peeled + 1e-13 * peeled.abs().clamp(1.0, 1e6));
        let mut tell = |found: &MapBounds| {
            let SumBounds { lower, upper, .. } = found.bounds;
            assert!(lower <= best + 1e-13 && best <= upper + 1e-13, "case {case}: {lower} {best} {upper}");
            assert!(
                lower >= before.0 && upper <= before.1 && lower <= upper,
                "case {case}: {lower} {upper} {before:?}"
            );
            before = (lower, upper);
            steps += 1;
            loose += u64::from(upper > best + 1e-6);
            below += u64::from(lower < best - 1e-6 && lower > f64::NEG_INFINITY);
            if lower > f64::NEG_INFINITY && !maximised.is_empty() {
                let mut fixed = evidence.clone();
                fixed.values.extend(maximised.iter().copied().zip(found.values.iter().copied()));
                let own = enumerate(&potentials, &fixed).0.ln();
                assert!(found.values.len() == maximised.len() && lower <= own + 1e-13, "case {case}: {lower} {own}");
            }
        };
        let last = prepared.bound_by(&sizes, &Stop::new(), &mut tell).expect("bounds");
        let SumBounds { lower, upper, open_parts, .. } = last.bounds;
        assert!(open_parts == 0 && (lower == upper || upper - lower < 1e-11), "{case}: {last:?}");
        assert!(last.checked || maximised.is_empty() || best == f64::NEG_INFINITY, "{case}: {last:?}");
        checked += u64::from(last.checked && !last.values.is_empty());
    }
    assert!(steps > models() && loose > models() / 8 && below > 0 && checked > models() / 8, "{steps} {loose} {below}");
}

#[test]
fn what_follows_from_the_rest_is_left_out_and_changes_no_sum() {
    let (mut rng, stop) = (Rng::new(46), Stop::new());
    let (mut fixed, mut determined) = (0, 0);
    for case in 0..models() / 4 {
        let potentials = random(&mut rng);
        let evidence = evidence(&mut rng, &potentials);
        let z = enumerate(&potentials, &evidence).0;
        for kept in [false, true] {
            let sliced = Sliced::new(&potentials, &evidence, |_| true, Keep::These(&|_| kept), &stop).expect("it fits");
            let Some(sliced) = sliced else {
                assert_eq!(z, Scaled::ZERO, "case {case}");
                continue;
            };
            let (again, known) = (enumerate(&sliced.potentials(), &Evidence::default()).0, z.ln());
            assert!(again == z || (again.ln() - known).abs() < 1e-13 + 2.0 * f64::EPSILON * known.abs(), "case {case}");
            fixed += u64::from(sliced.left_out.iter().any(|own| own.fixed().is_some()));
            let is_determined = sliced.left_out.iter().any(|own| own.by.is_some());
            assert!(!(kept && is_determined), "case {case}");
            determined += u64::from(is_determined);
        }
    }
    assert!(fixed > models() / 64 && determined > models() / 128, "{fixed} {determined}");
}

#[test]
fn maxima_before_sums_where_cliques_would_be_large() {
    // a star: the center is summed, and eliminating it first makes one clique of all maximised rays
    let mut star = Potentials::new("star");
    for _ in 0..9 {
        let _ = star.variable(Variable { domain: 3, name: None, values: None }).expect("a variable");
    }
    for ray in 1..9 {
        star.function(&[0, ray], &[0.5; 9]).expect("it fits");
    }
    let stop = Stop::new();
    let sliced =
        Sliced::new(&star, &Evidence::default(), |_| true, Keep::All, &stop).expect("it fits").expect("something");
    let late: Vec<bool> = (0..9).map(|v| v > 0).collect();
    let order = |most| Order::constrained(&sliced.structure(), Method::WeightedMinFill, 1, &late, most, &stop);
    let (sums_first, maxima_first) = (order(f64::INFINITY), order(100.0));
    assert_eq!((sums_first.sequence[0], sums_first.width), (0, 8));
    assert_eq!(maxima_first.sequence.iter().position(|&v| v == 0), Some(5));
    assert_eq!(maxima_first.width, 3);
}

#[test]
fn scale_factors_beyond_doubles_are_no_ones() {
    for power in [-2000, -1100, -1023, 0, 1023, 1074, 2000] {
        let mut potentials = Potentials::new("scaled");
        for _ in 0..2 {
            let _ = potentials.variable(Variable { domain: 2, name: None, values: None }).expect("it has values");
        }
        let scaled = |mantissa| Scaled::with(mantissa, power);
        potentials.functions.extend(Factor::of(&[0], 2, |_| scaled(0.5)));
        potentials.functions.extend(Factor::of(&[0, 1], 4, |index| scaled([0.25, 0.75][index % 2])));
        let evidence = Evidence::default();
        let expected = enumerate(&potentials, &evidence).0.ln();
        for variables in [None, Some(vec![]), Some(vec![0]), Some(vec![1])] {
            let options = Options::default().with(|options| options.variables = variables);
            let found = compute(&potentials, &evidence, &options, &Stop::new()).expect("it fits");
            assert!((found.ln_z - expected).abs() <= found.error_bound + 1e-12, "{power}: {} {expected}", found.ln_z);
            let known =
                bound(&potentials, &evidence, &options, &Stop::new(), &mut |_| {}).expect("no stop is set").bounds;
            assert!(known.lower <= expected + 1e-12 && expected <= known.upper + 1e-12, "{power}: {known:?}");
            let first = first_bound(&potentials, &evidence, &options, &Stop::new()).expect("no stop is set");
            assert!(first.upper >= expected - 1e-12, "{power}: {first:?}");
        }
    }
}
