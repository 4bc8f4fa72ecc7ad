//! The section of the plane that a chart shows, and the labels of its axes.

use super::svg::{MINUS, power};
use super::{Curve, TimeScale};
use std::ops::Range;

/// Largest number that is drawn, so that spans are finite. Costs have 64 bits, so they are far smaller.
const LARGEST: f64 = 1e30;
/// Fraction of the height beyond a break of the axis, and of the break itself.
const BEHIND: f64 = 0.08;
const BREAK: f64 = 0.025;
/// Largest distance of a curve's start from its later part that needs no break, as a multiple of the later part's
/// height.
const NEAR: f64 = 3.0;
/// Largest number that the labels of an axis show in full.
const LONGEST: f64 = 1e6;
/// Largest number of characters of the labels at the ends of an axis.
const LETTERS: usize = 11;

/// A position on an axis, from 0 to 1, and its label.
pub type Tick = (f64, String);

/// The time axis.
#[derive(Debug)]
pub struct TimeAxis {
    range: Range<f64>,
    log: bool,
    /// Whether something changed before the start of the axis.
    pub is_cut: bool,
}

impl TimeAxis {
    /// Returns the time axis for these runs.
    pub fn of(curves: &[Curve], scale: TimeScale) -> Self {
        let end = curves.iter().filter_map(|curve| curve.points.last()).map(|point| point.time).fold(0.0, f64::max);
        let end = if end > 1e-9 { end.min(LARGEST) } else { 1.0 };
        let changes = changes(curves);
        let log = match scale {
            TimeScale::Log => true,
            TimeScale::Linear => false,
            // otherwise half of the changes would be squeezed into the first twentieth of the picture
            TimeScale::Auto => changes.get(changes.len() / 2).is_some_and(|&median| median * 20.0 < end),
        };
        let first = changes.first().copied().unwrap_or(end);
        // at least one decade, and no more than can be distinguished
        let start = if log { 10f64.powf(first.clamp(end * 1e-8, end * 0.1).log10().floor()) } else { 0.0 };
        TimeAxis { range: start..end, log, is_cut: first < start }
    }

    /// Returns the position of a time, from 0 to 1; times before the start are at 0.
    pub fn place(&self, time: f64) -> f64 {
        let Range { start, end } = self.range;
        let place = if self.log { (time / start).ln() / (end / start).ln() } else { (time - start) / (end - start) };
        place.clamp(0.0, 1.0)
    }

    /// Returns the time at a position.
    pub fn at(&self, part: f64) -> f64 {
        let Range { start, end } = self.range;
        if self.log { start * (end / start).powf(part) } else { start + (end - start) * part }
    }

    /// Returns the ticks of the axis; minor ticks have empty labels.
    pub fn ticks(&self) -> Vec<Tick> {
        let Range { start, end } = self.range;
        if !self.log {
            let step = step(start..end, 8);
            let digits = digits(step);
            return multiples(start..end, step).map(|time| (self.place(time), format!("{time:.digits$}"))).collect();
        }
        let (first, decades) = (start.log10().round() as i32, (end / start).log10());
        let labelled: &[u32] = if decades < 3.0 { &[1, 2, 5] } else { &[1] };
        let decade = |power: i32| (1..10).map(move |factor| (power, factor));
        let places = (first..first + decades.floor() as i32 + 1).flat_map(decade);
        let tick = |(power, factor): (i32, u32)| {
            let time = f64::from(factor) * 10f64.powi(power);
            let digits = usize::try_from(-power).unwrap_or(0);
            let label = labelled.contains(&factor).then(|| format!("{time:.digits$}"));
            (time <= end * (1.0 + 1e-9)).then(|| (self.place(time), label.unwrap_or_default()))
        };
        places.filter_map(tick).collect()
    }
}

/// The axis of costs. Curves start far from their ends, where the interesting changes are, so distant parts lie beyond
/// a break, on a separate scale.
#[derive(Debug)]
pub struct CostAxis {
    main: Range<f64>,
    /// The ends of the axis beyond a break, if there is one.
    below: Option<f64>,
    above: Option<f64>,
}

impl CostAxis {
    /// Returns the axis for these runs. Its main part shows the second half of the time (or an earlier part if nothing
    /// changes there), and at least the same height above and below.
    pub fn of(curves: &[Curve], time: &TimeAxis) -> Self {
        let Some((least, greatest)) = extremes(curves, time.at(0.0)) else {
            return CostAxis { main: 0.0..1.0, below: None, above: None };
        };
        let shown = [0.5, 0.25, 0.1, 0.0].iter().filter_map(|&from| extremes(curves, time.at(from)));
        let shown = shown.into_iter().find(|(low, high)| high - low > 1e-3 * low.abs().max(high.abs()));
        let (low, high) = shown.map_or((least, greatest), |(low, high)| {
            // parts nearby need no break
            let span = high - low;
            let low = if low - least < NEAR * span { least } else { low - span };
            (low, if greatest - high < NEAR * span { greatest } else { high + span })
        });
        let pad = match high - low {
            0.0 if low == 0.0 => 1.0,
            0.0 => 0.01 * low.abs(),
            span => 0.05 * span,
        };
        CostAxis {
            main: low - pad..high + pad,
            below: (least < low).then_some(least),
            above: (greatest > high).then_some(greatest),
        }
    }

