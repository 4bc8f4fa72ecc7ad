//! Distributions as horizontal bars: a group for each variable, a bar for each of its values.

use super::style::color;
use super::svg::{Anchor, FONT_SIZE, Style, Svg, width_of};
use crate::error::Error;

/// The maximum number of bars of a picture: more cannot be distinguished.
pub const MOST_BARS: usize = 1000;
/// The maximum number of columns, and the height of a column from which another one begins, in rows.
const MOST_COLUMNS: usize = 4;
const COLUMN_ROWS: usize = 36;
/// The length of a bar of probability 1, and other sizes in units of the picture.
const LENGTH: f64 = 220.0;
const ROW: f64 = 20.0;
const BAR: f64 = 13.0;
const MARGIN: f64 = 24.0;
const GAP: f64 = 8.0;
/// The width of the number behind a bar.
const NUMBER: f64 = 96.0;

/// A value and its probability.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The name of the value.
    pub name: String,
    /// The least possible probability.
    pub lower: f64,
    /// The largest possible probability; equal to `lower` if the probability is known.
    pub upper: f64,
}

/// A variable and the distribution of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// The name of the variable.
    pub name: String,
    /// Its values.
    pub bars: Vec<Bar>,
}

/// Draws distributions as SVG. A bar ends at the least possible probability; a lighter part and a line continue to the
/// largest one.
///
/// # Errors
/// Fails if there are more bars than a picture shows, or none.
pub fn bars_svg(distributions: &[Distribution], title: &str) -> Result<String, Error> {
    let bars: usize = distributions.iter().map(|own| own.bars.len()).sum();
    if bars == 0 || bars > MOST_BARS {
        return Err(Error::Usage(format!("the picture has {bars} bars, expected 1 to {MOST_BARS}")));
    }
    let labels = distributions.iter().flat_map(|own| &own.bars).map(|bar| width_of(&bar.name));
    let label = labels.fold(0.0, f64::max);
    let heads = distributions.iter().map(|own| width_of(&own.name)).fold(0.0, f64::max);
    let wide = (label + GAP + LENGTH + GAP + NUMBER).max(heads) + MARGIN;
    let rows = |own: &Distribution| own.bars.len() + 2;
    let all: usize = distributions.iter().map(rows).sum();
    let columns = all.div_ceil(COLUMN_ROWS).min(MOST_COLUMNS);
    let tall = all.div_ceil(columns);
    let (mut svg, mut column, mut row, mut lowest) = (Svg::default(), 0, 0, 0);
    let top = if title.is_empty() { MARGIN } else { 2.0 * MARGIN };
    for own in distributions {
        if row > 0 && row + rows(own) > tall + 2 && column + 1 < columns {
            (column, row) = (column + 1, 0);
        }
        let corner = (MARGIN + column as f64 * wide, top + row as f64 * ROW);
        group(&mut svg, own, corner, label);
        row += rows(own);
        lowest = lowest.max(row);
    }
    let (width, height) = (MARGIN + (column + 1) as f64 * wide, top + lowest as f64 * ROW);
    svg.title(width / 2.0, 1.2 * MARGIN, title);
    Ok(svg.finish(width, height))
}

/// Draws a variable below and to the right of a corner.
fn group(svg: &mut Svg, own: &Distribution, (left, top): (f64, f64), label: f64) {
    svg.text(left, top + FONT_SIZE, Anchor::Start, &own.name);
    let start = left + label + GAP;
    let rule = |svg: &mut Svg, x: f64, color: &str| {
        let (begin, end) = (top + ROW, top + (own.bars.len() + 1) as f64 * ROW);
        svg.path(&[(x, begin), (x, end)], false, Style::line(color, 1.0));
    };
    rule(svg, start + LENGTH, "#ddd");
    for (place, bar) in own.bars.iter().enumerate() {
        let y = top + (place + 1) as f64 * ROW + (ROW - BAR) / 2.0;
        let (lower, upper) = (start + LENGTH * bar.lower, start + LENGTH * bar.upper);
        let area = |end: f64| [(start, y), (end, y), (end, y + BAR), (start, y + BAR)];
        svg.path(&area(upper), true, Style::area(color(0), if bar.lower < bar.upper { 0.25 } else { 0.85 }));
        if bar.lower < bar.upper {
            svg.path(&area(lower), true, Style::area(color(0), 0.85));
            svg.path(&[(lower, y + BAR / 2.0), (upper, y + BAR / 2.0)], false, Style::line(color(1), 1.6));
        }
        let base = y + BAR - 2.0;
        svg.text(start - GAP, base, Anchor::End, &bar.name);
        svg.text(upper.max(start) + GAP, base, Anchor::Start, &shown(bar));
    }
    rule(svg, start, "#777");
}

/// Returns a probability, or an interval that contains it, with three decimals.
fn shown(bar: &Bar) -> String {
    let [lower, upper] = [(bar.lower * 1e3).floor() / 1e3, (bar.upper * 1e3).ceil() / 1e3];
    match bar.upper - bar.lower {
        wide if wide > 1e-6 => format!("{lower:.3} to {upper:.3}"),
        _ => format!("{:.3}", bar.lower),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(name: &str, bars: &[(&str, f64, f64)]) -> Distribution {
        let bar = |&(name, lower, upper): &(&str, f64, f64)| Bar { name: name.into(), lower, upper };
        Distribution { name: name.into(), bars: bars.iter().map(bar).collect() }
    }

    #[test]
    fn every_value_has_a_bar_as_long_as_its_probability() {
        let rain = distribution("<rain>", &[("yes", 0.25, 0.25), ("no", 0.75, 0.75)]);
        let wind = distribution("wind", &[("weak", 0.1, 0.4), ("strong", 0.6, 0.9)]);
        let svg = bars_svg(&[rain, wind], "garden").expect("a picture");
        for text in ["garden", "&lt;rain&gt;", ">yes<", ">0.250<", ">0.750<", ">0.100 to 0.400<", ">0.600 to 0.900<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // the background, an area for each value, and a second one for each interval
        assert_eq!((svg.matches("Z\"").count(), svg.contains("NaN")), (6, false));
        let lengths: Vec<f64> = svg.lines().filter(|line| line.contains("Z\"")).filter_map(length).collect();
        let expected = [0.25, 0.75, 0.4, 0.1, 0.9, 0.6].map(|share| share * LENGTH);
        assert!(lengths.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.011), "{lengths:?}");
    }

    /// Returns the length of the rectangle that a line of SVG draws.
    fn length(line: &str) -> Option<f64> {
        let mut corners = line.split(['M', 'L', 'Z']).skip(1).map(|corner| corner.split(' ').next()?.parse().ok());
        let (first, second): (Option<f64>, Option<f64>) = (corners.next()?, corners.next()?);
        Some(second? - first?)
    }

    #[test]
    fn many_bars_have_columns_and_too_many_are_refused() {
        let own = |index: usize| distribution(&format!("v{index}"), &[("0", 0.5, 0.5), ("1", 0.5, 0.5)]);
        let many: Vec<Distribution> = (0..100).map(own).collect();
        let svg = bars_svg(&many, "").expect("a picture");
        assert!(svg.contains(">v99<"));
        let too_many: Vec<Distribution> = (0..=MOST_BARS / 2).map(own).collect();
        assert!(bars_svg(&too_many, "").is_err() && bars_svg(&[], "").is_err());
    }
}
