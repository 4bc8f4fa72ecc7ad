//! Pages about runs: one file of HTML that loads nothing else. Everything is visible without scripts; scripts add zoom
//! and values at the pointer.

mod compared;
mod run;
mod runs;

pub use compared::compared_page;
pub(super) use run::KIND;
pub use run::Settings;
pub use runs::runs_page;

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Interval in seconds at which the page of a running run reloads, equal to that at which it is written.
const REFRESH: u32 = 2;
/// Largest number of points of a line that scripts draw: more than a screen shows.
const MOST_POINTS: usize = 4000;

/// The data that scripts draw in place of a static picture.
#[derive(Debug, Serialize)]
struct Figure {
    /// The quantity of the vertical axis.
    name: String,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    color: &'static str,
    dashed: bool,
    /// Time in seconds, value, and the source of the change.
    points: Vec<(f64, f64, Option<String>)>,
}

impl Line {
    /// Creates a line without points that do not change it, and thinned to what a screen shows.
    fn new(name: String, color: &'static str, dashed: bool, all: Vec<(f64, f64, Option<String>)>) -> Line {
        let mut points: Vec<(f64, f64, Option<String>)> = Vec::new();
        let last = all.last().map(|(time, value, _)| (*time, *value, None));
        for point in all {
            if points.last().is_none_or(|known| known.1 != point.1) {
                points.push(point);
            }
        }
        // a line extends to its end
        points.extend(last.filter(|last| points.last().is_some_and(|known| known.0 < last.0)));
        let step = points.len().div_ceil(MOST_POINTS).max(1);
        let end = points.len().saturating_sub(1);
        let points = points.into_iter().enumerate();
        let points = points.filter(|(place, _)| place % step == 0 || *place == end).map(|(_, point)| point).collect();
        Line { name, color, dashed, points }
    }
}

/// A page under construction.
#[derive(Debug)]
struct Page {
    title: String,
    refresh: bool,
    body: String,
    figures: BTreeMap<String, Figure>,
}

impl Page {
    fn new(title: &str, refresh: bool) -> Page {
        let body = format!("<h1>{}</h1>\n", escaped(title));
        Page { title: title.into(), refresh, body, figures: BTreeMap::new() }
    }

    fn put(&mut self, markup: impl Display) {
        // writing to a string cannot fail
        let _ = writeln!(self.body, "{markup}");
    }

    fn heading(&mut self, text: &str) {
        self.put(format_args!("<h2>{}</h2>", escaped(text)));
    }

    /// Adds a picture with a caption, and the data that scripts draw in its place.
    fn figure(&mut self, key: &str, svg: &str, caption: &str, figure: Figure) {
        let (key, caption) = (escaped(key), escaped(caption));
        self.put(format_args!("<figure data-figure=\"{key}\">\n<figcaption>{caption}</figcaption>\n{svg}</figure>"));
        let _ = self.figures.insert(key, figure);
    }

    /// Adds a table with numbers on the right. A table without `head` has its headings in the first column.
    fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        self.put("<div class=\"wide\"><table>");
        if !head.is_empty() {
            let cells: String = head.iter().map(|cell| format!("<th>{}</th>", escaped(cell))).collect();
            self.put(format_args!("<thead><tr>{cells}</tr></thead>"));
        }
        for row in rows {
            let class = if head.is_empty() { " class=\"text\"" } else { "" };
            let cells: String = row.iter().map(|cell| format!("<td{class}>{}</td>", escaped(cell))).collect();
            self.put(format_args!("<tr>{cells}</tr>"));
        }
        self.put("</table></div>");
    }

    /// Returns the whole file.
    fn finish(self) -> String {
        let refresh = match self.refresh {
            true => format!("<meta http-equiv=\"refresh\" content=\"{REFRESH}\">\n"),
            false => String::new(),
        };
        // nothing in the data may end the element that contains it
        let data = serde_json::to_string(&self.figures).unwrap_or_else(|_| "{}".into()).replace('<', "\\u003c");
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{refresh}\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{}\
             <script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{SCRIPT}</script>\n\
             </body>\n</html>\n",
            escaped(&self.title),
            self.body
        )
    }
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    text.replace(|letter: char| letter.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_page_ends_what_it_stands_in_or_asks_for_more() {
        let evil = "</script><img src=http://x/>\"&";
        let mut page = Page::new(evil, true);
        page.heading(evil);
        page.table(&["a", evil], &[vec!["b".into(), evil.into()]]);
        let line = Line::new(evil.into(), "#000000", false, vec![(0.0, 1.0, Some(evil.into()))]);
        page.figure(evil, "<svg></svg>", evil, Figure { name: evil.into(), lines: vec![line] });
        let html = page.finish();
        assert!(!html.contains("<img") && html.matches("</script>").count() == 2, "{html}");
        let plain = html.replace("http://www.w3.org/2000/svg", "");
        let data = plain.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
        assert!(serde_json::from_str::<serde_json::Value>(data.expect("data")).is_ok(), "{data:?}");
        for outside in ["src=\"", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest", "import("] {
            assert!(!plain.contains(outside), "{outside}");
        }
        assert!(SCRIPT.lines().count() <= 200, "the script is to be read at one sitting");
    }

    #[test]
    fn lines_keep_their_changes_and_their_end() {
        let points = [(0.0, 5.0), (1.0, 5.0), (2.0, 4.0), (3.0, 4.0)];
        let all = |times: usize| (0..times).flat_map(|_| points).map(|(time, value)| (time, value, None)).collect();
        let line = Line::new("x".into(), "#000000", false, all(1));
        assert_eq!(line.points, [(0.0, 5.0, None), (2.0, 4.0, None), (3.0, 4.0, None)]);
        assert!(Line::new("x".into(), "#000000", false, all(100_000)).points.len() <= MOST_POINTS + 1);
        assert!(Line::new("x".into(), "#000000", false, Vec::new()).points.is_empty());
    }
}
