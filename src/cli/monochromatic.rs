//! Edges of a coloring whose ends have the same color.

use serde::Serialize;
use std::fmt;

/// An edge whose ends have the same color.
#[derive(Serialize)]
pub struct Monochromatic {
    /// Vertices of the edge, counted from 1 as in the file.
    edge: [u32; 2],
    /// Color of both ends, counted from 0 as in solutions.
    color: u32,
}

impl Monochromatic {
    /// Creates an entry for an edge whose vertices are counted from 0.
    pub fn new([u, v]: [u32; 2], colors: &[u32]) -> Self {
        Monochromatic { edge: [u + 1, v + 1], color: colors[u as usize] }
    }

    /// Writes the edges in text form.
    pub fn list(edges: &[Self], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match edges.len() {
            0 => writeln!(f, "no edge is monochromatic: a proper coloring")?,
            1 => writeln!(f, "1 edge is monochromatic:")?,
            n => writeln!(f, "{n} edges are monochromatic:")?,
        }
        for Monochromatic { edge: [u, v], color } in edges {
            writeln!(f, "  edge {u} {v}: color {color}")?;
        }
        Ok(())
    }
}
