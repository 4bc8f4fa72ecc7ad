//! The picture of a chart: the incumbent's cost is a solid line, the bound a dashed one, with a light band between
//! them.

use super::axis::{CostAxis, TimeAxis, grouped};
use super::legend::{self, Key};
use super::style::{self, Shape};
use super::svg::{Anchor, FONT_SIZE, MINUS, Style, Svg, power, width_of};
use super::{Chart, Curve, Point};

/// The width of a picture: at half its size it fills a column of a paper with readable text.
const WIDTH: f64 = 640.0;
/// The height of the plane.
const HEIGHT: f64 = 320.0;
const MARGIN: f64 = 12.0;
/// Smallest distance between marks of sources.
const APART: f64 = 5.0;
/// The height of a line of text.
const LINE: f64 = 1.5 * FONT_SIZE;
const FRAME: &str = "#444";
const GRID: &str = "#e4e4e4";

/// The plane of a chart in its picture.
struct Plane {
    time: TimeAxis,
    costs: CostAxis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plane {
    fn x(&self, part: f64) -> f64 {
        self.left + part * (self.right - self.left)
    }

    fn y(&self, part: f64) -> f64 {
        self.bottom - part * (self.bottom - self.top)
    }

    fn at(&self, time: f64, cost: f64) -> (f64, f64) {
        (self.x(self.time.place(time)), self.y(self.costs.place(cost)))
    }

    /// Returns the corners of a step curve from a time to the last point.
    fn steps(&self, curve: &Curve, side: fn(&Point) -> Option<f64>, from: f64) -> Vec<(f64, f64)> {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        let mut last = None;
        for point in &curve.points {
            let Some(cost) = side(point).filter(|&cost| last != Some(cost)) else { continue };
            let corner = self.at(point.time.max(from), cost);
            match corners.last().copied() {
                // earlier changes are not visible
                Some((x, _)) if x == corner.0 && corners.len() == 1 => corners.clear(),
                Some((_, y)) => corners.push((corner.0, y)),
                None => {}
            }
            corners.push(corner);
            last = Some(cost);
        }
        if let (Some(&(_, y)), Some(end)) = (corners.last(), curve.points.last()) {
            corners.push((self.x(self.time.place(end.time)), y));
        }
        corners
    }
}

/// Draws a chart as SVG.
pub(super) fn draw(chart: &Chart) -> String {
    let curves = &chart.curves;
    let time = TimeAxis::of(curves, chart.time);
    let costs = CostAxis::of(curves, &time);
    let (labels, cost_ticks) = costs.ticks();
    let widest = cost_ticks.iter().map(|(_, label)| width_of(label)).fold(0.0, f64::max);
    let keys = if chart.quantity.is_some() { Default::default() } else { legend::keys(curves) };
    let columns = keys.each_ref().map(|keys| legend::columns(keys, WIDTH - 2.0 * MARGIN));
    let titled = if chart.title.is_empty() { 0.0 } else { LINE };
    let rows: usize =
        keys.iter().zip(&columns).map(|(keys, columns)| keys.len().div_ceil((columns.len() - 1).max(1))).sum();
    let top = MARGIN + titled + rows as f64 * LINE + 0.5 * LINE;
    let left = MARGIN + LINE + widest + 10.0;
    let plane = Plane { time, costs, left, right: WIDTH - 2.0 * MARGIN, top, bottom: top + HEIGHT };

    let mut svg = Svg::default();
    if titled > 0.0 {
        svg.title(WIDTH / 2.0, MARGIN + FONT_SIZE, &chart.title);
    }
    let mut y = MARGIN + titled + 0.5 * LINE;
    for (keys, columns) in keys.iter().zip(&columns) {
        let [starts @ .., end] = &columns[..] else { continue };
        let left = ((WIDTH - end) / 2.0).max(MARGIN);
        for row in keys.chunks(starts.len()) {
            row.iter().zip(starts).for_each(|(key, start)| draw_key(&mut svg, key, left + start, y));
            y += LINE;
        }
    }
    let times = plane.time.ticks();
    for (part, _) in cost_ticks.iter().filter(|(part, _)| *part > 0.0) {
        let y = plane.y(*part);
        svg.path(&[(plane.left, y), (plane.right, y)], false, Style::line(GRID, 1.0));
    }
    for (part, _) in times.iter().filter(|(part, label)| *part > 0.0 && !label.is_empty()) {
        let x = plane.x(*part);
        svg.path(&[(x, plane.top), (x, plane.bottom)], false, Style::line(GRID, 1.0));
    }
    draw_curves(&mut svg, curves, &plane);
    draw_breaks(&mut svg, &plane);

    let corner = [(plane.left, plane.top), (plane.left, plane.bottom), (plane.right, plane.bottom)];
    svg.path(&corner, false, Style::line(FRAME, 1.0));
    for (part, label) in &cost_ticks {
        let y = plane.y(*part);
        svg.path(&[(plane.left - 5.0, y), (plane.left, y)], false, Style::line(FRAME, 1.0));
        svg.markup(plane.left - 9.0, y + 0.36 * FONT_SIZE, Anchor::End, label);
    }
    for (part, label) in &times {
        let (x, length) = (plane.x(*part), if label.is_empty() { 3.0 } else { 5.0 });
        svg.path(&[(x, plane.bottom), (x, plane.bottom + length)], false, Style::line(FRAME, 1.0));
        svg.markup(x, plane.bottom + 6.0 + FONT_SIZE, Anchor::Middle, label);
    }
    draw_axis_breaks(&mut svg, &plane);
    let bottom = plane.bottom + 8.0 + 2.0 * LINE;
    svg.text((plane.left + plane.right) / 2.0, bottom - 0.3 * LINE, Anchor::Middle, "time (s)");
    let mut title =
        chart.quantity.clone().unwrap_or_else(|| match curves.iter().filter(|curve| curve.maximise).count() {
            0 => "cost".to_string(),
            all if all == curves.len() => "value (larger is better)".into(),
            _ => "cost, or value where larger is better".into(),
        });
    if labels.offset != 0.0 {
        let sign = if labels.offset < 0.0 { "+" } else { MINUS };
        title += &format!(" {sign} {}", grouped(&labels.offset.abs().to_string()));
    }
    if labels.exponent != 0 {
        title += &format!(" (in {})", power(labels.exponent));
    }
    svg.text_upwards(MARGIN + FONT_SIZE, (plane.top + plane.bottom) / 2.0, &title);
    svg.finish(WIDTH, bottom + MARGIN / 2.0)
}

fn found(point: &Point) -> Option<f64> {
    point.found
}

fn bound(point: &Point) -> Option<f64> {
    point.bound
}

fn draw_curves(svg: &mut Svg, curves: &[Curve], plane: &Plane) {
    let many = curves.len();
    for (run, curve) in curves.iter().enumerate() {
        let known = curve.points.iter().find(|point| point.found.is_some() && point.bound.is_some());
        let Some(from) = known.map(|point| point.time) else { continue };
        let mut band = plane.steps(curve, found, from);
        band.extend(plane.steps(curve, bound, from).into_iter().rev());
        svg.path(&band, true, Style::area(style::color(run), style::band(many)));
    }
    let width = style::width(many);
    let line = |run: usize, dashed| Style { dashed, ..Style::line(style::color(run), width) };
    for (run, curve) in curves.iter().enumerate() {
        svg.path(&plane.steps(curve, bound, 0.0), false, line(run, true));
    }
    for (run, curve) in curves.iter().enumerate() {
        svg.path(&plane.steps(curve, found, 0.0), false, line(run, false));
    }
    if let [curve] = curves {
        draw_marks(svg, curve, plane);
    }
    for (run, curve) in curves.iter().enumerate().filter(|_| many > 1) {
        for (side, filled) in [(bound as fn(&Point) -> Option<f64>, false), (found, true)] {
            for (time, cost) in spread(curve, side, plane, run, many) {
                let (x, y) = plane.at(time, cost);
                draw_shape(svg, x, y, style::shape(run), style::color(run), filled);
            }
        }
    }
    for (run, curve) in curves.iter().enumerate() {
        if let Some((time, cost)) = curve.proved() {
            let (x, y) = plane.at(time, cost);
            draw_shape(svg, x, y, Shape::Star, style::color(run), true);
        }
    }
}

/// Draws the marks of the sources of changes; of overlapping marks only the first one.
fn draw_marks(svg: &mut Svg, curve: &Curve, plane: &Plane) {
    let mut drawn: Vec<(bool, f64, f64)> = Vec::new();
    for mark in &curve.marks {
        let (x, y) = plane.at(mark.time, mark.cost);
        let is_near =
            |&&(is_found, u, v): &&(bool, f64, f64)| is_found == mark.is_found && (x - u).hypot(y - v) < APART;
        if drawn.iter().rev().find(is_near).is_none() {
            let (shape, color) = (style::shape(mark.source), style::source_color(mark.source));
            draw_shape(svg, x, y, shape, color, mark.is_found);
            drawn.push((mark.is_found, x, y));
        }
    }
}

/// Returns the marks of a run on its curve: evenly over the time axis, each run's slightly later than the previous
/// run's.
fn spread(
    curve: &Curve,
    side: fn(&Point) -> Option<f64>,
    plane: &Plane,
    run: usize,
    runs: usize,
) -> impl Iterator<Item = (f64, f64)> {
    const MARKS: usize = 5;
    let part = move |mark: usize| (mark as f64 + (run as f64 + 0.5) / runs as f64) / MARKS as f64;
    let end = curve.points.last().map_or(0.0, |point| point.time);
    let times = (0..MARKS).map(move |mark| plane.time.at(part(mark))).filter(move |&time| time <= end);
    times.filter_map(move |time| {
        let last = curve.points.partition_point(|point| point.time <= time).checked_sub(1)?;
        Some((time, side(&curve.points[last])?))
    })
}

fn draw_shape(svg: &mut Svg, x: f64, y: f64, shape: Shape, color: &str, filled: bool) {
    let outline: Vec<(f64, f64)> = shape.outline().map(|(right, up)| (x + right, y - up)).collect();
    let (inside, edge) = if filled { (color, "#fff") } else { ("#fff", color) };
    let width = if filled { 0.8 } else { 1.2 };
    svg.path(&outline, true, Style { fill: Some((inside, 1.0)), stroke: Some((edge, width)), dashed: false });
}

/// Cuts the curves at the breaks of the cost axis.
fn draw_breaks(svg: &mut Svg, plane: &Plane) {
    for part in plane.costs.breaks() {
        let y = plane.y(part);
        let strip = [(plane.left, y - 2.5), (plane.right, y - 2.5), (plane.right, y + 2.5), (plane.left, y + 2.5)];
        svg.path(&strip, true, Style::area("#fff", 1.0));
    }
}

/// Draws two strokes across an axis at each break.
fn draw_axis_breaks(svg: &mut Svg, plane: &Plane) {
    for part in plane.costs.breaks() {
        let (x, y) = (plane.left, plane.y(part));
        svg.path(&[(x, y - 2.5), (x, y + 2.5)], false, Style::line("#fff", 2.0));
        for y in [y - 2.5, y + 2.5] {
            svg.path(&[(x - 5.0, y + 2.5), (x + 5.0, y - 2.5)], false, Style::line(FRAME, 1.2));
        }
    }
    if plane.time.is_cut {
        let (x, y) = (plane.left + 8.0, plane.bottom);
        svg.path(&[(x - 2.5, y), (x + 2.5, y)], false, Style::line("#fff", 2.0));
        for x in [x - 2.5, x + 2.5] {
            svg.path(&[(x - 2.5, y + 5.0), (x + 2.5, y - 5.0)], false, Style::line(FRAME, 1.2));
        }
    }
}

/// Draws an entry of the legend; (x, y) is the middle of its left end.
fn draw_key(svg: &mut Svg, key: &Key, mut x: f64, y: f64) {
    if key.line {
        let line = Style { dashed: key.dashed, ..Style::line(key.color, 2.0) };
        svg.path(&[(x, y), (x + legend::SAMPLE, y)], false, line);
    }
    if let Some(shape) = key.shape {
        draw_shape(svg, x + legend::SAMPLE / 2.0, y, shape, key.color, !key.dashed);
    }
    if key.line || key.shape.is_some() {
        x += legend::SAMPLE + legend::SPACE;
    }
    svg.text(x, y + 0.36 * FONT_SIZE, Anchor::Start, &key.text);
}
