//! Decides whether k colors are enough: branch and bound by saturation, in slices. The next vertex is the one with the
//! most colors among its neighbours. It tries each color that none of its neighbours has; of the unused colors it tries
//! only the first, because they are interchangeable (Brelaz, "New methods to color the vertices of a graph", 1979). The
//! vertices of a clique have fixed colors from the start.

use super::dsatur::NONE;
use crate::graph::Graph;
use crate::stop::Stop;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Coloring(Vec<u32>),
    Infeasible,
}

#[derive(Debug)]
pub(super) struct Exact {
    graph: Graph,
    k: u32,
    colors: Vec<u32>,
    /// For each vertex and color, how many neighbours have the color.
    near: Vec<u32>,
    /// For each vertex, how many different colors its neighbours have.
    saturation: Vec<u32>,
    open: Vec<u32>,
    /// The vertices on the current branch, each with the number of colors that were in use before it.
    choices: Vec<(u32, u32)>,
    used: u32,
    /// Whether the last choice has a color, so that the next vertex is to be chosen.
    deeper: bool,
}

impl Exact {
    /// Prepares the search for colorings with `k` colors. The vertices of `clique`, at most `k`, take the first colors
    /// in their order.
    pub fn new(graph: Graph, k: u32, clique: &[u32]) -> Self {
        let n = graph.len();
        let mut exact = Exact {
            k,
            colors: vec![NONE; n],
            near: vec![0; n * k as usize],
            saturation: vec![0; n],
            open: (0..n as u32).filter(|v| !clique.contains(v)).collect(),
            choices: Vec::new(),
            used: clique.len() as u32,
            deeper: true,
            graph,
        };
        clique.iter().zip(0..).for_each(|(&v, color)| exact.set(v, color));
        exact
    }

    /// Searches for about `work` entries. Returns `None` if nothing is decided yet.
    pub fn search(&mut self, work: u64, stop: &Stop) -> Option<Answer> {
        let mut left = work as i64;
        while left > 0 && !stop.is_set() {
            if std::mem::take(&mut self.deeper) {
                left -= self.open.len() as i64;
                let Some(v) = self.choose() else { return Some(Answer::Coloring(self.colors.clone())) };
                self.choices.push((v, self.used));
            }
            let Some(&(v, used)) = self.choices.last() else { return Some(Answer::Infeasible) };
            left -= 2 * self.graph.neighbours(v as usize).len() as i64 + 1;
            let tried = self.colors[v as usize];
            if tried != NONE {
                self.unset(v);
            }
            let from = if tried == NONE { 0 } else { tried + 1 };
            let mut possible = from..(used + 1).min(self.k);
            match possible.find(|&color| self.near[v as usize * self.k as usize + color as usize] == 0) {
                Some(color) => {
                    self.set(v, color);
                    self.used = used.max(color + 1);
                    self.deeper = true;
                }
                None => {
                    let _ = self.choices.pop();
                    self.open.push(v);
                }
            }
        }
        None
    }

    /// Removes and returns the open vertex with the highest saturation.
    fn choose(&mut self) -> Option<u32> {
        let urgency = |v: u32| (self.saturation[v as usize], self.graph.neighbours(v as usize).len(), v);
        let place = (0..self.open.len()).max_by_key(|&place| urgency(self.open[place]))?;
        Some(self.open.swap_remove(place))
    }

    fn set(&mut self, v: u32, color: u32) {
        self.colors[v as usize] = color;
        for &u in self.graph.neighbours(v as usize) {
            let near = &mut self.near[u as usize * self.k as usize + color as usize];
            *near += 1;
            self.saturation[u as usize] += u32::from(*near == 1);
        }
    }

    fn unset(&mut self, v: u32) {
        let color = std::mem::replace(&mut self.colors[v as usize], NONE);
        for &u in self.graph.neighbours(v as usize) {
            let near = &mut self.near[u as usize * self.k as usize + color as usize];
            *near -= 1;
            self.saturation[u as usize] -= u32::from(*near == 0);
        }
    }
}
