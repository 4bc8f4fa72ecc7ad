//! Parts of a product, in which the values of some variables are fixed.
//!
//! If the tables of a part fit, its sum, or its largest sum, is computed exactly; otherwise weighted mini-buckets bound
//! it from above. The part with the largest bound is cut next, by the values of a variable that the largest cliques
//! share. Maximised variables are cut first, and the whole is the largest of these parts. After all of them have
//! values, a part is a sum, which is cut further if its tables do not fit (conditioning as in Lou, Dechter and Ihler,
//! "Anytime anyspace AND/OR search for bounding the partition function", 2017, on one path at a time; branch and bound
//! as in Yuan and Hansen, 2009).

use super::evidence::Evidence;
use super::found::{Fold, Found, Sum, Values};
use super::map::{Made, largest};
use super::options::Options;
use super::propagate::{Planned, Trouble};
use super::simplify::Keep;
use super::sliced::Sliced;
use super::tuning;
use super::weighted::{Weights, upper};
use crate::algebra::{SumProduct, WideSumProduct};
use crate::elimination::{EliminationPlan, Limits, widest};
use crate::error::Error;
use crate::memory;
use crate::model::{Potentials, Problem, Scaled};
use crate::order::Order;
use crate::stop::Stop;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A part whose sum is only bounded.
#[derive(Debug)]
pub(super) struct Part {
    /// The fixed values.
    values: Values,
    /// The upper bound on its sum.
    pub upper: Scaled,
    /// Whether the bound comes from split buckets.
    pub split: bool,
    /// The next operation on the part.
    next: Next,
}

/// The next operation on an open part.
#[derive(Debug)]
enum Next {
    /// Cut it by this variable.
    Cut(u32),
    /// Continue with the bounds on its sum; all maximised variables have values.
    Sum(Box<Tree>),
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Part {}
impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.upper.is_above(other.upper), other.upper.is_above(self.upper)) {
            (true, _) => Ordering::Greater,
            (_, true) => Ordering::Less,
            // of equal bounds, the part with more fixed values is nearer to an exact sum
            _ => (self.values.len(), &other.values).cmp(&(other.values.len(), &self.values)),
        }
    }
}

/// The result for a part.
#[derive(Debug)]
pub(super) enum Known {
    Exact(Sum),
    Bounded(Part),
}

/// The tables, weights and order that bound a part.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// Bytes of the tables.
    pub bytes: u64,
    pub weights: Weights,
    /// The position of each variable in the order.
    pub places: Arc<[usize]>,
}

/// A product, and the orders along which its parts are computed.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub potentials: &'a Potentials,
    evidence: &'a Evidence,
    /// For each variable, whether it is maximised.
    pub late: Vec<bool>,
    /// The position of each variable in an order that ignores which variables are maximised.
    pub free: Arc<[usize]>,
    /// The position of each variable in an order that eliminates summed variables before maximised ones.
    pub constrained: Arc<[usize]>,
    /// Bytes that tables may take.
    pub memory: u64,
}

/// The product with some values fixed, simplified.
#[derive(Debug)]
pub(super) struct Rest {
    /// The values of the maximised variables that are fixed, either given or because all other values have a sum of 0.
    pub fixed: Values,
    pub sliced: Sliced,
    pub structure: Problem,
    /// For each variable that is left, whether it is maximised.
    pub late: Vec<bool>,
    /// Whether at least half of the entries are 0, so that lists of the others may be shorter than tables.
    pub sparse: bool,
}

impl Rest {
    /// Returns the largest sum along a plan, with wider numbers if products could be below the range of doubles.
    fn largest(&self, planned: Planned<'_>, made: Made, stop: &Stop) -> Result<Option<(Scaled, f64, Vec<u32>)>, Error> {
        Ok(match largest(planned, &self.late, SumProduct, made, stop) {
            Err(Trouble::Narrow) => largest(planned, &self.late, WideSumProduct, made, stop)?,
            found => found?,
        })
    }

    /// Returns an order of the variables that are left, from their positions in an order of the whole. If `first` is
    /// set, all summed variables come before maximised ones, even those without a position because they were barren in
    /// the whole.
    pub fn order(&self, places: &[usize], first: bool, stop: &Stop) -> Result<Order, Error> {
        let mut sequence: Vec<u32> = (0..self.sliced.variables.len() as u32).collect();
        let place = |v: u32| places[self.sliced.variables[v as usize] as usize];
        sequence.sort_by_key(|&v| (first && self.late[v as usize], place(v)));
        let order = Order::given(&self.structure, &sequence, stop)?;
        stop.check()?;
        Ok(order)
    }

    fn has_late(&self) -> bool {
        self.late.contains(&true)
    }
}

impl<'a> Parts<'a> {
    /// Returns the parts of a product; `free` and `constrained` are the positions of the variables in two orders.
    pub fn new(
        potentials: &'a Potentials,
        evidence: &'a Evidence,
        late: Vec<bool>,
        [free, constrained]: [Arc<[usize]>; 2],
        options: &Options,
    ) -> Self {
        let memory = options.memory.unwrap_or_else(|| memory::available() / 2);
        Parts { potentials, evidence, late, free, constrained, memory }
    }

