//! Maximum cut: weighted graphs as `.rud` (of the generator rudy; the G set, the Biq Mac library) and as symmetric
//! matrices in `.mtx` (Matrix Market). The value of an assignment is the total weight of the edges whose ends differ.

use super::cost_units::Range;
use super::decimal::Real;
use super::limits::ANNOUNCED;
use super::options::ReadOptions;
use super::quadratic::vertex;
use super::repeated::Repeated;
use super::tokens::{Place, Tokens};
use crate::error::Error;
use crate::model::Network;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// A weighted graph.
struct Weighted {
    vertices: usize,
    edges: Vec<([u32; 2], Real)>,
    /// Self-loops with a weight, which are in no cut.
    loops: Repeated,
}

/// Reads a `.rud` file: `n m`, then m lines `i j w` with vertices from 1; a missing weight is 1. Further words on the
/// first line are skipped.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let vertices = tokens.count("the number of vertices")?;
    let count = tokens.count("the number of edges")?;
    while !tokens.at_line_end()? {
        let _ = tokens.word("a word")?;
    }
    let mut graph = Weighted { vertices, edges: Vec::new(), loops: Repeated::default() };
    let limit = u32::try_from(vertices).unwrap_or(u32::MAX);
    for _ in 0..count {
        let first = vertex(tokens, limit)?;
        let place = tokens.place();
        let pair = [first, vertex(tokens, limit)?];
        let weight = if tokens.at_line_end()? { Real::integer(1) } else { tokens.real("a weight")? };
        graph.push(pair, weight, place);
    }
    tokens.finish(|| format!("the first line announces {count} edges"))?;
    graph.network(tokens, options)
}

/// Reads a `.mtx` file: the adjacency matrix of a graph in coordinate form. One triangle suffices; if both are present,
/// they must agree.
pub(super) fn read_matrix(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    for (name, known) in
        [("%%MatrixMarket", &["%%matrixmarket"][..]), ("matrix", &["matrix"]), ("coordinate", &["coordinate"])]
    {
        let _ = keyword(tokens, name, known)?;
    }
    let is_pattern = keyword(tokens, "real, integer or pattern", &["real", "integer", "pattern"])? == 2;
    let is_general = keyword(tokens, "symmetric or general", &["symmetric", "general"])? == 1;
    tokens.skip_comments_after(b'%');
    let rows = tokens.count("the number of rows")?;
    let columns = tokens.count("the number of columns")?;
    if rows != columns {
        return Err(tokens.error_with(format!("{rows} columns"), "a graph has a square matrix"));
    }
    let count = tokens.count("the number of entries")?;
    let mut graph = Weighted { vertices: rows, edges: Vec::new(), loops: Repeated::default() };
    let limit = u32::try_from(rows).unwrap_or(u32::MAX);
    let mut seen = FxHashMap::default();
    for _ in 0..count {
        let first = vertex(tokens, limit)?;
        let place = tokens.place();
        let pair = [first, vertex(tokens, limit)?];
        let weight = if is_pattern { Real::integer(1) } else { tokens.real("a weight")? };
        if is_general && pair[0] != pair[1] {
            match seen.entry([pair[0].min(pair[1]), pair[0].max(pair[1])]) {
                Entry::Vacant(new) => drop(new.insert((pair, weight))),
                Entry::Occupied(known) if known.get().0 != pair && known.get().1 == weight => continue,
                Entry::Occupied(known) => {
                    let (row, column) = (known.get().0[0] + 1, known.get().0[1] + 1);
                    let hint = format!("row {row} column {column} has another entry");
                    return Err(tokens.error_with("a symmetric matrix with an entry a place", hint));
                }
            }
        }
        graph.push(pair, weight, place);
    }
    tokens.finish(|| format!("{count} entries are announced"))?;
    graph.network(tokens, options)
}

/// Consumes one of the words of `known`, case-insensitively, and returns its index.
fn keyword(tokens: &mut Tokens<'_>, expected: &str, known: &[&str]) -> Result<usize, Error> {
    let word = tokens.word(expected)?.to_ascii_lowercase();
    let place = known.iter().position(|known| known.as_bytes() == word);
    place.ok_or_else(|| tokens.error_with(expected, "of the kinds of Matrix Market files these describe graphs"))
}

impl Weighted {
    fn push(&mut self, pair: [u32; 2], weight: Real, place: Place) {
        if pair[0] == pair[1] {
            if !weight.is_zero() {
                self.loops.note(place);
            }
        } else {
            self.edges.push((pair, weight));
        }
    }

