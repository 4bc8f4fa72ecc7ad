use super::*;

fn point(time: f64, found: Option<f64>, bound: Option<f64>) -> Point {
    Point { time, found, bound }
}

fn run(label: &str) -> Curve {
    let points = vec![
        point(0.0, None, None),
        point(0.1, Some(9e9), Some(-5.0)),
        point(1.0, Some(120.0), Some(80.0)),
        point(5.0, Some(100.0), Some(95.0)),
        point(10.0, Some(100.0), Some(97.5)),
    ];
    Curve { label: label.into(), points, ..Curve::default() }
}

fn chart(curves: Vec<Curve>) -> Chart {
    Chart { title: "a < b & c".into(), curves, ..Chart::default() }
}

/// Returns the paths of a picture that have an attribute.
fn paths<'a>(svg: &'a str, with: &'a str) -> impl Iterator<Item = &'a str> {
    svg.lines().filter(move |line| line.starts_with("<path") && line.contains(with))
}

/// Returns the start and the end of a path.
fn ends(path: &str) -> Option<[f64; 4]> {
    let places = path.split('"').nth(1)?;
    let mut numbers = places.split(['M', 'L', 'Z', ' ']).filter_map(|number| number.parse().ok());
    let numbers: Vec<f64> = numbers.by_ref().collect();
    let n = numbers.len();
    Some([numbers[0], numbers[1], numbers[n - 2], numbers[n - 1]])
}

#[test]
fn svg_is_well_formed_and_says_what_is_what() -> Result<(), Box<dyn std::error::Error>> {
    let svg = chart(vec![run("a"), run("b\u{1}")]).svg();
    let _ = usvg::roxmltree::Document::parse(&svg)?;
    for text in ["a &lt; b &amp; c", ">time (s)<", ">cost<", ">found<", ">proven bound<", ">a: 97.5–100<"] {
        assert!(svg.contains(text), "{text} is missing in {svg}");
    }
    let alone = Chart { title: String::new(), ..chart(vec![run("a")]) }.svg();
    assert!(
        alone.contains(">found 100<") && alone.contains(">proven bound 97.5<") && !alone.contains("font-size=\"16\""),
        "{alone}"
    );
    Ok(())
}

/// Lines have fixed meanings: the incumbent's cost is solid, above the bound or below it.
#[test]
fn what_was_found_is_solid_in_either_sense() -> Result<(), Box<dyn std::error::Error>> {
    for maximise in [false, true] {
        let sign = if maximise { -1.0 } else { 1.0 };
        let signed = |point: Point| Point {
            found: point.found.map(|n| sign * n),
            bound: point.bound.map(|n| sign * n),
            ..point
        };
        let points = run("").points.into_iter().map(signed).collect();
        let svg = chart(vec![Curve { maximise, points, ..Curve::default() }]).svg();
        let curves: Vec<&str> = paths(&svg, "stroke=\"#0072b2\"").filter(|path| path.len() > 160).collect();
        let [bound, found] = curves[..] else { return Err(svg.into()) };
        assert!(bound.contains("stroke-dasharray") && !found.contains("stroke-dasharray"), "{svg}");
        let (bound, found) = (ends(bound).ok_or("no path")?, ends(found).ok_or("no path")?);
        assert_eq!(found[3] < bound[3], !maximise, "a larger number stands higher");
        assert_eq!(paths(&svg, "fill-opacity=\"0.180\"").count(), 1, "a band");
        assert_eq!(svg.contains("value (larger is better)"), maximise);
    }
    Ok(())
}

#[test]
fn a_proof_is_marked_where_it_came() {
    let mut curve = run("x");
    curve.points.extend([point(12.0, Some(100.0), Some(100.0)), point(14.0, Some(100.0), Some(100.0))]);
    assert_eq!(curve.proved(), None);
    curve.optimal = true;
    assert_eq!(curve.proved(), Some((12.0, 100.0)));
    assert!(chart(vec![curve.clone()]).svg().contains(">proved optimal after 12.00 s<"));
    assert!(chart(vec![curve, run("y")]).svg().contains(">proved optimal<"));
    assert_eq!(Curve { optimal: true, ..Curve::default() }.proved(), None);
}

/// The first solution lies beyond a break, and the axis labels it.
#[test]
fn wild_starts_stand_behind_a_break() {
    let svg = chart(vec![run("x")]).svg();
    assert!(svg.contains(">9.00×10<tspan") && svg.contains(">−5<"), "{svg}");
    assert_eq!(paths(&svg, "stroke-width=\"1.2\"").count(), 4, "two strokes across each end of the axis");
}

#[test]
fn degenerate_runs_are_drawn() -> Result<(), Box<dyn std::error::Error>> {
    for points in [
        vec![],
        vec![point(0.0, None, None)],
        vec![point(0.0, Some(0.0), None)],
        vec![point(0.0, None, Some(-3.0)), point(1.0, None, Some(2.0))],
        vec![point(0.0, Some(7.0), Some(7.0)), point(0.0, Some(7.0), Some(7.0))],
        vec![point(0.0, Some(1e300), Some(-1e300))],
        vec![point(1.0, Some(9e18), Some(9e18 - 4096.0)), point(2.0, Some(9e18), Some(9e18))],
        vec![point(1.0, Some(1e-9), Some(-1e-9))],
    ] {
        for time in [TimeScale::Auto, TimeScale::Linear, TimeScale::Log] {
            let curve = Curve { label: "x".into(), points: points.clone(), optimal: true, ..Curve::default() };
            for curves in [vec![], vec![curve.clone()], vec![curve; 40]] {
                let svg = Chart { curves, time, ..Chart::default() }.svg();
                let _ = usvg::roxmltree::Document::parse(&svg)?;
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }
    Ok(())
}

/// Text needs no system font: it leaves dark pixels in the title's strip.
#[test]
fn png_has_text() -> Result<(), Box<dyn std::error::Error>> {
    let png = chart(vec![run("a")]).png()?;
    let pixels = tiny_skia::Pixmap::decode_png(&png)?;
    let strip = pixels.pixels().iter().take(pixels.width() as usize * 80);
    assert!(strip.filter(|pixel| pixel.red() < 100).count() > 100);
    Ok(())
}

#[test]
fn pdf_is_one_page_of_lines() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::Read;
    let pdf = chart(vec![run("a"), run("b")]).pdf()?;
    assert!(pdf.starts_with(b"%PDF-") && pdf.trim_ascii_end().ends_with(b"%%EOF"));
    let find = |what: &[u8]| pdf.windows(what.len()).position(|window| window == what).ok_or("it is not there");
    let (begin, end) = (find(b"stream\n")? + 7, find(b"\nendstream")?);
    let mut content = String::new();
    let _ = flate2::read::ZlibDecoder::new(&pdf[begin..end]).read_to_string(&mut content)?;
    assert!(content.contains("[7 4] 0 d"), "dashes");
    assert!(content.contains("/o0 gs") && find(b"/ca 0.09")? > 0, "bands let through");
    assert!(content.matches('c').count() > 100, "outlines of letters");
    Ok(())
}

#[test]
fn other_pictures_are_refused() {
    assert!(PictureFile::new(Path::new("x.jpg")).is_err());
    assert!(PictureFile::new(Path::new("svg")).is_err());
}
