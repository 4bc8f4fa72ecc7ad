//! Graphs to color and their networks: a variable for each vertex, colors as values, cost 1 for each edge of one color.

use crate::error::{Error, Warning};
use crate::model::{Builder, Network};
use crate::stop::Stop;

/// Most colors: the table of an edge has their square.
const COLORS: u32 = 1 << 12;

/// A graph to color, as a `.col` file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Its origin, for messages and summaries.
    pub name: String,
    /// Number of vertices. The file counts them from 1, this program from 0.
    pub vertices: u32,
    /// The edges in file order, each pair of vertices once, the smaller one first.
    pub edges: Vec<[u32; 2]>,
    /// The vertices with an edge to themselves: a conflict in every coloring.
    pub loops: Vec<u32>,
    /// Doubtful places of the file.
    pub warnings: Vec<Warning>,
}

impl Graph {
    /// The network that counts the edges of one color: a function of cost 1 for each edge, also for one from a vertex
    /// to itself.
    ///
    /// # Errors
    /// A number of colors that is 0 or too large; [`Error::Stopped`] once `stop` is set.
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

    /// The vertices as variables with a value for each possible color, without functions, for files of solutions and
    /// reports where the number of colors is not given.
    ///
    /// # Errors
    /// [`Error::Stopped`] once `stop` is set.
    pub fn palette(&self, stop: &Stop) -> Result<Network, Error> {
        Ok(conflicts(&self.name, self.vertices, &[], self.vertices, stop)?.build())
    }
}

/// Begins the network that counts which of these edges have one color.
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

/// Refuses a number of colors that no network has.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_colors(colors: u32) -> Result<(), Error> {
    if (1..=COLORS).contains(&colors) {
        return Ok(());
    }
    Err(Error::Usage(format!("--colors {colors}: between 1 and {COLORS} are possible")))
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
