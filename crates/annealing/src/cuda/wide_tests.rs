//! Children of one state made by a device, also in parts, equal those made by all threads of the CPU. Skipped without a
//! GPU.

use super::wide::WidePopulation;
use crate::core::context::SearchContext;
use crate::cpu::CpuPopulation;
use crate::device::{Cuda, can_connect};
use crate::generation::{ALL_MOVE, Generation, Heat, Population, Replacement, steps};
use crate::model::Problem;
use crate::rng::Rng;
use crate::stop::Stop;
use fangs_testing::cores::{of_size, price, random};
use fangs_testing::gpu;
use std::sync::Arc;

/// Makes the child of a generation slice by slice and returns the replacement.
fn child(population: &mut dyn Population, context: &SearchContext, generation: &Generation) -> Replacement {
    loop {
        let offspring = population.make_offspring(context, generation, 0..1, &Stop::new()).expect("it works");
        for elite in &offspring.best {
            assert_eq!(elite.energy, context.tables.energy(&elite.values));
        }
        if offspring.made == 1 {
            return population.replace(context, generation).expect("it works");
        }
    }
}

/// Returns a generation of children that begin anywhere on the schedule.
fn generation(rng: &mut Rng, subpopulation: u32, sweeps: u32) -> Generation {
    Generation {
        draw: rng.draw(),
        subpopulation,
        sweeps,
        cold: std::array::from_fn(|k| u32::MAX / 8 * (k as u32 + 1)),
        region: [u32::MAX; 4],
        tree: [u32::MAX; 2],
        before: [u32::MAX; 2],
        starts: Generation::starts(),
    }
}

fn compare(name: &str, problem: &Arc<Problem>) {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(9);
    let context = SearchContext::new(problem, price(problem), None, &mut rng).into_vast();
    if crate::core::cuda::unfit(&context).is_some() || context.variables() == 0 {
        return;
    }
    let mut host = CpuPopulation::default();
    let by_class = |links| WidePopulation::by_class(&cuda, &context, links);
    // without a second device its parts are on the first one
    let second = Cuda::open(1).unwrap_or_else(|_| cuda.clone());
    assert!(can_connect(&[cuda.clone(), second.clone()]), "devices without a connection have no parts");
    let parts = |places: &[usize]| {
        let devices: Vec<_> = places.iter().map(|&place| [&cuda, &second][place].clone()).collect();
        WidePopulation::in_parts(&devices, &context, true)
    };
    let one = WidePopulation::of_one_child(&cuda, &context);
    let all = [one, by_class(true), by_class(false), parts(&[0, 0]), parts(&[0, 1]), parts(&[0, 1, 0])];
    let mut devices = all.map(|population| population.expect("the device is there"));
    let all = devices.iter_mut().map(|device| device as &mut dyn Population);
    for population in std::iter::once(&mut host as &mut dyn Population).chain(all) {
        population.open(&context, 1, &[]).expect("memory is there");
        population.heat(steps(context.schedule)).expect("the device works");
    }
    for (round, sweeps) in [9, 3, 17, 5, 8].into_iter().enumerate() {
        let generation = generation(&mut rng, u32::from(round > 0 && round != 3), sweeps);
        // in two rounds only variables whose values have a high cost move
        let least = if round < 3 { ALL_MOVE } else { context.schedule.hot as i32 };
        let heat = Heat { least, ..steps(context.schedule) };
        host.heat(heat.clone()).expect("the host works");
        devices.iter_mut().for_each(|device| device.heat(heat.clone()).expect("the device works"));
        let ours = child(&mut host, &context, &generation);
        let values = |population: &dyn Population| population.top(1).expect("it works").remove(0).values;
        let best = |population: &dyn Population| population.best(&context).expect("it works").map(|best| best.energy);
        for device in &mut devices {
            let theirs = child(device, &context, &generation);
            assert_eq!(ours.best, theirs.best, "{name}, round {round}");
            assert_eq!(values(&host), values(device), "{name}, round {round}");
            assert_eq!(best(&host), best(device), "{name}, round {round}");
        }
    }
}

