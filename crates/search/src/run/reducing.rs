//! Reductions beside the search. On vast networks they take longer than everything else before the first moves. The
//! search begins on the unreduced network, and moves to the reduced problem once that is complete.

use crate::core::size::{is_dense, suits_passes};
use crate::device::Busy;
use crate::error::Error;
use crate::memory;
use crate::model::{Network, Problem};
use crate::options::Options;
use crate::reduce::{ReducedProblem, Reducer};
use crate::stop::{Cause, Stop};
use crate::threads;
use crate::tuning::run::REDUCING_BYTES;
use crate::tuning::tuning;
use std::io;
use std::thread::JoinHandle;

pub(crate) struct Reducing {
    /// The thread; its result is the reduced problem, or `None` if that is almost as large as the network.
    thread: Option<JoinHandle<Result<Option<ReducedProblem>, Error>>>,
    left: Stop,
}

impl Drop for Reducing {
    fn drop(&mut self) {
        self.left.set(Cause::Time);
    }
}

impl Reducing {
    /// Returns whether a run begins before the reductions have ended: not if it must be repeatable, nor if an option
    /// needs all reductions or the reduced problem's variables.
    pub fn suits(network: &Network, options: &Options) -> bool {
        may_end_early(network, options) && (options.threads() > 1 || is_dense(network))
    }

    /// Begins the reductions on a separate thread. A dense form has none, because reductions do not shrink it.
    pub fn start(network: &Network, stop: &Stop) -> io::Result<Self> {
        let left = stop.below();
        if is_dense(network) {
            return Ok(Reducing { thread: None, left });
        }
        let thread = threads::start("reducing", {
            let (network, stop, busy) = (network.clone(), left.clone(), Busy::new());
            move || {
                let work = || {
                    if !are_worthwhile(&network, &stop)? {
                        return Ok(None);
                    }
                    let places: u64 = network.functions().iter().map(|function| function.scope.len() as u64).sum();
                    let entries: u64 = network.functions().iter().map(|f| f.table.bytes() as u64).sum();
                    memory::must_fit(entries + places * REDUCING_BYTES, || "the reductions".into())?;
                    let mut reducer = Reducer::new(&network, true, &stop)?;
                    reducer.merge_ties(&stop);
                    ReducedProblem::new(reducer, &stop).map(Some)
                };
                let reduced = threads::caught(work).unwrap_or_else(|what| Err(Error::Internal(what)));
                drop(busy);
                reduced
            }
        })?;
        Ok(Reducing { thread: Some(thread), left })
    }

    /// Returns whether a result is still to come.
    pub fn is_on_its_way(&self) -> bool {
        self.thread.is_some()
    }

    /// Returns the reduced problem, once: `None` before it is complete, and `Ok(None)` if it is almost as large as the
    /// network.
    pub fn finished(&mut self) -> Option<Result<Option<ReducedProblem>, Error>> {
        let thread = self.thread.take_if(|thread| thread.is_finished())?;
        Some(thread.join().unwrap_or_else(|panic| Err(Error::Internal(threads::message(&*panic)))))
    }
}

/// Returns whether a run may begin with the unreduced or partly reduced network, if that is vast.
pub(super) fn may_end_early(network: &Network, options: &Options) -> bool {
    let is_free = options.rounds.is_none() && !options.certificate && options.heuristic.is_none();
    options.reduce && is_free && suits_passes(network)
}

/// Returns whether a run reduces a network, unless an option needs all reductions: not if it is vast and would remain
/// almost as large.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Memory`].
pub(crate) fn are_made(network: &Network, stop: &Stop) -> Result<bool, Error> {
    Ok(!suits_passes(network) || are_worthwhile(network, stop)?)
}

/// Returns whether the reductions of a vast network shrink it enough for the search to move to the result. They do not
/// shrink a dense form.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Memory`].
fn are_worthwhile(network: &Network, stop: &Stop) -> Result<bool, Error> {
    Ok(!is_dense(network) && Reducer::outlook(network, stop)? < tuning().run.worth_moving)
}

