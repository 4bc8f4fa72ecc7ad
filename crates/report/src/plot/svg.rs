//! The few elements of SVG that charts use.

use std::fmt::{Display, Write};

/// Size of most text, in units of the picture.
pub const FONT_SIZE: f64 = 14.0;
/// Approximate width of a character, relative to the font size.
const LETTER: f64 = 0.58;

/// The mathematical minus sign.
pub const MINUS: &str = "\u{2212}";

/// Returns the approximate width of a text, or of a piece of markup.
pub fn width_of(text: &str) -> f64 {
    let shown = text.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text).chars().count());
    shown.sum::<usize>() as f64 * LETTER * FONT_SIZE
}

/// The point of a text that its coordinates refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The start of the text.
    Start,
    /// The middle of the text.
    Middle,
    /// The end of the text.
    End,
}

/// The style of a path.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// The fill color and its opacity; `None` for no fill.
    pub fill: Option<(&'a str, f64)>,
    /// The color of the line and its width; `None` for no line.
    pub stroke: Option<(&'a str, f64)>,
    /// Whether the line is dashed.
    pub dashed: bool,
}

impl<'a> Style<'a> {
    /// Returns the style of a line.
    pub fn line(color: &'a str, width: f64) -> Self {
        Style { fill: None, stroke: Some((color, width)), dashed: false }
    }

    /// Returns the style of a filled area.
    pub fn area(color: &'a str, opacity: f64) -> Self {
        Style { fill: Some((color, opacity)), stroke: None, dashed: false }
    }
}

/// A picture under construction.
#[derive(Debug, Default)]
pub struct Svg(String);

impl Svg {
    /// Draws a path through points.
    pub fn path(&mut self, points: &[(f64, f64)], closed: bool, style: Style<'_>) {
        let Some((&(x, y), rest)) = points.split_first() else { return };
        self.put(format_args!("<path d=\"M{x:.2} {y:.2}"));
        for (x, y) in rest {
            self.put(format_args!("L{x:.2} {y:.2}"));
        }
        self.put(if closed { "Z\"" } else { "\"" });
        match style.fill {
            Some((color, opacity)) => self.put(format_args!(" fill=\"{color}\" fill-opacity=\"{opacity:.3}\"")),
            None => self.put(" fill=\"none\""),
        }
        if let Some((color, width)) = style.stroke {
            self.put(format_args!(" stroke=\"{color}\" stroke-width=\"{width}\" stroke-linejoin=\"round\""));
        }
        self.put(if style.dashed { " stroke-dasharray=\"7 4\"/>\n" } else { "/>\n" });
    }

    /// Draws a line of text whose base line starts, is centered, or ends at a point.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.markup(x, y, anchor, &escaped(text));
    }

    /// Like [`Self::text`], but takes markup, which is not escaped.
    pub fn markup(&mut self, x: f64, y: f64, anchor: Anchor, markup: &str) {
        self.styled(x, y, anchor, "", markup);
    }

    /// Draws markup, rotated so that it reads upwards.
    pub fn text_upwards(&mut self, x: f64, y: f64, markup: &str) {
        self.styled(x, y, Anchor::Middle, &format!(" transform=\"rotate(-90 {x:.2} {y:.2})\""), markup);
    }

    /// Draws the title.
    pub fn title(&mut self, x: f64, y: f64, text: &str) {
        self.styled(x, y, Anchor::Middle, " font-size=\"16\"", &escaped(text));
    }

    fn styled(&mut self, x: f64, y: f64, anchor: Anchor, style: &str, markup: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format_args!(
            "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\"{style} xml:space=\"preserve\">{markup}</text>\n"
        ));
    }

    /// Returns the whole picture.
    pub fn finish(self, width: f64, height: f64) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"{FONT_SIZE}\" fill=\"#222\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{}</svg>\n",
            self.0
        )
    }

    fn put(&mut self, text: impl Display) {
        // writing to a string cannot fail
        let _ = write!(self.0, "{text}");
    }
}

/// Returns a power of ten as markup.
pub fn power(exponent: i32) -> String {
    format!("10<tspan baseline-shift=\"super\" font-size=\"70%\">{exponent}</tspan>")
}

/// Escapes a text for XML; control characters become spaces, because XML forbids them even if escaped.
fn escaped(text: &str) -> String {
    let text = text.replace(|letter: char| letter.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&letter), " ");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
