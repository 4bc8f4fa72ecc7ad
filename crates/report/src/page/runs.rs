//! The page of several runs: a panel for each instance, and a table of medians over seeds.

use super::{Figure, Line, Page};
use crate::Recorded;
use crate::plot::style::color;
use crate::plot::{Chart, Curve, Point, TimeScale};
use crate::text::{counted, grouped, per_cent};
use std::collections::BTreeMap;

/// Returns a page of labelled runs; `time` is the scale of the pictures.
pub fn runs_page(title: &str, runs: Vec<(String, Recorded)>, time: TimeScale) -> String {
    let mut instances: BTreeMap<String, Vec<(String, Recorded)>> = BTreeMap::new();
    for (label, run) in runs {
        let instance = run.instance.clone().unwrap_or_else(|| label.clone());
        instances.entry(instance).or_default().push((label, run));
    }
    let all = instances.values().map(Vec::len).sum();
    let title = if title.is_empty() { "fangs: runs" } else { title };
    let mut page = Page::new(title, false);
    let (count, of) = (counted(all, "run"), counted(instances.len(), "instance"));
    page.put(format_args!("<p class=\"verdict\">{count} of {of}.</p>"));
    page.heading("Medians over the runs of an instance");
    let head = [
        "instance",
        "runs",
        "proved optimal",
        "best value",
        "median value",
        "median bound",
        "median gap",
        "best after",
    ];
    page.table(&head, &instances.iter().map(|(name, runs)| medians(name, runs)).collect::<Vec<_>>());
    page.put(
        "<p class=\"soft\">Of an even number the worse middle one; a run without a value or bound counts as the worst. \
         <q>Best after</q> is the median of the times of the best value of each run.</p>",
    );
    for (place, (name, runs)) in instances.into_iter().enumerate() {
        page.heading(&name);
        let lines = runs.iter().enumerate().flat_map(|(run, (label, recorded))| {
            let of = |what: &str, dashed, side: fn(&Point) -> Option<f64>| {
                let points = recorded.curve.points.iter().filter_map(|point| Some((point.time, side(point)?, None)));
                Line::new(format!("{label} {what}"), color(run), dashed, points.collect())
            };
            [of("found", false, |point| point.found), of("bound", true, |point| point.bound)]
        });
        let lines = lines.collect();
        let curves = runs.into_iter().map(|(label, run)| Curve { label, ..run.curve }).collect();
        let svg = Chart { curves, time, ..Chart::default() }.svg();
        page.figure(&format!("panel {place}"), &svg, "", Figure { name: "value".into(), lines });
    }
    page.finish()
}

/// Returns the table row of an instance.
fn medians(name: &str, runs: &[(String, Recorded)]) -> Vec<String> {
    let maximise = runs.iter().any(|(_, run)| run.curve.maximise);
    let last = |side: fn(&Point) -> Option<f64>| move |curve: &Curve| curve.points.iter().rev().find_map(side);
    let (found, bound) = (last(|point| point.found), last(|point| point.bound));
    let curves = || runs.iter().map(|(_, run)| &run.curve);
    let gap = |curve: &Curve| {
        let (value, bound) = (found(curve)?, bound(curve)?);
        Some(if value == bound || curve.optimal { 0.0 } else { (value - bound).abs() / value.abs().max(bound.abs()) })
    };
    let best_at = |curve: &Curve| {
        let best = found(curve)?;
        curve.points.iter().find(|point| point.found == Some(best)).map(|point| point.time)
    };
    let number = |number: Option<f64>| number.map_or("-".into(), |number| grouped((number * 1e4).round() / 1e4));
    let values: Vec<f64> = curves().filter_map(found).collect();
    let best = values.iter().copied().reduce(if maximise { f64::max } else { f64::min });
    vec![
        name.into(),
        grouped(runs.len()),
        grouped(curves().filter(|curve| curve.optimal).count()),
        number(best),
        number(median(curves().map(found), !maximise)),
        number(median(curves().map(bound), maximise)),
        median(curves().map(gap), true).map_or("-".into(), per_cent),
        median(curves().map(best_at), true).map_or("-".into(), |time| format!("{time:.2} s")),
    ]
}

/// Returns the median, the worse one of two middle numbers; unknown numbers are the worst.
fn median(numbers: impl Iterator<Item = Option<f64>>, smaller_is_better: bool) -> Option<f64> {
    let mut all: Vec<Option<f64>> = numbers.collect();
    let sign = if smaller_is_better { 1.0 } else { -1.0 };
    let key = |number: &Option<f64>| number.map_or(f64::INFINITY, |number| sign * number);
    all.sort_by(|a, b| key(a).total_cmp(&key(b)));
    all.get(all.len() / 2).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(instance: &str, points: &[(f64, f64, f64)]) -> Recorded {
        let point = |&(time, found, bound): &(f64, f64, f64)| Point { time, found: Some(found), bound: Some(bound) };
        let optimal = points.last().is_some_and(|(_, found, bound)| found == bound);
        let curve = Curve { points: points.iter().map(point).collect(), optimal, ..Curve::default() };
        Recorded { instance: Some(instance.into()), curve, ..Recorded::default() }
    }

    #[test]
    fn medians_count_what_is_missing_as_the_worst() {
        assert_eq!(median([Some(1.0), None, Some(3.0)].into_iter(), true), Some(3.0));
        assert_eq!(median([Some(1.0), None, Some(3.0)].into_iter(), false), Some(1.0));
        assert_eq!(median([Some(1.0), Some(2.0)].into_iter(), true), Some(2.0));
        assert_eq!(median([None, Some(2.0), None].into_iter(), true), None);
    }

    #[test]
    fn each_instance_has_a_row_and_a_panel() {
        let runs = vec![
            ("seed 1".into(), recorded("a.wcsp", &[(1.0, 20.0, 5.0), (2.0, 10.0, 10.0)])),
            ("seed 2".into(), recorded("a.wcsp", &[(1.0, 30.0, 5.0), (3.0, 20.0, 10.0)])),
            ("seed 3".into(), recorded("a.wcsp", &[(1.0, 40.0, 5.0), (4.0, 40.0, 8.0)])),
            ("b".into(), recorded("b.wcsp", &[(1.0, 7.0, 7.0)])),
        ];
        let html = runs_page("", runs, TimeScale::Auto);
        assert!(html.matches("<figure").count() == 2 && html.contains("4 runs of 2 instances"), "{html}");
        let row = ["a.wcsp", "3", "1", "10", "20", "10", "50.000 %", "2.00 s"].map(|cell| format!("<td>{cell}</td>"));
        assert!(html.contains(&row.concat()), "{html}");
    }
}