/// Returns the number of values and functions of a reduced problem.
pub(super) fn extent(problem: &Problem) -> f64 {
    problem.domains.iter().map(|&domain| f64::from(domain)).sum::<f64>() + problem.functions.len() as f64
}

/// Returns the number of entries of a reduced problem's tables.
pub(super) fn size(problem: &Problem) -> u64 {
    problem.functions.iter().map(|function| function.table.size() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Choice, Opening};
    use crate::event::EventKind;
    use crate::generate::generate;
    use crate::ledger::Ledger;
    use crate::run::Run;
    use crate::run::initial::assignments;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    /// The source, the round and the cost of a solution; the number of variables for `facts`.
    type Told = (Arc<str>, u64, f64);

    #[test]
    fn the_search_finds_solutions_before_the_reductions_end_and_goes_on_after() {
        let settings = [("n", "22000"), ("d", "2"), ("functions", "66000")];
        let network = generate("large-sparse", &settings, 4).expect("a family");
        let device = Opening::new(Choice::Cpu);
        let options = Options { threads: Some(2), facts: true, device, ..Options::default() };
        assert!(Reducing::suits(&network, &options));
        assert!(!Reducing::suits(&network, &Options { rounds: Some(9), ..options.clone() }), "it is to be repeated");
        let stop = Stop::new();
        let ledger = Ledger::of(&network, &stop);
        threads::pool(2).expect("threads").install(|| {
            let first = assignments(&network, &options, network.least(), &ledger, &stop);
            let pulse = &mut || ();
            let run = Run::new(&network, &options, &ledger, first, &stop, pulse).expect("nothing fails");
            let mut run = run.expect("there is something to search");
            // the reductions end on command
            let real = run.reducing.take().expect("they are on their way");
            let (go, gate) = channel::<()>();
            let gated = threads::start("gated", move || {
                let _ = gate.recv();
                let mut real = real;
                real.thread.take().expect("it was started").join().expect("it does not panic")
            });
            run.reducing = Some(Reducing { thread: gated.ok(), left: Stop::new() });
            let whole = run.core.problem.variables();
            assert_eq!(whole, network.domains().len());
            let first = ledger.upper();
            while ledger.upper() >= first {
                run.round().expect("nothing fails");
                run.take_reduced();
            }
            assert_eq!(run.core.problem.variables(), whole);
            go.send(()).expect("it waits");
            while run.reducing.is_some() {
                run.take_reduced();
                std::thread::yield_now();
            }
            assert!(run.core.problem.variables() < whole && !run.pool.elites().is_empty());
            let before = ledger.upper();
            for _ in 0..200 {
                run.round().expect("nothing fails");
                if ledger.upper() < before {
                    break;
                }
            }
        });
        let told: Vec<Told> = ledger
            .take_events()
            .iter()
            .filter_map(|event| match event.kind {
                EventKind::Solution => Some((event.source.clone(), event.round, event.cost?.as_f64())),
                EventKind::Note => Some(("facts".into(), 0, event.facts.as_ref()?.reduction.after.variables as f64)),
                _ => None,
            })
            .collect();
        let place = |is: &dyn Fn(&Told) -> bool| told.iter().position(is);
        let found = place(&|(source, rounds, _)| &**source != "facts" && *rounds > 0).expect("a round finds something");
        let reduced = place(&|(source, ..)| &**source == "facts").expect("they end");
        assert!(&*told[0].0 == "greedy" && found < reduced, "{told:?}");
        assert!(told[reduced].2 < network.domains().len() as f64 && told.len() > reduced + 1, "{told:?}");
        assert!(told.iter().filter(|(source, ..)| &**source != "facts").is_sorted_by(|a, b| a.2 > b.2));
    }
}
