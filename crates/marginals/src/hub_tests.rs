//! Products with a variable that many functions read: the product of many entries below 1 leaves the range of doubles
//! even if each entry is close to 1.

use super::bounds::bound_by;
use super::device_tests::emulated;
use super::tuning::Sizes;
use super::{Evidence, Options, Prepared, SumBounds, compute};
use crate::model::{Potentials, Variable};
use crate::rng::Rng;
use crate::stop::{Cause, Stop};

/// Returns a hub with `leaves` neighbours, the table of each leaf, and for each value of the hub the logarithm of its
/// sum. If `sparse`, at least half of the entries of each table are 0.
fn hub(rng: &mut Rng, leaves: usize, sparse: bool) -> (Potentials, Vec<[f64; 4]>, [f64; 2]) {
    let mut potentials = Potentials::new("hub");
    for _ in 0..=leaves {
        let _ = potentials.variable(Variable { domain: 2, name: None, values: None }).expect("a variable");
    }
    let (mut tables, mut sums) = (Vec::new(), [0.0; 2]);
    for leaf in 1..=leaves as u32 {
        let mut entry = || 0.3 + rng.below(1 << 20) as f64 / f64::from(1 << 21);
        let [a, b] = [entry(), entry()];
        let table = if sparse && leaf % 2 == 0 {
            [a, 0.0, 0.0, b]
        } else if sparse {
            [0.0, a, b, 0.0]
        } else {
            [a, b, entry(), entry()]
        };
        potentials.function(&[0, leaf], &table).expect("it fits");
        for (sum, row) in sums.iter_mut().zip(table.chunks_exact(2)) {
            *sum += (row[0] + row[1]).ln();
        }
        tables.push(table);
    }
    (potentials, tables, sums)
}

fn ln_sum([a, b]: [f64; 2]) -> f64 {
    a.max(b) + (-(a - b).abs()).exp().ln_1p()
}

#[test]
fn products_of_many_factors_do_not_vanish() {
    let (mut rng, stop) = (Rng::new(71), Stop::new());
    for case in 0..24 {
        let leaves = [40, 700, 990, 1200, 1600, 4000][case % 6];
        let (potentials, tables, sums) = hub(&mut rng, leaves, case % 4 == 3);
        let (none, options) = (Evidence::default(), Options::default());
        let ln_z = ln_sum(sums);
        let prepared = Prepared::new(&potentials, &none, &options, &stop).expect("a plan");
        for found in [prepared.run(&stop).ok(), emulated(&prepared)].into_iter().flatten() {
            assert!((found.ln_z - ln_z).abs() < 1e-10 * (1.0 + ln_z.abs()), "case {case}: {} {ln_z}", found.ln_z);
            let hub = sums.map(|sum| (sum - ln_z).exp());
            let of = |v: usize| found.posteriors[v].as_deref().expect("a posterior");
            assert!((of(0)[0] - hub[0]).abs() < 1e-9, "case {case}: {:?} {hub:?}", of(0));
            for (leaf, table) in (1..).zip(&tables) {
                let part = |row: usize| hub[row] * table[2 * row] / (table[2 * row] + table[2 * row + 1]);
                assert!((of(leaf)[0] - part(0) - part(1)).abs() < 1e-9, "case {case}, leaf {leaf}");
            }
        }
        let only_z = Options::default().with(|options| options.variables = Some(Vec::new()));
        let found = compute(&potentials, &none, &only_z, &stop).expect("a sum");
        assert!((found.ln_z - ln_z).abs() < 1e-10 * (1.0 + ln_z.abs()), "case {case}: {} {ln_z}", found.ln_z);
    }
}

#[test]
fn bounds_of_many_factors_hold() {
    let mut rng = Rng::new(72);
    for case in 0..12 {
        let stop = Stop::new();
        let leaves = [300, 1100, 2500][case % 3];
        let (potentials, _, sums) = hub(&mut rng, leaves, case % 2 == 1);
        let ln_z = ln_sum(sums);
        let off = 1e-10 * (1.0 + ln_z.abs());
        let is_small = case >= 6;
        let mut steps = 0;
        let mut tell = |bounds: &SumBounds| {
            let SumBounds { lower, upper, .. } = *bounds;
            assert!(lower <= ln_z + off && ln_z <= upper + off, "case {case}: {lower} {ln_z} {upper}");
            steps += 1;
            // parts that are never summed exactly are endless
            if is_small && steps == 12 {
                stop.set(Cause::Diminishing);
            }
        };
        let exact = if is_small { 1.0 } else { 1e9 };
        let sizes = Sizes { whole: (64, 1 << 20), part: 64, exact, states: 0 };
        let bounds =
            bound_by(&sizes, &potentials, &Evidence::default(), &Options::default(), &stop, &mut tell).expect("bounds");
        let apart = bounds.bounds.upper - bounds.bounds.lower;
        assert!(is_small || apart < 1e-6, "case {case}: {:?}", bounds.bounds);
    }
}
