//! One list of cases for the host, for programs of devices on an emulator, and for devices if there are any.

use super::cuda::{Laid, filled, lay_out};
use super::testing::{hub, near, on_host};
use super::walk::Begun;
use super::*;
use crate::Device;
use crate::diagram::pairs_of;
use crate::elimination::{Chip, EMULATED, EmulatedMachine, Gpu};
use crate::model::DiagramKind;
use crate::rng::Rng;
use crate::tests::{TIGER, cases, process, random_diagram, tiger_idid};
use crate::{flat_idid, flat_pomdp};

const STOP: &str = "it is not stopped";

/// Returns small cases.
pub(crate) fn small() -> Vec<(String, Pairs)> {
    let mut rng = Rng::new(71);
    let mut all = Vec::new();
    for case in 0..cases() / 2 {
        let kind = if rng.below(4) == 0 { DiagramKind::Limited } else { DiagramKind::Recall };
        let mut pairs = pairs_of(&random_diagram(&mut rng, kind));
        if kind == DiagramKind::Limited {
            // all variables in one block, some of which are not eliminated
            let mut every: Vec<u32> = pairs.blocks.iter().flat_map(|(_, block)| block.clone()).collect();
            every.truncate(every.len().div_ceil(2));
            pairs.blocks = vec![(false, every)];
        }
        all.push((format!("random {case}"), pairs));
    }
    for (domain, leaves, probabilities, utilities) in
        [(3, 4, 4, 3), (2, 6, 12, 9), (5, 4, 30, 40), (40, 3, 3, 2), (300, 2, 2, 5), (7, 3, 0, 4), (4, 3, 5, 0)]
    {
        all.push((format!("hub {domain} {leaves}"), hub(&mut rng, domain, leaves, probabilities, utilities)));
    }
    let tiger = process(TIGER);
    for horizon in 1..=4 {
        all.push((format!("tiger {horizon}"), pairs_of(&flat_pomdp(&tiger, horizon).expect("it fits"))));
    }
    let stop = Stop::new();
    all.push(("interactive".into(), pairs_of(&flat_idid(&tiger_idid(5, 3, 4), &stop).expect("it fits"))));
    all
}

fn laid(plan: &Plan, begun: &Begun, entries: u64, chip: &Chip) -> Result<Laid, u64> {
    lay_out(plan, begun, 0.0, entries, chip, &Stop::new()).expect(STOP)
}

#[test]
fn programs_of_devices_find_what_the_host_finds() {
    let stop = Stop::new();
    let mut certain = 0;
    for (what, pairs) in small() {
        let plan = plan(&pairs, &stop).expect(STOP);
        let begun = begin(&pairs, &plan).expect("it fits");
        let laid = laid(&plan, &begun, u64::MAX, &EMULATED).expect("no limit");
        let mut machine = EmulatedMachine::new(&laid.program, &|table| filled(&begun, table));
        let found = laid.run(&mut machine, &plan, &begun, &stop);
        match (on_host(&pairs, &plan), found) {
            (Ok(own), Ok(found)) => certain += near(&what, &own, &found),
            (Err(own), Err(Failure::Host(found))) => assert_eq!(own.to_string(), found.to_string(), "{what}"),
            (own, found) => panic!("{what}: {own:?} {found:?}"),
        }
    }
    assert!(certain > cases(), "{certain}");
}

/// The error equals that of the host, digit for digit.
#[test]
fn programs_of_devices_refuse_what_is_not_regular() {
    let stop = Stop::new();
    let pairs = Pairs {
        domains: vec![2, 2],
        probabilities: vec![Potential { scope: [0, 1].into(), table: [0.9, 0.1, 0.2, 0.8].into() }],
        utilities: vec![Potential { scope: [0, 1].into(), table: [1.0, 2.0, 3.0, 4.0].into() }],
        blocks: vec![(true, vec![0]), (false, vec![1])],
    };
    let plan = plan(&pairs, &stop).expect(STOP);
    let begun = begin(&pairs, &plan).expect("it fits");
    let laid = laid(&plan, &begun, u64::MAX, &EMULATED).expect("no limit");
    let mut machine = EmulatedMachine::new(&laid.program, &|table| filled(&begun, table));
    let found = laid.run(&mut machine, &plan, &begun, &stop).expect_err("it is not regular");
    let own = on_host(&pairs, &plan).expect_err("it is not regular").to_string();
    assert!(own.contains("not regular") && matches!(found, Failure::Host(error) if error.to_string() == own), "{own}");
    let needed = self::laid(&plan, &begun, 3, &EMULATED).expect_err("three entries are too few");
    assert!(needed > 3);
}

#[test]
fn a_device_finds_what_the_host_finds() {
    let Some(gpu) = fangs_testing::gpu().map(Gpu::new) else { return };
    let stop = Stop::new();
    let mut all = small();
    let mut rng = Rng::new(72);
    for (domain, leaves, probabilities, utilities) in [(20, 9, 8, 8), (4, 16, 14, 3), (900, 6, 5, 3), (3, 12, 40, 40)] {
        all.push((format!("large {domain} {leaves}"), hub(&mut rng, domain, leaves, probabilities, utilities)));
    }
    let tiger = process(TIGER);
    all.push(("tiger 8".into(), pairs_of(&flat_pomdp(&tiger, 8).expect("it fits"))));
    let mut certain = 0;
    for (what, pairs) in all {
        let plan = plan(&pairs, &stop).expect(STOP);
        let device = Device::open(gpu.clone(), |text| panic!("{text}"));
        let place = Place { device: &device, memory: 0.0 };
        match (on_host(&pairs, &plan), execute(&pairs, &plan, 0.0, place, &stop)) {
            (Ok(own), Ok(Some(found))) => certain += near(&what, &own, &found),
            (Err(own), Err(found)) => assert_eq!(own.to_string(), found.to_string(), "{what}"),
            (own, found) => panic!("{what}: {own:?} {found:?}"),
        }
        assert!(device.name().starts_with("cuda"), "{what}");
    }
    assert!(certain > cases(), "{certain}");
}

/// If a device has too little memory, the host computes the tables and reports why.
#[test]
fn what_does_not_fit_a_device_is_made_on_the_host() {
    let Some(cuda) = fangs_testing::gpu() else { return };
    let stop = Stop::new();
    let pairs = pairs_of(&flat_pomdp(&process(TIGER), 4).expect("it fits"));
    let plan = plan(&pairs, &stop).expect(STOP);
    let (told, heard) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let device = Device::open(Gpu::limited(cuda, 1000), move |text| {
        told.lock().expect("one thread").send(text.to_string()).expect("it is heard");
    });
    let place = Place { device: &device, memory: f64::INFINITY };
    let found = execute(&pairs, &plan, 0.0, place, &stop).expect("it fits").expect("there is room");
    let own = on_host(&pairs, &plan).expect("it fits");
    assert_eq!((own.utility, device.name().as_str()), (found.utility, "cpu"));
    assert!(heard.try_recv().is_ok_and(|text| text.contains("bytes") && text.contains("on the CPU")));
}
