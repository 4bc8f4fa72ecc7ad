//! Lower bounds on a sum. If the variables of a cutset are fixed, the tables of the other variables fit into memory,
//! and their sum is one term of the whole. The values of the cutset with the largest term are searched for by marginal
//! MAP ([`Climb`]): first with a large cutset and small tables, then with smaller cutsets.

use super::climb::Climb;
use super::evidence::Evidence;
use super::found::{Fold, Found, Values};
use super::options::{Options, Seek};
use super::parts::{Known, Level, Parts};
use super::tuning::floor as tuning;
use super::weighted::Weights;
use crate::elimination::{Cut, EliminationPlan, cuts};
use crate::error::Error;
use crate::model::{Potentials, Scaled};
use crate::stop::Stop;
use std::sync::Arc;

/// A product of functions and an elimination order.
#[derive(Clone, Debug)]
pub(super) struct Along<'a> {
    pub potentials: &'a Potentials,
    pub evidence: &'a Evidence,
    pub options: &'a Options,
    /// By variable, its place in the order.
    pub places: Arc<[usize]>,
}

impl<'a> Along<'a> {
    /// Returns the parts that fix the variables of `fixed`.
    fn parts(&self, fixed: impl Iterator<Item = u32>) -> Parts<'a> {
        let mut late = vec![false; self.potentials.domains.len()];
        fixed.for_each(|v| late[v as usize] = true);
        let orders = [self.places.clone(), self.places.clone()];
        Parts::new(self.potentials, self.evidence, late, orders, self.options)
    }
}

/// A search for a large term of the sum, one step at a time.
#[derive(Debug)]
pub(super) struct Floor<'a> {
    along: Along<'a>,
    /// Variables in the order in which the cutset takes them.
    cuts: Vec<Cut>,
    /// Entries of all cliques of a term: at present, and at the end.
    entries: f64,
    most: f64,
    parts: Parts<'a>,
    climb: Climb,
    found: Found,
    /// The next search for a feasible assignment.
    seek: Option<Seek>,
}

impl<'a> Floor<'a> {
    /// Begins a search whose last terms have cliques of at most `most` entries together. Returns `None` if the whole
    /// sum has no more than that, or if every product is 0.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn new(along: Along<'a>, most: f64, stop: &Stop) -> Result<Option<Self>, Error> {
        let whole = along.parts(std::iter::empty());
        let Some(rest) = whole.rest(&[], stop)? else { return Ok(None) };
        let order = rest.order(&along.places, false, stop)?;
        let (plan, _) = EliminationPlan::exact(&rest.structure, &order, false, size_of::<f64>() as u64, stop)?;
        let most = most.min((whole.share() / tuning::BYTES_OF_AN_ENTRY) as f64);
        let entries = tuning::LEAST.min(most);
        let mut cuts = cuts(&plan, entries, stop)?;
        if cuts.is_empty() {
            return Ok(None);
        }
        cuts.iter_mut().flat_map(|cut| &mut cut.variables).for_each(|v| *v = rest.sliced.variables[*v as usize]);
        let parts = along.parts(fixed(&cuts, entries));
        let (climb, seek) = (Climb::new(&parts, entries), along.options.seek);
        let found = Found::new(Fold::Max);
        let mut floor = Floor { along, cuts, entries, most, parts, climb, found, seek };
        floor.seek(stop)?;
        Ok(Some(floor))
    }

    /// Makes one step. Returns whether another step may improve the bound.
    ///
    /// # Errors
    /// Returns an error if there is no memory for a table, and [`Error::Stopped`] if `stop` is set.
    pub fn step(&mut self, stop: &Stop) -> Result<bool, Error> {
        let (sum, goes_on) = self.climb.step(&self.parts, &self.found, &self.level(), stop)?;
        sum.iter().for_each(|sum| self.found.known(sum));
        let grows = (self.climb.is_scored() || !goes_on) && self.entries < self.most;
        if self.found.best.is_empty() && (self.climb.is_scored() || !goes_on) {
            self.seek(stop)?;
        }
        if grows {
            self.entries = (self.entries * tuning::GROWTH).min(self.most);
            self.parts = self.along.parts(fixed(&self.cuts, self.entries));
            self.found.best.retain(|&(v, _)| self.parts.late[v as usize]);
            self.climb = Climb::new(&self.parts, self.entries).after(self.found.best.clone());
        }
        Ok(goes_on || grows)
    }

    /// Searches for an assignment with a large product and scores its values of the cutset. The next search takes twice
    /// the time.
    fn seek(&mut self, stop: &Stop) -> Result<(), Error> {
        let Some(seek) = &mut self.seek else { return Ok(()) };
        let whole = self.along.parts(std::iter::empty());
        let Some(rest) = whole.rest(&[], stop)? else { return Ok(()) };
        let values = (seek.search)(&rest.sliced.network()?, seek.time, stop);
        seek.time = seek.time.saturating_mul(2);
        let Some(values) = values else { return stop.check() };
        let mut values: Values = rest.sliced.variables.iter().copied().zip(values).collect();
        values.retain(|&(v, _)| self.parts.late[v as usize]);
        if let Known::Exact(sum) = self.parts.part(values, &self.level(), self.entries, None, stop)? {
            self.found.known(&sum);
        }
        Ok(())
    }

    /// Returns the sizes of tables that bound a term whose exact tables do not fit.
    fn level(&self) -> Level {
        let bytes = self.entries as u64 * size_of::<f64>() as u64;
        Level { bytes, weights: Weights::First, places: self.along.places.clone() }
    }

    /// Returns the values of the cutset in the largest term so far.
    pub fn best(&self) -> &Values {
        &self.found.best
    }

    /// Returns the lower bound and its relative error.
    pub fn lower(&self) -> (Scaled, f64) {
        (self.found.lower, self.found.error)
    }
}

/// Returns the shortest prefix of `cuts` after which the cliques have at most `entries` entries.
fn fixed(cuts: &[Cut], entries: f64) -> impl Iterator<Item = u32> {
    let count = cuts.iter().position(|cut| cut.left <= entries).map_or(cuts.len(), |last| last + 1);
    cuts[..count].iter().flat_map(|cut| cut.variables.iter().copied())
}
