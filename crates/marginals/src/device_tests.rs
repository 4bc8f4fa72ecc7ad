//! Programs of devices, executed by an emulator and by devices if there are any, compared with the CPU.

use super::propagate::Trouble;
use super::tests::{agrees, evidence, models, random};
use super::*;
use crate::algebra::SumProduct;
use crate::elimination::Back;
use crate::elimination::Gpu;
use crate::model::Potentials;
use crate::model::{Variable, scale};
use crate::order::Ordering;
use crate::rng::Rng;
use crate::stop::Stop;

/// Returns the result of an emulator that executes the programs of devices by their descriptors.
pub(super) fn emulated(prepared: &Prepared) -> Option<Marginals> {
    let tree = prepared.tree.as_ref()?;
    let (planned, asked) = (tree.planned(), prepared.asked_of(tree));
    let back = Back::of_emulator(planned.plan, &on_device::wanted(planned, &asked), &[]);
    let mut device = back.emulated(planned.task(SumProduct));
    match on_device::run(&mut device, planned, &asked, &Stop::new()) {
        Err(Trouble::Narrow) => None,
        found => Some(prepared.result(tree, found.expect("there is no device to fail"))),
    }
}

#[test]
fn programs_of_devices_find_the_sums_and_posteriors_of_enumeration() {
    let mut rng = Rng::new(46);
    let (mut possible, mut narrow) = (0, 0);
    for case in 0..models() / 2 {
        let potentials = random(&mut rng);
        let evidence = evidence(&mut rng, &potentials);
        let mut places: Vec<usize> = (0..potentials.domains.len()).collect();
        rng.shuffle(&mut places);
        let asked = (rng.below(3) == 0).then(|| vec![rng.index(potentials.domains.len()) as u32]);
        let options = Options::default().with(|options| {
            (options.order, options.variables) = (Ordering::Given(places), asked.clone());
        });
        let prepared = Prepared::new(&potentials, &evidence, &options, &Stop::new()).expect("a plan");
        let Some(found) = emulated(&prepared) else {
            narrow += 1;
            continue;
        };
        if asked.is_none() {
            possible += u64::from(agrees(case, &potentials, &evidence, &found));
        } else {
            let own = prepared.run(&Stop::new()).expect("it fits");
            near(case, &own, &found);
        }
    }
    assert!(possible > models() / 8 && narrow < models() / 4, "{possible} {narrow}");
}

/// Asserts that two results agree within their error bounds.
pub(super) fn near(case: u64, a: &Marginals, b: &Marginals) {
    assert!(a.ln_z == b.ln_z || (a.ln_z - b.ln_z).abs() <= a.error_bound + b.error_bound, "{case}: {a:?} {b:?}");
    for (variable, (a_own, b_own)) in a.posteriors.iter().zip(&b.posteriors).enumerate() {
        assert_eq!(a_own.is_some(), b_own.is_some(), "{case}: {variable}");
        let pairs = a_own.iter().flatten().zip(b_own.iter().flatten());
        for (own, other) in pairs {
            let off = own * (a.posterior_error + b.posterior_error) + f64::MIN_POSITIVE;
            assert!((own - other).abs() <= off, "{case}, variable {variable}: {own} {other}");
        }
    }
}

/// Returns a network whose functions have `arity` neighbours on a line of `n` variables, or `arity` random ones.
pub(super) fn line(rng: &mut Rng, n: usize, domains: &[u32], arity: usize, far: bool) -> Potentials {
    let mut potentials = Potentials::new("line");
    for _ in 0..n {
        let domain = domains[rng.index(domains.len())];
        let _ = potentials.variable(Variable { domain, name: None, values: None }).expect("it has values");
    }
    for first in 0..=n - arity {
        let mut scope: Vec<u32> = (first..first + arity).map(|v| v as u32).collect();
        if far && first > 0 {
            let other = rng.index(first) as u32;
            scope.push(other);
        }
        let entries: usize = scope.iter().map(|&v| potentials.domains[v as usize] as usize).product();
        let table: Vec<f64> = (0..entries).map(|_| scale(rng.below(1000) as f64, rng.below(40) as i64 - 30)).collect();
        potentials.function(&scope, &table).expect("it fits");
    }
    potentials
}

#[test]
fn programs_of_large_trees_find_what_the_cpu_finds() {
    let mut rng = Rng::new(47);
    let mut seen = 0;
    for (n, domains, arity, far) in [
        (9, &[2u32, 3, 4][..], 4, false),
        (11, &[2], 6, true),
        (20, &[2, 3], 2, true),
        (6, &[5, 6], 4, false),
        (4, &[17, 18], 3, false),
        (30, &[2, 5], 2, false),
        (3, &[40], 3, false),
    ] {
        let potentials = line(&mut rng, n, domains, arity, far);
        let (evidence, options) = (Evidence::default(), Options::default());
        let prepared = Prepared::new(&potentials, &evidence, &options, &Stop::new()).expect("a plan");
        let own = prepared.run(&Stop::new()).expect("it fits");
        let Some(found) = emulated(&prepared) else { continue };
        near(seen, &own, &found);
        seen += 1;
    }
    assert!(seen > 4, "{seen}");
}

