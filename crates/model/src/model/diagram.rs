//! Influence diagrams: chance variables with probabilities, decisions, and utilities whose sum is maximised.

/// Whether decisions remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagramKind {
    /// Each decision knows all that was observed and decided before (an influence diagram with perfect recall).
    Recall,
    /// Each decision knows only what is stated for it (a limited-memory influence diagram, LIMID).
    Limited,
}

impl DiagramKind {
    /// `id` or `limid`.
    pub fn name(self) -> &'static str {
        match self {
            DiagramKind::Recall => "id",
            DiagramKind::Limited => "limid",
        }
    }
}

/// A function of some variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Potential {
    /// The variables that it reads.
    pub scope: Box<[u32]>,
    /// Its value for each combination of their values, the last variable running fastest.
    pub table: Box<[f64]>,
}

/// A variable of a diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name: that of the file, or its index.
    pub name: String,
    /// Number of values.
    pub domain: u32,
    /// Names of the values; empty where they have none.
    pub values: Vec<String>,
    /// Whether it is a decision.
    pub decision: bool,
}

impl Node {
    /// The name of a value.
    pub fn value_name(&self, value: u32) -> String {
        self.values.get(value as usize).cloned().unwrap_or_else(|| value.to_string())
    }
}

/// An influence diagram.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagram {
    /// Its name, as the file's.
    pub name: String,
    /// Whether decisions remember.
    pub kind: DiagramKind,
    /// The variables.
    pub nodes: Vec<Node>,
    /// Probabilities: each of its last variable, by the others.
    pub probabilities: Vec<Potential>,
    /// Utilities, which are added up.
    pub utilities: Vec<Potential>,
    /// The variables in the order of elimination, that is, from the last to the first in time. A block is all
    /// decisions, which are made together, or all chance variables: those of the first block are never observed, those
    /// of another one right before the decisions of the block in front of it.
    pub blocks: Vec<Vec<u32>>,
    /// Decisions and what each sees where it forgets, ascending, in the order of time; empty where blocks tell.
    pub informed: Vec<(u32, Vec<u32>)>,
}

impl Diagram {
    /// Domain sizes of the variables.
    pub fn domains(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.domain).collect()
    }

    /// The decisions, first decided first, and what each of them sees, ascending: with perfect recall all that
    /// was observed and decided before, otherwise what is stated for it, or the block right before its own.
    pub fn decisions(&self) -> Vec<(u32, Vec<u32>)> {
        if self.kind == DiagramKind::Limited && !self.informed.is_empty() {
            return self.informed.clone();
        }
        let mut decisions = Vec::new();
        for (place, block) in self.blocks.iter().enumerate().rev() {
            let before = &self.blocks[place + 1..];
            let seen = match self.kind {
                DiagramKind::Recall => before.concat(),
                DiagramKind::Limited => before.first().cloned().unwrap_or_default(),
            };
            for &variable in block.iter().filter(|&&variable| self.nodes[variable as usize].decision) {
                let mut seen = seen.clone();
                seen.sort_unstable();
                decisions.push((variable, seen));
            }
        }
        decisions
    }
}
