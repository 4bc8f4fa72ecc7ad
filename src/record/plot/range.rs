//! What part of the plane a chart shows.

use super::{Curve, TimeScale};
use std::ops::Range;

/// Spans of numbers up to here are finite. Costs are 64-bit, so none comes near.
const LARGEST: f64 = 1e30;

/// The time axis.
pub(super) struct TimeRange {
    pub range: Range<f64>,
    pub log: bool,
}

impl TimeRange {
    /// The time axis for these runs.
    pub fn of(curves: &[Curve], scale: TimeScale) -> Self {
        let end = curves.iter().filter_map(|curve| curve.points.last()).map(|point| point.time).fold(0.0, f64::max);
        let end = if end > 1e-9 { end.min(LARGEST) } else { 1.0 };
        let changes = changes(curves);
        let log = match scale {
            TimeScale::Log => true,
            TimeScale::Linear => false,
            // half of what happens would be squeezed into the first twentieth of the picture
            TimeScale::Auto => changes.get(changes.len() / 2).is_some_and(|&median| median * 20.0 < end),
        };
        let first = changes.first().copied().unwrap_or(end);
        // at most five decades, and at least one; back to a power of ten, because plotters divides whole decades only,
        // and a little further, because it rounds the first one up
        let power = first.clamp(end * 1e-5, end * 0.1).log10().floor();
        let start = if log { 0.999 * 10f64.powf(power) } else { 0.0 };
        TimeRange { range: start..end, log }
    }

    /// The time at a fraction of the axis.
    fn at(&self, fraction: f64) -> f64 {
        let Range { start, end } = self.range;
        if self.log { start * (end / start).powf(fraction) } else { start + (end - start) * fraction }
    }
}

/// The axis of costs. Curves start far off, and what matters happens near their ends: the second half of the time
/// axis fills at least the middle third of the height (an earlier part where nothing changes there), the rest may be
/// cut off.
pub(super) fn of_costs(curves: &[Curve], time: &TimeRange) -> Range<f64> {
    let Some((least, greatest)) = extremes(curves, f64::NEG_INFINITY) else { return 0.0..1.0 };
    let shown = [0.5, 0.25, 0.1, 0.0].iter().filter_map(|&from| extremes(curves, time.at(from)));
    let shown = shown.into_iter().find(|(low, high)| high - low > 1e-3 * low.abs().max(high.abs()));
    let (low, high) = match shown {
        Some((low, high)) => ((2.0 * low - high).max(least), (2.0 * high - low).min(greatest)),
        None => {
            let pad = if least == 0.0 && greatest == 0.0 { 1.0 } else { 0.01 * least.abs().max(greatest.abs()) };
            (least - pad, greatest + pad)
        }
    };
    let pad = 0.04 * (high - low);
    low - pad..high + pad
}

/// When the curves change, ascending.
fn changes(curves: &[Curve]) -> Vec<f64> {
    let pairs = curves.iter().flat_map(|curve| curve.points.iter().zip(curve.points.iter().skip(1)));
    let changed = pairs.filter(|(before, after)| (before.upper, before.lower) != (after.upper, after.lower));
    let mut times: Vec<f64> = changed.map(|(_, after)| after.time).filter(|&time| time > 0.0).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The least and the greatest number that a curve takes from a time on.
fn extremes(curves: &[Curve], from: f64) -> Option<(f64, f64)> {
    let points = curves.iter().flat_map(|curve| {
        let start = curve.points.partition_point(|point| point.time <= from).saturating_sub(1);
        &curve.points[start..]
    });
    let numbers = points.flat_map(|point| [point.upper, point.lower]).flatten();
    numbers.map(|number| number.clamp(-LARGEST, LARGEST)).fold(None, |range, number| {
        let (low, high) = range.unwrap_or((number, number));
        Some((number.min(low), number.max(high)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Point;
    use super::*;

    #[test]
    fn the_later_part_decides() {
        let point = |time, upper, lower| Point { time, upper: Some(upper), lower: Some(lower) };
        let points = vec![point(0.1, 9e9, -5e9), point(1.0, 120.0, 80.0), point(10.0, 100.0, 95.0)];
        let curves = [Curve { label: String::new(), points }];
        let time = TimeRange::of(&curves, TimeScale::Linear);
        assert_eq!((time.range.clone(), time.log), (0.0..10.0, false));
        let costs = of_costs(&curves, &time);
        assert!(costs.start > 30.0 && costs.start < 80.0 && costs.end > 120.0 && costs.end < 170.0, "{costs:?}");
        assert_eq!(TimeRange::of(&curves, TimeScale::Log).range, 0.999..10.0);
    }
}
