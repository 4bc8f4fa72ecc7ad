//! Comparison of settings over several instances and seeds: measures of each run, medians over seeds, totals over
//! instances.

mod profile;
mod table;

pub use profile::profile_svg;
pub use table::{Table, TableFile};

use super::comparison::{Axis, Trace, primal_integral, spread};
use super::csv::Recorded;
use crate::model::Number;
use serde::Serialize;
use std::cmp::Ordering;

/// Added to integrals before their logarithm is taken, so that runs whose first solution is the best differ little.
const INTEGRAL_FLOOR: f64 = 1e-3;

/// A finished run of a setting.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// The network.
    pub instance: String,
    /// The name of the setting.
    pub setting: String,
    /// The seed, or what else distinguishes runs of a setting.
    pub seed: String,
    /// The solutions and bounds; without points if the run failed.
    pub recorded: Recorded,
    /// Whether the program ended with an error.
    pub failed: bool,
}

/// The measures of one run, a row of the CSV.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the fields are the columns, described in docs/compare.md")]
pub struct Measures {
    pub instance: String,
    pub setting: String,
    pub seed: String,
    pub cost: Option<Number>,
    pub bound: Option<Number>,
    pub gap: Option<f64>,
    pub proved: bool,
    pub primal_integral: Option<f64>,
    pub time_to_best_s: Option<f64>,
    pub time_to_target_s: Option<f64>,
    pub failed: bool,
}

/// The quartiles of a measure over seeds. An unknown value counts as the worst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles<T> {
    /// The better quartile.
    pub better: Option<T>,
    /// The median; of an even number of runs the worse middle one.
    pub median: Option<T>,
    /// The worse quartile.
    pub worse: Option<T>,
}

impl<T: Copy + PartialOrd> Quartiles<T> {
    fn of(values: impl IntoIterator<Item = Option<T>>, larger_is_better: bool) -> Quartiles<T> {
        let mut values: Vec<Option<T>> = values.into_iter().collect();
        values.sort_by(|a, b| better_first(*a, *b, larger_is_better));
        let last = values.len().saturating_sub(1);
        let at = |place: usize| values.get(place).copied().flatten();
        Quartiles { better: at(last / 4), median: at(values.len() / 2), worse: at(last - last / 4) }
    }
}

/// Orders values from the best to the worst; unknown ones come last.
fn better_first<T: PartialOrd>(a: Option<T>, b: Option<T>, larger_is_better: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => {
            let order = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
            if larger_is_better { order.reverse() } else { order }
        }
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// The runs of a setting on an instance.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The name of the setting.
    pub setting: String,
    /// The number of runs.
    pub runs: usize,
    /// The number of runs that ended with an error.
    pub failed: usize,
    /// The number of runs with a solution.
    pub solved: usize,
    /// The number of runs that proved their solution optimal, or the instance infeasible.
    pub proved: usize,
    /// Whether no setting has a median of lower cost (higher value for maximisation).
    pub wins: bool,
    /// The cost of the solution.
    pub cost: Quartiles<Number>,
    /// The relative distance of the cost from the run's own bound.
    pub gap: Quartiles<f64>,
    /// The mean relative distance from the best cost of all runs of the instance over the time limit; unknown if no run
    /// has a solution.
    pub primal_integral: Quartiles<f64>,
    /// Seconds to the run's best solution.
    pub time_to_best_s: Quartiles<f64>,
}

/// An instance with the runs of all settings.
#[derive(Clone, Debug, Serialize)]
pub struct Instance {
    /// The network.
    pub instance: String,
    /// `min` or `max`.
    pub sense: &'static str,
    /// The best cost of all runs.
    pub best: Option<Number>,
    /// A cell for each setting, in their order.
    pub settings: Vec<Cell>,
}

/// A setting over all instances.
#[derive(Clone, Debug, Serialize)]
pub struct Total {
    /// The name of the setting.
    pub setting: String,
    /// The number of runs.
    pub runs: usize,
    /// The number of runs that ended with an error.
    pub failed: usize,
    /// The number of runs with a solution.
    pub solved: usize,
    /// The number of runs with a proof.
    pub proved: usize,
    /// The number of instances on which no setting has a median of lower cost.
    pub wins: usize,
    /// The mean primal integral over instances with a solution; `None` if there are none.
    pub primal_integral: Option<f64>,
    /// The mean change of the logarithm of the median primal integral against the first setting; below 0 is better.
    pub change: f64,
    /// The standard error of `change` over the instances.
    pub change_error: f64,
}

/// A comparison of settings.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The time limit of the integrals in seconds.
    pub time_s: f64,
    /// The settings, the first of which is the reference of changes.
    pub settings: Vec<Total>,
    /// The instances in the order of their first runs.
    pub instances: Vec<Instance>,
    /// The runs in order.
    pub runs: Vec<Measures>,
}

