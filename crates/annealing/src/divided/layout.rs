//! The color classes of a part, and the parts that read each of its variables.

use super::peers::{Peers, combined};
use crate::error::Error;
use crate::stop::Stop;
use fangs_model::graph::Graph;
use fangs_model::model::Problem;
use std::ops::Range;

/// Bytes of a colored variable in a message.
const COLOR_BYTES: usize = 8;

/// The own variables of a part.
pub(super) struct Layout {
    /// The members of each color class. The coloring is that of the whole network.
    pub classes: Vec<Vec<u32>>,
    own: Range<u32>,
    /// Where the readers of each own variable begin.
    starts: Vec<u32>,
    readers: Vec<u32>,
}

impl Layout {
    /// Colors the network: each variable gets the first color that no neighbour with a smaller number has. The parts
    /// color one after another.
    pub fn new(problem: &Problem, peers: &mut dyn Peers, stop: &Stop) -> Result<Layout, Error> {
        let (share, variables) = (peers.share(), problem.variables());
        let (graph, own) = (Graph::new(problem, stop)?, share.own(variables));
        let mut layout = Layout { classes: Vec::new(), own: own.clone(), starts: vec![0], readers: Vec::new() };
        for v in own.clone() {
            let mut readers: Vec<u32> = graph
                .neighbours(v as usize)
                .iter()
                .filter(|next| !own.contains(next))
                .map(|&next| share.owner(next, variables) as u32)
                .collect();
            readers.sort_unstable();
            readers.dedup();
            layout.readers.extend(readers);
            layout.starts.push(layout.readers.len() as u32);
        }
        let mut colors = vec![u32::MAX; variables];
        for place in 0..share.of {
            let mut messages = vec![Vec::new(); share.of];
            if place == share.place {
                for v in own.clone() {
                    let color = first_free(graph.neighbours(v as usize).iter().map(|&next| colors[next as usize]));
                    colors[v as usize] = color;
                    for &reader in layout.readers(v) {
                        messages[reader as usize].extend([v.to_le_bytes(), color.to_le_bytes()].concat());
                    }
                }
            }
            for message in peers.exchange(&mut messages)? {
                for colored in message.chunks_exact(COLOR_BYTES) {
                    let number = |at: usize| u32::from_le_bytes(colored[at..at + 4].try_into().unwrap_or_default());
                    colors[number(0) as usize] = number(4);
                }
            }
        }
        let count = own.clone().map(|v| colors[v as usize] + 1).max().unwrap_or(0);
        let [count] = combined(peers, [i64::from(count)], i64::max)?;
        layout.classes.resize(count as usize, Vec::new());
        own.for_each(|v| layout.classes[colors[v as usize] as usize].push(v));
        Ok(layout)
    }

    /// Returns the other parts that have functions on an own variable.
    pub fn readers(&self, variable: u32) -> &[u32] {
        let index = (variable - self.own.start) as usize;
        &self.readers[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

/// Returns the least number that is not among some.
fn first_free(taken: impl Iterator<Item = u32> + Clone) -> u32 {
    let mut color = 0;
    loop {
        // 64 colors at a time
        let seen = taken.clone().filter(|taken| (color..color + 64).contains(taken));
        let seen = seen.fold(0u64, |seen, taken| seen | 1 << (taken - color));
        match seen.trailing_ones() {
            64 => color += 64,
            free => return color + free,
        }
    }
}