    /// Returns the memory of one table if each thread makes one, in bytes.
    pub fn share(&self) -> u64 {
        self.memory / rayon::current_num_threads() as u64
    }

    /// Returns the product with these values fixed, or `None` if every product is 0.
    pub fn rest(&self, values: &[(u32, u32)], stop: &Stop) -> Result<Option<Rest>, Error> {
        let mut evidence = self.evidence.clone();
        evidence.values.extend_from_slice(values);
        let asked = |v: u32| self.late[v as usize];
        let sliced = Sliced::new(self.potentials, &evidence, asked, Keep::These(&asked), stop)?;
        let Some(sliced) = sliced.filter(Sliced::is_possible) else { return Ok(None) };
        let (structure, late) = (sliced.structure(), sliced.variables.iter().map(|&v| asked(v)).collect());
        let all: usize = sliced.functions.iter().map(|f| f.table.len()).sum();
        let zeros: usize = sliced.functions.iter().map(|f| f.table.iter().filter(|&&x| x == 0.0).count()).sum();
        let implied = sliced.left_out.iter().filter_map(|own| Some((own.variable, own.fixed()?)));
        let fixed = evidence.values.iter().copied().chain(implied).filter(|&(v, _)| asked(v)).collect();
        Ok(Some(Rest { fixed, sliced, structure, late, sparse: 2 * zeros >= all }))
    }

    /// Returns the largest sum of a part if its cliques have at most `most` entries and its tables fit into memory, or
    /// if lists of the entries above 0 are short enough.
    pub fn exact(&self, rest: &Rest, most: f64, stop: &Stop) -> Result<Option<Sum>, Error> {
        let keep_messages = rest.has_late();
        let order = rest.order(if keep_messages { &self.constrained } else { &self.free }, true, stop)?;
        let (plan, placement) = EliminationPlan::exact(&rest.structure, &order, keep_messages, 16, stop)?;
        let planned = Planned { sliced: &rest.sliced, plan: &plan, placement: &placement };
        let rows = most.min(order.joint_entries) / tuning::ENTRIES_OF_A_ROW;
        let fits = order.joint_entries <= most && placement.peak_bytes <= self.share();
        let listed = if rest.sparse { rest.largest(planned, Made::Rows(rows as usize), stop)? } else { None };
        let found = match listed {
            None if fits => rest.largest(planned, Made::Tables, stop)?,
            listed => listed,
        };
        let Some((sum, error, own)) = found else { return Ok(None) };
        let mut values = rest.fixed.clone();
        let left = rest.sliced.variables.iter().copied().zip(own);
        values.extend(left.filter(|&(v, _)| self.late[v as usize]));
        Ok(Some(Sum { sum, error: error + rest.sliced.rounding, values }))
    }

    /// Returns an upper bound on the largest sum of a part, and whether buckets were split for it.
    fn upper(&self, rest: &Rest, level: &Level, stop: &Stop) -> Result<(Scaled, bool), Error> {
        let order = rest.order(&level.places, false, stop)?;
        if rest.sparse {
            let (plan, placement) = EliminationPlan::exact(&rest.structure, &order, false, 8, stop)?;
            let planned = Planned { sliced: &rest.sliced, plan: &plan, placement: &placement };
            let rows = level.bytes / tuning::BYTES_OF_A_ROW;
            if let Some((sum, error, _)) = rest.largest(planned, Made::Rows(rows as usize), stop)? {
                return Ok((sum.times(Scaled::new(1.0 + 2.0 * (error + rest.sliced.rounding))), false));
            }
        }
        let limits = Limits { keep_messages: false, ..Limits::new(level.bytes) };
        let (plan, placement) = EliminationPlan::within(&rest.structure, &order, &limits, 8, stop)?;
        let own = upper(&rest.sliced, &plan, &placement, level.weights, &rest.late, stop)?;
        Ok((own, !plan.exact))
    }

    /// Returns the sum of a part whose cliques have at most `most` entries; otherwise an upper bound on it, at most
    /// `above`.
    pub fn part(
        &self,
        mut values: Values,
        level: &Level,
        most: f64,
        above: Option<Scaled>,
        stop: &Stop,
    ) -> Result<Known, Error> {
        let Some(rest) = self.rest(&values, stop)? else {
            return Ok(Known::Exact(Sum { sum: Scaled::ZERO, error: 0.0, values: Vec::new() }));
        };
        if let Some(sum) = self.exact(&rest, most, stop)? {
            return Ok(Known::Exact(sum));
        }
        let (own, split) = self.upper(&rest, level, stop)?;
        let upper = above.filter(|&above| own.is_above(above)).unwrap_or(own);
        let cut = rest.sliced.variables[self.cut(&rest, stop)? as usize];
        values.extend_from_slice(&rest.fixed);
        values.sort_unstable();
        values.dedup();
        Ok(Known::Bounded(Part { values, upper, split, next: Next::Cut(cut) }))
    }

