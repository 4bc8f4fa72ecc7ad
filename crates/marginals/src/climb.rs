//! Search for values of the maximised variables that have a large sum.
//!
//! The initial assignments are decoded from an elimination in which sums and maxima come in any order (Park and
//! Darwiche, 2004): the best one, and samples. Then some variables that are near each other are freed, while all others
//! keep their values in the best assignment so far, and the best values of the freed variables are found exactly. This
//! is large-neighbourhood search (Shaw, 1998), whose neighbourhoods grow while their tables fit.

use super::found::{Fold, Found, Sum, Values};
use super::map::{Made, Messages, best, decode};
use super::parts::{Known, Level, Parts, Rest, Tree};
use super::propagate::{Planned, Trouble};
use super::tuning;
use crate::algebra::{OfNumbers, SumMax, SumProduct, WideSumProduct};
use crate::elimination::{EliminationPlan, Limits};
use crate::error::Error;
use crate::model::{Scaled, scale};
use crate::order::Order;
use crate::rng::Rng;
use crate::stop::Stop;

/// A local search for marginal MAP, one step at a time.
#[derive(Debug)]
pub(super) struct Climb {
    rng: Rng,
    /// Entries of all cliques of a subproblem, up to which it is solved exactly.
    most: f64,
    maximised: Vec<u32>,
    /// For each variable, the functions that have it in their scope.
    reading: Vec<Vec<u32>>,
    /// Initial assignments whose sums are not computed yet.
    starts: Vec<Values>,
    /// An initial assignment from an earlier search.
    first: Option<Values>,
    /// Whether initial assignments were decoded.
    begun: bool,
    /// The number of variables that are freed at a time; below 1 if not even one fits.
    freed: f64,
    /// An assignment whose tables do not fit, and bounds on its sum.
    sum: Option<(Values, Tree)>,
}

impl Climb {
    pub fn new(parts: &Parts<'_>, most: f64) -> Self {
        let mut reading = vec![Vec::new(); parts.potentials.domains.len()];
        for (f, function) in (0..).zip(&parts.potentials.functions) {
            function.scope.iter().for_each(|&v| reading[v as usize].push(f));
        }
        let maximised: Vec<u32> = (0..reading.len() as u32).filter(|&v| parts.late[v as usize]).collect();
        let freed = if maximised.is_empty() { 0.0 } else { tuning::FREED };
        Climb {
            rng: Rng::new(1),
            most,
            maximised,
            reading,
            starts: Vec::new(),
            first: None,
            begun: false,
            freed,
            sum: None,
        }
    }

    /// Returns this search with `values` as its first initial assignment, unless they are empty.
    pub fn after(self, values: Values) -> Self {
        Climb { first: Some(values).filter(|values| !values.is_empty()), ..self }
    }

    /// Returns whether all initial assignments are scored.
    pub fn is_scored(&self) -> bool {
        self.begun && self.starts.is_empty()
    }

    /// Makes one step. Returns a sum if one was found, and whether there may be another step.
    ///
    /// # Errors
    /// Returns an error if there is no memory for a table, and [`Error::Stopped`] if `stop` is set.
    pub fn step(
        &mut self,
        parts: &Parts<'_>,
        found: &Found,
        level: &Level,
        stop: &Stop,
    ) -> Result<(Option<Sum>, bool), Error> {
        if !self.begun || (self.starts.is_empty() && found.best.is_empty() && self.sum.is_none()) {
            (self.begun, self.starts) = (true, self.starts(parts, stop)?);
            self.starts.extend(self.first.take());
            return Ok((None, !self.starts.is_empty()));
        }
        if let Some(start) = self.starts.pop() {
            return Ok((self.score(start, parts, level, stop)?, true));
        }
        if !found.best.is_empty() && self.freed >= 1.0 {
            return Ok((self.neighbourhood(parts, &found.best, stop)?, true));
        }
        let Some((values, tree)) = &mut self.sum else { return Ok((None, false)) };
        tree.advance(parts, level, self.most, stop)?;
        Ok((Some(tree.known(values)), tree.is_open()))
    }

    /// Returns the sum of an assignment. If its tables do not fit, returns `None`, and later steps bound the sum unless
    /// they bound another one already.
    fn score(&mut self, start: Values, parts: &Parts<'_>, level: &Level, stop: &Stop) -> Result<Option<Sum>, Error> {
        match parts.part(start.clone(), level, self.most, None, stop)? {
            Known::Exact(sum) => Ok(Some(sum)),
            Known::Bounded(part) => {
                if self.sum.is_none() {
                    let mut tree = Tree::new(Fold::Sum);
                    tree.restart(part, parts);
                    self.sum = Some((start, tree));
                }
                Ok(None)
            }
        }
    }

    /// Returns the sum after some variables got their best values while all others keep theirs in `best`. Returns
    /// `None` if no neighbourhood fits.
    fn neighbourhood(&mut self, parts: &Parts<'_>, best: &Values, stop: &Stop) -> Result<Option<Sum>, Error> {
        while self.freed >= 1.0 {
            let near = self.near(parts, self.freed as usize);
            let fixed: Values = best.iter().copied().filter(|(v, _)| !near.contains(v)).collect();
            // the values in `best` have a sum above 0, so something is left
            let Some(rest) = parts.rest(&fixed, stop)? else { return Ok(None) };
            if let Some(sum) = parts.exact(&rest, self.most, stop)? {
                self.freed = (self.freed * tuning::GROWTH).min(self.maximised.len() as f64);
                return Ok(Some(sum));
            }
            self.freed *= tuning::SHRINKAGE;
        }
        Ok(None)
    }

