//! The geometry of a chart.

use super::axis::Axis;
use super::{Chart, Curve, FONT_FAMILY, Point};
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 600.0;
const RIGHT: f64 = WIDTH - 24.0;
const BOTTOM: f64 = HEIGHT - 56.0;
const LETTER: f64 = 7.8;
const LINE: f64 = 20.0;

/// Colors that people with any color vision can tell apart on white (Okabe and Ito), yellow left out.
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// A part of the picture that numbers are mapped to.
struct Frame {
    left: f64,
    top: f64,
    time: Axis,
    cost: Axis,
}

impl Frame {
    fn x(&self, time: f64) -> f64 {
        self.left + (RIGHT - self.left) * self.time.place(time).clamp(0.0, 1.0)
    }

    /// Far outside at most, so that coordinates stay small; the clip path cuts off the rest.
    fn y(&self, cost: f64) -> f64 {
        BOTTOM - (BOTTOM - self.top) * self.cost.place(cost).clamp(-1.0, 2.0)
    }
}

/// Draws a chart.
pub(super) fn draw(chart: &Chart) -> String {
    let mut svg = String::new();
    write(&mut svg, chart).expect("a string takes everything");
    svg
}

fn write(svg: &mut String, chart: &Chart) -> std::fmt::Result {
    let time = Axis::of_time(&chart.curves, chart.time);
    let cost = Axis::of_costs(&chart.curves, &time);
    let cost_ticks = cost.ticks(7);
    let widest = cost_ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
    let left = 52.0 + LETTER * widest as f64;
    let legend = legend(chart, left);
    let lines = legend.last().map_or(0.0, |entry| entry.line) + 1.0;
    let frame = Frame { left, top: 52.0 + LINE * lines, time, cost };

    writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="{FONT_FAMILY}, Verdana, sans-serif" font-size="13" fill="#222">"##
    )?;
    writeln!(svg, r#"<rect width="100%" height="100%" fill="white"/>"#)?;
    writeln!(svg, r#"<text x="{left:.1}" y="30" font-size="17">{}</text>"#, escape(&chart.title))?;
    for entry in &legend {
        entry.write(svg)?;
    }
    grid(svg, &frame, &cost_ticks)?;
    let (width, height) = (RIGHT - left, BOTTOM - frame.top);
    writeln!(
        svg,
        r#"<clipPath id="frame"><rect x="{left:.1}" y="{:.1}" width="{width:.1}" height="{height:.1}"/></clipPath>"#,
        frame.top
    )?;
    writeln!(svg, r#"<g clip-path="url(#frame)" fill="none" stroke-width="2" stroke-linejoin="round">"#)?;
    for (index, curve) in chart.curves.iter().enumerate() {
        let color = COLORS[index % COLORS.len()];
        let upper = steps(&frame, curve, |point| point.upper);
        let lower = steps(&frame, curve, |point| point.lower);
        writeln!(svg, r#"<path stroke="{color}" d="{upper}"/>"#)?;
        let color = lower_color(&chart.curves, index);
        writeln!(svg, r#"<path stroke="{color}" stroke-dasharray="7 4" d="{lower}"/>"#)?;
    }
    writeln!(svg, "</g>\n</svg>")
}

/// A run's two curves have one color where there are several runs.
fn lower_color(curves: &[Curve], index: usize) -> &'static str {
    COLORS[if curves.len() == 1 { 1 } else { index % COLORS.len() }]
}

/// Grid lines, ticks and what the axes are.
fn grid(svg: &mut String, frame: &Frame, cost_ticks: &[(f64, String)]) -> std::fmt::Result {
    let Frame { left, top, .. } = frame;
    writeln!(svg, r##"<g stroke="#dddddd">"##)?;
    let time_ticks = frame.time.ticks(8);
    for (time, _) in &time_ticks {
        writeln!(svg, r#"<path d="M{:.1} {top:.1}V{BOTTOM}"/>"#, frame.x(*time))?;
    }
    for (cost, _) in cost_ticks {
        writeln!(svg, r#"<path d="M{left:.1} {:.1}H{RIGHT}"/>"#, frame.y(*cost))?;
    }
    writeln!(svg, r##"</g><path d="M{left:.1} {top:.1}V{BOTTOM}H{RIGHT}" fill="none" stroke="#222"/>"##)?;
    for (time, text) in &time_ticks {
        writeln!(svg, r#"<text x="{:.1}" y="{}" text-anchor="middle">{text}</text>"#, frame.x(*time), BOTTOM + 20.0)?;
    }
    for (cost, text) in cost_ticks {
        let (x, y) = (left - 8.0, frame.y(*cost) + 4.5);
        writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="end">{text}</text>"#)?;
    }
    let (x, y) = ((left + RIGHT) / 2.0, (top + BOTTOM) / 2.0);
    writeln!(svg, r#"<text x="{x:.1}" y="{}" text-anchor="middle">time in seconds</text>"#, HEIGHT - 14.0)?;
    writeln!(
        svg,
        r#"<text x="20" y="{y:.1}" text-anchor="middle" transform="rotate(-90 20 {y:.1})">upper and lower bound</text>"#
    )
}

/// A step curve; it goes on to the run's last point.
fn steps(frame: &Frame, curve: &Curve, side: impl Fn(&Point) -> Option<f64>) -> String {
    let mut path = String::new();
    let mut last = None;
    for point in &curve.points {
        let Some(number) = side(point) else { continue };
        if last == Some(number) {
            continue;
        }
        let (x, y) = (frame.x(point.time), frame.y(number));
        let result = match last {
            None => write!(path, "M{x:.1} {y:.1}"),
            Some(_) => write!(path, "H{x:.1}V{y:.1}"),
        };
        result.expect("a string takes everything");
        last = Some(number);
    }
    if let (Some(_), Some(end)) = (last, curve.points.last()) {
        write!(path, "H{:.1}", frame.x(end.time)).expect("a string takes everything");
    }
    path
}

/// A sample of a line with a text.
struct Entry {
    x: f64,
    line: f64,
    color: &'static str,
    dashed: bool,
    text: String,
}

impl Entry {
    fn write(&self, svg: &mut String) -> std::fmt::Result {
        let Entry { x, color, .. } = self;
        let y = 52.0 + LINE * self.line;
        let dash = if self.dashed { r#" stroke-dasharray="7 4""# } else { "" };
        writeln!(svg, r#"<path d="M{x:.1} {y:.1}h28" stroke="{color}" stroke-width="2"{dash}/>"#)?;
        writeln!(svg, r#"<text x="{:.1}" y="{:.1}">{}</text>"#, x + 34.0, y + 4.5, escape(&self.text))
    }
}

/// The legend, line by line: what solid and dashed mean, and the runs with their last interval.
fn legend(chart: &Chart, left: f64) -> Vec<Entry> {
    let line_kinds = [("upper bound", false), ("lower bound", true)];
    let single = chart.curves.len() == 1;
    let color = |dashed| match (single, dashed) {
        (false, _) => "#777777",
        (true, false) => COLORS[0],
        (true, true) => lower_color(&chart.curves, 0),
    };
    let mut items: Vec<(&'static str, bool, String)> =
        line_kinds.map(|(text, dashed)| (color(dashed), dashed, text.to_string())).into();
    for (index, curve) in chart.curves.iter().enumerate() {
        let last = |side: fn(&Point) -> Option<f64>| {
            let number = curve.points.iter().rev().find_map(side);
            number.map_or("?".to_string(), |number| ((number * 1e4).round() / 1e4).to_string())
        };
        let (upper, lower) = (last(|point| point.upper), last(|point| point.lower));
        if single {
            items[0].2 = format!("upper bound {upper}");
            items[1].2 = format!("lower bound {lower}");
        } else {
            items.push((COLORS[index % COLORS.len()], false, format!("{} [{lower}, {upper}]", curve.label)));
        }
    }
    let (mut x, mut line) = (left, 0.0);
    let mut entries = Vec::new();
    for (color, dashed, text) in items {
        let width = 60.0 + LETTER * text.chars().count() as f64;
        if x > left && x + width > RIGHT {
            (x, line) = (left, line + 1.0);
        }
        entries.push(Entry { x, line, color, dashed, text });
        x += width;
    }
    entries
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // not allowed in XML, not even escaped
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
