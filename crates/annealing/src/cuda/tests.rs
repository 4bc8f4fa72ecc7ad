//! Compares the device's population with the CPU's: equal offspring, energies and elites in each generation. The tests
//! are skipped without a GPU.

use super::CudaPopulation;
use super::launch_shape::Overrides;
use crate::core::context::SearchContext;
use crate::core::elite::Elite;
use crate::cpu::CpuPopulation;
use crate::device::Cuda;
use crate::generate::generate;
use crate::generation::{Generation, Offspring, Population, steps};
use crate::model::Problem;
use crate::reduce::Reducer;
use crate::rng::Rng;
use crate::stop::Stop;
use fangs_testing::cores::{of_size, price, random};
use fangs_testing::gpu;
use std::sync::Arc;

fn generation(rng: &mut Rng, subpopulation: u32, context: &SearchContext, sweeps: u32) -> Generation {
    let large = context.is_large();
    Generation {
        draw: rng.draw(),
        subpopulation,
        sweeps,
        cold: std::array::from_fn(|k| u32::MAX / 8 * (k as u32 + 1)),
        region: std::array::from_fn(|k| u32::MAX / 4 * (k as u32 + 1)),
        tree: if context.forests(&Stop::new()).expect("no stop is set").is_empty() {
            [u32::MAX; 2]
        } else {
            [u32::MAX / 2, u32::MAX]
        },
        before: if large { [u32::MAX / 2, u32::MAX] } else { [u32::MAX; 2] },
        starts: Generation::starts(),
    }
}

/// Compares the populations of both, with few lanes for each state and with many, with one state a block and with
/// several, with and without kept evaluations.
fn compare(cuda: &Arc<Cuda>, name: &str, problem: &Arc<Problem>, states: usize, generations: usize) {
    let shared = [None, Some(2), Some(8)]
        .map(|together| [true, false].map(|keeps| Overrides { together, keeps: Some(keeps), few: Some(false) }));
    let cuts = match SearchContext::new(problem, price(problem), None, &mut Rng::new(9)).is_large() {
        true => shared.concat(),
        false => {
            // evaluations kept or not, and if not, with one lane or many for each state
            let kept = shared.map(|[kept, _]| kept);
            let alone = [false, true].map(|few| Overrides { together: None, keeps: Some(false), few: Some(few) });
            [&kept[..], &alone[..]].concat()
        }
    };
    for overrides in cuts {
        compare_cut(cuda, &format!("{name}, {overrides:?}"), problem, states, generations, overrides);
    }
}

