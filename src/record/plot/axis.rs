//! Axes: what range to show, where to put ticks and how to write them.

use super::{Curve, TimeScale};

/// A range of numbers that is mapped to 0..=1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    /// Where a number lies; may be outside 0..=1.
    pub fn place(&self, number: f64) -> f64 {
        if self.log {
            (number.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            // halves, because the span of two finite numbers need not be finite
            (number / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0)
        }
    }

    /// Numbers to mark, with what to write there.
    pub fn ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        if self.log { self.log_ticks() } else { self.linear_ticks(wanted) }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let rough = (self.high / wanted as f64) - (self.low / wanted as f64);
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= rough).unwrap_or(rough);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        let count = ((last - first) as usize).min(100);
        (0..=count).map(|i| (first + i as f64) * step).map(|number| (number, label(number, step))).collect()
    }

    /// Powers of ten; their double and fivefold too where there are few.
    fn log_ticks(&self) -> Vec<(f64, String)> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let factors: &[f64] = if last - first <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let marks = (first..=last).flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
        let inside = marks.filter(|&mark| mark >= self.low * 0.999 && mark <= self.high * 1.001);
        inside.map(|mark| (mark, label(mark, mark))).collect()
    }

    /// The time axis for these runs.
    pub fn of_time(curves: &[Curve], scale: TimeScale) -> Axis {
        let end = curves.iter().filter_map(|curve| curve.points.last()).map(|point| point.time).fold(0.0, f64::max);
        let end = if end > 0.0 { end } else { 1.0 };
        let changes = changes(curves);
        let log = match scale {
            TimeScale::Log => true,
            TimeScale::Linear => false,
            // half of what happens would be squeezed into the first twentieth of the picture
            TimeScale::Auto => changes.get(changes.len() / 2).is_some_and(|&median| median * 20.0 < end),
        };
        let first = changes.first().copied().unwrap_or(end);
        // at most five decades, and at least one
        let low = if log { first.clamp(end * 1e-5, end * 0.1) } else { 0.0 };
        Axis { low, high: end, log }
    }

    /// The axis of costs. Curves start far off, and what matters happens near their ends: the second half of the time
    /// axis fills at least the middle third of the height (an earlier part where nothing changes there), the rest may
    /// be cut off.
    pub fn of_costs(curves: &[Curve], time: &Axis) -> Axis {
        let full = range(curves, time, 0.0);
        let ranges = [0.5, 0.25, 0.1, 0.0].map(|from| range(curves, time, from));
        let shown = ranges.into_iter().flatten().find(|(low, high)| {
            let size = low.abs().max(high.abs());
            high / 2.0 - low / 2.0 > 1e-3 * size
        });
        let (low, high) = match (shown, full) {
            (Some((low, high)), Some(full)) => {
                let span = (high - low).min(f64::MAX / 8.0);
                ((low - span).max(full.0), (high + span).min(full.1))
            }
            (None, Some((low, high))) => {
                let pad = if low == 0.0 && high == 0.0 { 1.0 } else { 0.01 * low.abs().max(high.abs()) };
                (low - pad, high + pad)
            }
            _ => (0.0, 1.0),
        };
        let pad = 0.04 * (high / 2.0 - low / 2.0);
        Axis { low: low - pad, high: high + pad, log: false }
    }
}

/// When the curves change, ascending.
fn changes(curves: &[Curve]) -> Vec<f64> {
    let changed = |curve: &Curve| -> Vec<f64> {
        let pairs = curve.points.windows(2).filter(|pair| {
            let [before, after] = pair else { return false };
            (before.upper, before.lower) != (after.upper, after.lower)
        });
        pairs.map(|pair| pair[1].time).filter(|&time| time > 0.0).collect()
    };
    let mut times: Vec<f64> = curves.iter().flat_map(changed).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The least and the greatest number that a curve takes in the part of the time axis that begins at `from`.
fn range(curves: &[Curve], time: &Axis, from: f64) -> Option<(f64, f64)> {
    let mut range: Option<(f64, f64)> = None;
    for curve in curves {
        let start = curve.points.partition_point(|point| time.place(point.time) <= from).saturating_sub(1);
        for number in curve.points[start..].iter().flat_map(|point| [point.upper, point.lower]).flatten() {
            let (low, high) = range.unwrap_or((number, number));
            range = Some((low.min(number), high.max(number)));
        }
    }
    range
}

/// A number at a tick, with the digits that tell it from its neighbours.
fn label(number: f64, step: f64) -> String {
    let number = if number.abs() < step * 1e-9 { 0.0 } else { number };
    if number.abs() >= 1e9 || (number != 0.0 && step < 1e-6) {
        return format!("{number:e}");
    }
    let digits = (-step.log10().floor()).max(0.0) as usize;
    format!("{number:.digits$}").replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let written = |axis: Axis| axis.ticks(5).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(written(Axis { low: 3.0, high: 17.0, log: false }), ["5", "10", "15"]);
        assert_eq!(written(Axis { low: -0.11, high: 0.1, log: false }), ["−0.10", "−0.05", "0.00", "0.05", "0.10"]);
        assert_eq!(written(Axis { low: 0.01, high: 60.0, log: true }), ["0.01", "0.1", "1", "10"]);
        assert_eq!(written(Axis { low: 1.0, high: 60.0, log: true }), ["1", "2", "5", "10", "20", "50"]);
    }
}
