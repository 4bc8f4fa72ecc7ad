//! DIMACS `.col` graphs, and the networks that color them: a variable a vertex, its values the colors, cost 1 for each
//! edge of one color.

use super::ReadOptions;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::Network;
use rustc_hash::FxHashSet;

/// Vertices are announced, not listed: this is what a line of text may claim.
const VERTICES: usize = 1 << 22;

/// Colors: the table of an edge has their square.
const COLORS: u32 = 1 << 12;

/// A graph to color, as a `.col` file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where it came from, for messages and summaries.
    pub name: String,
    /// Number of vertices. The file counts them from 1, this program from 0.
    pub vertices: u32,
    /// The edges in file order, each pair of vertices once, the smaller one first.
    pub edges: Vec<[u32; 2]>,
}

impl Graph {
    /// The network that counts the edges of one color.
    ///
    /// # Errors
    /// A number of colors that is 0 or too large.
    pub fn network(&self, colors: u32) -> Result<Network, Error> {
        check_colors(colors)?;
        let mut builder = Network::builder(self.name.as_str());
        for _ in 0..self.vertices {
            let _ = builder.variable(colors)?;
        }
        let mut edges = self.edges.iter();
        if let Some(first) = edges.next() {
            let first = builder.dense(first, one_color(colors))?;
            for edge in edges {
                let _ = builder.shared(edge, first)?;
            }
        }
        Ok(builder.build())
    }
}

/// Reads a graph as a network.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let Some(colors) = options.colors else {
        return Err(Error::Usage(format!("{}: a .col graph needs a number of colors: --colors K", tokens.file())));
    };
    check_colors(colors)?;
    read_graph(tokens)?.network(colors)
}

fn check_colors(colors: u32) -> Result<(), Error> {
    if (1..=COLORS).contains(&colors) {
        return Ok(());
    }
    Err(Error::Usage(format!("--colors {colors}: between 1 and {COLORS} are possible")))
}

/// Reads a graph.
pub(super) fn read_graph(tokens: &mut Tokens<'_>) -> Result<Graph, Error> {
    let mut vertices = None;
    let mut edges = Vec::new();
    let mut seen = FxHashSet::default();
    while !tokens.at_end()? {
        let letter = tokens.word("a line")?[0];
        match (letter, vertices) {
            (b'p', None) => vertices = Some(problem_line(tokens)?),
            (b'e', Some(vertices)) => {
                let u = vertex(tokens, vertices)?;
                let v = vertex(tokens, vertices)?;
                if u == v {
                    return Err(tokens.error_with("another vertex", "an edge from a vertex to itself has no coloring"));
                }
                let edge = [u.min(v), u.max(v)];
                if seen.insert(edge) {
                    edges.push(edge);
                }
            }
            // comments, and the node and parameter lines of some generators
            (b'c' | b'n' | b'd' | b'v' | b'x', _) => tokens.skip_line()?,
            (_, None) => return Err(tokens.error("`c` or `p edge VERTICES EDGES`")),
            (_, Some(_)) => return Err(tokens.error("`c` or `e VERTEX VERTEX`")),
        }
    }
    match vertices {
        Some(vertices) => Ok(Graph { name: tokens.file().into(), vertices, edges }),
        None => Err(tokens.error("`p edge VERTICES EDGES`")),
    }
}

fn problem_line(tokens: &mut Tokens<'_>) -> Result<u32, Error> {
    if !matches!(tokens.word("`edge`")?, b"edge" | b"edges" | b"col") {
        return Err(tokens.error("`edge` or `col`"));
    }
    let vertices = tokens.count("a number of vertices")?;
    if vertices > VERTICES {
        return Err(tokens.error(format!("at most {VERTICES} vertices")));
    }
    let _ = tokens.count("a number of edges")?; // files count edges once or in both directions
    Ok(vertices as u32)
}

fn vertex(tokens: &mut Tokens<'_>, vertices: u32) -> Result<u32, Error> {
    match tokens.integer("a vertex")? {
        v if v >= 1 && v <= i64::from(vertices) => Ok(v as u32 - 1),
        _ => Err(tokens.error(format!("a vertex in 1..={vertices}"))),
    }
}

/// 1 on the diagonal.
fn one_color(colors: u32) -> Vec<i64> {
    let size = colors as usize;
    let mut costs = vec![0; size * size];
    for color in 0..size {
        costs[color * size + color] = 1;
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Format, read_from};
    use crate::stop::Stop;

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
            ("p edge 3 3\ne 1 4\n", "2:5: found `4`, expected a vertex in 1..=3"),
            ("p edge 3 3\ne 0 1\n", "2:3: found `0`"),
            ("p edge 3 3\ne 2 2\n", "2:5: found `2`, expected another vertex"),
            ("p edge 3 3\ne 2\n", "found the end of the file, expected a vertex"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
    }
}
