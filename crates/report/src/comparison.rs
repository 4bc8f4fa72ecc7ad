//! Comparison of several runs of one network: curves, primal integrals, differences.

use super::plot::{Curve, Point};
use crate::search::Summary;

/// The measure of a run's progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Time in seconds.
    Time,
    /// Evaluations, which do not depend on other load on the machine.
    Ratings,
}

/// A solution of a run, with its cost and when it was found.
#[derive(Clone, Copy, Debug)]
struct Found {
    time: f64,
    ratings: f64,
    cost: f64,
}

impl Found {
    fn at(&self, axis: Axis) -> f64 {
        match axis {
            Axis::Time => self.time,
            Axis::Ratings => self.ratings,
        }
    }
}

/// The solutions of a run in order.
#[derive(Clone, Debug, Default)]
pub struct Trace(Vec<Found>);

impl Trace {
    /// Returns the solutions of a curve, without evaluations.
    pub fn of(curve: &Curve) -> Trace {
        let mut trace = Trace::default();
        for point in &curve.points {
            if let Some(found) = point.found.filter(|found| trace.0.last().is_none_or(|last| last.cost != *found)) {
                trace.push(point.time, 0, found);
            }
        }
        trace
    }

    /// Adds a solution, found at a time in seconds after a number of evaluations.
    pub fn push(&mut self, time: f64, ratings: u64, cost: f64) {
        self.0.push(Found { time, ratings: ratings as f64, cost });
    }

    /// Returns the cost of the incumbent at a time; `None` before the first solution.
    pub fn at(&self, time: f64) -> Option<f64> {
        let known = self.0.partition_point(|found| found.time <= time);
        Some(self.0[known.checked_sub(1)?].cost)
    }
}

/// A measured run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The seed of the run.
    pub seed: u64,
    /// The solutions of the run.
    pub trace: Trace,
    /// The summary of the run.
    pub summary: Summary,
}

impl Measured {
    /// Returns the best cost of several runs; `None` if none has a solution.
    pub fn best<'a>(runs: impl Iterator<Item = &'a Measured>, maximise: bool) -> Option<f64> {
        let costs = runs.filter_map(|run| run.summary.cost).map(|cost| cost.as_f64());
        if maximise { costs.max_by(f64::total_cmp) } else { costs.min_by(f64::total_cmp) }
    }
}

/// Returns the primal integral (Berthold, "Measuring the impact of primal heuristics", 2013) up to `end`, divided by
/// `end`: the mean of |cost - best| / max(|cost|, |best|), which counts as 1 before the first solution.
pub fn primal_integral(trace: &Trace, best: Option<f64>, axis: Axis, end: f64) -> f64 {
    let Some(best) = best.filter(|_| end > 0.0) else { return 1.0 };
    let gap = |cost: f64| match (cost - best).abs() {
        0.0 => 0.0,
        _ if cost * best < 0.0 => 1.0,
        difference => difference / cost.abs().max(best.abs()),
    };
    let (mut since, mut now, mut sum) = (0.0f64, 1.0, 0.0);
    for found in &trace.0 {
        let at = found.at(axis).min(end);
        sum += now * (at - since);
        (since, now) = (at, gap(found.cost));
    }
    (sum + now * (end - since).max(0.0)) / end
}

/// Returns the mean of some numbers and its standard error, which is 0 for a single number.
pub fn spread(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (variance / count).sqrt())
}

/// Returns the median over measured runs of the incumbent's cost at each time; runs without a solution count as the
/// worst.
pub fn median_curve(label: &str, runs: &[Measured], seconds: f64, maximise: bool) -> Curve {
    median(label, &runs.iter().map(|run| &run.trace).collect::<Vec<_>>(), seconds, maximise)
}

/// Returns the median over curves of the incumbent's cost at each time; runs without a solution count as the worst.
pub fn median_of(label: &str, curves: &[&Curve], seconds: f64, maximise: bool) -> Curve {
    let traces: Vec<Trace> = curves.iter().map(|curve| Trace::of(curve)).collect();
    median(label, &traces.iter().collect::<Vec<_>>(), seconds, maximise)
}

fn median(label: &str, traces: &[&Trace], seconds: f64, maximise: bool) -> Curve {
    let mut times: Vec<f64> = traces.iter().flat_map(|trace| trace.0.iter().map(|found| found.time)).collect();
    times.push(seconds);
    times.sort_by(f64::total_cmp);
    times.dedup();
    let point = |time: f64| {
        let mut known: Vec<f64> = traces.iter().filter_map(|trace| trace.at(time)).collect();
        known.sort_by(f64::total_cmp);
        if maximise {
            known.reverse();
        }
        Point { time, found: known.get(traces.len() / 2).copied(), bound: None }
    };
    Curve { label: label.into(), maximise, points: times.into_iter().map(point).collect(), ..Curve::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrals_weigh_gaps_by_their_time() {
        let mut trace = Trace::default();
        trace.push(1.0, 100, 20.0);
        trace.push(2.0, 400, 10.0);
        assert!((primal_integral(&trace, Some(10.0), Axis::Time, 4.0) - (1.0 + 0.5) / 4.0).abs() < 1e-12);
        assert!((primal_integral(&trace, Some(10.0), Axis::Ratings, 200.0) - (100.0 + 50.0) / 200.0).abs() < 1e-12);
        assert_eq!(primal_integral(&Trace::default(), Some(10.0), Axis::Time, 4.0), 1.0);
        assert_eq!(primal_integral(&trace, None, Axis::Time, 4.0), 1.0);
        assert_eq!((trace.at(0.5), trace.at(1.0), trace.at(9.0)), (None, Some(20.0), Some(10.0)));
    }

    #[test]
    fn spreads_are_standard_errors() {
        assert_eq!(spread(&[3.0]), (3.0, 0.0));
        let (mean, error) = spread(&[1.0, 2.0, 3.0]);
        assert!((mean - 2.0).abs() < 1e-12 && (error - (1.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }
}
