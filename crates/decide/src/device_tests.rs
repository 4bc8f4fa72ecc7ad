//! Processes on devices, if there are any, compared with the host.

use super::tests::{TIGER, process, random_process, tiger_idid};
use super::*;
use crate::check::worth_in_pomdp;
use crate::elimination::Gpu;
use crate::model::Policy;
use crate::model::{Idid, Pomdp};
use crate::rng::Rng;
use crate::stop::Stop;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Returns a process on a ring of `states`, with slips of several states and observations of nearby states.
fn ring(states: usize, seen: usize) -> Pomdp {
    let mut text =
        format!("discount: 0.95\nvalues: reward\nstates: {states}\nactions: 3\nobservations: {seen}\nstart: uniform\n");
    for action in 0..3 {
        for from in 0..states {
            for (slip, p) in [0.7, 0.2, 0.1].into_iter().enumerate() {
                let to = (from + action * 2 + slip) % states;
                let _ = writeln!(text, "T: {action} : {from} : {to} {p}");
            }
            for (off, p) in [0.5, 0.3, 0.2].into_iter().enumerate() {
                let _ = writeln!(text, "O: {action} : {from} : {} {p}", (from * seen / states + off) % seen);
            }
            let _ = writeln!(text, "R: {action} : {from} : * : * {}", (from * 7 + action * 3) % 11);
        }
    }
    process(&text)
}

fn solved(pomdp: &Pomdp, horizon: usize, device: Arc<Device>, method: Method) -> Solution {
    let options = Options { horizon: Some(horizon), method, device, ..Options::default() };
    solve_pomdp(pomdp, &options, &Stop::new(), &mut |_| ()).expect("a value")
}

fn two_agents(idid: &Idid, device: Arc<Device>) -> Solution {
    let options = Options { method: Method::BeliefTree, device, ..Options::default() };
    solve_idid(idid, &options, &Stop::new(), &mut |_| ()).expect("a value")
}

/// Asserts that two solutions agree within their errors.
fn near(what: &str, a: &Solution, b: &Solution) {
    let (own, other) = (a.meu.expect("a value"), b.meu.expect("a value"));
    assert!((own - other).abs() <= a.error_bound + b.error_bound, "{what}: {own} {other}");
    assert_eq!((a.exact, a.method), (b.exact, b.method), "{what}");
}

/// Returns a device with a receiver of its messages.
fn telling(gpu: Arc<Gpu>) -> (Arc<Device>, Receiver<String>) {
    let (tell, told) = channel();
    let tell = std::sync::Mutex::new(tell);
    let tell = move |text: &str| tell.lock().expect("one thread").send(text.into()).expect("it is heard");
    (Arc::new(Device::open(gpu, tell)), told)
}

#[test]
fn a_device_grows_the_trees_of_the_host() {
    let Some(gpu) = fangs_testing::gpu().map(Gpu::new) else { return };
    let mut rng = Rng::new(73);
    let mut all: Vec<(String, Pomdp, usize)> =
        (0..60).map(|case| (format!("random {case}"), random_process(&mut rng), 2 + case % 4)).collect();
    for horizon in [2, 5, 9, 14] {
        all.push((format!("tiger {horizon}"), process(TIGER), horizon));
    }
    for (states, seen, horizon) in [(7, 3, 5), (40, 4, 5), (65, 6, 5), (300, 3, 6)] {
        all.push((format!("ring {states}"), ring(states, seen), horizon));
    }
    for (what, process, horizon) in all {
        let (device, told) = telling(gpu.clone());
        let own = solved(&process, horizon, Arc::default(), Method::BeliefTree);
        let found = solved(&process, horizon, device.clone(), Method::BeliefTree);
        assert!(told.try_recv().is_err() && device.name().starts_with("cuda"), "{what}");
        near(&what, &own, &found);
        // device and host round beliefs alike except for the last bits of the sums
        let nodes = [&own, &found].map(|solution| solution.nodes.expect("a tree") as f64);
        assert!((nodes[0] - nodes[1]).abs() <= 0.01 * nodes[0], "{what}: {nodes:?} nodes");
        if nodes[0] < 10_000.0 {
            let Some(Policy::Graph(graph)) = &found.policy else { panic!("{what}: a graph") };
            let worth = worth_in_pomdp(&process, graph, &Stop::new()).expect("it fits");
            assert!((worth - found.meu.expect("a value")).abs() < 1e-9, "{what}: the policy is worth {worth}");
        }
    }
}

#[test]
fn a_device_solves_both_agents() {
    let Some(gpu) = fangs_testing::gpu().map(Gpu::new) else { return };
    for (models, t1, t0) in [(10, 3, 6), (100, 5, 9), (1000, 5, 7)] {
        let idid = tiger_idid(models, t1, t0);
        let (device, told) = telling(gpu.clone());
        let (own, found) = (two_agents(&idid, Arc::default()), two_agents(&idid, device.clone()));
        let what = format!("{models} models");
        near(&what, &own, &found);
        assert!(told.try_recv().is_err() && device.name().starts_with("cuda"), "{what}");
        assert_eq!((own.models_per_step, own.classes_per_step), (found.models_per_step, found.classes_per_step));
    }
}

/// If a device has no room, the host continues and a message reports it.
#[test]
fn trees_that_do_not_fit_a_device_grow_on_the_host() {
    let Some(cuda) = fangs_testing::gpu() else { return };
    let tiger = process(TIGER);
    let own = solved(&tiger, 6, Arc::default(), Method::BeliefTree);
    let (device, told) = telling(Gpu::limited(cuda, 1000));
    let found = solved(&tiger, 6, device.clone(), Method::BeliefTree);
    assert_eq!((own.meu, own.nodes, device.name().as_str()), (found.meu, found.nodes, "cpu"));
    assert!(told.try_recv().is_ok_and(|text| text.contains("bytes") && text.contains("on the CPU")));
}

/// A tree with too many beliefs ends on a device as on the host.
#[test]
fn devices_keep_to_the_number_of_nodes() {
    let Some(gpu) = fangs_testing::gpu().map(Gpu::new) else { return };
    let tiger = process(TIGER);
    for (nodes, horizon) in [(1, 4), (3, 6), (5, 9)] {
        let (device, told) = telling(gpu.clone());
        let options = Options { nodes, horizon: Some(horizon), device, ..Options::default() };
        let solve = |options: &Options| solve_pomdp(&tiger, options, &Stop::new(), &mut |_| ()).expect("bounds");
        let found = solve(&options);
        let own = solve(&Options { device: Arc::default(), ..options.clone() });
        near(&format!("{nodes} nodes"), &own, &found);
        assert!(!found.exact && told.try_recv().is_err());
    }
}