/// A hub with hundreds of leaves needs pre-joins in both directions; some variables are in no function.
#[test]
fn programs_of_hubs_find_what_the_cpu_finds() {
    let mut rng = Rng::new(48);
    for leaves in [3, 13, 40, 300] {
        let mut potentials = Potentials::new("hub");
        for _ in 0..=leaves {
            let _ = potentials.variable(Variable { domain: 3, name: None, values: None }).expect("it has values");
        }
        for leaf in 1..=leaves {
            let table: Vec<f64> = (0..9).map(|_| (1 + rng.below(8)) as f64 / 8.0).collect();
            if leaf != 2 {
                potentials.function(&[0, leaf], &table).expect("it fits");
            }
        }
        let (evidence, options) = (Evidence::default(), Options::default());
        let prepared = Prepared::new(&potentials, &evidence, &options, &Stop::new()).expect("a plan");
        let own = prepared.run(&Stop::new()).expect("it fits");
        near(leaves.into(), &own, &emulated(&prepared).expect("in range"));
    }
}

#[test]
fn a_device_finds_what_the_cpu_finds() {
    let Some(gpu) = fangs_testing::gpu().map(Gpu::new) else { return };
    let mut rng = Rng::new(49);
    let mut on_device = 0;
    for case in 0..models() {
        let potentials = match rng.below(8) {
            0 => line(&mut rng, 20, &[2, 3, 5], 4, true),
            _ => random(&mut rng),
        };
        let evidence = evidence(&mut rng, &potentials);
        let options = Options::default();
        let mut prepared = Prepared::new(&potentials, &evidence, &options, &Stop::new()).expect("a plan");
        let own = prepared.run(&Stop::new()).expect("it fits");
        prepared.use_device(gpu.clone());
        let found = prepared.run(&Stop::new()).expect("it fits");
        near(case, &own, &found);
        on_device += u64::from(found.device.is_some());
    }
    assert!(on_device > models() / 2, "{on_device}");
}

#[test]
fn a_device_finds_what_the_cpu_finds_in_large_trees() {
    let Some(gpu) = fangs_testing::gpu().map(Gpu::new) else { return };
    let mut rng = Rng::new(50);
    for (n, domains, arity, far) in [
        (24, &[2u32, 3, 4][..], 7, false),
        (24, &[2], 12, true),
        (30, &[2, 3], 2, true),
        (9, &[9, 10], 6, false),
        (6, &[21, 23], 5, false),
        (200, &[2, 5], 5, false),
        (3, &[150], 3, false),
    ] {
        let potentials = line(&mut rng, n, domains, arity, far);
        let (evidence, options) = (Evidence::default(), Options::default());
        let mut prepared = Prepared::new(&potentials, &evidence, &options, &Stop::new()).expect("a plan");
        let Ok(own) = prepared.run(&Stop::new()) else { continue };
        prepared.use_device(gpu.clone());
        let found = prepared.run(&Stop::new()).expect("it fits");
        near(n as u64, &own, &found);
        assert!(found.device.is_some() || found.trouble.as_ref().is_some_and(|why| why.contains("range")), "{found:?}");
        eprintln!(
            "{} entries: CPU {:.4} + {:.4} s, device {:.4} + {:.4} s",
            prepared.tree().clique_entries,
            own.collect_s,
            own.distribute_s,
            found.collect_s,
            found.distribute_s
        );
    }
}

#[test]
fn a_device_finds_many_cases_at_once() {
    let Some(gpu) = fangs_testing::gpu().map(Gpu::new) else { return };
    let mut rng = Rng::new(52);
    let mut on_device = 0;
    for round in 0..models() / 20 {
        let potentials = random(&mut rng);
        let mut common = Evidence::default();
        if round % 3 == 0 {
            common.values.push((0, 0));
        }
        let cases: Vec<Evidence> = (0..1 + rng.below(40)).map(|_| evidence(&mut rng, &potentials)).collect();
        let mut whole = Prepared::new(&potentials, &common, &Options::default(), &Stop::new()).expect("a plan");
        whole.use_device(gpu.clone());
        let (found, trouble) = whole.run_cases(&potentials, &common, &cases, &Stop::new()).expect("not stopped");
        assert!(found.len() == cases.len() || trouble.is_some());
        for (case, found) in cases.iter().zip(&found) {
            let mut all = case.clone();
            all.values.extend_from_slice(&common.values);
            let own = compute(&potentials, &all, &Options::default(), &Stop::new()).expect("it fits");
            near(round, &own, found);
            on_device += 1;
        }
    }
    assert!(on_device > models() / 20, "{on_device}");
}

/// If a device has too little memory, the CPU computes the sum and reports why.
#[test]
fn what_does_not_fit_a_device_runs_on_the_cpu() {
    let Some(cuda) = fangs_testing::gpu() else { return };
    let potentials = line(&mut Rng::new(51), 12, &[4], 5, false);
    let (evidence, options) = (Evidence::default(), Options::default());
    let mut prepared = Prepared::new(&potentials, &evidence, &options, &Stop::new()).expect("a plan");
    let own = prepared.run(&Stop::new()).expect("it fits");
    prepared.use_device(Gpu::limited(cuda, 1000));
    let found = prepared.run(&Stop::new()).expect("it fits");
    assert!(found.device.is_none() && found.trouble.as_ref().is_some_and(|why| why.contains("bytes")), "{found:?}");
    assert_eq!((own.ln_z, own.posteriors), (found.ln_z, found.posteriors));
}
