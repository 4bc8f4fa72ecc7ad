//! Lower bounds on the solutions with each value, and the values that they exclude.

use super::Reducer;
use crate::Error;
use crate::certificate::{Lemma, Step};
use crate::model::{Cost, FORBIDDEN};
use crate::stop::Stop;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// The proof of value bounds for a certificate; the method that made the bounds supplies it.
pub trait BoundProof: Debug + Send + Sync {
    /// Returns a lemma that solutions with some values of the network, by variable, cost at least `bound`, and the
    /// number of steps that the reductions had logged by then. Returns `None` if they kept no log.
    fn lemma(&self, bound: Cost, values: &BTreeMap<u32, Vec<u32>>) -> Option<(usize, Lemma)>;
}

/// A lower bound for each value of a network: the least cost of a solution with it. Bounds of reduced problems are
/// stored by the network's values, so they serve all later reduced problems, and each better incumbent may exclude more
/// values.
#[derive(Clone, Debug)]
pub struct ValueBounds {
    /// The network's values that each variable had in the beginning, ascending.
    values: Vec<Arc<[u32]>>,
    /// Index of each variable's first bound; empty before the first bounds are learned, which may never happen.
    starts: Vec<usize>,
    /// Bounds by variable and value, with the number of the bound's proof if proofs are kept.
    least: Vec<(Cost, u32)>,
    proofs: Vec<Arc<dyn BoundProof>>,
    /// Number of values of the first reduced problem.
    begun: usize,
}

/// Values that bounds exclude, with the proof.
#[derive(Clone, Debug)]
pub struct Forbidden {
    /// The proof of the bounds.
    pub proof: Arc<dyn BoundProof>,
    /// The excluded values by variable of the network.
    pub values: BTreeMap<u32, Vec<u32>>,
}

