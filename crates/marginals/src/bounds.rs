//! Upper and lower bounds on sums whose tables do not fit. The product is cut into [parts](super::parts); their exact
//! sums and upper bounds combine to bounds on the sum, or on the largest sum of marginal MAP.
//!
//! Growing tables first bound the whole from above; then it is cut into parts. The sum of the exact parts rises, the
//! sum of all upper bounds falls, and both meet when no part is left. A [search](super::components) for the exact sum
//! runs in parallel and supplies lower bounds.

use super::components::{self, ComponentSearch};
use super::evidence::Evidence;
use super::floor::{Along, Floor};
use super::found::{Fold, Found, Sum, SumBounds};
use super::intervals::{Bounded, Shares};
use super::levels::Levels;
use super::map::MarginalMap;
use super::options::Options;
use super::parts::{Known, Level, Parts, Tree};
use super::peeling::peel;
use super::prepared::{Marginals, Prepared};
use super::simplify::Keep;
use super::sliced::Sliced;
use super::tuning;
use super::tuning::Sizes;
use crate::error::Error;
use crate::model::{Potentials, Scaled};
use crate::order::{Method, Ordering};
use crate::stop::{Cause, Stop};
use crate::threads;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

impl From<&Marginals> for SumBounds {
    fn from(found: &Marginals) -> Self {
        SumBounds::near(found.ln_z, found.error_bound)
    }
}

impl From<MarginalMap> for SumBounds {
    fn from(found: MarginalMap) -> Self {
        SumBounds::near(found.ln_value, found.error_bound)
    }
}

/// Returns bounds in time and memory linear in the size of the tables, for runs that are stopped before better ones.
/// The lower bound is the product of an assignment that [`Options::seek`] finds.
///
/// # Errors
/// Returns an error if the evidence does not fit, and [`Error::Stopped`] if `stop` is set.
pub fn first_bound(
    potentials: &Potentials,
    evidence: &Evidence,
    options: &Options,
    stop: &Stop,
) -> Result<SumBounds, Error> {
    let mut found = Found::new(Fold::Sum);
    let Some(sliced) = Sliced::new(potentials, evidence, |_| false, Keep::All, stop)? else {
        found.at_most(Scaled::ZERO);
        return Ok(found.last);
    };
    found.at_most(peel(&sliced, |_| false, stop)?);
    if let Some(seek) = options.seek
        && let Some(values) = (seek.search)(&sliced.network()?, seek.time, stop)
    {
        let (product, error) = sliced.product(&values);
        found.at_least(product, error);
    }
    Ok(found.last)
}

/// Bounds the sum until both bounds meet or `stop` is set. `tell` receives the bounds after each step. Returns the last
/// bounds.
///
/// # Errors
/// Returns an error if evidence or options do not fit, or if there is no memory for a planned table.
pub fn bound(
    potentials: &Potentials,
    evidence: &Evidence,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&SumBounds),
) -> Result<Bounded, Error> {
    bound_by(&tuning::SIZES, potentials, evidence, options, stop, tell)
}

pub(super) fn bound_by(
    sizes: &Sizes,
    potentials: &Potentials,
    evidence: &Evidence,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(&SumBounds),
) -> Result<Bounded, Error> {
    let nothing = SumBounds { upper: f64::NEG_INFINITY, open_parts: 0, ..SumBounds::NONE };
    let slice = |keep| Sliced::new(potentials, evidence, |_| false, keep, stop);
    let (Some(whole), Some(sliced)) = (slice(Keep::All)?, slice(Keep::These(&|_| false))?) else {
        return Ok(nothing.into());
    };
    let (left, unobserved) = (sliced.potentials(), Evidence::default());
    let only_z = options.clone().with(|options| options.variables = Some(Vec::new()));
    let places =
        |options: &Options| Prepared::new(&left, &unobserved, options, stop).map(|own| Arc::from(own.places()));
    let best: Arc<[usize]> = places(&only_z)?;
    let greedy = match only_z.order {
        // a sweep across the graph may have the least tables, but splits badly
        Ordering::Promising => places(&only_z.clone().with(|options| options.order = Ordering::Rule(Method::MinFill)))?,
        _ => best.clone(),
    };
    let shares = Shares::new(&sliced.variables, &best, potentials, options);
    let late = vec![false; left.domains.len()];
    let mut parts = Parts::new(&left, &unobserved, late, [best.clone(), best.clone()], options);
    let share = parts.memory / tuning::components::MEMORY;
    parts.memory -= share;
    let mut search = ComponentSearch::new(&sliced, best.to_vec(), sizes.states, share, stop)?;
    let mut upper = Upper::new(Fold::Sum, sizes, Levels::new(vec![greedy], sizes, parts.memory));
    upper.at_most(peel(&whole, |_| false, stop)?);
    upper.at_most(peel(&sliced, |_| false, stop)?);
    let along = Along { potentials: &left, evidence: &unobserved, options: &only_z, places: best };
    let floor = Floor::new(along, sizes.exact, stop)?;
    let mut sides = Sides { potentials, evidence, upper, floor, shares, falls: 0.0, rises: 0.0 };
    let ended = sides.run(&parts, search.as_mut(), sliced.rounding, stop, tell);
    let kept = search.as_ref().map_or(0, ComponentSearch::kept);
    threads::free(search, kept);
    match ended {
        Err(error) if !error.is_stop() => Err(error),
        _ => Ok(sides.shares.with(sides.upper.found().last)),
    }
}