impl Comparison {
    /// Compares runs with a time limit of `time_s` seconds. A run has reached the target of its instance with a cost
    /// within the relative distance `within` of the best one of all runs.
    pub fn of(runs: &[ComparedRun], time_s: f64, within: f64) -> Comparison {
        let settings = distinct(runs.iter().map(|run| &run.setting));
        let mut measures = Vec::new();
        let mut instances = Vec::new();
        for name in distinct(runs.iter().map(|run| &run.instance)) {
            let own: Vec<&ComparedRun> = runs.iter().filter(|run| run.instance == name).collect();
            let maximise = own.iter().any(|run| run.recorded.curve.maximise);
            let costs = own.iter().filter_map(|run| run.recorded.cost);
            let best = costs.reduce(|a, b| if better_first(Some(b), Some(a), maximise).is_lt() { b } else { a });
            let of_run = |run: &&ComparedRun| measures_of(run, best, time_s, within);
            let rows: Vec<Measures> = own.iter().map(of_run).collect();
            let mut cells: Vec<Cell> = settings.iter().map(|setting| cell(setting, &rows, maximise)).collect();
            let medians: Vec<Option<Number>> = cells.iter().map(|cell| cell.cost.median).collect();
            for cell in &mut cells {
                let own = cell.cost.median;
                let beaten = medians.iter().any(|&other| better_first(other, own, maximise).is_lt());
                cell.wins = own.is_some() && !beaten;
            }
            let sense = if maximise { "max" } else { "min" };
            instances.push(Instance { instance: name, sense, best, settings: cells });
            measures.extend(rows);
        }
        let settings = (0..settings.len()).map(|place| total(place, &instances, &measures)).collect();
        Comparison { time_s, settings, instances, runs: measures }
    }

    /// Returns whether any run has a solution.
    pub fn has_solution(&self) -> bool {
        self.settings.iter().any(|setting| setting.solved > 0)
    }
}

/// Returns the different texts in the order of their first occurrence.
fn distinct<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for text in texts {
        if !known.contains(text) {
            known.push(text.clone());
        }
    }
    known
}

fn measures_of(run: &ComparedRun, best: Option<Number>, time_s: f64, within: f64) -> Measures {
    let Recorded { cost, bound, ref curve, .. } = run.recorded;
    let trace = Trace::of(curve);
    let best = best.map(Number::as_f64);
    let first = |reached: &dyn Fn(f64) -> bool| {
        curve.points.iter().find(|point| point.found.is_some_and(reached)).map(|point| point.time)
    };
    let gap = match (cost, bound) {
        (Some(_), _) if curve.optimal => Some(0.0),
        (Some(cost), Some(bound)) => Some(relative_gap(cost, bound)),
        _ => None,
    };
    let last = curve.points.iter().rev().find_map(|point| point.found);
    Measures {
        instance: run.instance.clone(),
        setting: run.setting.clone(),
        seed: run.seed.clone(),
        cost,
        bound,
        gap,
        proved: curve.optimal,
        primal_integral: best.map(|best| primal_integral(&trace, Some(best), Axis::Time, time_s)),
        time_to_best_s: last.and_then(|last| first(&|found| found == last)),
        time_to_target_s: best.and_then(|best| first(&|found| is_within(found, best, within))),
        failed: run.failed,
    }
}

/// Returns the distance of two numbers, relative to the larger absolute value.
fn relative_gap(cost: Number, bound: Number) -> f64 {
    match cost.distance(bound) {
        0.0 => 0.0,
        distance => distance / cost.as_f64().abs().max(bound.as_f64().abs()),
    }
}

/// Returns whether a cost is within a relative distance of the best one.
fn is_within(cost: f64, best: f64, within: f64) -> bool {
    (cost - best).abs() <= within * best.abs().max(cost.abs())
}

fn cell(setting: &str, rows: &[Measures], maximise: bool) -> Cell {
    let own: Vec<&Measures> = rows.iter().filter(|row| row.setting == setting).collect();
    let count = |is: fn(&Measures) -> bool| own.iter().filter(|row| is(row)).count();
    let times = |of: fn(&Measures) -> Option<f64>| Quartiles::of(own.iter().map(|row| of(row)), false);
    Cell {
        setting: setting.into(),
        runs: own.len(),
        failed: count(|row| row.failed),
        solved: count(|row| row.cost.is_some()),
        proved: count(|row| row.proved),
        wins: false,
        cost: Quartiles::of(own.iter().map(|row| row.cost), maximise),
        gap: times(|row| row.gap),
        primal_integral: times(|row| row.primal_integral),
        time_to_best_s: times(|row| row.time_to_best_s),
    }
}

