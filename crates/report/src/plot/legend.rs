//! The legend of a chart, above its plane.

use super::Curve;
use super::axis::grouped;
use super::style::{self, Shape};
use super::svg::width_of;

/// The width of a sample line, and of the space after it.
pub const SAMPLE: f64 = 28.0;
pub const SPACE: f64 = 6.0;
/// The space between columns.
const GAP: f64 = 18.0;
/// The color for all runs.
const ALL: &str = "#555";

/// An entry of the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub color: &'static str,
    pub line: bool,
    /// Whether the line is dashed and the shape hollow.
    pub dashed: bool,
    pub shape: Option<Shape>,
    pub text: String,
}

/// Returns the entries of the legend: the meaning of each kind of line, and the color of each run.
pub fn keys(curves: &[Curve]) -> [Vec<Key>; 2] {
    let (alone, color) = match curves {
        [curve] => (Some(curve), style::color(0)),
        _ => (None, ALL),
    };
    let key = |line, dashed, shape, text: String| Key { color, line, dashed, shape, text };
    let value = |side: fn(&Curve) -> Option<f64>| {
        alone.and_then(side).map_or_else(String::new, |value| format!(" {}", number(value)))
    };
    let mut kinds = Vec::new();
    if curves.iter().any(|curve| curve.found().is_some()) {
        kinds.push(key(true, false, None, format!("found{}", value(Curve::found))));
    } else {
        kinds.push(key(false, false, None, "nothing found".into()));
    }
    if curves.iter().any(|curve| curve.bound().is_some()) {
        kinds.push(key(true, true, None, format!("proven bound{}", value(Curve::bound))));
    }
    if curves.iter().any(|curve| curve.proved().is_some()) {
        let after =
            alone.and_then(Curve::proved).map_or_else(String::new, |(time, _)| format!(" after {}", seconds(time)));
        kinds.push(key(false, false, Some(Shape::Star), format!("proved optimal{after}")));
    }
    let run = |(run, curve): (usize, &Curve)| Key {
        color: style::color(run),
        line: true,
        dashed: false,
        shape: Some(style::shape(run)),
        text: format!("{}{}", curve.label, known(curve)),
    };
    let source = |(source, name): (usize, &String)| Key {
        color: style::source_color(source),
        line: false,
        dashed: false,
        shape: Some(style::shape(source)),
        text: name.clone(),
    };
    let runs = match alone {
        Some(curve) => curve.sources.iter().enumerate().map(source).collect(),
        None => curves.iter().enumerate().map(run).collect(),
    };
    [kinds, runs]
}

/// Returns the starts of the columns of some entries, and the end of the last one, for the most columns that fit.
pub fn columns(keys: &[Key], width: f64) -> Vec<f64> {
    let needs = |key: &Key| if key.line || key.shape.is_some() { SAMPLE + SPACE } else { 0.0 } + width_of(&key.text);
    let starts = |columns: usize| {
        let widest = |column: usize| keys.iter().skip(column).step_by(columns).map(needs).fold(0.0, f64::max);
        let ends = (0..columns).map(widest).scan(-GAP, |end, width| {
            *end += GAP + width;
            Some(*end)
        });
        let ends: Vec<f64> = ends.collect();
        [0.0]
            .into_iter()
            .chain(ends.iter().take(columns - 1).map(|end| end + GAP))
            .chain(ends.last().copied())
            .collect()
    };
    let fits = |starts: &Vec<f64>| starts.last().is_some_and(|&end| end <= width);
    (2..=keys.len()).rev().map(starts).find(fits).unwrap_or_else(|| starts(1))
}

/// Returns the final result of a run as text.
fn known(curve: &Curve) -> String {
    match (curve.found(), curve.bound()) {
        (None, None) => String::new(),
        (Some(found), None) => format!(": {}", number(found)),
        (None, Some(bound)) => format!(": nothing, bound {}", number(bound)),
        (Some(found), _) if curve.proved().is_some() => format!(": {}", number(found)),
        (Some(found), Some(bound)) => {
            let (low, high) = (found.min(bound), found.max(bound));
            let to = if low < 0.0 { " to " } else { "\u{2013}" };
            format!(": {}{to}{}", number(low), number(high))
        }
    }
}

/// Returns a number with at most four decimals.
fn number(number: f64) -> String {
    grouped(&((number * 1e4).round() / 1e4 + 0.0).to_string())
}

/// Returns a time with two decimals, or more if it needs them to show two digits.
fn seconds(time: f64) -> String {
    let digits = (1.0 - time.max(1e-6).log10().floor()).max(2.0) as usize;
    format!("{time:.digits$} s")
}