    /// Returns `count` maximised variables that are near a random one, with random ties.
    fn near(&mut self, parts: &Parts<'_>, count: usize) -> Vec<u32> {
        let mut near = Vec::with_capacity(count);
        let mut seen = vec![false; self.reading.len()];
        while near.len() < count.min(self.maximised.len()) {
            let first = self.maximised[self.rng.index(self.maximised.len())];
            let mut layer = if seen[first as usize] { Vec::new() } else { vec![first] };
            seen[first as usize] = true;
            while !layer.is_empty() && near.len() < count {
                self.rng.shuffle(&mut layer);
                near.extend(layer.iter().copied().filter(|&v| parts.late[v as usize]));
                let mut next = Vec::new();
                for &f in layer.iter().flat_map(|&v| &self.reading[v as usize]) {
                    for &v in &parts.potentials.functions[f as usize].scope {
                        if !std::mem::replace(&mut seen[v as usize], true) {
                            next.push(v);
                        }
                    }
                }
                layer = next;
            }
        }
        near.truncate(count);
        near
    }

    /// Returns initial assignments, the best one last, or none if every product is 0.
    fn starts(&mut self, parts: &Parts<'_>, stop: &Stop) -> Result<Vec<Values>, Error> {
        let Some(rest) = parts.rest(&[], stop)? else { return Ok(Vec::new()) };
        let order = rest.order(&parts.free, false, stop)?;
        let bytes = ((self.most * tuning::START_BYTES_OF_AN_ENTRY) as u64).min(parts.memory / 2);
        let (plan, placement) = EliminationPlan::exact(&rest.structure, &order, true, 8, stop)?;
        let planned = Planned { sliced: &rest.sliced, plan: &plan, placement: &placement };
        let rows = if rest.sparse { bytes / tuning::BYTES_OF_A_ROW } else { 0 };
        let listed = match self.sampled(planned, &rest, SumProduct, Made::Rows(rows as usize), stop) {
            Err(Trouble::Narrow) => self.sampled(planned, &rest, WideSumProduct, Made::Rows(rows as usize), stop)?,
            sampled => sampled?,
        };
        let mut starts = match listed {
            Some(starts) => starts,
            None => self.of_tables(&rest, &order, bytes, stop)?,
        };
        starts.iter_mut().for_each(|start| start.extend_from_slice(&rest.fixed));
        starts.reverse();
        Ok(starts)
    }

    /// Returns initial assignments that are decoded from tables of at most `bytes` bytes, whose buckets may be split.
    fn of_tables(&mut self, rest: &Rest, order: &Order, bytes: u64, stop: &Stop) -> Result<Vec<Values>, Error> {
        let plan = |entry| EliminationPlan::within(&rest.structure, order, &Limits::new(bytes), entry, stop);
        let (narrow, placement) = plan(8)?;
        let planned = Planned { sliced: &rest.sliced, plan: &narrow, placement: &placement };
        let found = match self.sampled(planned, rest, SumProduct, Made::Tables, stop) {
            Err(Trouble::Narrow) => {
                let (wide, placement) = plan(16)?;
                let planned = Planned { sliced: &rest.sliced, plan: &wide, placement: &placement };
                self.sampled(planned, rest, WideSumProduct, Made::Tables, stop)?
            }
            sampled => sampled?,
        };
        Ok(found.unwrap_or_default())
    }

    /// Returns the values that the largest numbers lead to, followed by samples in proportion to the numbers. Returns
    /// `None` if lists would have too many rows.
    fn sampled<S: OfNumbers>(
        &mut self,
        planned: Planned<'_>,
        rest: &Rest,
        numbers: S,
        made: Made,
        stop: &Stop,
    ) -> Result<Option<Vec<Values>>, Trouble> {
        let max = |position: u32| planned.plan.sequence.get(position as usize).is_some_and(|&v| rest.late[v as usize]);
        let semiring = |position| SumMax { numbers, max: max(position) };
        let Some(messages) = Messages::collect(planned, &semiring, made, stop)? else { return Ok(None) };
        let mut starts: Vec<Values> = Vec::new();
        for turn in 0..tuning::STARTS {
            let mut draw =
                |products: &[Scaled]| if turn == 0 { best(products) } else { drawn(products, &mut self.rng) };
            let own = decode(planned, &semiring, &messages, &|_| true, &mut draw, stop)?;
            let left = (0..own.len()).filter(|&v| rest.late[v]);
            let values: Values = left.map(|v| (rest.sliced.variables[v], own[v])).collect();
            if !starts.contains(&values) {
                starts.push(values);
            }
        }
        Ok(Some(starts))
    }
}

/// Returns a random value, with probabilities in proportion to the numbers.
fn drawn(products: &[Scaled], rng: &mut Rng) -> u32 {
    let best = best(products);
    let most = products[best as usize].exponent;
    let parts = products.iter().map(|product| scale(product.mantissa, product.exponent - most));
    let mut left = rng.unit() * parts.clone().sum::<f64>();
    let reached = |part: f64| {
        left -= part;
        left < 0.0
    };
    parts.map(reached).position(|reached| reached).map_or(best, |value| value as u32)
}
