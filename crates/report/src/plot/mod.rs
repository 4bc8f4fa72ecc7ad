//! Pictures: convergence charts, that is, the incumbents and bounds of one or several runs over time; policy graphs;
//! distributions as bars.
//!
//! PNG and PDF are made from the same SVG, with an embedded font, so that text appears on machines without fonts.

mod axis;
mod bars;
mod draw;
mod legend;
mod pdf;
mod policy;
pub(super) mod style;
pub(super) mod svg;

pub use bars::{Bar, Distribution, MOST_BARS, bars_svg};
pub use policy::policy_svg;

use super::ReplacedFile;
use crate::error::Error;
use crate::model::Number;
use crate::output::{Ending, Output, OutputKind, Recording};
use crate::search::Event;
use crate::stop::Stop;
use crate::terminal;
use resvg::{tiny_skia, usvg};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The results at a time; nothing changes between two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Time in seconds.
    pub time: f64,
    /// The incumbent's cost.
    pub found: Option<f64>,
    /// The best bound.
    pub bound: Option<f64>,
}

/// The solutions and bounds of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The name of the run in the legend.
    pub label: String,
    /// Whether larger is better.
    pub maximise: bool,
    /// Whether the last point is proved optimal.
    pub optimal: bool,
    /// Points in the order of time.
    pub points: Vec<Point>,
    /// Changes that are marked by their source, if the run is drawn alone.
    pub marks: Vec<Mark>,
    /// The names of the sources of changes.
    pub sources: Vec<String>,
}

/// A change and its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Time in seconds.
    pub time: f64,
    /// The incumbent's cost, or the bound.
    pub cost: f64,
    /// Whether `cost` is an incumbent's cost, not a bound.
    pub is_found: bool,
    /// Index of the source among those of the curve.
    pub source: usize,
}

impl Curve {
    /// Adds the results at an event.
    pub fn push(&mut self, event: &Event) {
        let side = |number: Option<Number>| number.map(Number::as_f64);
        self.points.push(Point { time: event.time_s, found: side(event.cost), bound: side(event.bound) });
        self.maximise = event.maximise == Some(true);
    }

    /// Returns the final incumbent's cost.
    fn found(&self) -> Option<f64> {
        self.points.iter().rev().find_map(|point| point.found)
    }

    /// Returns the final bound.
    fn bound(&self) -> Option<f64> {
        self.points.iter().rev().find_map(|point| point.bound)
    }

    /// Returns the time at which optimality was proved, and the optimum.
    fn proved(&self) -> Option<(f64, f64)> {
        let end = self.points.last().filter(|_| self.optimal)?;
        let known = |point: &Point| (point.found, point.bound);
        let since = self.points.iter().rev().take_while(|point| known(point) == known(end)).last()?;
        Some((since.time, end.found?))
    }
}

/// The scale of the time axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeScale {
    /// Logarithmic if most changes come early, otherwise linear.
    #[default]
    Auto,
    /// A linear scale.
    Linear,
    /// A logarithmic scale.
    Log,
}

/// A chart of several runs.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The title.
    pub title: String,
    /// The runs.
    pub curves: Vec<Curve>,
    /// The time axis.
    pub time: TimeScale,
    /// The quantity of the vertical axis, if it is not a cost; the chart then has no legend.
    pub quantity: Option<String>,
}

impl Chart {
    /// Returns the picture as SVG.
    pub fn svg(&self) -> String {
        draw::draw(self)
    }

    /// Returns the picture as PNG.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        png(&self.svg())
    }

    /// Returns the picture as PDF.
    pub fn pdf(&self) -> Result<Vec<u8>, Error> {
        pdf(&self.svg())
    }
}

/// Converts a picture from SVG to PNG.
fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let tree = tree(svg)?;
    let size = tree.size().to_int_size().scale_by(PNG_SCALE).ok_or_else(|| internal(&"it has no size"))?;
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or_else(|| internal(&"it has no size"))?;
    let scale = tiny_skia::Transform::from_scale(PNG_SCALE, PNG_SCALE);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| internal(&error))
}

/// Converts a picture from SVG to PDF.
fn pdf(svg: &str) -> Result<Vec<u8>, Error> {
    pdf::write(&tree(svg)?).map_err(|error| internal(&error))
}

/// Parses SVG, with text as outlines too.
fn tree(svg: &str) -> Result<usvg::Tree, Error> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FONT_FAMILY);
    let options = usvg::Options { fontdb: Arc::new(fonts), ..Default::default() };
    usvg::Tree::from_str(svg, &options).map_err(|error| internal(&error))
}

fn internal(what: &dyn std::fmt::Display) -> Error {
    Error::Internal(format!("the chart cannot be drawn: {what}"))
}

const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-Latin.ttf");
const FONT_FAMILY: &str = "DejaVu Sans";
/// Three pixels per unit: sharp on current screens, and in print across a column.
const PNG_SCALE: f32 = 3.0;

/// A kind of picture.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Svg,
    Png,
    Pdf,
}

/// A picture file; its extension decides the kind.
#[derive(Debug)]
pub struct PictureFile {
    file: ReplacedFile,
    kind: Kind,
}

impl PictureFile {
    /// Prepares to write `path`.
    ///
    /// # Errors
    /// Fails if the extension is not `.svg`, `.png` or `.pdf`, or the path cannot be written.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let kind = match extension.as_deref() {
            Some("svg") => Kind::Svg,
            Some("png") => Kind::Png,
            Some("pdf") => Kind::Pdf,
            _ => return Err(Error::Usage(format!("{}: a picture is .svg, .png or .pdf", terminal::path(path)))),
        };
        Ok(PictureFile { file: ReplacedFile::new(path)?, kind })
    }

    /// Draws the chart. Waits for a pipe's reader until the stop flag is set.
    pub fn save(&mut self, chart: &Chart, stop: &Stop) -> Result<(), Error> {
        self.save_svg(chart.svg(), stop)
    }

    /// Writes a picture that is given as SVG. Waits for a pipe's reader until the stop flag is set.
    pub fn save_svg(&mut self, svg: String, stop: &Stop) -> Result<(), Error> {
        let content = match self.kind {
            Kind::Svg => svg.into_bytes(),
            Kind::Png => png(&svg)?,
            Kind::Pdf => pdf(&svg)?,
        };
        self.file.write_to_end(content, stop)
    }
}

/// The chart of the run.
pub(super) const KIND: OutputKind = OutputKind {
    name: "plot",
    what: "the chart",
    open: |path, context| {
        let curve = Curve { label: context.settings.instance.clone(), ..Curve::default() };
        Ok(RunChart { picture: PictureFile::new(path)?, curve }.into())
    },
};

/// The chart of a run, which is drawn at its end.
#[derive(Debug)]
struct RunChart {
    picture: PictureFile,
    curve: Curve,
}

impl Output for RunChart {
    fn event(&mut self, recording: &Recording<'_>) -> io::Result<()> {
        if recording.event.message.is_none() {
            self.curve.push(recording.event);
        }
        Ok(())
    }

    fn end(&mut self, ending: &Ending<'_>) -> Result<(), Error> {
        let is_empty = self.curve.found().is_none() && self.curve.bound().is_none();
        let Some(summary) = ending.results().filter(|_| !is_empty) else { return Ok(()) };
        let curve = Curve { optimal: summary.optimal, ..std::mem::take(&mut self.curve) };
        let chart = Chart { title: curve.label.clone(), curves: vec![curve], ..Chart::default() };
        self.picture.save(&chart, ending.stop)
    }
}

#[cfg(test)]
mod tests;
