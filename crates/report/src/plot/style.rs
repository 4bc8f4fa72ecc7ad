//! Looks of runs: each run has its own pair of a color and a shape.

/// Colors that people with any color vision can distinguish on white (Okabe and Ito), without yellow.
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Shapes; their number has no common factor with that of the colors.
const SHAPES: [Shape; 5] = [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::Down];

/// The marks of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Down,
    /// A proof of optimality.
    Star,
}

impl Shape {
    /// Returns the corners, to the right of and above the middle.
    pub fn outline(self) -> impl Iterator<Item = (f64, f64)> {
        let (corners, turn, radius) = match self {
            Shape::Circle => (20, 0.0, 3.8),
            Shape::Square => (4, 0.125, 5.0),
            Shape::Triangle => (3, 0.0, 5.0),
            Shape::Diamond => (4, 0.0, 5.2),
            Shape::Down => (3, 0.5, 5.0),
            Shape::Star => (10, 0.0, 8.0),
        };
        (0..corners).map(move |corner| {
            let angle = std::f64::consts::TAU * (f64::from(corner) / f64::from(corners) + turn);
            let radius = if self == Shape::Star && corner % 2 == 1 { 0.42 * radius } else { radius };
            (radius * angle.sin(), radius * angle.cos())
        })
    }
}

/// Returns the color of a run.
pub fn color(run: usize) -> &'static str {
    COLORS[run % COLORS.len()]
}

/// Returns the color of a source's marks, which differs from the run's.
pub fn source_color(source: usize) -> &'static str {
    color(source + 1)
}

/// Returns the shape of a run's marks.
pub fn shape(run: usize) -> Shape {
    SHAPES[run % SHAPES.len()]
}

/// Returns the width of lines if `runs` runs are drawn.
pub fn width(runs: usize) -> f64 {
    if runs > 4 { 1.4 } else { 2.0 }
}

/// Returns the opacity of bands: many on top of each other are no darker than one.
pub fn band(runs: usize) -> f64 {
    0.18 / runs as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_differ_in_color_or_shape() {
        let looks: Vec<_> = (0..35).map(|run| (color(run), shape(run))).collect();
        assert!(looks.iter().enumerate().all(|(run, look)| !looks[..run].contains(look)));
    }
}
