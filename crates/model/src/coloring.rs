//! Graph coloring problems and their networks: a variable for each vertex, a value for each color, and cost 1 for each
//! edge whose ends have the same color.

use crate::error::{Error, Warning};
use crate::model::{Builder, Network};
use crate::stop::Stop;

/// The maximum number of colors; the table of an edge has that number squared entries.
const COLORS: u32 = 1 << 12;

/// A graph to color, as a `.col` file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The graph's origin, for messages and summaries.
    pub name: String,
    /// Number of vertices. The file counts them from 1, this program from 0.
    pub vertices: u32,
    /// The edges in file order, without duplicates, the smaller vertex first.
    pub edges: Vec<[u32; 2]>,
    /// The vertices with a self-loop, each of which is a conflict in every coloring.
    pub loops: Vec<u32>,
    /// Warnings about suspicious input.
    pub warnings: Vec<Warning>,
}

impl Graph {
    /// Returns the network that counts conflicts: a function of cost 1 for each edge, and for each self-loop.
    ///
    /// # Errors
    /// Returns an error if the number of colors is 0 or too large, and [`Error::Stopped`] if `stop` is set.
    pub fn network(&self, colors: u32, stop: &Stop) -> Result<Network, Error> {
        check_colors(colors)?;
        let mut builder = conflicts(&self.name, self.vertices, &self.edges, colors, stop)?;
        for &vertex in &self.loops {
            let _ = builder.dense(&[vertex], vec![1; colors as usize])?;
        }
        let mut network = builder.build();
        network.warn(self.warnings.iter().cloned());
        Ok(network)
    }

    /// Returns a network without functions whose variables are the vertices, with one value for each possible color.
    /// Reports and solution files use it when the number of colors is not given.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn palette(&self, stop: &Stop) -> Result<Network, Error> {
        Ok(conflicts(&self.name, self.vertices, &[], self.vertices, stop)?.build())
    }
}

/// Begins the network that counts which of `edges` have equal colors at both ends.
pub fn conflicts(name: &str, vertices: u32, edges: &[[u32; 2]], colors: u32, stop: &Stop) -> Result<Builder, Error> {
    let mut builder = Network::builder(name);
    for vertex in stop.each(0..vertices) {
        let _ = vertex?;
        let _ = builder.variable(colors)?;
    }
    let mut edges = edges.iter();
    if let Some(first) = edges.next() {
        let first = builder.dense(first, one_color(colors))?;
        for edge in stop.each(edges) {
            let _ = builder.shared(edge?, first)?;
        }
    }
    Ok(builder)
}

/// Checks that a number of colors is possible.
///
/// # Errors
/// Returns [`Error::Usage`] if `colors` is 0 or more than the maximum.
pub fn check_colors(colors: u32) -> Result<(), Error> {
    if (1..=COLORS).contains(&colors) {
        return Ok(());
    }
    Err(Error::Usage(format!("--colors {colors}: between 1 and {COLORS} are possible")))
}

/// Returns the cost table of an edge: 1 on the diagonal, 0 elsewhere.
fn one_color(colors: u32) -> Vec<i64> {
    let size = colors as usize;
    let mut costs = vec![0; size * size];
    for color in 0..size {
        costs[color * size + color] = 1;
    }
    costs
}