/// The searches for both bounds, which take turns of equal time.
struct Sides<'a> {
    potentials: &'a Potentials,
    evidence: &'a Evidence,
    upper: Upper,
    /// `None` after its last step.
    floor: Option<Floor<'a>>,
    shares: Shares,
    /// Seconds spent on the upper and on the lower bound.
    falls: f64,
    rises: f64,
}

impl Sides<'_> {
    /// Makes steps until the bounds meet. A component search with the relative error of its product runs in parallel.
    fn run(
        &mut self,
        parts: &Parts<'_>,
        mut search: Option<&mut ComponentSearch>,
        rounding: f64,
        stop: &Stop,
        tell: &mut dyn FnMut(&SumBounds),
    ) -> Result<(), Error> {
        loop {
            let (goes_on, sum) = beside(search.as_deref_mut(), |stop| self.step(parts, stop), stop);
            let tree = &mut self.upper.tree;
            if let Some(components::Sum { value, error }) = search.as_ref().map(|search| search.lower()) {
                tree.found.at_least(value, error + rounding);
            }
            let goes_on = match sum {
                Some(components::Sum { value, error }) => {
                    tree.finish(Sum { sum: value, error: error + rounding, values: Vec::new() });
                    false
                }
                None => goes_on?,
            };
            tell(&tree.found.last);
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Makes one step of the bound that had less time. Returns whether the bounds may still improve.
    fn step(&mut self, parts: &Parts<'_>, stop: &Stop) -> Result<bool, Error> {
        let began = Instant::now();
        let Some(floor) = self.floor.as_mut().filter(|_| self.rises < self.falls) else {
            let goes_on = self.upper.step(parts, stop);
            self.falls += began.elapsed().as_secs_f64();
            return goes_on;
        };
        let goes_on = floor.step(stop);
        let (lower, error) = floor.lower();
        self.upper.tree.found.at_least(lower, error);
        self.rises += began.elapsed().as_secs_f64();
        let goes_on = goes_on?;
        self.shares.step(floor, self.potentials, self.evidence, self.rises, stop)?;
        if !goes_on {
            self.floor = None;
        }
        Ok(true)
    }
}

/// Runs `work`, and a search in parallel until the work ends. With one thread, the search follows for as long as the
/// work took. The work is stopped as soon as the search has the sum.
fn beside<T: Send>(
    search: Option<&mut ComponentSearch>,
    work: impl FnOnce(&Stop) -> T + Send,
    stop: &Stop,
) -> (T, Option<components::Sum>) {
    let Some(search) = search else { return (work(stop), None) };
    let (limit, took, began) = (stop.below(), OnceLock::new(), Instant::now());
    let work = || {
        let done = work(&limit);
        let _ = took.set(began.elapsed());
        done
    };
    let search = || {
        let began = Instant::now();
        loop {
            let sum = search.advance(tuning::components::TURN, stop);
            if sum.is_some() {
                limit.set(Cause::Diminishing);
                return sum;
            }
            if stop.is_set() || took.get().is_some_and(|took| began.elapsed() >= *took) {
                return None;
            }
        }
    };
    rayon::join(work, search)
}

/// The search for upper bounds, one step at a time: first on the whole by growing tables, then on parts.
#[derive(Debug)]
pub(super) struct Upper {
    /// Entries of all cliques of a part, up to which its sum is computed exactly.
    levels: Levels,
    exact: f64,
    tree: Tree,
}

impl Upper {
    pub fn new(fold: Fold, sizes: &Sizes, levels: Levels) -> Self {
        Upper { levels, exact: sizes.exact, tree: Tree::new(fold) }
    }

    /// Returns the present bounds.
    pub fn found(&self) -> &Found {
        &self.tree.found
    }

    /// Returns how parts are bounded.
    pub fn level(&self, parts: &Parts<'_>) -> Level {
        self.levels.of_parts(parts)
    }

    /// Records an upper bound on the whole.
    pub fn at_most(&mut self, upper: Scaled) {
        self.tree.found.at_most(upper);
    }

    /// Records a sum that values of the maximised variables attain.
    pub fn hear(&mut self, sum: &Sum) {
        self.tree.hear(sum);
    }

    /// Makes one step. Returns whether there is another one.
    ///
    /// # Errors
    /// Returns an error if there is no memory for a table, and [`Error::Stopped`] if `stop` is set.
    pub fn step(&mut self, parts: &Parts<'_>, stop: &Stop) -> Result<bool, Error> {
        match self.levels.next() {
            Some((order, level)) => match parts.part(Vec::new(), &level, self.exact, None, stop)? {
                Known::Exact(sum) => self.tree.finish(sum),
                Known::Bounded(part) => {
                    self.levels.note(order, &level, &part);
                    self.tree.restart(part, parts);
                }
            },
            None => self.tree.advance(parts, &self.levels.of_parts(parts), self.exact, stop)?,
        }
        Ok(self.tree.is_open())
    }
}