    /// Returns the position of a cost, from 0 to 1.
    pub fn place(&self, cost: f64) -> f64 {
        let cost = cost.clamp(-LARGEST, LARGEST);
        let Range { start, end } = self.main;
        let (low, high) = self.ends();
        // the part beyond a break starts at its far side
        match (self.below, self.above) {
            (Some(least), _) if cost < start => (low - BREAK) * (cost - least) / (start - least),
            (_, Some(greatest)) if cost > end => high + BREAK + (1.0 - high - BREAK) * (cost - end) / (greatest - end),
            _ => low + (high - low) * (cost - start) / (end - start),
        }
    }

    /// Returns the positions of the middles of the breaks.
    pub fn breaks(&self) -> impl Iterator<Item = f64> {
        let (low, high) = self.ends();
        let below = self.below.map(|_| low - BREAK / 2.0);
        below.into_iter().chain(self.above.map(|_| high + BREAK / 2.0))
    }

    /// Returns the start and the end of the main part.
    fn ends(&self) -> (f64, f64) {
        let behind = |end: Option<f64>| if end.is_some() { BEHIND } else { 0.0 };
        (behind(self.below), 1.0 - behind(self.above))
    }

    /// Returns the unit of the labels, and the ticks.
    pub fn ticks(&self) -> (Labels, Vec<Tick>) {
        let step = step(self.main.clone(), 8);
        let labels = Labels::of(&self.main, step);
        let ends = self.below.into_iter().chain(self.above).map(|end| (self.place(end), labels.short(end)));
        let inside = multiples(self.main.clone(), step).map(|cost| (self.place(cost), labels.label(cost)));
        let ticks = inside.chain(ends).collect();
        (labels, ticks)
    }
}

/// The notation of an axis's costs: minus an offset, in units of a power of ten.
#[derive(Debug, PartialEq)]
pub struct Labels {
    /// The offset, 0 unless the numbers would have too many digits in common.
    pub offset: f64,
    /// The exponent of the power of ten.
    pub exponent: i32,
    digits: usize,
}

impl Labels {
    fn of(range: &Range<f64>, step: f64) -> Labels {
        let largest = |offset: f64| (range.start - offset).abs().max((range.end - offset).abs());
        let unit = 10f64.powf((range.end - range.start).log10().ceil());
        let middle = f64::midpoint(range.start, range.end);
        let offset = if largest(0.0) / step > LONGEST { (middle / unit).round() * unit } else { 0.0 };
        let exponent = match largest(offset) {
            largest if (1e-2..LONGEST).contains(&largest) => 0,
            largest => 3 * (largest.log10() / 3.0).floor() as i32,
        };
        Labels { offset, exponent, digits: digits(step / 10f64.powi(exponent)) }
    }

    fn scaled(&self, cost: f64) -> f64 {
        // + 0.0 turns -0 into 0
        (cost - self.offset) / 10f64.powi(self.exponent) + 0.0
    }

    fn label(&self, cost: f64) -> String {
        grouped(&format!("{:.*}", self.digits, self.scaled(cost)))
    }

    /// Returns the label of a distant number, in at most as many characters as other labels.
    fn short(&self, cost: f64) -> String {
        let label = self.label(cost);
        if label.chars().count() <= LETTERS {
            return label;
        }
        let scaled = format!("{:.2e}", self.scaled(cost));
        let (mantissa, exponent) = scaled.split_once('e').unwrap_or((&scaled, "0"));
        format!("{}\u{d7}{}", grouped(mantissa), power(exponent.parse().unwrap_or(0)))
    }
}

/// Groups digits by three, with a mathematical minus sign.
pub fn grouped(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| (MINUS, rest));
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut text = sign.to_string();
    for (place, digit) in whole.char_indices() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

/// Returns a step for about `ticks` ticks: one, two or five times a power of ten.
fn step(range: Range<f64>, ticks: u32) -> f64 {
    let rough = (range.end - range.start) / f64::from(ticks);
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0].map(|factor| factor * power).into_iter().find(|&step| step >= rough).unwrap_or(10.0 * power)
}

/// Returns the multiples of a step in a range; none if floating-point numbers are too coarse.
fn multiples(range: Range<f64>, step: f64) -> impl Iterator<Item = f64> {
    let (first, last) = ((range.start / step - 1e-9).ceil(), (range.end / step + 1e-9).floor());
    let count = if first.abs().max(last.abs()) < 1e15 { (last - first + 1.0).clamp(0.0, 100.0) as u32 } else { 0 };
    (0..count).map(move |k| (first + f64::from(k)) * step)
}

/// Returns the number of decimals that distinguish multiples of a step.
fn digits(step: f64) -> usize {
    (-(step.log10() + 1e-9).floor()).clamp(0.0, 12.0) as usize
}

