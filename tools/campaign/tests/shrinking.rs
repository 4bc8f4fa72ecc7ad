//! A false claim is found, shrunk to its cause, and saved so that the command line reproduces it.

use fangs_campaign::call::{Call, Ended, Runner};
use fangs_campaign::campaign::{Limits, run, save, seed_of};
use fangs_campaign::library::Library;
use fangs_campaign::number::Decimal;
use fangs_campaign::tasks::{self, TASKS};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A runner that claims, for networks with a function of three variables, the optimum plus one as the bound.
struct Liar;

impl Runner for Liar {
    fn run(&self, call: &Call) -> Ended {
        let ended = Library.run(call);
        let has_three = call.files[0].text.lines().any(|line| line.starts_with("3 ") && line.split(' ').count() > 5);
        match ended {
            Ended::Done(mut report) if has_three && call.files[0].ending == "wcsp" && report.cost.is_some() => {
                let wrong = report.cost.map(|cost| Decimal::integer(cost.digits + 1));
                report.bound = wrong;
                report.bounds.extend(wrong);
                Ended::Done(report)
            }
            ended => ended,
        }
    }
}

#[test]
fn a_wrong_bound_is_found_and_shrunk() {
    let entry = tasks::find("bound").expect("a task");
    let mut failures = (0..200).filter_map(|case| (entry.play)(seed_of(7, case), &Liar).failure);
    let failure = failures.next().expect("the liar is found");
    assert_eq!(failure.fault.kind, "bound");
    let text = &failure.call.files[0].text;
    let header: Vec<&str> = text.lines().next().expect("a header").split(' ').collect();
    // three variables and the function that causes the false claim
    assert_eq!((header[1], header[3]), ("3", "1"), "{text}");
    assert!(failure.call.settings.iter().next().is_none(), "{:?}", failure.call.settings);
    assert!(failure.steps > 0);

    let folder = tempfile::tempdir().expect("a folder");
    let line = save(&failure, folder.path(), "case").expect("a folder that can be written to");
    assert_eq!(line, format!("fangs bound {}", folder.path().join("case.wcsp").display()));
    assert_eq!(std::fs::read_to_string(folder.path().join("case.wcsp")).ok().as_ref(), Some(text));
}

#[test]
fn every_task_finds_its_claims_true() {
    let told = Mutex::new(Vec::new());
    let limits = Limits {
        seed: 11,
        first: 0,
        cases: 20 * TASKS.len() as u64,
        until: Instant::now() + Duration::from_secs(600),
        threads: 2,
        patience: Duration::from_secs(600),
    };
    let all: Vec<_> = TASKS.iter().collect();
    let tally = run(&all, limits, &Library, &|entry, case, failure| {
        told.lock().expect("no panic").push(format!("{} {case}: {:?}", entry.name, failure.fault));
    });
    assert_eq!(tally.failures, 0, "{:?}", told.lock());
    for entry in TASKS {
        let own = tally.counts.iter().filter(|((name, _), _)| *name == entry.name);
        assert_eq!(own.map(|(_, count)| count).sum::<u64>(), 20, "{}", entry.name);
    }
    // the same seed gives the same case
    let texts = [0, 0].map(|case| (TASKS[0].call)(seed_of(11, case)).files);
    assert_eq!(texts[0], texts[1]);
}
