//! A picture as PDF: paths unchanged, text as its outlines, so that readers need no font.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};
use resvg::tiny_skia::{PathSegment, Point};
use resvg::usvg::{FillRule, Group, LineCap, LineJoin, Node, Opacity, Paint, Path, Tree};
use std::io::Write;

/// Size of an SVG unit, 1/96 inch, in PDF points, 1/72 inch.
const UNIT: f32 = 0.75;

/// Writes a picture of paths and text in plain colors, the only elements of charts.
pub fn write(tree: &Tree) -> std::io::Result<Vec<u8>> {
    let (width, height) = (tree.size().width() * UNIT, tree.size().height() * UNIT);
    let mut page = Page { content: Content::new(), opacities: Vec::new() };
    // the vertical axis of PDF points upwards
    let _ = page.content.transform([UNIT, 0.0, 0.0, -UNIT, 0.0, height]);
    page.group(tree.root());
    let mut stream = ZlibEncoder::new(Vec::new(), Compression::default());
    stream.write_all(&page.content.finish())?;
    let stream = stream.finish()?;

    let [catalog, pages, only, content] = [1, 2, 3, 4].map(Ref::new);
    let mut pdf = Pdf::new();
    let _ = pdf.catalog(catalog).pages(pages);
    let _ = pdf.pages(pages).kids([only]).count(1);
    let mut object = pdf.page(only);
    let _ = object.parent(pages).media_box(Rect::new(0.0, 0.0, width, height)).contents(content);
    let mut resources = object.resources();
    let mut states = resources.ext_g_states();
    for (place, opacity) in page.opacities.iter().enumerate() {
        let mut state =
            states.insert(Name(name(place).as_bytes())).start::<pdf_writer::writers::ExtGraphicsState<'_>>();
        let _ = state.non_stroking_alpha(opacity.get());
    }
    states.finish();
    resources.finish();
    object.finish();
    let _ = pdf.stream(content, &stream).filter(Filter::FlateDecode);
    Ok(pdf.finish())
}

/// The content of the page.
struct Page {
    content: Content,
    /// Opacities of the areas that are not opaque; each has a name.
    opacities: Vec<Opacity>,
}

fn name(place: usize) -> String {
    format!("o{place}")
}

impl Page {
    fn group(&mut self, group: &Group) {
        for node in group.children() {
            match node {
                Node::Group(group) => self.group(group),
                Node::Path(path) => self.path(path),
                Node::Text(text) => self.group(text.flattened()),
                Node::Image(_) => {}
            }
        }
    }

    fn path(&mut self, path: &Path) {
        let _ = self.content.save_state();
        let at = path.abs_transform();
        let _ = self.content.transform([at.sx, at.ky, at.kx, at.sy, at.tx, at.ty]);
        let fill = path.fill().and_then(|fill| Some((color(fill.paint())?, fill.opacity(), fill.rule())));
        let stroke = path.stroke().and_then(|stroke| Some((color(stroke.paint())?, stroke)));
        if let Some(([red, green, blue], opacity, _)) = fill {
            let _ = self.content.set_fill_rgb(red, green, blue);
            if opacity < Opacity::ONE {
                let known = self.opacities.iter().position(|&known| known == opacity);
                let place = known.unwrap_or(self.opacities.len());
                if known.is_none() {
                    self.opacities.push(opacity);
                }
                let _ = self.content.set_parameters(Name(name(place).as_bytes()));
            }
        }
        if let Some(([red, green, blue], stroke)) = stroke {
            let _ = self.content.set_stroke_rgb(red, green, blue).set_line_width(stroke.width().get());
            let _ = self.content.set_line_cap(match stroke.linecap() {
                LineCap::Butt => LineCapStyle::ButtCap,
                LineCap::Round => LineCapStyle::RoundCap,
                LineCap::Square => LineCapStyle::ProjectingSquareCap,
            });
            let _ = self.content.set_line_join(match stroke.linejoin() {
                LineJoin::Round => LineJoinStyle::RoundJoin,
                LineJoin::Bevel => LineJoinStyle::BevelJoin,
                _ => LineJoinStyle::MiterJoin,
            });
            if let Some(dashes) = stroke.dasharray() {
                let _ = self.content.set_dash_pattern(dashes.iter().copied(), stroke.dashoffset());
            }
        }
        self.outline(path);
        let even_odd = fill.is_some_and(|(_, _, rule)| rule == FillRule::EvenOdd);
        let _ = match (fill.is_some(), stroke.is_some()) {
            (true, true) if even_odd => self.content.fill_even_odd_and_stroke(),
            (true, true) => self.content.fill_nonzero_and_stroke(),
            (true, false) if even_odd => self.content.fill_even_odd(),
            (true, false) => self.content.fill_nonzero(),
            (false, true) => self.content.stroke(),
            (false, false) => self.content.end_path(),
        };
        let _ = self.content.restore_state();
    }

    fn outline(&mut self, path: &Path) {
        let mut last = Point::zero();
        for segment in path.data().segments() {
            let _ = match segment {
                PathSegment::MoveTo(to) => self.content.move_to(to.x, to.y),
                PathSegment::LineTo(to) => self.content.line_to(to.x, to.y),
                PathSegment::QuadTo(by, to) => {
                    // the same curve with two control points
                    let toward = |end: Point| (end.x + 2.0 / 3.0 * (by.x - end.x), end.y + 2.0 / 3.0 * (by.y - end.y));
                    let ((x1, y1), (x2, y2)) = (toward(last), toward(to));
                    self.content.cubic_to(x1, y1, x2, y2, to.x, to.y)
                }
                PathSegment::CubicTo(one, two, to) => self.content.cubic_to(one.x, one.y, two.x, two.y, to.x, to.y),
                PathSegment::Close => self.content.close_path(),
            };
            last = match segment {
                PathSegment::MoveTo(to)
                | PathSegment::LineTo(to)
                | PathSegment::QuadTo(_, to)
                | PathSegment::CubicTo(_, _, to) => to,
                PathSegment::Close => last,
            };
        }
    }
}

/// Returns a plain color; charts have no other paints.
fn color(paint: &Paint) -> Option<[f32; 3]> {
    match paint {
        Paint::Color(color) => Some([color.red, color.green, color.blue].map(|part| f32::from(part) / 255.0)),
        _ => None,
    }
}
