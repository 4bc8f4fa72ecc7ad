//! The DIMACS `.col` format of graphs.

use super::options::ReadOptions;
use super::repeated::Repeated;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::Network;
use fangs_model::coloring::{Graph, check_colors};
use rustc_hash::FxHashSet;

/// The maximum number of vertices. Vertices are announced and not listed, so one line of text could claim any number.
const VERTICES: usize = 1 << 22;

/// Reads a graph as a network.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let Some(colors) = options.colors else {
        return Err(Error::Usage(format!("{}: a .col graph needs a number of colors: --colors K", tokens.file())));
    };
    check_colors(colors)?;
    let stop = tokens.stop();
    read_graph(tokens)?.network(colors, stop)
}

/// Reads a graph.
pub(super) fn read_graph(tokens: &mut Tokens<'_>) -> Result<Graph, Error> {
    let mut vertices = None;
    let (mut edges, mut loops) = (Vec::new(), Vec::new());
    let mut seen = FxHashSet::default();
    let (mut weighted, mut looped) = (Repeated::default(), Repeated::default());
    let mut line_before = 0;
    while !tokens.at_end()? {
        // an edge without the letter `e` must begin a line
        let begins_line = tokens.place().0 > line_before;
        let first = tokens.peek()?.first().map(u8::to_ascii_lowercase);
        match (first, vertices) {
            (Some(b'p'), None) => {
                vertices = Some(problem_line(tokens)?);
                line_before = tokens.place().0;
            }
            (Some(b'e' | b'0'..=b'9'), Some(vertices)) if first == Some(b'e') || begins_line => {
                if first == Some(b'e') {
                    let _ = tokens.word("an edge")?;
                }
                let place = tokens.place();
                let (u, v) = (vertex(tokens, vertices)?, vertex(tokens, vertices)?);
                line_before = place.0;
                if tokens.place().0 > line_before {
                    return Err(tokens.error("both vertices of an edge on one line"));
                }
                let edge = [u.min(v), u.max(v)];
                if u == v {
                    looped.note(place);
                }
                if seen.insert(edge) {
                    if u == v { loops.push(u) } else { edges.push(edge) }
                }
                while !tokens.at_line_end()? && is_number(tokens.peek()?) {
                    weighted.note(tokens.place());
                    let _ = tokens.word("a weight")?;
                }
            }
            // comments, and the node and parameter lines of some generators
            (Some(b'c' | b'n' | b'd' | b'v' | b'x'), _) => {
                let _ = tokens.word("a line")?;
                tokens.skip_line()?;
            }
            (_, vertices) => {
                let _ = tokens.word("a line")?;
                let lines = ["`c` or `p edge VERTICES EDGES`", "`c` or `e VERTEX VERTEX`"];
                return Err(tokens.error(lines[usize::from(vertices.is_some())]));
            }
        }
    }
    let Some(vertices) = vertices else { return Err(tokens.error("`p edge VERTICES EDGES`")) };
    weighted.warn(tokens, |times| format!("edge weights are ignored ({times} in all)"));
    looped.warn(tokens, |times| {
        format!("edges from a vertex to itself ({times} in all) are conflicts in every coloring")
    });
    Ok(Graph { name: tokens.file().into(), vertices, edges, loops, warnings: tokens.take_warnings() })
}

fn problem_line(tokens: &mut Tokens<'_>) -> Result<u32, Error> {
    let _ = tokens.word("`p`")?;
    let line = tokens.place().0;
    if !is_number(tokens.peek()?) {
        let kind = tokens.word("`edge`")?.to_ascii_lowercase();
        if !matches!(&kind[..], b"edge" | b"edges" | b"col") {
            return Err(tokens.error("`edge` or `col`"));
        }
    }
    let vertices = tokens.count("a number of vertices")?;
    if vertices > VERTICES {
        return Err(tokens.error(format!("at most {VERTICES} vertices")));
    }
    let _ = tokens.count("a number of edges")?; // files count edges once or in both directions
    if tokens.place().0 > line {
        return Err(tokens.error("numbers of vertices and edges on the line of the `p`"));
    }
    Ok(vertices as u32)
}

fn is_number(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok())
}