/// Checks several children at once: energies are exact, no generation ends with a worse state, and none that begins at
/// random values ends worse than its first child alone. Whether rows of evaluations are separate is not compared entry
/// by entry.
#[test]
fn a_device_makes_several_children_of_one_state() {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(5);
    let kinds = [of_size(3000, 5, 9000, 2, 1), of_size(500, 3, 700, 4, 3), of_size(300, 40, 900, 2, 4)];
    for (kind, problem) in kinds.into_iter().enumerate() {
        let context = SearchContext::new(&problem, price(&problem), None, &mut rng).into_vast();
        let mut several = WidePopulation::new(std::slice::from_ref(&cuda), &context).expect("the device is there");
        let mut single = WidePopulation::of_one_child(&cuda, &context).expect("the device is there");
        for population in [&mut several, &mut single] {
            population.open(&context, 1, &[]).expect("memory is there");
            population.heat(steps(context.schedule)).expect("the device works");
        }
        let mut last = [i64::MAX; 2];
        for (round, sweeps) in [8, 16, 32, 64].into_iter().enumerate() {
            let generation = generation(&mut rng, u32::from(round > 0), sweeps);
            for (population, last) in [&mut several, &mut single].into_iter().zip(&mut last) {
                let replaced = child(population, &context, &generation);
                let best = population.best(&context).expect("it works").expect("a state");
                assert_eq!(best.energy.total, replaced.best, "kind {kind}, round {round}");
                assert!(replaced.best <= *last, "kind {kind}, round {round}");
                *last = replaced.best;
            }
            // the first of the children equals the single one, so all together are no worse
            assert!(round > 0 || last[0] <= last[1], "kind {kind}: {last:?}");
        }
    }
}

/// Checks parts that do not wait for each other: after an equal number of sweeps a state is about as good as that of
/// one part, whether few or many variables have neighbours in other parts.
#[test]
fn parts_that_do_not_wait_come_as_far() {
    let Some(cuda) = gpu() else { return };
    let second = Cuda::open(1).unwrap_or_else(|_| cuda.clone());
    let mut rng = Rng::new(7);
    for (kind, problem) in [of_size(40_000, 5, 120_000, 2, 1), of_size(40_000, 5, 40_000, 2, 2)].iter().enumerate() {
        let context = SearchContext::new(problem, price(problem), None, &mut rng).into_vast();
        let parts = |places: &[usize]| {
            let devices: Vec<_> = places.iter().map(|&place| [&cuda, &second][place].clone()).collect();
            WidePopulation::in_parts(&devices, &context, false).expect("the device is there")
        };
        let generations = [256, 64].map(|sweeps| generation(&mut rng, u32::from(sweeps < 256), sweeps));
        let one = WidePopulation::of_one_child(&cuda, &context).expect("the device is there");
        let bests = [one, parts(&[0, 0]), parts(&[0, 1]), parts(&[1, 0, 1])].map(|mut population| {
            population.open(&context, 1, &[]).expect("memory is there");
            population.heat(steps(context.schedule)).expect("the device works");
            for generation in &generations {
                let _ = child(&mut population, &context, generation);
            }
            population.best(&context).expect("it works").expect("a state").energy.total
        });
        let worst = *bests.iter().max().expect("four");
        assert!((worst - bests[0]) as f64 <= 0.003 * bests[0] as f64, "kind {kind}: {bests:?}");
    }
}

#[test]
fn a_device_makes_the_child_that_all_threads_make_of_small_cores() {
    let mut rng = Rng::new(31);
    for case in 0..20 {
        compare(&format!("random {case}"), &Arc::new(random(&mut rng)));
    }
}

#[test]
fn a_device_makes_the_child_that_all_threads_make_of_larger_cores() {
    compare("pairs", &of_size(3000, 5, 9000, 2, 1));
    compare("triples", &of_size(2000, 4, 3000, 3, 2));
    compare("four variables each", &of_size(500, 3, 700, 4, 3));
    compare("long rows", &of_size(300, 40, 900, 2, 4));
    compare("longer rows", &of_size(60, 300, 120, 2, 5));
    compare("more variables than 16 bits count", &of_size(70_000, 3, 150_000, 2, 6));
}
