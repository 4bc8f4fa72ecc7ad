//! Influence diagrams: chance variables with probabilities, decisions, and utilities whose sum is maximised.

/// Whether decisions have perfect recall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagramKind {
    /// Each decision depends on everything observed and decided before (an influence diagram with perfect recall).
    Recall,
    /// Each decision depends only on its stated information set (a limited-memory influence diagram, LIMID).
    Limited,
}

impl DiagramKind {
    /// Returns `id` or `limid`.
    pub fn name(self) -> &'static str {
        match self {
            DiagramKind::Recall => "id",
            DiagramKind::Limited => "limid",
        }
    }
}

/// A table of real numbers over some variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Potential {
    /// The variables that the potential reads.
    pub scope: Box<[u32]>,
    /// One number for each combination of values, the last variable varying fastest.
    pub table: Box<[f64]>,
}

/// A variable of an influence diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The variable's name in the file, or its index.
    pub name: String,
    /// Number of values.
    pub domain: u32,
    /// Names of the values; empty if they have none.
    pub values: Vec<String>,
    /// Whether the variable is a decision.
    pub decision: bool,
}

impl Node {
    /// Returns the name of a value, or its index if it has no name.
    pub fn value_name(&self, value: u32) -> String {
        self.values.get(value as usize).cloned().unwrap_or_else(|| value.to_string())
    }
}

/// An influence diagram.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagram {
    /// The diagram's name: that of its file.
    pub name: String,
    /// Whether decisions have perfect recall.
    pub kind: DiagramKind,
    /// The variables.
    pub nodes: Vec<Node>,
    /// Conditional probability tables, each of its last variable given the others.
    pub probabilities: Vec<Potential>,
    /// Utilities, which are summed.
    pub utilities: Vec<Potential>,
    /// The variables in blocks, in elimination order, that is, from the last to the first in time. A block consists of
    /// decisions only, which are made together, or of chance variables only. Chance variables of the first block are
    /// never observed; those of a later block are observed right before the decisions of the preceding block in this
    /// list.
    pub blocks: Vec<Vec<u32>>,
    /// Decisions and the variables that each observes in a limited-memory diagram, ascending, in temporal order; empty
    /// if the blocks determine them.
    pub informed: Vec<(u32, Vec<u32>)>,
}

impl Diagram {
    /// Returns the domain sizes of the variables.
    pub fn domains(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.domain).collect()
    }

    /// Returns the decisions in temporal order, and the variables that each observes, ascending. With perfect recall
    /// these are all variables observed or decided before. Otherwise they are the stated ones or, if none are stated,
    /// those of the block right before the decision's own.
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