fn vertex(tokens: &mut Tokens<'_>, vertices: u32) -> Result<u32, Error> {
    match tokens.integer("a vertex")? {
        v if v >= 1 && v <= i64::from(vertices) => Ok(v as u32 - 1),
        _ => Err(tokens.error(format!("a vertex from 1 to {vertices}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str, colors: Option<u32>) -> Result<Network, Error> {
        let options = ReadOptions { colors, ..ReadOptions::default() };
        read_from(text.as_bytes(), "t.col", Format::Col, &options, &Stop::new())
    }

    fn message(text: &str) -> String {
        parse(text, Some(3)).expect_err("wrong on purpose").to_string()
    }

    #[test]
    fn edges_count_once() {
        for kind in ["edge", "col"] {
            let text = format!("c made by hand\np {kind} 3 4\nn 1 5\ne 1 2\ne 2 1\nc\ne 2 3\r\ne 2 3\n");
            let network = parse(&text, Some(3)).expect("a graph");
            assert_eq!((network.domains(), network.functions().len()), (&[3, 3, 3][..], 2));
            let cost = |a: [u32; 3]| network.functions().iter().map(|f| f.cost(network.domains(), &a)).sum::<i64>();
            assert_eq!([cost([0, 1, 2]), cost([1, 1, 0]), cost([2, 2, 2])], [0, 1, 2]);
        }
    }

    fn graph(text: &str) -> Graph {
        let stop = Stop::new();
        let mut tokens = Tokens::new(Box::new(text.as_bytes()), "t.col".into(), &stop);
        read_graph(&mut tokens).expect("a graph")
    }

    #[test]
    fn dialects() {
        let plain = graph("p edge 3 2\ne 1 2\ne 2 3\n");
        assert_eq!((plain.vertices, &plain.edges[..]), (3, &[[0, 1], [1, 2]][..]));
        for text in [
            "\u{feff}p edge 3 2\ne 1 2\ne 2 3\n",
            "\u{feff}c mark\nC UPPER\nP EDGE 3 2\nN 1 2\nE 1 2\nE 3 2\n",
            "p COL 3 2\r\n1 2\r\n2 3\r\n",
            "p 3 2\n\n 1\t2\n2 3",
            "p 3 2 e 1 2 e 2 3",
            "c\nP 3 2\n1 2\nc 1 3\ne 3 2\n",
        ] {
            assert_eq!(graph(text), plain, "{text}");
        }
    }

    #[test]
    fn weights_are_ignored_with_a_warning() {
        for text in ["p 3 2\n1 2 7\n2 3 -1.5\n", "p edge 3 2\ne 1 2 7\ne 3 2 1e3\ne 2 3\n"] {
            let graph = graph(text);
            assert_eq!(graph.edges, [[0, 1], [1, 2]], "{text}");
            let column = if text.starts_with("p 3") { 5 } else { 7 };
            let [warning] = &graph.warnings[..] else { panic!("{:?}", graph.warnings) };
            assert_eq!(warning.to_string(), format!("t.col:2:{column}: edge weights are ignored (2 in all)"));
        }
    }

    #[test]
    fn edges_to_oneself_are_conflicts_with_a_warning() {
        let text = "p edge 3 4\ne 1 2\ne 2 2\n3 3\ne 2 2\n";
        let network = parse(text, Some(2)).expect("a network");
        let cost = |a: [u32; 3]| network.functions().iter().map(|f| f.cost(network.domains(), &a)).sum::<i64>();
        assert_eq!([cost([0, 1, 0]), cost([1, 1, 0])], [2, 3]);
        let [warning] = network.warnings() else { panic!("{:?}", network.warnings()) };
        assert!(warning.to_string().starts_with("t.col:3:1: edges from a vertex to itself (3 in all)"), "{warning}");
    }

    #[test]
    fn misfits() {
        assert!(parse("p edge 1 0\n", None).expect_err("no colors").to_string().contains("--colors"));
        assert!(parse("p edge 1 0\n", Some(0)).expect_err("no colors").to_string().contains("--colors"));
        for (text, part) in [
            ("", "1:1: found the end of the file, expected `p edge"),
            ("e 1 2\n", "1:1: found `e`"),
            ("p cnf 3 3\n", "1:3: found `cnf`, expected `edge` or `col`"),
            ("p edge 999999999999 3\n", "at most"),
            ("p edge 3 3\np edge 3 3\n", "2:1: found `p`"),
            ("p edge 3 3\ne 1 4\n", "2:5: found `4`, expected a vertex from 1 to 3"),
            ("p edge 3 3\ne 0 1\n", "2:3: found `0`"),
            ("p edge 3 3\ne 1\n2 3\n", "3:1: found `2`, expected both vertices of an edge on one line"),
            ("p 3\n1 2\n", "2:1: found `1`, expected numbers of vertices and edges on the line"),
            ("p edge 3 3 1\n2 3\n", "1:12: found `1`, expected `c` or `e VERTEX VERTEX`"),
            ("p edge 3 3\ne 1 2 1 y\n", "2:9: found `y`, expected `c`"),
            ("p edge 3 3\ne 2\n", "found the end of the file, expected a vertex"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
    }
}
