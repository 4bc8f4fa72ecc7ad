//! The picture of a chart.

use super::range::{self, TimeRange};
use super::{Chart, Curve, Point};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use std::error::Error;
use std::ops::Range;

const SIZE: (u32, u32) = (960, 600);

/// Colors that people with any color vision can tell apart on white (Okabe and Ito), yellow left out.
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    BLACK,
];

/// Draws a chart.
pub(super) fn draw(chart: &Chart) -> Result<String, Box<dyn Error>> {
    let time = TimeRange::of(&chart.curves, chart.time);
    let costs = range::of_costs(&chart.curves, &time);
    let mut svg = String::new();
    let range = time.range.clone();
    if time.log {
        // many ticks, so that decades are divided; those with a round label get one
        draw_on(&mut svg, chart, range.clone(), range.log_scale(), costs, 40, &log_label)?;
    } else {
        let digits = digits(&range);
        draw_on(&mut svg, chart, range.clone(), range, costs, 10, &|time| format!("{time:.digits$}"))?;
    }
    Ok(svg)
}

/// Draws on a time axis of either kind.
fn draw_on<X>(
    svg: &mut String,
    chart: &Chart,
    times: Range<f64>,
    axis: X,
    costs: Range<f64>,
    ticks: usize,
    time_label: &dyn Fn(&f64) -> String,
) -> Result<(), Box<dyn Error>>
where
    X: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
{
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let digits = digits(&costs);
    let cost_label = |cost: &f64| {
        if cost.abs() < 1e12 { format!("{cost:.digits$}") } else { format!("{cost:.4e}") }
    };
    let widest = [costs.start, costs.end].map(|cost| cost_label(&cost).len()).into_iter().max().unwrap_or(0);
    let mut builder = ChartBuilder::on(&area);
    let _ = builder.margin(16).x_label_area_size(48).y_label_area_size(44 + 8 * widest as u32);
    if !chart.title.is_empty() {
        let _ = builder.caption(printable(&chart.title), ("sans-serif", 22));
    }
    let mut context = builder.build_cartesian_2d(axis, costs.clone())?;
    context
        .configure_mesh()
        .x_desc("time in seconds")
        .y_desc("upper bound (solid), lower bound (dashed)")
        .label_style(("sans-serif", 16))
        .x_labels(ticks)
        .y_labels(10)
        .x_label_formatter(time_label)
        .y_label_formatter(&cost_label)
        .bold_line_style(RGBColor(221, 221, 221))
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (curve, color) in chart.curves.iter().zip(COLORS.iter().cycle()) {
        let style = color.stroke_width(2);
        let upper = steps(curve, |point| point.upper, &times, &costs);
        let lower = steps(curve, |point| point.lower, &times, &costs);
        let _ = context
            .draw_series(LineSeries::new(upper, style))?
            .label(legend(curve))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], style));
        let _ = context.draw_series(DashedLineSeries::new(lower, 7, 4, style))?;
    }
    if !chart.curves.is_empty() {
        // the bounds meet between the corners at the right, which leaves these free
        context
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font(("sans-serif", 16))
            .background_style(WHITE.mix(0.8))
            .draw()?;
    }
    area.present()?;
    Ok(())
}

/// A step curve inside the ranges; it goes on to the run's last point. What lies above or below is left out, not drawn
/// along the frame, which is what plotters does with it.
fn steps(
    curve: &Curve,
    side: impl Fn(&Point) -> Option<f64>,
    times: &Range<f64>,
    costs: &Range<f64>,
) -> Vec<(f64, f64)> {
    let mut corners = Vec::new();
    let mut last = None;
    for point in &curve.points {
        let Some(cost) = side(point).filter(|&cost| last != Some(cost)) else { continue };
        let time = point.time.clamp(times.start, times.end);
        if costs.contains(&cost) {
            corners.extend(last.map(|last: f64| (time, last.clamp(costs.start, costs.end))));
            corners.push((time, cost));
        }
        last = Some(cost);
    }
    if let (Some(&(_, cost)), Some(end)) = (corners.last(), curve.points.last()) {
        corners.push((end.time.clamp(times.start, times.end), cost));
    }
    corners
}

/// A run and its last interval.
fn legend(curve: &Curve) -> String {
    let last = |side: fn(&Point) -> Option<f64>| {
        let number = curve.points.iter().rev().find_map(side);
        number.map_or("?".to_string(), |number| ((number * 1e4).round() / 1e4).to_string())
    };
    format!("{} [{}, {}]", printable(&curve.label), last(|point| point.lower), last(|point| point.upper))
}

/// Control characters are not allowed in XML, not even escaped.
fn printable(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Decimals that tell the ticks of a range apart: ten at most, their distance is one, two or five times a power of ten,
/// and ten of them at a distance of five span less than 55.
fn digits(range: &Range<f64>) -> usize {
    (-((range.end - range.start) / 5.5).log10().floor()).clamp(0.0, 12.0) as usize
}

/// Labels one, two and five times a power of ten.
fn log_label(time: &f64) -> String {
    let power = (time.log10() + 1e-9).floor();
    let factor = time / 10f64.powf(power);
    let digits = (-power).clamp(0.0, 12.0) as usize;
    if [1.0, 2.0, 5.0].iter().any(|round| (factor - round).abs() < 1e-6) {
        format!("{time:.digits$}")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stay_inside() {
        let points = [(0.0, 900.0), (1.0, 12.0), (2.0, 12.0), (3.0, 10.0), (9.0, 10.0)];
        let points = points.map(|(time, upper)| Point { time, upper: Some(upper), lower: None }).to_vec();
        let curve = Curve { label: String::new(), points };
        let corners = steps(&curve, |point| point.upper, &(0.0..9.0), &(0.0..20.0));
        assert_eq!(corners, [(1.0, 20.0), (1.0, 12.0), (3.0, 12.0), (3.0, 10.0), (9.0, 10.0)]);
    }

    #[test]
    fn labels_are_round() {
        assert_eq!(
            [0.01, 0.02, 0.03, 0.1, 5.0, 60.0].map(|time| log_label(&time)),
            ["0.01", "0.02", "", "0.1", "5", ""]
        );
        assert_eq!([0.0..10.0, 0.0..5.2, 0.0..0.7, 95.0..1e6].map(|range| digits(&range)), [0, 1, 1, 0]);
    }
}
