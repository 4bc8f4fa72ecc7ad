//! Which methods a bound may come from.

use super::branch::Style;
use super::join_graph::Graphs;

/// How lower bounds are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundChoice {
    /// Bucket elimination where it fits, cost shifting and a size schedule of mini-buckets otherwise.
    Auto,
    /// Only the trivial bound.
    None,
    /// Cost shifting.
    Shift,
    /// Cost shifting, between mini-buckets too: join graphs of growing z.
    JoinGraph,
    /// Mini-buckets of the original network.
    Mbe,
    /// Mini-buckets of the original network, with moment matching.
    MbeMm,
    /// Bucket elimination, whatever it costs.
    Be,
    /// Bucket elimination with sparse tables of what cost shifting leaves.
    SparseBe,
    /// Branch and bound.
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

    /// The strategies that it takes.
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

/// The strategies of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategies {
    /// Mini-buckets of the original network.
    pub plain: bool,
    /// Cost shifting.
    pub shift: bool,
    /// Mini-buckets of the shifted network.
    pub shifted: bool,
    /// Shifting between mini-buckets.
    pub graphs: Graphs,
    /// Exact elimination with sparse tables of what shifting leaves.
    pub rows: bool,
    /// Branch and bound.
    pub branch: &'static [Style],
}

impl Strategies {
    /// Cost shifting between functions alone.
    pub(super) const SHIFT: Strategies =
        Strategies { plain: false, shift: true, shifted: false, graphs: Graphs::None, rows: false, branch: &[] };
}