/// Returns the times at which the curves change, ascending.
fn changes(curves: &[Curve]) -> Vec<f64> {
    let pairs = curves.iter().flat_map(|curve| curve.points.iter().zip(curve.points.iter().skip(1)));
    let changed = pairs.filter(|(before, after)| (before.found, before.bound) != (after.found, after.bound));
    let mut times: Vec<f64> = changed.map(|(_, after)| after.time).filter(|&time| time > 0.0).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Returns the least and the greatest value of the curves from a time on.
fn extremes(curves: &[Curve], from: f64) -> Option<(f64, f64)> {
    let points = curves.iter().flat_map(|curve| {
        let start = curve.points.partition_point(|point| point.time <= from).saturating_sub(1);
        &curve.points[start..]
    });
    let numbers = points.flat_map(|point| [point.found, point.bound]).flatten();
    numbers.map(|number| number.clamp(-LARGEST, LARGEST)).fold(None, |range, number| {
        let (low, high) = range.unwrap_or((number, number));
        Some((number.min(low), number.max(high)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Point;
    use super::*;

    fn curve(points: &[(f64, f64, f64)]) -> [Curve; 1] {
        let point = |&(time, found, bound): &_| Point { time, found: Some(found), bound: Some(bound) };
        [Curve { points: points.iter().map(point).collect(), ..Curve::default() }]
    }

    #[test]
    fn what_is_far_off_stands_behind_a_break_in_its_order() {
        let curves = curve(&[(0.1, 9e9, -5e9), (1.0, 120.0, 80.0), (10.0, 100.0, 95.0)]);
        let time = TimeAxis::of(&curves, TimeScale::Linear);
        assert_eq!((time.range.clone(), time.log), (0.0..10.0, false));
        let costs = CostAxis::of(&curves, &time);
        assert_eq!((costs.below, costs.above, costs.breaks().count()), (Some(-5e9), Some(9e9), 2));
        let places = [-5e9, -1e9, 80.0, 95.0, 120.0, 1000.0, 9e9].map(|cost| costs.place(cost));
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
        assert_eq!((places[0], places[6]), (0.0, 1.0));
        assert!(places[4] - places[2] > 0.25, "the later part fills a third of the rest: {places:?}");
        let (_, ticks) = costs.ticks();
        let ends: Vec<&Tick> = ticks.iter().filter(|(place, _)| *place == 0.0 || *place == 1.0).collect();
        assert_eq!(ends.len(), 2, "{ticks:?}");
    }

    #[test]
    fn an_axis_without_anything_far_off_has_no_break() {
        let curves = curve(&[(0.0, 30.0, 0.0), (1.0, 20.0, 5.0), (10.0, 12.0, 12.0)]);
        let costs = CostAxis::of(&curves, &TimeAxis::of(&curves, TimeScale::Linear));
        assert_eq!(costs.breaks().count(), 0);
        assert!(costs.place(0.0) > 0.0 && costs.place(30.0) < 1.0);
    }

    #[test]
    fn logarithmic_times_have_round_labels() {
        let curves = curve(&[(0.013, 9.0, 0.0), (0.02, 8.0, 0.0), (60.0, 8.0, 1.0)]);
        let time = TimeAxis::of(&curves, TimeScale::Log);
        let labels: Vec<String> = time.ticks().into_iter().map(|(_, label)| label).filter(|l| !l.is_empty()).collect();
        assert_eq!(labels, ["0.01", "0.1", "1", "10"]);
        assert!(time.ticks().windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!((time.place(0.0), time.place(60.0)), (0.0, 1.0));
    }

    #[test]
    fn labels_are_short_and_differ() {
        for (range, offset, exponent, expected) in [
            (0.0..16.0, 0.0, 0, vec!["0", "2", "4", "6", "8", "10", "12", "14", "16"]),
            (-0.3..0.25, 0.0, 0, vec!["−0.3", "−0.2", "−0.1", "0.0", "0.1", "0.2"]),
            (424_000.0..425_000.0, 0.0, 0, vec!["424,000", "424,200", "424,400", "424,600", "424,800", "425,000"]),
            (2e6..9e6, 0.0, 6, vec!["2", "3", "4", "5", "6", "7", "8", "9"]),
            (1e12 + 10.0..1e12 + 40.0, 1e12, 0, vec!["10", "15", "20", "25", "30", "35", "40"]),
        ] {
            let axis = CostAxis { main: range.clone(), below: None, above: None };
            let (labels, ticks) = axis.ticks();
            assert_eq!((labels.offset, labels.exponent), (offset, exponent), "{range:?}");
            assert_eq!(ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>(), expected, "{range:?}");
        }
        assert_eq!(["-1234567.5", "12", "1000", "-999"].map(grouped), ["−1,234,567.5", "12", "1,000", "−999"]);
        let labels = Labels { offset: 0.0, exponent: 0, digits: 1 };
        assert_eq!(labels.short(9e9), format!("9.00×{}", power(9)));
        assert_eq!(labels.short(-12345.0), "−12,345.0");
    }
}
