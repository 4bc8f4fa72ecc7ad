//! `info` and `check` for a graph without a given number of colors.

use super::monochromatic::Monochromatic;
use super::{Exit, output};
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_base::terminal::line;
use fangs_check as check;
use fangs_formats::{self as formats, Graph};
use fangs_report::seconds;
use fangs_search::{Clock, Colors, greedy_colors};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Describes a graph: its size, degrees, and bounds on its chromatic number.
pub fn info(graph: &Graph, clock: &Clock, json: bool) -> Result<Exit, Error> {
    let load_s = seconds(clock.seconds());
    let Colors { coloring, clique, bound, degeneracy } = greedy_colors(graph, &Stop::new())?;
    let mut degrees = vec![0u32; graph.vertices as usize];
    graph.edges.iter().flatten().for_each(|&v| degrees[v as usize] += 1);
    let (n, edges) = (f64::from(graph.vertices), graph.edges.len());
    let description = Description {
        instance: &graph.name,
        version: fangs_base::VERSION,
        vertices: graph.vertices,
        edges,
        density: if n < 2.0 { 0.0 } else { 2.0 * edges as f64 / (n * (n - 1.0)) },
        degrees: Degrees {
            min: degrees.iter().copied().min().unwrap_or(0),
            mean: 2.0 * edges as f64 / n.max(1.0),
            max: degrees.iter().copied().max().unwrap_or(0),
        },
        degeneracy,
        clique: clique.len(),
        bound,
        greedy_colors: colors_used(&coloring),
        load_s,
        time_s: seconds(clock.seconds()),
    };
    output::print_report(&description, json)?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Description<'a> {
    instance: &'a str,
    version: &'static str,
    vertices: u32,
    edges: usize,
    density: f64,
    degrees: Degrees,
    degeneracy: u32,
    /// Number of vertices of a clique that was found greedily.
    clique: usize,
    /// Lower bound on the number of colors: the clique's size, or three if there is an odd cycle.
    bound: i64,
    greedy_colors: usize,
    load_s: f64,
    time_s: f64,
}

#[derive(Serialize)]
struct Degrees {
    min: u32,
    mean: f64,
    max: u32,
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Description { instance, vertices, edges, density, degeneracy, clique, bound, greedy_colors, .. } = self;
        let Degrees { min, mean, max } = self.degrees;
        writeln!(f, "{}: a graph to color with few colors (--colors K: the network of K colors)", line(instance))?;
        writeln!(f, "  {vertices} vertices, {edges} edges, density {density:.4}")?;
        writeln!(f, "  degrees {min} to {max}, {mean:.2} on average; degeneracy {degeneracy}")?;
        writeln!(f, "  a clique of {clique} vertices; at least {bound} colors, {greedy_colors} by greedy choices")?;
        writeln!(f, "\n{:.2} s, of which loading {:.2} s", self.time_s, self.load_s)
    }
}

/// Counts the colors of a coloring and lists the edges whose ends have the same color.
pub fn check(graph: &Graph, solution: Option<&Path>, certificate: bool, json: bool) -> Result<Exit, Error> {
    let Some(path) = solution.filter(|_| !certificate) else {
        return Err(Error::Usage("the certificate of a .col graph needs --colors".into()));
    };
    let colors = formats::read_solution(path, &graph.palette(&Stop::new())?, &Stop::new())?;
    let edges = check::monochromatic(&graph.edges, &colors).chain(graph.loops.iter().map(|&v| [v, v]));
    let monochromatic: Vec<Monochromatic> = edges.map(|edge| Monochromatic::new(edge, &colors)).collect();
    let verdict = Verdict {
        instance: &graph.name,
        version: fangs_base::VERSION,
        solution: monochromatic.is_empty(),
        cost: colors_used(&colors),
        monochromatic,
    };
    output::print_report(&verdict, json)?;
    Ok(if verdict.solution { Exit::Done } else { Exit::Infeasible })
}

fn colors_used(colors: &[u32]) -> usize {
    let mut used = colors.to_vec();
    used.sort_unstable();
    used.dedup();
    used.len()
}

#[derive(Serialize)]
struct Verdict<'a> {
    instance: &'a str,
    version: &'static str,
    /// Whether no edge has ends of the same color.
    solution: bool,
    /// Number of colors used.
    cost: usize,
    monochromatic: Vec<Monochromatic>,
}

impl fmt::Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} colors", line(self.instance), self.cost)?;
        Monochromatic::list(&self.monochromatic, f)
    }
}
