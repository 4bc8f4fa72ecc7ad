//! Whether a run has reached its goal: decided in the network's units, by the incumbent and the bound, whatever found
//! them.

use crate::event::{StoppedBy, gap};
use crate::ledger::Ledger;
use crate::model::{Cost, Network, Number};
use crate::options::Options;

/// Returns why a run ends, if it does.
pub(crate) fn reached(network: &Network, options: &Options, ledger: &Ledger) -> Option<StoppedBy> {
    let (found, lower) = ledger.ends();
    decided(network, options, found, lower)
}

/// Returns why a run ends, if it does, given the least cost in the network's units with the best value in the file's
/// convention, and the lower bound.
pub(super) fn decided(
    network: &Network,
    options: &Options,
    found: Option<(Cost, Number)>,
    lower: Cost,
) -> Option<StoppedBy> {
    let Some((upper, value)) = found else {
        return (lower >= network.top()).then_some(StoppedBy::Infeasible);
    };
    if lower >= upper {
        return Some(StoppedBy::Optimal);
    }
    let misses = |target| network.units().is_better(target, value);
    if options.target.is_some_and(|target| !misses(target)) {
        return Some(StoppedBy::Target);
    }
    let wanted = options.gap?;
    gap(network, found, lower).is_some_and(|gap| gap <= wanted).then_some(StoppedBy::Gap)
}

/// Returns whether a run is over before it begins. With a heuristic it never is, because the heuristic must first be
/// checked against the problem.
pub(crate) fn settled(network: &Network, options: &Options, ledger: &Ledger) -> bool {
    options.heuristic.is_none() && reached(network, options, ledger).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::model::Units;
    use crate::stop::{Cause, Stop};
    use crate::{Status, solve};

    #[test]
    fn optimality_is_decided_in_units_whatever_rounding_takes_off() {
        let mut builder = Network::builder("rounded");
        let _ = builder.units(Units { decimals: 9, maximise: true, rounded: 3 }).top(100);
        let network = builder.build();
        let value = |cost: Cost| (cost, network.units().number(cost));
        let reason_of = |upper: Option<Cost>, lower| decided(&network, &Options::default(), upper.map(value), lower);
        for (upper, lower, reason) in [
            (Some(0), 0, Some(StoppedBy::Optimal)),
            (Some(0), -1, None),
            (Some(7), 9, Some(StoppedBy::Optimal)),
            (None, 99, None),
            (None, 100, Some(StoppedBy::Infeasible)),
        ] {
            assert_eq!(reason_of(upper, lower), reason, "{upper:?} {lower}");
        }
        assert_eq!([gap(&network, Some(value(0)), 0), gap(&network, None, 0)], [Some(0.0), None]);
        assert!(gap(&network, Some(value(0)), -1).is_some_and(|gap| gap > 0.0));
    }

    /// A caller that stops a run once the bound equals the incumbent's cost receives the status optimal without further
    /// work.
    #[test]
    fn a_run_is_optimal_from_the_event_that_closes_the_gap() {
        let mut by_greedy = 0;
        for seed in 0..60 {
            // colorings without conflicts are as good as the constant bound
            let network = match seed % 2 {
                0 => generate("coloring", &[("n", "12")], seed),
                _ => generate("random", &[("n", "8"), ("d", "3"), ("p1", "0.5"), ("p2", "0.5")], seed),
            };
            let network = network.expect("a family");
            let (stop, mut closed) = (Stop::new(), None);
            let options = Options { threads: Some(1), seed, reduce: seed % 3 > 0, ..Options::default() };
            let summary = solve(&network, &options, &stop, &mut |event| {
                if event.gap == Some(0.0) && closed.is_none() {
                    closed = Some(event.source.clone());
                    stop.set(Cause::Signal);
                }
            });
            let summary = summary.expect("nothing fails");
            let told = format!("seed {seed}, {closed:?}: {:?}", summary.status);
            let expected = if closed.is_some() { Status::Optimal } else { Status::Infeasible };
            assert_eq!(summary.status, expected, "{told}");
            by_greedy += u32::from(closed.is_some_and(|source| &*source == "greedy"));
        }
        assert!(by_greedy > 3, "{by_greedy} before there was anything to search");
    }
}