impl ValueBounds {
    /// Creates the store without bounds. `reducer` has the network, and its current reduced problem is the reference
    /// for shares.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn new(reducer: &Reducer, stop: &Stop) -> Result<Self, Error> {
        Ok(ValueBounds {
            values: stop.each(&reducer.values).map(|own| own.cloned()).collect::<Result<_, Error>>()?,
            starts: Vec::new(),
            least: Vec::new(),
            proofs: Vec::new(),
            begun: reducer.core.iter().map(|&v| reducer.domains[v as usize] as usize).sum(),
        })
    }

    /// Learns bounds for the values of a reduced problem, in its own numbering. Tightening only removes solutions, so
    /// bounds stay valid for later reduced problems. If the reductions keep a log, only bounds with a proof are
    /// learned; once `stop` is set, only some are.
    pub fn learn(
        &mut self,
        reducer: &Reducer,
        core: &[Vec<Cost>],
        proof: Option<impl BoundProof + 'static>,
        stop: &Stop,
    ) {
        if reducer.log.is_some() && proof.is_none() {
            return;
        }
        self.grow(reducer, stop);
        let mut news = false;
        for (&v, costs) in stop.each(reducer.core.iter().zip(core)).map_while(Result::ok) {
            for (&value, &cost) in reducer.values[v as usize].iter().zip(costs) {
                let Some(place) = self.place(v, value) else { continue };
                let least = &mut self.least[place];
                if least.0 < cost {
                    (*least, news) = ((cost, self.proofs.len() as u32), true);
                }
            }
        }
        if let Some(proof) = proof.filter(|_| news && reducer.log.is_some()) {
            self.proofs.push(Arc::new(proof));
        }
    }

    /// Makes room for the bounds of all variables, including those that reductions have added since. Once `stop` is
    /// set, makes room for some only.
    fn grow(&mut self, reducer: &Reducer, stop: &Stop) {
        self.values.extend(reducer.values[self.values.len()..].iter().cloned());
        let new = &self.values[self.starts.len()..];
        if new.is_empty() {
            return;
        }
        self.starts.reserve(new.len());
        self.least.reserve(new.iter().map(|own| own.len()).sum());
        for own in stop.each(new).map_while(Result::ok) {
            self.starts.push(self.least.len());
            self.least.resize(self.least.len() + own.len(), (Cost::MIN, 0));
        }
    }

    fn because(&self, v: u32, value: u32) -> Option<&Arc<dyn BoundProof>> {
        self.proofs.get(self.least[self.place(v, value)?].1 as usize)
    }

    /// Returns the index of a network's value among all bounds; `None` for a variable that is newer than they are.
    fn place(&self, v: u32, value: u32) -> Option<usize> {
        let (start, values) = (self.starts.get(v as usize)?, self.values.get(v as usize)?);
        // most variables have lost no earlier value
        let own = values.get(value as usize).filter(|&&own| own == value).map(|_| value as usize);
        Some(start + own.or_else(|| values.binary_search(&value).ok())?)
    }

    /// Returns how many values of the first reduced problem have no solution below `upper` by these bounds, and how
    /// many values it had.
    pub fn forbidden(&self, upper: Cost) -> (usize, usize) {
        (self.least.iter().filter(|(least, _)| *least >= upper).count(), self.begun)
    }

    /// Returns how many values of the current reduced problem the bounds exclude below `upper` (0 without reductions),
    /// and how many it has. Once `stop` is set, not all are counted.
    pub fn removable(&self, reducer: &Reducer, upper: Cost, stop: &Stop) -> (usize, usize) {
        let of = |&v: &u32| self.values(reducer, v).filter(|&least| least >= upper).count();
        let size = reducer.core.iter().map(|&v| reducer.domains[v as usize] as usize).sum();
        let core = stop.each(&reducer.core).map_while(Result::ok);
        (if reducer.reduce { core.map(of).sum() } else { 0 }, size)
    }

    /// Returns for each value of a reduced problem the excess of its bound over that of the variable's best value.
    pub fn reduced(&self, reducer: &Reducer) -> Vec<Vec<Cost>> {
        let of = |&v: &u32| {
            let least = self.values(reducer, v).min().unwrap_or(Cost::MIN);
            self.values(reducer, v).map(|bound| bound.saturating_sub(least).clamp(0, FORBIDDEN)).collect()
        };
        reducer.core.iter().map(of).collect()
    }

    /// Returns the bounds of a variable's remaining values.
    fn values<'a>(&'a self, reducer: &'a Reducer, v: u32) -> impl Iterator<Item = Cost> + 'a {
        let values = reducer.values[v as usize].iter();
        values.map(move |&value| self.place(v, value).map_or(Cost::MIN, |place| self.least[place].0))
    }
}

impl Reducer {
    /// Forbids the values of the reduced problem that only solutions at or above `top` have; the reductions then remove
    /// them.
    pub(super) fn forbid(&mut self, bounds: &ValueBounds, stop: &Stop) {
        if !self.reduce {
            return;
        }
        for v in stop.each(self.core.clone()).map_while(Result::ok) {
            let unary = &self.unary[v as usize];
            let dear = (0..).zip(bounds.values(self, v).zip(unary));
            let dear = dear.filter(|&(_, (least, &cost))| least >= self.top && cost < FORBIDDEN);
            let dear: Vec<u32> = dear.map(|(value, _)| value).collect();
            if dear.is_empty() {
                continue;
            }
            if self.log.is_some() {
                self.tell(v, &dear, bounds);
            }
            dear.iter().for_each(|&value| self.unary[v as usize][value as usize] = FORBIDDEN);
            self.pending.moved.push(v);
            self.pending.checks.push(v);
        }
    }

    /// Logs that values become forbidden, with the proofs.
    fn tell(&mut self, v: u32, dear: &[u32], bounds: &ValueBounds) {
        let values = self.originals(v, dear.iter().copied());
        for &value in &values {
            let Some(proof) = bounds.because(v, value) else { continue };
            let known = self.lemmas.iter().position(|known| Arc::ptr_eq(&known.proof, proof));
            let place = known.unwrap_or_else(|| {
                self.lemmas.push(Forbidden { proof: proof.clone(), values: BTreeMap::new() });
                self.lemmas.len() - 1
            });
            self.lemmas[place].values.entry(v).or_default().push(value);
        }
        self.note(|_| Step::ByLemma { variable: v, values });
    }
}
