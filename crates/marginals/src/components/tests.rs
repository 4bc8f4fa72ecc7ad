//! Compares sums by search with sums by elimination, with little memory and in small slices of work.

use super::ComponentSearch;
use crate::rng::Rng;
use crate::simplify::Keep;
use crate::sliced::Sliced;
use crate::stop::Stop;
use crate::tests::{evidence, models, random};
use crate::{Options, compute};

#[test]
fn sums_by_search_are_those_of_elimination() {
    let (mut rng, stop) = (Rng::new(7), Stop::new());
    let mut looked_at = 0;
    for case in 0..models() {
        let potentials = random(&mut rng);
        let evidence = evidence(&mut rng, &potentials);
        let only_z = Options::default().with(|options| options.variables = Some(Vec::new()));
        let found = compute(&potentials, &evidence, &only_z, &stop).expect("it fits");
        let keep = if rng.below(2) == 0 { Keep::All } else { Keep::These(&|_| false) };
        let sliced = Sliced::new(&potentials, &evidence, |_| true, keep, &stop).expect("no stop is set");
        let Some(sliced) = sliced else { continue };
        let mut places: Vec<usize> = (0..sliced.variables.len()).collect();
        rng.shuffle(&mut places);
        let memory = [1 << 12, 1 << 20][rng.index(2)];
        let Some(mut search) = ComponentSearch::new(&sliced, places, u64::MAX, memory, &stop).expect("no stop is set")
        else {
            continue;
        };
        let mut lower = f64::NEG_INFINITY;
        let sum = loop {
            let done = search.advance(1 + rng.below(40), &stop);
            let now = search.lower().value.ln();
            assert!(
                now >= lower - 1e-12 * (1.0 + lower.abs()) || lower == f64::NEG_INFINITY,
                "case {case}: {now} {lower}"
            );
            lower = now;
            if let Some(sum) = done {
                break sum;
            }
        };
        let (ln_z, off) = (sum.value.ln(), found.error_bound + sum.error + sliced.rounding);
        assert!(
            ln_z == found.ln_z || (ln_z - found.ln_z).abs() <= off + 1e-15 * ln_z.abs(),
            "case {case}: {ln_z}, {found:?}"
        );
        looked_at += 1;
    }
    assert!(looked_at > models() / 4, "{looked_at}");
}
