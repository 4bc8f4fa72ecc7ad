//! Enumeration of the solutions of a problem.

use super::setting::Setting;
use super::tree::{Ended, Flow, Part, Tree, Visit};
use super::walk::{Walk, eliminated};
use super::{Leaf, Receiver};
use crate::bounds::tuning::solutions::{BEGIN_AGAIN, FIRST_LEAF, FIRST_TABLES, FIRST_WORK, GROWTH, VALUE_WORK};
use crate::elimination::cap;
use crate::error::Error;
use crate::model::Cost;
use crate::stop::Stop;

/// Sizes of tables and of searches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Bytes of the first mini-bucket messages of a problem that is too large for propagation.
    pub first_tables: u64,
    /// Combinations up to which what is left at a node is enumerated by tables, at first.
    pub first_leaf: u64,
    /// Limit of all tables in bytes.
    pub bytes: u64,
    /// Whether values of low costs are tried first in tables, and the receiver ignores solutions that it knows: then a
    /// search may begin again.
    pub by_cost: bool,
    /// Whether the search propagates if it can.
    pub propagates: bool,
}

impl Sizes {
    /// The sizes of an enumeration of all solutions, without the limit of bytes.
    pub const DEFAULT: Sizes =
        Sizes { first_tables: FIRST_TABLES, first_leaf: FIRST_LEAF, bytes: u64::MAX, by_cost: false, propagates: true };
}

/// Enumerates the solutions that cost less than `ub` until the receiver breaks off. Returns whether it did not.
///
/// # Errors
/// Returns [`Error::Memory`] if even the smallest tables do not fit, and [`Error::Stopped`] once `stop` is set.
pub(super) fn enumerate(
    setting: &Setting,
    ub: Cost,
    sizes: Sizes,
    stop: &Stop,
    leaf: Receiver<'_>,
) -> Result<bool, Error> {
    if sizes.propagates
        && let Some(tree) = Tree::new(setting, ub, sizes.bytes / 2, stop)?
    {
        let mut parts = Parts { ub, sizes, leaf, found: false };
        return search(tree, &mut parts, sizes.first_leaf, stop);
    }
    along_messages(setting, ub, sizes, stop, leaf)
}

/// Searches the tree, again with larger tables while nothing is found. Returns whether it was complete.
pub(super) fn search(mut tree: Tree<'_>, visit: &mut dyn Visit, leaf: u64, stop: &Stop) -> Result<bool, Error> {
    let (mut leaf, mut work) = (leaf, FIRST_WORK);
    loop {
        match tree.search(visit, leaf, work, stop)? {
            Ended::Complete => return Ok(true),
            Ended::Broken => return Ok(false),
            Ended::Spent => {
                leaf = leaf.saturating_mul(BEGIN_AGAIN);
                work = work.saturating_mul(BEGIN_AGAIN);
            }
        }
    }
}

/// The enumeration of the parts of a search.
struct Parts<'a> {
    ub: Cost,
    sizes: Sizes,
    leaf: Receiver<'a>,
    found: bool,
}

impl Visit for Parts<'_> {
    fn ub(&self) -> Cost {
        self.ub
    }

    fn may_begin_again(&self) -> bool {
        !self.found || self.sizes.by_cost
    }

    fn part(&mut self, part: &Part<'_>, stop: &Stop) -> Result<Flow, Error> {
        let (mut flow, top) = (Flow::Nothing, part.problem.top);
        let mut leaf = |values: &[u32], limit: &mut Cost| {
            let told = (self.leaf)(&part.lift(values), &mut self.ub)?;
            *limit = part.data.limit(self.ub).min(*limit);
            match told {
                Leaf::Refused => {}
                Leaf::Taken => (flow, self.found) = (Flow::Found, true),
                Leaf::Last => flow = Flow::Break,
            }
            Ok(told)
        };
        if part.problem.variables() == 0 {
            if part.problem.constant < top {
                let _ = leaf(&[], &mut { top })?;
            }
            return Ok(flow);
        }
        let outcome = eliminated(&part.problem, &part.order, self.sizes.bytes / 2, top, stop)?;
        let guide = outcome.cost_to_go().ok_or_else(|| Error::Memory("messages of mini-buckets".into()))?;
        let mut walk = Walk::new(&part.problem, top, part.first, self.sizes.by_cost);
        let _ = walk.search(&guide, u64::MAX, stop, &mut leaf)?;
        Ok(flow)
    }
}

/// Enumerates along mini-bucket messages, which grow.
fn along_messages(setting: &Setting, ub: Cost, sizes: Sizes, stop: &Stop, leaf: Receiver<'_>) -> Result<bool, Error> {
    let Setting { problem, order, first, .. } = setting;
    // messages are clamped to this cost, so they cannot distinguish higher ones
    let ub = ub.min(problem.constant.saturating_add(cap(problem, ub, stop)?));
    // the order of costs would change with the messages
    let mut walk = Walk::new(problem, ub, *first, false);
    let mut size = sizes.first_tables;
    let mut outcome = eliminated(problem, order, size.min(sizes.bytes), ub, stop)?;
    loop {
        let Some(guide) = outcome.cost_to_go() else { return Err(Error::Memory("messages of mini-buckets".into())) };
        // larger tables once the search with these has taken as long as they took
        let is_last = outcome.plan.exact || size >= sizes.bytes;
        let steps = if is_last { u64::MAX } else { outcome.plan.joint_entries.div_ceil(VALUE_WORK) };
        if let Some(end) = walk.search(&guide, steps, stop, leaf)? {
            return Ok(end);
        }
        size = size.saturating_mul(GROWTH);
        match eliminated(problem, order, size.min(sizes.bytes), ub, stop) {
            Ok(larger) => outcome = larger,
            // the search continues with the present tables
            Err(Error::Memory(_)) => size = u64::MAX,
            Err(error) => return Err(error),
        }
    }
}
