//! The passes over a join graph, for a certificate: its mini-buckets, the edges between them, how many passes.

use super::schedule::Layout;
use crate::elimination::plan::Plan;

/// A mini-bucket of a join graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MiniBucket {
    /// Its variables, in any order.
    pub scope: Box<[u32]>,
    /// The one that takes its message.
    pub to: Option<u32>,
    /// The one before it of the same variable that it shares most with.
    pub beside: Option<u32>,
}

/// Passes over a join graph, those on their way included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passes {
    /// The mini-buckets in the order of the plan; those of one variable follow each other, all but the first having one
    /// beside.
    pub clusters: Vec<MiniBucket>,
    /// Passes down and back, alternately.
    pub directed: u32,
    /// Passes along all edges alike, after them.
    pub even: u32,
}

impl Passes {
    /// Over the graph of a plan.
    pub(crate) fn new(plan: &Plan, layout: &Layout, directed: u32, even: u32) -> Passes {
        let variable = |p: u32| plan.sequence[p as usize];
        let clusters = (0..plan.steps.len()).map(|index| {
            let (to, beside) = layout.neighbours(index);
            MiniBucket { scope: plan.scope(index).into_iter().map(variable).collect(), to, beside }
        });
        Passes { clusters: clusters.collect(), directed, even }
    }
}
