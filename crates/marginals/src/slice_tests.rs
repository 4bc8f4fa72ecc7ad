//! Sums in slices if tables do not fit, compared with enumeration and with sums at once.

use super::device_tests::{line, near};
use super::tests::{agrees, evidence, models, random};
use super::*;
use crate::elimination::Gpu;
use crate::error::Error;
use crate::model::Potentials;
use crate::model::Variable;
use crate::rng::Rng;
use crate::simplify::Keep;
use crate::stop::Stop;
use std::time::Duration;
use std::time::Instant;

/// Returns variables on a line, of which each function has three neighbours and a hub of 16 values; slices by the hub
/// repeat little work.
fn fan(rng: &mut Rng, n: u32, domain: u32) -> Potentials {
    let mut potentials = Potentials::new("fan");
    for domain in std::iter::once(16).chain((0..n).map(|_| domain)) {
        let _ = potentials.variable(Variable { domain, name: None, values: None }).expect("it has values");
    }
    for first in 1..=n - 2 {
        let table: Vec<f64> = (0..16 * domain.pow(3)).map(|_| rng.below(1000) as f64).collect();
        potentials.function(&[0, first, first + 1, first + 2], &table).expect("it fits");
    }
    potentials
}

/// Returns a time so late that no limit matters.
fn some_time() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

#[test]
fn slices_find_the_sums_and_posteriors_of_enumeration() {
    let mut rng = Rng::new(53);
    let (mut possible, mut in_slices) = (0, 0);
    for case in 0..models() / 2 {
        let potentials = random(&mut rng);
        let evidence = evidence(&mut rng, &potentials);
        // some plans fit only after all variables have values
        let memory = Some(8 << rng.below(8));
        let options = Options::default().with(|options| options.memory = memory);
        let mut prepared = Prepared::new(&potentials, &evidence, &options, &Stop::new()).expect("a plan");
        prepared.end_at(some_time());
        let found = match prepared.run(&Stop::new()) {
            // not even a plan without tables fits
            Err(Error::Memory(_)) => continue,
            found => found.expect("not stopped"),
        };
        possible += u64::from(agrees(case, &potentials, &evidence, &found));
        in_slices += u64::from(Some(prepared.tree().bytes) > memory);
    }
    assert!(possible > models() / 8 && in_slices > models() / 8, "{possible} {in_slices}");
}

#[test]
fn slices_are_begun_only_where_there_is_time_for_them() {
    let potentials = line(&mut Rng::new(54), 40, &[3], 8, false);
    let options = Options::default().with(|options| options.memory = Some(1 << 13));
    let mut prepared = Prepared::new(&potentials, &Evidence::default(), &options, &Stop::new()).expect("a plan");
    let memory = |found: Result<Marginals, Error>| assert!(matches!(found, Err(Error::Memory(_))), "{found:?}");
    memory(prepared.run(&Stop::new()));
    prepared.end_at(Instant::now());
    memory(prepared.run(&Stop::new()));
    let stop = Stop::new();
    stop.set(crate::stop::Cause::Signal);
    prepared.end_at(some_time());
    assert!(matches!(prepared.run(&stop), Err(Error::Stopped)));
}

#[test]
fn only_sums_and_single_posteriors_come_in_slices_too() {
    let mut rng = Rng::new(55);
    let potentials = fan(&mut rng, 14, 2);
    let whole = compute(&potentials, &Evidence::default(), &Options::default(), &Stop::new()).expect("it fits");
    for variables in [Some(Vec::new()), Some(vec![3]), Some(vec![0, 13]), None] {
        let options = Options::default().with(|options| options.variables = variables.clone());
        let prepared = |options| Prepared::new(&potentials, &Evidence::default(), options, &Stop::new());
        let bytes = prepared(&options).expect("a plan").tree().bytes;
        let little = options.clone().with(|options| options.memory = Some(bytes / 2));
        let mut prepared = prepared(&little).expect("a plan");
        prepared.end_at(some_time());
        let found = prepared.run(&Stop::new()).expect("slices fit");
        let own = compute(&potentials, &Evidence::default(), &options, &Stop::new()).expect("it fits");
        near(0, &own, &found);
        assert!((found.ln_z - whole.ln_z).abs() <= found.error_bound + whole.error_bound);
    }
}

/// A device whose memory holds only a part of the tables runs slices.
#[test]
fn a_device_of_little_memory_takes_slices() {
    let Some(cuda) = fangs_testing::gpu() else { return };
    let mut rng = Rng::new(56);
    let mut on_device = 0;
    for (n, domain) in [(12, 4), (60, 2), (9, 20), (200, 5)] {
        let potentials = fan(&mut rng, n, domain);
        let (evidence, options) = (Evidence::default(), Options::default());
        let mut prepared = Prepared::new(&potentials, &evidence, &options, &Stop::new()).expect("a plan");
        let own = prepared.run(&Stop::new()).expect("it fits");
        let tree = prepared.tree.as_ref().expect("it is possible");
        let bytes = on_device::bytes(tree.planned(), &prepared.asked_of(tree), &[]).expect("a device holds it");
        for part in [2, 5] {
            prepared.use_device(Gpu::limited(cuda.clone(), bytes / part));
            prepared.end_at(some_time());
            let found = prepared.run(&Stop::new()).expect("slices fit");
            near(n.into(), &own, &found);
            on_device += u64::from(found.device.is_some());
        }
    }
    assert!(on_device >= 6, "{on_device}");
}

#[test]
fn a_slice_has_the_entries_of_the_whole() {
    let mut rng = Rng::new(57);
    for _ in 0..200 {
        let potentials = random(&mut rng);
        let none = Evidence::default();
        let Some(whole) = Sliced::new(&potentials, &none, |_| true, Keep::All, &Stop::new()).expect("no evidence")
        else {
            continue;
        };
        let n = whole.variables.len();
        let mut fixed: Vec<(usize, u32)> = Vec::new();
        for v in 0..n {
            if rng.below(2) == 0 {
                fixed.push((v, rng.below(whole.domains[v].into()) as u32));
            }
        }
        let slice = whole.with_values(&fixed);
        let values: Vec<u32> = whole.domains.iter().map(|&domain| rng.below(domain.into()) as u32).collect();
        let own = |v: usize| fixed.iter().find(|(other, _)| *other == v).map_or(values[v], |&(_, value)| value);
        let all: Vec<u32> = (0..n).map(own).collect();
        let left: Vec<u32> = (0..n).filter(|v| fixed.iter().all(|(other, _)| other != v)).map(|v| values[v]).collect();
        let (a, b) = (whole.potentials().value(&all), slice.potentials().value(&left));
        let ratio = if a.mantissa == 0.0 { f64::from(b.mantissa != 0.0) } else { b.part_of(a) - 1.0 };
        assert!(ratio.abs() < 1e-14, "{a:?} {b:?}");
    }
}
