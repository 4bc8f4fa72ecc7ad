//! Performance profiles (Dolan, Moré, "Benchmarking optimization software with performance profiles", 2002): for each
//! setting the share of runs that reached the target within a factor of the fastest setting's time. Instances without a
//! solution in any run are left out.

use super::Comparison;
use crate::plot::style::{color, width};
use crate::plot::svg::{Anchor, FONT_SIZE, Style, Svg, width_of};

/// Times below count as this many seconds: the ratio of two shorter ones says little.
const SHORTEST: f64 = 0.01;
/// The size of the axes and of the space around them, in units of the picture.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const BELOW: f64 = 68.0;
const MARGIN: f64 = 24.0;
/// The height of a line of the legend, and the length of its sample.
const LINE: f64 = 20.0;
const SAMPLE: f64 = 28.0;

/// The curve of a setting: factors in ascending order.
struct ProfileCurve<'a> {
    setting: &'a str,
    factors: Vec<f64>,
    runs: usize,
}

/// Draws the profile as SVG. Factors refer to the least time to the target of any run of the same instance.
pub fn profile_svg(comparison: &Comparison, title: &str) -> String {
    let curves: Vec<ProfileCurve<'_>> =
        comparison.settings.iter().map(|total| curve(comparison, &total.setting)).collect();
    let largest = curves.iter().flat_map(|curve| &curve.factors).copied().fold(1.0, f64::max);
    let decades = largest.log10().ceil().max(1.0);
    let x = |factor: f64| LEFT + WIDTH * (factor.log10() / decades).clamp(0.0, 1.0);
    let y = |share: f64| TOP + HEIGHT * (1.0 - share);
    let mut svg = Svg::default();
    svg.title(LEFT + WIDTH / 2.0, 0.6 * TOP, title);
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        svg.path(&[(LEFT, y(share)), (LEFT + WIDTH, y(share))], false, Style::line("#ddd", 1.0));
        svg.text(LEFT - 8.0, y(share) + 0.35 * FONT_SIZE, Anchor::End, &format!("{} %", 25 * step));
    }
    for decade in 0..=decades as i32 {
        for factor in [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(decade)) {
            if factor <= 10f64.powf(decades) {
                svg.path(&[(x(factor), TOP), (x(factor), TOP + HEIGHT)], false, Style::line("#eee", 1.0));
                svg.text(x(factor), TOP + HEIGHT + 1.4 * FONT_SIZE, Anchor::Middle, &format!("{factor}"));
            }
        }
    }
    svg.path(&[(LEFT, TOP), (LEFT, TOP + HEIGHT), (LEFT + WIDTH, TOP + HEIGHT)], false, Style::line("#777", 1.0));
    svg.text(
        LEFT + WIDTH / 2.0,
        TOP + HEIGHT + 3.0 * FONT_SIZE,
        Anchor::Middle,
        "factor of the least time to the target",
    );
    svg.text_upwards(16.0, TOP + HEIGHT / 2.0, "share of runs");
    for (place, curve) in curves.iter().enumerate() {
        let mut points = vec![(x(1.0), y(0.0))];
        for (reached, &factor) in (1..).zip(&curve.factors) {
            points.push((x(factor), points[points.len() - 1].1));
            points.push((x(factor), y(f64::from(reached) / curve.runs.max(1) as f64)));
        }
        points.push((LEFT + WIDTH, points[points.len() - 1].1));
        let style = Style { dashed: place >= 7, ..Style::line(color(place), width(curves.len())) };
        svg.path(&points, false, style);
        let line = TOP + HEIGHT + BELOW + place as f64 * LINE;
        svg.path(&[(LEFT, line), (LEFT + SAMPLE, line)], false, style);
        svg.text(LEFT + SAMPLE + 8.0, line + 0.35 * FONT_SIZE, Anchor::Start, curve.setting);
    }
    let longest = curves.iter().map(|curve| width_of(curve.setting)).fold(0.0, f64::max);
    let wide = (WIDTH + MARGIN).max(SAMPLE + 8.0 + longest + MARGIN);
    svg.finish(LEFT + wide, TOP + HEIGHT + BELOW + curves.len() as f64 * LINE)
}

fn curve<'a>(comparison: &Comparison, setting: &'a str) -> ProfileCurve<'a> {
    let time = |time: f64| time.max(SHORTEST);
    let least = |instance: &str| {
        let runs = comparison.runs.iter().filter(|run| run.instance == instance);
        runs.filter_map(|run| run.time_to_target_s).map(time).fold(f64::INFINITY, f64::min)
    };
    let own = comparison.runs.iter().filter(|run| run.setting == setting && least(&run.instance).is_finite());
    let mut factors: Vec<f64> =
        own.clone().filter_map(|run| Some(time(run.time_to_target_s?) / least(&run.instance))).collect();
    factors.sort_by(f64::total_cmp);
    ProfileCurve { setting, factors, runs: own.count() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn shares_rise_with_the_factor_and_stay_below_one_without_the_target() {
        let runs = [
            run("a", "fast", 1, &[(1.0, 10)]),
            run("a", "slow <1>", 1, &[(4.0, 10)]),
            run("b", "fast", 1, &[(2.0, 10)]),
            run("b", "slow <1>", 1, &[(2.0, 20)]),
        ];
        let comparison = Comparison::of(&runs, 10.0, 0.01);
        let [fast, slow] = ["fast", "slow <1>"].map(|setting| curve(&comparison, setting));
        assert_eq!((fast.factors, slow.factors, slow.runs), (vec![1.0, 1.0], vec![4.0], 2));
        let svg = profile_svg(&comparison, "profile");
        assert!(svg.contains("slow &lt;1&gt;") && !svg.contains("NaN"), "{svg}");
        let empty = Comparison::of(&[run("a", "x", 1, &[])], 1.0, 0.01);
        assert!(!profile_svg(&empty, "").contains("NaN"));
    }
}
