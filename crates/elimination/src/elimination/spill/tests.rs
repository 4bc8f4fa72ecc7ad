//! Comparison of runs with files and runs in memory.

use super::Spilled;
use crate::algebra::MinSum;
use crate::elimination::executor::Task;
use crate::elimination::tests::{messages, random, run, shuffled};
use crate::elimination::{Limits, Outcome, Plan, Progress, Run, Step};
use crate::model::Cost;
use crate::rng::Rng;
use crate::stop::Stop;
use std::path::PathBuf;
use std::sync::Arc;

/// Returns all messages; those in files are read back.
fn all(outcome: &Outcome) -> Vec<Vec<Cost>> {
    assert!(outcome.messages.are_in_files());
    let entries = |(number, step): (u32, &Step)| {
        let wanted: Vec<_> = (0..step.entries).map(|index| (number, index)).collect();
        outcome.messages.entries(&wanted).expect("the files are there")
    };
    (0..).zip(&outcome.plan.steps).map(entries).collect()
}

#[test]
fn files_change_no_message_no_bound_and_no_assignment() {
    let mut rng = Rng::new(41);
    let (mut spilled, mut cut) = (0, 0);
    for case in 0..3000 {
        let problem = Arc::new(random(&mut rng, 7));
        let order = shuffled(&problem, &mut rng);
        let roomy = Plan::new(&problem, &order, &Limits::new(1 << 30));
        let least = roomy.placement.peak_bytes.saturating_sub(roomy.placement.table_bytes);
        let max_bytes = least + rng.below(roomy.placement.table_bytes + 2);
        let keep_messages = rng.below(3) > 0;
        let limits = Limits { spill: 1 << 30, keep_messages, ..Limits::new(max_bytes) };
        let plan = Plan::new(&problem, &order, &limits);
        let Some(spill) = &plan.placement.spill else { continue };
        spilled += 1;
        cut += usize::from(spill.cuts.iter().any(Option::is_some));
        assert!(
            plan.exact && plan.placement.peak_bytes <= max_bytes,
            "case {case}: {} of {max_bytes}",
            plan.placement.peak_bytes
        );
        let mut slices = Run::new(problem.clone(), plan);
        let work = if rng.below(2) == 0 { 1 } else { u64::MAX };
        while slices.advance(work, &Stop::new()) == Progress::More {}
        assert!(slices.failure().is_none(), "case {case}: {:?}", slices.failure());
        assert_eq!(slices.work_done(), slices.plan().work(), "case {case}");
        let outcome = slices.finish().expect("the run is done");
        let whole = run(&problem, roomy);
        assert_eq!(outcome.lower_bound(), whole.lower_bound(), "case {case}");
        if keep_messages {
            assert_eq!(outcome.assign(&Stop::new()), whole.assign(&Stop::new()), "case {case}");
            assert_eq!(all(&outcome), messages(&whole), "case {case}");
        } else {
            assert!(outcome.assign(&Stop::new()).is_none());
        }
    }
    assert!(spilled > 500 && cut > 300, "{spilled} {cut}");
}

#[test]
fn no_more_goes_to_files_than_is_allowed() {
    let mut rng = Rng::new(42);
    let mut refused = 0;
    for _ in 0..500 {
        let problem = random(&mut rng, 7);
        let order = shuffled(&problem, &mut rng);
        let roomy = Plan::new(&problem, &order, &Limits::new(1 << 30));
        let spill = rng.below(roomy.placement.table_bytes + 1);
        let plan = Plan::new(&problem, &order, &Limits { spill, ..Limits::new(roomy.placement.peak_bytes / 2) });
        assert!(plan.spilled_bytes() <= spill);
        refused += u32::from(!plan.exact);
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_it() {
    let mut rng = Rng::new(43);
    for _ in 0..500 {
        let problem = random(&mut rng, 7);
        let order = shuffled(&problem, &mut rng);
        let roomy = Plan::new(&problem, &order, &Limits::new(1 << 30));
        let plan =
            Plan::new(&problem, &order, &Limits { spill: 1 << 30, ..Limits::new(roomy.placement.peak_bytes - 1) });
        let Some(spill) = &plan.placement.spill else { continue };
        let error = {
            let semiring = MinSum { cap: plan.cap() };
            let task = Task { plan: &plan.structure, placement: &plan.placement, factors: &problem, semiring };
            Spilled::new(task, spill.clone(), PathBuf::from("/nowhere/at/all"))
        }
        .expect_err("there is no such folder");
        assert!(error.to_string().starts_with("/nowhere/at/all: cannot write: "), "{error}");
        return;
    }
    panic!("no plan had files");
}