/// Returns the total of the setting with index `place`.
fn total(place: usize, instances: &[Instance], runs: &[Measures]) -> Total {
    let cells = || instances.iter().map(|instance| &instance.settings[place]);
    let setting = cells().next().map(|cell| cell.setting.clone()).unwrap_or_default();
    let logarithm = |cell: &Cell| Some((cell.primal_integral.median? + INTEGRAL_FLOOR).ln());
    let change = |instance: &Instance| Some(logarithm(&instance.settings[place])? - logarithm(&instance.settings[0])?);
    let changes: Vec<f64> = instances.iter().filter_map(change).collect();
    let (change, change_error) = spread(&changes);
    let own = runs.iter().filter(|run| run.setting == setting);
    let own: Vec<f64> = own.filter_map(|run| run.primal_integral).collect();
    Total {
        runs: cells().map(|cell| cell.runs).sum(),
        failed: cells().map(|cell| cell.failed).sum(),
        solved: cells().map(|cell| cell.solved).sum(),
        proved: cells().map(|cell| cell.proved).sum(),
        wins: cells().filter(|cell| cell.wins).count(),
        primal_integral: (!own.is_empty()).then(|| spread(&own).0),
        change,
        change_error,
        setting,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plot::{Curve, Point};

    pub(crate) fn run(instance: &str, setting: &str, seed: u64, costs: &[(f64, i64)]) -> ComparedRun {
        let point = |&(time, cost): &(f64, i64)| Point { time, found: Some(cost as f64), bound: Some(1.0) };
        let curve = Curve { points: costs.iter().map(point).collect(), ..Curve::default() };
        let cost = costs.last().map(|&(_, cost)| Number::Integer(cost));
        let recorded = Recorded { curve, cost, bound: Some(Number::Integer(1)), ..Recorded::default() };
        ComparedRun {
            instance: instance.into(),
            setting: setting.into(),
            seed: seed.to_string(),
            recorded,
            failed: false,
        }
    }

    #[test]
    fn medians_wins_and_integrals() {
        let runs = [
            run("a", "x", 1, &[(1.0, 20), (5.0, 10)]),
            run("a", "x", 2, &[(1.0, 12)]),
            run("a", "y", 1, &[(1.0, 10)]),
            run("a", "y", 2, &[]),
            run("b", "x", 1, &[(0.0, 7)]),
            run("b", "y", 1, &[(0.0, 7)]),
        ];
        let comparison = Comparison::of(&runs, 10.0, 0.01);
        let a = &comparison.instances[0];
        assert_eq!((a.best, a.sense), (Some(Number::Integer(10)), "min"));
        let [x, y] = &a.settings[..] else { panic!("two settings") };
        // of two runs the worse one is the median, and no solution is the worst
        assert_eq!((x.cost.median, y.cost.median), (Some(Number::Integer(12)), None));
        assert_eq!((x.wins, y.wins, x.solved, y.solved), (true, false, 2, 1));
        let wins: Vec<usize> = comparison.settings.iter().map(|setting| setting.wins).collect();
        assert_eq!(wins, [2, 1], "equal medians win both");
        // 1 before the first solution, then (20 - 10) / 20 for four seconds
        assert!((comparison.runs[0].primal_integral.expect("one") - 0.3).abs() < 1e-12);
        assert_eq!(comparison.runs[0].time_to_target_s, Some(5.0));
        assert_eq!((comparison.runs[1].time_to_best_s, comparison.runs[1].time_to_target_s), (Some(1.0), None));
        assert_eq!((comparison.settings[0].change, comparison.runs[3].primal_integral), (0.0, Some(1.0)));
    }

    #[test]
    fn costs_that_doubles_cannot_tell_apart_differ() {
        let large = 1 << 60;
        let runs = [run("a", "x", 1, &[(0.0, large + 1)]), run("a", "y", 1, &[(0.0, large)])];
        let comparison = Comparison::of(&runs, 1.0, 0.0);
        let wins: Vec<bool> = comparison.instances[0].settings.iter().map(|cell| cell.wins).collect();
        assert_eq!((comparison.instances[0].best, wins), (Some(Number::Integer(large)), vec![false, true]));
    }

    #[test]
    fn instances_without_a_solution_have_no_integral() {
        let mut infeasible = run("a", "x", 1, &[]);
        infeasible.recorded.curve.optimal = true;
        let comparison = Comparison::of(&[infeasible, run("a", "y", 1, &[])], 1.0, 0.0);
        let [x, y] = &comparison.instances[0].settings[..] else { panic!("two settings") };
        assert_eq!((x.proved, x.solved, x.gap.median, x.wins, y.wins), (1, 0, None, false, false));
        assert_eq!((x.primal_integral.median, comparison.settings[0].primal_integral), (None, None));
        assert!(!comparison.has_solution());
    }

    #[test]
    fn quartiles_are_of_the_runs() {
        let of = |values: &[u32]| Quartiles::of(values.iter().map(|&value| Some(value)), false);
        assert_eq!(of(&[5, 1, 4, 2, 3]), Quartiles { better: Some(2), median: Some(3), worse: Some(4) });
        assert_eq!(of(&[9]), Quartiles { better: Some(9), median: Some(9), worse: Some(9) });
        assert_eq!(of(&[]), Quartiles { better: None, median: None, worse: None });
    }
}
