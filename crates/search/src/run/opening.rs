//! The search of networks of binary variables in pairs before there are tables. Dense networks of some thousand
//! variables have millions of functions, whose tables take seconds, while a quadratic form takes a part of a second.

use super::initial::offer;
use crate::check;
use crate::core::context::SearchContext;
use crate::core::quadratic::form::SweepForm;
use crate::drivers::spins::{NAME as SPINS, alone};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::model::Network;
use crate::options::Options;
use crate::rng::{Rng, mix};
use crate::stop::{Cause, Stop};
use std::sync::Arc;

/// A guard that ends the opening, even if the preparation panics.
struct Over<'a>(&'a Stop);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.set(Cause::Time);
    }
}

/// Reports better solutions than the first one until another thread has prepared the reduced problem. The search of
/// that begins at the best of them.
pub(super) fn beside<T: Send>(
    network: &Network,
    options: &Options,
    ledger: &Ledger,
    first: &mut Vec<Vec<u32>>,
    stop: &Stop,
    prepare: impl FnOnce() -> Result<(T, Option<Arc<SearchContext>>), Error> + Send,
) -> Result<(T, Option<Arc<SearchContext>>), Error> {
    let over = stop.below();
    let mut prepared = Err(Error::Stopped);
    let form = rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            let _over = Over(&over);
            prepared = prepare();
        });
        // made even if the preparation ends first, because drivers use the form
        let form = SweepForm::of(network, stop).ok().flatten().map(Arc::new)?;
        let begin = first.first().cloned().unwrap_or_else(|| vec![0; network.domains().len()]);
        alone(&form, &begin, Rng::new(mix(options.seed, 0)), &over, &mut |values| {
            let evaluation = check::evaluate_unless(network, &values, || stop.is_set());
            if evaluation.is_some_and(|found| offer(network, ledger, &found, &values, SPINS)) {
                *first = vec![values];
            }
        });
        Some(form)
    });
    let (core, context) = prepared?;
    context.iter().for_each(|context| context.have_form(form.clone()));
    Ok((core, context))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::size::is_dense;
    use crate::event::{Event, EventKind};
    use crate::generate::generate;
    use crate::model::Number;
    use crate::run::Run;
    use crate::run::initial::assignments;
    use crate::threads;
    use std::time::{Duration, Instant};

    fn dense() -> Network {
        let settings = [("n", "600"), ("d", "2"), ("functions", "70000")];
        generate("large-sparse", &settings, 5).expect("a family")
    }

    #[test]
    fn it_finds_better_solutions_until_the_core_is_prepared() {
        let (network, stop) = (dense(), Stop::new());
        let options = Options { threads: Some(2), ..Options::default() };
        threads::pool(2).expect("threads").install(|| {
            let ledger = Ledger::of(&network, &stop);
            let mut first = assignments(&network, &options, network.least(), &ledger, &stop);
            let before = ledger.upper();
            // whatever it finds, it ends with the preparation
            let (own, began) = (ledger.clone(), Instant::now());
            let prepare = move || {
                while own.upper() == before && began.elapsed() < Duration::from_secs(60) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok((own.upper(), None))
            };
            let (found, _) = beside(&network, &options, &ledger, &mut first, &stop, prepare).expect("nothing fails");
            assert!(ledger.upper() <= found && found < before);
            assert_eq!(check::evaluate(&network, &first[0]).cost, ledger.upper());
            let fails = || Err::<((), _), _>(Error::Stopped);
            assert!(beside(&network, &options, &ledger, &mut first, &stop, fails).is_err());
        });
    }

    #[test]
    fn a_dense_form_is_searched_without_tables() {
        let (network, stop) = (dense(), Stop::new());
        assert!(is_dense(&network));
        let options = Options { threads: Some(2), facts: true, ..Options::default() };
        let ledger = Ledger::of(&network, &stop);
        threads::pool(2).expect("threads").install(|| {
            let first = assignments(&network, &options, network.least(), &ledger, &stop);
            let pulse = &mut || ();
            let run = Run::new(&network, &options, &ledger, first, &stop, pulse).expect("nothing fails");
            let mut run = run.expect("there is something to search");
            assert!(!run.context.is_for_tables() && run.context.is_vast());
            (0..20).for_each(|_| run.round().expect("nothing fails"));
            assert!(run.totals.moves > 1000);
        });
        let told = ledger.take_events();
        let solutions = || told.iter().filter(|event| event.kind == EventKind::Solution);
        let cost = |event: &Event| event.cost.map(Number::as_f64);
        assert!(solutions().all(|event| ["greedy", SPINS, "one-flip"].contains(&&*event.source)), "{told:?}");
        assert!(solutions().is_sorted_by(|a, b| cost(a) > cost(b)) && solutions().count() > 1, "{told:?}");
        let variables = told.iter().rev().find_map(|event| Some(event.facts.as_ref()?.reduction.after.variables));
        assert_eq!(variables, Some(600), "{told:?}");
    }
}