/// Compares the populations of both, with states divided into blocks in one way.
fn compare_cut(
    cuda: &Arc<Cuda>,
    name: &str,
    problem: &Arc<Problem>,
    states: usize,
    generations: usize,
    overrides: Overrides,
) {
    let stop = Stop::new();
    let mut rng = Rng::new(9);
    let context = SearchContext::new(problem, price(problem), None, &mut rng);
    if crate::core::cuda::unfit(&context).is_some() || context.variables() == 0 {
        return;
    }
    let mut host = CpuPopulation::default();
    let mut device = CudaPopulation::new(cuda, &context).expect("the device is there");
    device.overrides = overrides;
    let herds: [&mut dyn Population; 2] = [&mut host, &mut device];
    for population in herds {
        population.open(&context, states, &[]).expect("memory is there");
        population.heat(steps(context.schedule)).expect("the device works");
    }
    for round in 0..generations {
        let subpopulation = match round {
            0 | 1 => 0,
            _ if round % 2 == 0 => states,
            _ => 1 + rng.index(states),
        };
        let generation = generation(&mut rng, subpopulation as u32, &context, if round == 1 { 7 } else { 5 });
        let told = |offspring: &Offspring| {
            let best: Vec<_> = offspring.best.iter().map(|elite| (elite.energy, elite.values.clone())).collect();
            (offspring.moves, offspring.ratings, offspring.made, best)
        };
        // whole generations, and those in two halves
        let (ours, theirs) = if round % 3 != 1 {
            let (ours, replacement) =
                host.make_generation(&context, &generation, states, &stop).expect("the host works");
            let (theirs, chosen) =
                device.make_generation(&context, &generation, states, &stop).expect("the device works");
            assert_eq!(told(&ours), told(&theirs), "{name}, generation {round}");
            (replacement.expect("all are made"), chosen.expect("all are made"))
        } else {
            let half = (states / 2).max(1);
            for slots in [0..half, half..states] {
                if slots.is_empty() {
                    continue;
                }
                let ours = host.make_offspring(&context, &generation, slots.clone(), &stop).expect("the host works");
                let theirs =
                    device.make_offspring(&context, &generation, slots.clone(), &stop).expect("the device works");
                assert_eq!(told(&ours), told(&theirs), "{name}, generation {round}, offspring of {slots:?}");
            }
            let ours = host.replace(&context, &generation).expect("the host works");
            (ours, device.replace(&context, &generation).expect("the device works"))
        };
        assert_eq!(ours, theirs, "{name}, generation {round}");
        let (ours, theirs) = (host.top(states), device.top(states));
        let (ours, theirs) = (ours.expect("the host works"), theirs.expect("the device works"));
        for (slot, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours.energy.total, theirs.energy.total, "{name}, generation {round}, slot {slot}");
            assert_eq!(ours.values, theirs.values, "{name}, generation {round}, slot {slot}");
        }
        let (ours, theirs) = (host.best(&context), device.best(&context));
        let (ours, theirs) = (ours.expect("the host works"), theirs.expect("the device works"));
        assert_eq!(ours.map(|elite| elite.values), theirs.map(|elite| elite.values), "{name}, generation {round}");
        if round == 2 {
            let drawn = (0..context.variables()).map(|v| rng.index(context.tables.domain(v)) as u16).collect();
            let stranger = Elite::new(&context.tables, drawn);
            host.adopt(&stranger).expect("the host works");
            device.adopt(&stranger).expect("the device works");
        }
        if round == 3 {
            // the best of the pool and their copies begin another
            let best = host.top(3).expect("the host works");
            let best = best.iter().cycle().take(states).map(|elite| Elite::new(&context.tables, elite.values.clone()));
            let best: Vec<Elite> = best.collect();
            host.open(&context, states, &best).expect("the host works");
            device.open(&context, states, &best).expect("the device works");
        }
    }
}

#[test]
fn populations_agree_on_random_cores() {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(1);
    for case in 0..60 {
        let problem = Arc::new(random(&mut rng));
        compare(&cuda, &format!("random {case}"), &problem, 1 + rng.index(70), 8);
    }
}

#[test]
fn populations_agree_for_every_lane_group() {
    let Some(cuda) = gpu() else { return };
    for d in [2, 4, 5, 8, 13, 16, 30, 32, 44, 64, 100, 128, 200, 300, 512] {
        compare(&cuda, &format!("d = {d}"), &of_size(40, d, 90, 2, u64::from(d)), 67, 5);
    }
    // functions for all lanes
    for d in [4, 8, 44] {
        compare(&cuda, &format!("dense, d = {d}"), &of_size(40, d, 700, 2, u64::from(d)), 40, 4);
    }
    for (d, arity) in [(3, 3), (4, 4), (8, 3), (6, 5)] {
        compare(&cuda, &format!("d = {d}, arity {arity}"), &of_size(30, d, 40, arity, 7), 50, 5);
    }
}

#[test]
fn populations_agree_on_large_cores() {
    let Some(cuda) = gpu() else { return };
    for d in [2, 4, 8, 10, 30, 300] {
        compare(&cuda, &format!("large, d = {d}"), &of_size(700, d, 1500, 2, u64::from(d)), 11, 5);
    }
    compare(&cuda, "large, arity 3", &of_size(650, 3, 700, 3, 5), 5, 5);
}

#[test]
fn populations_agree_on_more_variables_than_16_bits_count() {
    let Some(cuda) = gpu() else { return };
    let network = generate("grid", &[("side", "260")], 1).expect("a grid is generated");
    let reducer = Reducer::new(&network, false, &Stop::new()).expect("no stop is set");
    compare(&cuda, "grid of 67600", &Arc::new(reducer.problem(&Stop::new()).expect("no stop is set")), 2, 3);
}