    /// Returns the variable that the largest cliques share; a maximised one if there is any.
    fn cut(&self, rest: &Rest, stop: &Stop) -> Result<u32, Error> {
        let order = rest.order(if rest.has_late() { &self.constrained } else { &self.free }, true, stop)?;
        let (plan, _) = EliminationPlan::exact(&rest.structure, &order, false, 8, stop)?;
        let best = widest(&plan, |v| rest.late[v] || !rest.has_late(), stop)?;
        best.ok_or_else(|| Error::Internal("a part without variables is not exact".into()))
    }
}

/// The open parts and the bounds on the whole that follow from them.
#[derive(Debug)]
pub(super) struct Tree {
    open: BinaryHeap<Part>,
    pub found: Found,
}

impl Tree {
    /// Returns the state before anything is computed.
    pub fn new(fold: Fold) -> Self {
        Tree { open: BinaryHeap::new(), found: Found::new(fold) }
    }

    /// Starts again from another bound on the whole if that is lower.
    pub fn restart(&mut self, whole: Part, parts: &Parts<'_>) {
        if self.open.peek().is_none_or(|known| known.upper.is_above(whole.upper)) {
            self.open.clear();
            self.push(whole, parts);
        }
        self.found.bounds(self.open.iter().map(|part| part.upper));
    }

    /// Records the exact sum of the whole.
    pub fn finish(&mut self, sum: Sum) {
        self.open.clear();
        self.found.whole(sum);
        self.found.bounds(self.open.iter().map(|part| part.upper));
    }

    /// Records a lower bound on the whole.
    pub fn hear(&mut self, sum: &Sum) {
        self.found.known(sum);
        self.found.bounds(self.open.iter().map(|part| part.upper));
    }

    fn push(&mut self, part: Part, parts: &Parts<'_>) {
        let Part { upper, split, next: Next::Cut(variable), .. } = part else { return self.open.push(part) };
        if self.found.fold == Fold::Sum || parts.late[variable as usize] {
            return self.open.push(part);
        }
        // all maximised variables have values
        let (values, mut tree) = (part.values.clone(), Tree::new(Fold::Sum));
        tree.restart(part, parts);
        self.open.push(Part { values, upper, split, next: Next::Sum(Box::new(tree)) });
    }

    /// Returns whether an open part may still change the result.
    pub fn is_open(&self) -> bool {
        self.open.peek().is_some_and(|part| self.found.may_gain(part.upper))
    }

    /// Cuts the part with the largest bound, or advances its sum. Parts whose cliques have at most `most` entries are
    /// summed exactly.
    ///
    /// # Errors
    /// Returns an error if there is no memory for a table, and [`Error::Stopped`] if `stop` is set.
    pub fn advance(&mut self, parts: &Parts<'_>, level: &Level, most: f64, stop: &Stop) -> Result<(), Error> {
        let Some(mut part) = self.open.pop() else { return Ok(()) };
        match &mut part.next {
            Next::Sum(tree) => {
                tree.advance(parts, level, most, stop)?;
                part.upper = tree.upper(part.upper);
                // the bounds on the whole are updated below, after the part is back among the open ones
                self.found.known(&tree.known(&part.values));
                if tree.is_open() {
                    self.open.push(part);
                } else {
                    self.found.last.exact_parts += 1;
                }
            }
            &mut Next::Cut(variable) => {
                let above = Some(part.upper);
                let cut = |value| {
                    let values = part.values.iter().copied().chain([(variable, value)]).collect();
                    parts.part(values, level, most, above, stop)
                };
                let domain = parts.potentials.domains[variable as usize];
                let all: Vec<Known> = (0..domain).into_par_iter().map(cut).collect::<Result<_, _>>()?;
                for known in all {
                    match known {
                        Known::Exact(sum) => self.found.exact(sum),
                        Known::Bounded(part) => self.push(part, parts),
                    }
                }
            }
        }
        if !self.is_open() {
            self.open.clear();
        }
        self.found.bounds(self.open.iter().map(|part| part.upper));
        Ok(())
    }

    /// Returns the combined sum of the exact parts at `values`.
    pub fn known(&self, values: &Values) -> Sum {
        Sum { sum: self.found.lower, error: self.found.error, values: values.clone() }
    }

    /// Returns an upper bound on the sum, at most `known`.
    fn upper(&self, known: Scaled) -> Scaled {
        let own = self.found.most(self.open.iter().map(|part| part.upper));
        if own.is_above(known) { known } else { own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_the_whole_replaces_what_is_known_of_parts() {
        let sum = |number| Sum { sum: Scaled::new(number), error: 0.0, values: Vec::new() };
        let mut tree = Tree::new(Fold::Sum);
        tree.found.exact(sum(1.0));
        tree.finish(sum(3.0));
        let last = tree.found.last;
        assert!((last.lower - 3f64.ln()).abs() < 1e-14 && (last.upper - 3f64.ln()).abs() < 1e-14, "{last:?}");
        assert_eq!(last.open_parts, 0);
    }
}
