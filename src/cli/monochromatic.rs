//! Edges of a coloring whose ends have one color.

use serde::Serialize;
use std::fmt;

/// An edge whose ends have one color.
#[derive(Serialize)]
pub struct Monochromatic {
    /// Vertices as the file counts them, from 1.
    edge: [u32; 2],
    /// As solutions have it, from 0.
    color: u32,
}

impl Monochromatic {
    /// Of vertices counted from 0.
    pub fn new([u, v]: [u32; 2], colors: &[u32]) -> Self {
        Monochromatic { edge: [u + 1, v + 1], color: colors[u as usize] }
    }

    /// Lists them in the text form.
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
