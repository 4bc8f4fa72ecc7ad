//! Graph coloring: least-used colors first, and Kempe chains (Morgenstern, Shapiro: "Coloration neighborhood structures
//! for general graph coloring", 1990).

use super::min_conflicts::as_min_conflicts;
use crate::device::Source;
use crate::model::Problem;
use crate::rng::Rng;
use crate::texts::HEURISTICS;
use crate::{Neighbourhood, Start, ValueHeuristic, View};

/// Min-conflicts with Kempe chains, starting from colors that are used least.
#[derive(Clone, Copy, Debug)]
pub struct Coloring;

impl ValueHeuristic for Coloring {
    fn name(&self) -> &str {
        "coloring"
    }

    fn about(&self) -> &str {
        "\
graph coloring: min-conflicts with Kempe chains, begun by least-used colors
States begin with vertices in the order of their degrees, ties at random: each takes a cheapest color, of these the
least used. Between passes Kempe chains are tried: a vertex in conflict takes another color, its neighbours of that
color take its old one, and so on, which separates it from those it is in conflict with. For networks of binary
functions that cost something only where both values are equal."
    }

    as_min_conflicts!();

    fn fits(&self, problem: &Problem) -> Result<(), String> {
        let differs = problem.functions.iter().position(|function| {
            let [u, v] = function.scope[..] else { return true };
            let colors = problem.domains[v as usize] as usize;
            let equal = |entry: usize| entry / colors == entry % colors;
            let costs = function.entries(&problem.domains).enumerate();
            problem.domains[u as usize] as usize != colors || costs.into_iter().any(|(k, cost)| cost > 0 && !equal(k))
        });
        match differs {
            Some(function) => Err(format!(
                "function {function} of the reduced problem costs something where its variables differ, or has more \
                 than two"
            )),
            None => Ok(()),
        }
    }

    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        Some(&Kempe)
    }

    fn start(&self) -> Option<&dyn Start> {
        Some(&LeastUsed)
    }
}

/// A neighbourhood of Kempe chains: a vertex takes a color, its neighbours of that color take the vertex's old one, and
/// so on. In colorings with conflicts, a chain separates two neighbours of one color, because it contains only
/// neighbours that have the new color.
#[derive(Clone, Copy, Debug)]
pub struct Kempe;

const CANDIDATES: usize = 8;
/// Largest number of vertices of a chain; longer ones hardly do more than exchange the names of two colors.
const LONGEST: usize = 16;

impl Neighbourhood for Kempe {
    fn cuda(&self) -> Option<Source> {
        Some(
            HEURISTICS
                .including("kempe.cuh")
                .agrees("Groups::CANDIDATES", CANDIDATES as u32)
                .agrees("Groups::LONGEST", LONGEST as u32),
        )
    }

    fn proposals(&self, variables: usize) -> usize {
        1 + variables / 64
    }

    fn propose(&self, view: &View<'_>, rng: &mut Rng, group: &mut Vec<(u32, u16)>) {
        let in_conflict = |&v: &usize| view.neighbours(v).iter().any(|&u| view.value(u as usize) == view.value(v));
        let mut candidates = (0..CANDIDATES).map(|_| rng.index(view.variables()));
        let Some(vertex) = candidates.find(in_conflict) else { return };
        let (colors, color) = (view.domain(vertex), view.value(vertex));
        if colors < 2 {
            return;
        }
        let other = (color + 1 + rng.index(colors - 1)) % colors;
        let mut known = vec![false; view.variables()];
        known[vertex] = true;
        group.push((vertex as u32, other as u16));
        let mut next = 0;
        while let Some(&(v, taken)) = group.get(next) {
            next += 1;
            if group.len() > LONGEST {
                return group.clear();
            }
            let left = if usize::from(taken) == color { other } else { color };
            for &u in view.neighbours(v as usize) {
                if !known[u as usize] && view.value(u as usize) == usize::from(taken) {
                    known[u as usize] = true;
                    group.push((u, left as u16));
                }
            }
        }
    }
}

/// A start that colors vertices by degree, each with the least used of its cheapest colors.
struct LeastUsed;

impl Start for LeastUsed {
    fn start(&self, view: &View<'_>, rng: &mut Rng, values: &mut [u16]) {
        let mut order: Vec<usize> = (0..values.len()).collect();
        rng.shuffle(&mut order);
        order.sort_by_key(|&v| std::cmp::Reverse(view.neighbours(v).len()));
        let most = (0..values.len()).map(|v| view.domain(v)).max().unwrap_or(0);
        let mut uses = vec![0u32; most];
        let mut colored = vec![false; values.len()];
        for v in order {
            let mut clashes = vec![0u32; view.domain(v)];
            for &u in view.neighbours(v).iter().filter(|&&u| colored[u as usize]) {
                clashes[usize::from(values[u as usize])] += 1;
            }
            let best = (0..clashes.len()).min_by_key(|&color| (clashes[color], uses[color])).unwrap_or(0);
            values[v] = best as u16;
            uses[best] += 1;
            colored[v] = true;
        }
    }
}
