//! Convergence charts: the upper and the lower curve of one or several runs over time.
//!
//! `plotters` draws the SVG; PNG is drawn from the same SVG with a font of our own, so that text appears on machines
//! that have none.

mod draw;
mod range;

use super::ReplacedFile;
use crate::error::Error;
use resvg::{tiny_skia, usvg};
use std::path::Path;
use std::sync::Arc;

/// What is known at a time. Between two points nothing changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds.
    pub time: f64,
    /// The upper curve.
    pub upper: Option<f64>,
    /// The lower curve.
    pub lower: Option<f64>,
}

/// The two curves of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What the legend calls it.
    pub label: String,
    /// In the order of time.
    pub points: Vec<Point>,
}

/// How the time axis is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeScale {
    /// Logarithmic where most changes come early.
    #[default]
    Auto,
    /// Evenly.
    Linear,
    /// By its logarithm.
    Log,
}

/// A chart of several runs.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The title.
    pub title: String,
    /// The runs.
    pub curves: Vec<Curve>,
    /// The time axis.
    pub time: TimeScale,
}

impl Chart {
    /// The picture as SVG.
    ///
    /// # Errors
    /// [`Error::Internal`] if it cannot be drawn.
    pub fn svg(&self) -> Result<String, Error> {
        draw::draw(self).map_err(|error| internal(&*error))
    }

    /// The picture as PNG.
    ///
    /// # Errors
    /// [`Error::Internal`] if the SVG cannot be drawn.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family(FONT_FAMILY);
        let options = usvg::Options { fontdb: Arc::new(fonts), ..Default::default() };
        let tree = usvg::Tree::from_str(&self.svg()?, &options).map_err(|error| internal(&error))?;
        let size = tree.size().to_int_size().scale_by(PNG_SCALE).ok_or_else(|| internal(&"it has no size"))?;
        let mut pixels =
            tiny_skia::Pixmap::new(size.width(), size.height()).ok_or_else(|| internal(&"it has no size"))?;
        let scale = tiny_skia::Transform::from_scale(PNG_SCALE, PNG_SCALE);
        resvg::render(&tree, scale, &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| internal(&error))
    }
}

fn internal(what: &dyn std::fmt::Display) -> Error {
    Error::Internal(format!("the chart cannot be drawn: {what}"))
}

const FONT: &[u8] = include_bytes!("../../../assets/DejaVuSans-Latin.ttf");
const FONT_FAMILY: &str = "DejaVu Sans";
/// Two pixels a unit: sharp on today's screens.
const PNG_SCALE: f32 = 2.0;

/// A picture file; what kind of picture follows from its extension.
#[derive(Clone, Debug)]
pub struct PictureFile {
    file: ReplacedFile,
    png: bool,
}

impl PictureFile {
    /// Prepares to write `path`.
    ///
    /// # Errors
    /// An extension other than `.svg` and `.png`, and a path that cannot be written.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let png = match extension.as_deref() {
            Some("svg") => false,
            Some("png") => true,
            _ => return Err(Error::Usage(format!("{}: a picture is .svg or .png", path.display()))),
        };
        Ok(PictureFile { file: ReplacedFile::new(path)?, png })
    }

    /// Draws the chart.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, chart: &Chart) -> Result<(), Error> {
        let content = if self.png { chart.png()? } else { chart.svg()?.into_bytes() };
        self.file.write(&content).map_err(|source| Error::Io {
            path: self.file.path().into(),
            action: "cannot write",
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(label: &str) -> Curve {
        let point = |time, upper, lower| Point { time, upper, lower };
        let points = vec![
            point(0.0, None, None),
            point(0.1, Some(9e9), Some(-5.0)),
            point(1.0, Some(120.0), Some(80.0)),
            point(5.0, Some(100.0), Some(95.0)),
            point(10.0, Some(100.0), Some(97.5)),
        ];
        Curve { label: label.into(), points }
    }

    fn chart(curves: Vec<Curve>) -> Chart {
        Chart { title: "a < b & c".into(), curves, time: TimeScale::Auto }
    }

    #[test]
    fn svg_is_well_formed_and_clips_wild_starts() -> Result<(), Error> {
        let svg = chart(vec![run("a"), run("b")]).svg()?;
        assert!(usvg::roxmltree::Document::parse(&svg).is_ok(), "{svg}");
        assert!(svg.contains("a &lt; b &amp; c"));
        assert!(!svg.contains("9000000000"), "the first value does not stretch the axis");
        Ok(())
    }

    #[test]
    fn degenerate_runs_are_drawn() -> Result<(), Error> {
        let point = |upper, lower| Point { time: 0.0, upper, lower };
        for points in [
            vec![],
            vec![point(None, None)],
            vec![point(Some(0.0), None)],
            vec![point(Some(7.0), Some(7.0)), point(Some(7.0), Some(7.0))],
            vec![point(Some(1e300), Some(-1e300))],
        ] {
            for time in [TimeScale::Auto, TimeScale::Linear, TimeScale::Log] {
                let curves = vec![Curve { label: "x".into(), points: points.clone() }];
                let svg = Chart { title: String::new(), curves, time }.svg()?;
                assert!(usvg::roxmltree::Document::parse(&svg).is_ok() && !svg.contains("NaN"), "{svg}");
            }
        }
        assert!(!chart(vec![]).svg()?.contains("NaN"));
        Ok(())
    }

    /// Without any system font: text leaves dark pixels in the title's strip.
    #[test]
    fn png_has_text() -> Result<(), Box<dyn std::error::Error>> {
        let png = chart(vec![run("a")]).png()?;
        let pixels = tiny_skia::Pixmap::decode_png(&png)?;
        let strip = pixels.pixels().iter().take(pixels.width() as usize * 80);
        assert!(strip.filter(|pixel| pixel.red() < 100).count() > 100);
        Ok(())
    }

    #[test]
    fn other_pictures_are_refused() {
        assert!(PictureFile::new(Path::new("x.pdf")).is_err());
        assert!(PictureFile::new(Path::new("svg")).is_err());
    }
}
