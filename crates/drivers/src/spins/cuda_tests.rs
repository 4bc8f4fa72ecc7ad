//! The device's assignments against the CPU's: equal flips, values and words. Without a GPU they are skipped.

use super::anneals::{Anneal, Anneals};
use super::cpu::CpuSpins;
use super::cuda::{CudaSpins, DeviceWeight};
use super::walk::{Rule, Words};
use crate::core::quadratic::form::SweepForm;
use crate::core::quadratic::testing::form_of;
use crate::core::quadratic::{AnyQuadratic, Quadratic};
use crate::device::Cuda;
use crate::generate::generate;
use crate::model::Network;
use crate::rng::Rng;
use crate::stop::Stop;
use fangs_testing::gpu;
use std::sync::Arc;

fn compare(cuda: &Arc<Cuda>, name: &str, network: &Network, count: usize, sweeps: u32) {
    compare_weights::<i32>(cuda, name, network, count, sweeps);
    compare_weights::<i64>(cuda, name, network, count, sweeps);
}

/// Compares rounds on both sides, two of which have a guide.
fn compare_weights<W: DeviceWeight>(cuda: &Arc<Cuda>, name: &str, network: &Network, count: usize, sweeps: u32)
where
    AnyQuadratic: From<Arc<Quadratic<W>>>,
{
    let (mut rng, stop) = (Rng::new(4), Stop::new());
    let quadratic = form_of::<W>(network).expect("binary variables in pairs");
    let mut form = SweepForm::in_order(quadratic.clone(), &stop).expect("no stop is set");
    // also units of temperatures that are not 1
    form.shift = if size_of::<W>() > 4 { 3 } else { 0 };
    let quadratic = Arc::new(quadratic.ordered(form.order()));
    let mut random = || -> Vec<bool> { (0..form.variables()).map(|_| rng.below(2) == 1).collect() };
    let (first, mut guide) = (random(), Words::new(&quadratic, &random()));
    let mut device = CudaSpins::open(cuda, &form, &quadratic, &first, |_| count).expect("memory is there");
    let mut host = CpuSpins::new(&quadratic, &first, count);
    let hot = |top: u32, sweep: u32| form.hot / f64::from(1u32 << top) * f64::from(sweeps - sweep);
    let rule = |top: u32, sweep: u32| Rule::at(hot(top, sweep), form.shift);
    let rules: Vec<Vec<Rule>> =
        (0..3).map(|top| (0..sweeps).map(|sweep| rule(top + sweeps.ilog2(), sweep)).collect()).collect();
    let _ = guide.anneal(&quadratic, &rules[1], 7, &stop);
    for round in 0..5 {
        let asked: Vec<Anneal> = (0..count).map(|slot| Anneal { key: rng.draw(), top: (slot + round) % 3 }).collect();
        for side in [&mut host as &mut dyn Anneals, &mut device] {
            match round {
                2 => side.hear(&guide.values()).expect("it hears"),
                3 => side.lead(count - 1).expect("it hears"),
                _ => {}
            }
        }
        let ours = host.cycle(&asked, &rules, &stop).expect("the host works");
        let theirs = device.cycle(&asked, &rules, &stop).expect("the device works");
        assert_eq!(ours, theirs, "{name}, round {round}");
        for (slot, cycled) in ours.iter().enumerate() {
            let words = &host.slots[slot].0;
            assert_eq!(words.words, device.words(slot).expect("the device works"), "{name}, round {round}");
            let again = Words::new(&quadratic, &form.ordered(&form.own(&words.values())));
            assert_eq!((&again, again.value), (words, cycled.value), "{name}, round {round}");
        }
    }
}

fn family(kind: &str, settings: &[(&str, &str)]) -> Network {
    generate(kind, settings, 1).expect("a family")
}

#[test]
fn assignments_agree_on_graphs_of_all_degrees() {
    let Some(cuda) = gpu() else { return };
    for functions in ["40", "150", "900", "3000", "9000"] {
        let network = family("large-sparse", &[("n", "250"), ("d", "2"), ("functions", functions)]);
        compare(&cuda, &format!("{functions} pairs"), &network, 9, 20);
    }
    compare(&cuda, "ising", &family("ising", &[("side", "40")]), 5, 40);
    compare(&cuda, "two spins", &family("large-sparse", &[("n", "2"), ("d", "2"), ("functions", "1")]), 2, 3);
}

#[test]
fn assignments_agree_beyond_shared_memory() {
    let Some(cuda) = gpu() else { return };
    compare(&cuda, "ising", &family("ising", &[("side", "300")]), 3, 12);
    let network = family("large-sparse", &[("n", "70000"), ("d", "2"), ("functions", "2000000")]);
    compare(&cuda, "many pairs", &network, 2, 3);
}