    fn network(self, tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
        let most = ANNOUNCED.max(2 * self.edges.len());
        if self.vertices > most {
            let hint = format!("there are {}", self.vertices);
            return Err(tokens.error_with(format!("at most {most} vertices"), hint));
        }
        self.loops.warn(tokens, |times| {
            format!("weights from a vertex to itself ({times} in all) are in no cut and do not count")
        });
        let mut range = Range::default();
        self.edges.iter().for_each(|&(_, weight)| range.add(&[weight]));
        let mut unit = range.unit(tokens, options)?;
        let mut builder = Network::builder(tokens.file());
        for _ in 0..self.vertices {
            let _ = builder.variable(2)?;
        }
        for edge in tokens.stop().each(&self.edges) {
            let &(pair, weight) = edge?;
            let (same, differ) = (Real::default(), weight.times(-1));
            let _ = builder.dense(&pair, unit.costs([same, differ, differ, same]).into())?;
        }
        let _ = builder.units(unit.units(true));
        Ok(builder.build())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str, format: Format) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t", format, &ReadOptions::default(), &Stop::new())
    }

    fn cut(network: &Network, sides: &[u32]) -> f64 {
        let cost = network.functions().iter().map(|f| f.cost(network.domains(), sides)).sum();
        network.units().number(cost).as_f64()
    }

    #[test]
    fn the_value_is_the_cut() {
        for text in ["3 3 J\r\n1 2\r\n2 3 4\r\n3 1 -2\r\n", "3 3\n1 2 1\n2 3 4\n1 3 -2"] {
            let network = parse(text, Format::Rud).expect("a graph");
            assert!(network.units().maximise);
            let cuts = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]].map(|sides| cut(&network, &sides));
            assert_eq!(cuts, [0.0, -1.0, 5.0, 2.0], "{text}");
        }
        let loops = parse("2 2\n1 1 7\n1 2 0.5\n", Format::Rud).expect("a graph");
        assert_eq!((cut(&loops, &[0, 1]), loops.warnings().len()), (0.5, 1));
    }

    #[test]
    fn matrices_are_graphs() {
        for text in [
            "%%MatrixMarket matrix coordinate real symmetric\n% made by hand\n\n3 3 3\n2 1 1.0\n3 2 4\n3 1 -2e0\n",
            "%%matrixmarket Matrix Coordinate Integer General\n3 3 6\n2 1 1\n3 2 4\n3 1 -2\n1 2 1\n2 3 4\n1 3 -2\n",
            "%%MatrixMarket matrix coordinate integer general\n%\n3 3 4\n1 1 0\n1 2 1\n3 2 4\n1 3 -2\n",
        ] {
            let network = parse(text, Format::Mtx).expect("a matrix");
            let cuts = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(|sides| cut(&network, &sides));
            assert_eq!((cuts, network.functions().len(), network.warnings().len()), ([-1.0, 5.0, 2.0], 3, 0), "{text}");
        }
        let text = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n";
        assert_eq!(cut(&parse(text, Format::Mtx).expect("a matrix"), &[1, 0]), 1.0);
    }

    #[test]
    fn misfits() {
        let head = "%%MatrixMarket matrix coordinate";
        for (text, format, part) in [
            ("2 1\n1 3\n", Format::Rud, "2:3: found `3`, expected a variable from 1 to 2"),
            ("2 1\n1 2 x\n", Format::Rud, "2:5: found `x`, expected a weight"),
            ("2 2\n1 2 1\n", Format::Rud, "found the end of the file, expected a variable"),
            ("2 1\n1 2 1\n1 2\n", Format::Rud, "3:1: found `1`, expected the end of the file"),
            ("99999999 0\n", Format::Rud, "expected at most 4194304 vertices"),
            ("3 3 1\n", Format::Mtx, "1:1: found `3`, expected %%MatrixMarket"),
            (&format!("{head} complex general\n"), Format::Mtx, "found `complex`, expected real, integer or pattern"),
            (&format!("{head} real hermitian\n"), Format::Mtx, "found `hermitian`, expected symmetric or general"),
            (&format!("{head} real general\n2 3 0\n"), Format::Mtx, "2:3: found `3`, expected 2 columns"),
            (
                &format!("{head} real general\n2 2 2\n1 2 3\n2 1 4\n"),
                Format::Mtx,
                "4:5: found `4`, expected a symmetric matrix with an entry a place (row 1 column 2 has another entry)",
            ),
        ] {
            let error = parse(text, format).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
