//! The search of networks of binary variables in pairs before there are tables. Dense networks of some thousand
//! variables have millions of functions, whose tables take seconds, while a quadratic form takes a part of a second.

use super::initial::InitialSolution;
use super::messages::{Message, Totals};
use crate::check;
use crate::core::context::SearchContext;
use crate::core::quadratic::form::SweepForm;
use crate::drivers::spins::{NAME as SPINS, alone};
use crate::error::Error;
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
    first: &mut InitialSolution,
    stop: &Stop,
    tell: &mut dyn FnMut(Message),
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
        let begin = first.assignments.first().cloned().unwrap_or_else(|| vec![0; network.domains().len()]);
        let totals = Totals::resumed(options);
        alone(&form, &begin, Rng::new(mix(options.seed, 0)), &over, &mut |values| {
            let evaluation = check::evaluate_unless(network, &values, || stop.is_set());
            if evaluation.is_some_and(|found| first.hear(network, &found, &values, SPINS, totals, tell)) {
                first.assignments = vec![values];
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
    use crate::generate::generate;
    use crate::run::Run;
    use crate::threads;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    fn dense() -> Network {
        let settings = [("n", "600"), ("d", "2"), ("functions", "70000")];
        generate("large-sparse", &settings, 5).expect("a family")
    }

    #[test]
    fn it_finds_better_solutions_until_the_core_is_prepared() {
        let (network, stop) = (dense(), Stop::new());
        let options = Options { threads: Some(2), ..Options::default() };
        threads::pool(2).expect("threads").install(|| {
            let mut first = InitialSolution::new(&network, &options, network.least(), &stop, &mut |_| {});
            let before = first.upper;
            let (sender, heard) = channel();
            let mut tell = |message| {
                let _ = sender.send(matches!(message, Message::Solution { .. }));
            };
            // whatever it finds, it ends with the preparation
            let prepare = move || Ok((heard.recv_timeout(Duration::from_secs(60)), None));
            let prepared = beside(&network, &options, &mut first, &stop, &mut tell, prepare);
            let (heard, _) = prepared.expect("nothing fails");
            assert_eq!(heard, Ok(true));
            assert!(first.upper < before);
            assert_eq!(check::evaluate(&network, &first.assignments[0]).cost, first.upper);
            let fails = || Err::<((), _), _>(Error::Stopped);
            assert!(beside(&network, &options, &mut first, &stop, &mut |_| {}, fails).is_err());
        });
    }

    #[test]
    fn a_dense_form_is_searched_without_tables() {
        let (network, stop) = (dense(), Stop::new());
        assert!(is_dense(&network));
        let options = Options { threads: Some(2), facts: true, ..Options::default() };
        let mut told = Vec::new();
        let mut tell = |message: Message| match message {
            Message::Solution { cost, source, .. } => told.push((source, cost)),
            Message::Facts(facts) => told.push(("facts".into(), facts.reduction.after.variables as i64)),
            _ => {}
        };
        threads::pool(2).expect("threads").install(|| {
            let first = InitialSolution::new(&network, &options, network.least(), &stop, &mut tell);
            let run = Run::new(&network, &options, first, &stop, &mut tell).expect("nothing fails");
            let mut run = run.expect("there is something to search");
            assert!(!run.context.is_for_tables() && run.context.is_vast());
            (0..20).for_each(|_| run.round().expect("nothing fails"));
            assert!(run.totals.moves > 1000);
        });
        let costs = || told.iter().filter(|(source, _)| source != "facts");
        assert!(costs().all(|(source, _)| ["greedy", SPINS, "one-flip"].contains(&&source[..])), "{told:?}");
        assert!(costs().is_sorted_by(|a, b| a.1 > b.1) && costs().count() > 1, "{told:?}");
        assert!(told.contains(&("facts".into(), 600)), "{told:?}");
    }
}
