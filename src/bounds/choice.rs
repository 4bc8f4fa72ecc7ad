//! Which methods a bound may come from.

use super::branch::Style;
use super::join_graph::Graphs;

/// How lower bounds are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundChoice {
    /// Bucket elimination where it fits, cost shifting and a ladder of mini-buckets otherwise.
    Auto,
    /// Only the trivial bound.
    None,
    /// Cost shifting.
    Shift,
    /// Cost shifting, between mini-buckets too: join graphs of growing z.
    JoinGraph,
    /// Mini-buckets of the network as it is.
    Mbe,
    /// Mini-buckets of the network as it is, with moment matching.
    MbeMm,
    /// Bucket elimination, whatever it costs.
    Be,
    /// Bucket elimination by rows of what cost shifting leaves.
    SparseBe,
    /// Searches over values.
    Branch,
}

impl BoundChoice {
    /// All choices with the names they go by.
    pub const ALL: [(&'static str, BoundChoice); 9] = [
        ("auto", BoundChoice::Auto),
        ("none", BoundChoice::None),
        ("shift", BoundChoice::Shift),
        ("join-graph", BoundChoice::JoinGraph),
        ("mbe", BoundChoice::Mbe),
        ("mbe-mm", BoundChoice::MbeMm),
        ("be", BoundChoice::Be),
        ("sparse-be", BoundChoice::SparseBe),
        ("branch", BoundChoice::Branch),
    ];

    /// What it takes to a better bound.
    pub fn strategies(self) -> Strategies {
        let auto = self == BoundChoice::Auto;
        Strategies {
            plain: matches!(self, BoundChoice::Auto | BoundChoice::Mbe | BoundChoice::Be),
            shift: auto || matches!(self, BoundChoice::Shift | BoundChoice::JoinGraph | BoundChoice::SparseBe),
            shifted: auto,
            graphs: match self {
                BoundChoice::Auto | BoundChoice::JoinGraph | BoundChoice::SparseBe => Graphs::Growing,
                BoundChoice::MbeMm => Graphs::Matching,
                _ => Graphs::None,
            },
            rows: auto || self == BoundChoice::SparseBe,
            branch: match self {
                BoundChoice::Auto | BoundChoice::Branch => &Style::ALL,
                _ => &[],
            },
        }
    }

    /// The name it goes by.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice)| *choice == self).map_or("", |(name, _)| name)
    }
}

/// Which ways are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategies {
    /// Mini-buckets of the network as it is.
    pub plain: bool,
    /// Cost shifting.
    pub shift: bool,
    /// Mini-buckets of the shifted network.
    pub shifted: bool,
    /// Shifting between mini-buckets.
    pub graphs: Graphs,
    /// Exact elimination by rows of what shifting leaves.
    pub rows: bool,
    /// Searches over values.
    pub branch: &'static [Style],
}

impl Strategies {
    /// Cost shifting between functions alone.
    pub(super) const SHIFT: Strategies =
        Strategies { plain: false, shift: true, shifted: false, graphs: Graphs::None, rows: false, branch: &[] };
}
