//! Marginal MAP if tables do not fit: upper bounds and a search for lower bounds, which take turns of equal time.

use super::bounds::Upper;
use super::climb::Climb;
use super::found::{Fold, Found, SumBounds, Values};
use super::levels::Levels;
use super::map::{MarginalMap, PreparedMap};
use super::parts::Parts;
use super::peeling::peel;
use super::prepared::Prepared;
use super::simplify::Keep;
use super::sliced::Sliced;
use super::tuning;
use super::tuning::Sizes;
use crate::error::Error;
use crate::order::{Method, Order};
use crate::stop::Stop;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bounds on the largest sum of marginal MAP.
#[derive(Clone, Debug, PartialEq)]
pub struct MapBounds {
    /// The bounds on the logarithm of the largest sum; `values` attain the lower one.
    pub bounds: SumBounds,
    /// A value of each maximised variable, in the order in which they were given; empty if no sum above 0 was found.
    pub values: Vec<u32>,
    /// Whether the checker recomputed the sum at these values and found it at least as large as the lower bound.
    pub checked: bool,
}

impl From<MarginalMap> for MapBounds {
    fn from(found: MarginalMap) -> Self {
        MapBounds { values: found.values.clone(), checked: true, bounds: found.into() }
    }
}

/// Converts bounds to a result without values.
impl From<SumBounds> for MapBounds {
    fn from(bounds: SumBounds) -> Self {
        MapBounds { bounds, values: Vec::new(), checked: false }
    }
}

impl PreparedMap<'_> {
    /// Bounds the largest sum until both bounds meet or `stop` is set. `tell` receives the bounds after each step.
    /// Returns the last bounds.
    ///
    /// # Errors
    /// Returns an error if evidence or options do not fit, or if there is no memory for a planned table.
    pub fn bound(&self, stop: &Stop, tell: &mut dyn FnMut(&MapBounds)) -> Result<MapBounds, Error> {
        self.bound_by(&tuning::MAP_SIZES, stop, tell)
    }

    pub(super) fn bound_by(
        &self,
        sizes: &Sizes,
        stop: &Stop,
        tell: &mut dyn FnMut(&MapBounds),
    ) -> Result<MapBounds, Error> {
        let mut last = MapBounds { bounds: SumBounds::NONE, values: Vec::new(), checked: false };
        let mut tell = |found: &MapBounds| {
            last.clone_from(found);
            tell(found);
        };
        match self.search(sizes, stop, &mut tell) {
            Err(error) if !error.is_stop() => Err(error),
            _ => Ok(last),
        }
    }

    fn search(&self, sizes: &Sizes, stop: &Stop, tell: &mut dyn FnMut(&MapBounds)) -> Result<(), Error> {
        let mut late = vec![false; self.potentials.domains.len()];
        self.maximised.iter().for_each(|&v| late[v as usize] = true);
        let fold = if self.maximised.is_empty() { Fold::Sum } else { Fold::Max };
        let orders = self.orders(stop)?;
        let (Some(free), Some(constrained)) = (orders.first().cloned(), orders.last().cloned()) else { return Ok(()) };
        let is_late = |v: u32| late[v as usize];
        let whole = Sliced::new(self.potentials, self.evidence, is_late, Keep::All, stop)?;
        let peeled = whole.map(|whole| peel(&whole, is_late, stop)).transpose()?;
        let parts = Parts::new(self.potentials, self.evidence, late, [free, constrained], &self.options);
        let mut upper = Upper::new(fold, sizes, Levels::new(orders, sizes, parts.memory));
        if let Some(peeled) = peeled {
            upper.at_most(peeled);
        }
        let mut climb = Climb::new(&parts, sizes.exact * tuning::NEIGHBOURHOOD);
        let mut check = Check { values: Vec::new(), lower: f64::NEG_INFINITY, spent: 0.0 };
        let (mut rises, mut falls, mut climbs, mut goes_on) = (0.0, 0.0, fold == Fold::Max, true);
        while goes_on {
            let began = Instant::now();
            if climbs && rises < falls {
                let (sum, more) = climb.step(&parts, upper.found(), &upper.level(&parts), stop)?;
                climbs = more;
                sum.iter().for_each(|sum| upper.hear(sum));
                rises += began.elapsed().as_secs_f64();
            } else {
                goes_on = upper.step(&parts, stop)?;
                falls += began.elapsed().as_secs_f64();
            }
            tell(&self.known(&upper, &check));
            if check.is_due(upper.found(), if goes_on { rises + falls } else { f64::INFINITY }) {
                check.run(self, &upper, rises + falls, goes_on, stop)?;
                tell(&self.known(&upper, &check));
            }
        }
        Ok(())
    }

    /// Returns the orders that bound the whole. The first one ignores which variables are maximised, the last one
    /// eliminates all summed variables before maximised ones.
    fn orders(&self, stop: &Stop) -> Result<Vec<Arc<[usize]>>, Error> {
        let n = self.potentials.domains.len();
        let options = self.options.clone().with(|options| options.variables = Some(self.maximised.clone()));
        let free: Arc<[usize]> = Prepared::new(self.potentials, self.evidence, &options, stop)?.places().into();
        let Some(tree) = &self.tree else { return Ok(vec![free]) };
        let structure = tree.sliced.structure();
        let mut orders = vec![free];
        for most in tuning::LARGEST_CLIQUES {
            let order = Order::constrained(&structure, Method::WeightedMinFill, 1, &self.late, most, stop);
            stop.check()?;
            orders.push(tree.places(&order, n).into());
        }
        orders.push(tree.places(&tree.order, n).into());
        Ok(orders)
    }

    /// Returns the present bounds and values.
    fn known(&self, upper: &Upper, check: &Check) -> MapBounds {
        let found = upper.found();
        let values = if found.best.is_empty() { Vec::new() } else { self.listed(&found.best) };
        MapBounds { bounds: found.last, values, checked: check.agreed(found) }
    }

    /// Returns the values in the order in which the variables were given.
    fn listed(&self, values: &Values) -> Vec<u32> {
        let value = |&v: &u32| values.iter().find(|&&(known, _)| known == v).map_or(0, |&(_, value)| value);
        self.maximised.iter().map(value).collect()
    }
}

/// The state of the checker.
struct Check {
    /// The values with which the checker last agreed.
    /// The lower bound with which the checker last agreed.
    values: Values,
    lower: f64,
    /// The seconds that checks took.
    spent: f64,
}

impl Check {
    /// Returns whether the checker agreed with the present values and lower bound.
    fn agreed(&self, found: &Found) -> bool {
        !found.best.is_empty() && self.values == found.best && self.lower == found.last.lower
    }

    /// Returns whether there is a sum to check and time left for it.
    fn is_due(&self, found: &Found, seconds: f64) -> bool {
        !found.best.is_empty() && !self.agreed(found) && self.spent <= seconds * tuning::CHECKING
    }

    /// Recomputes the sum of the best values. If `limited`, the check may take only its share of the search's
    /// `seconds`.
    fn run(
        &mut self,
        map: &PreparedMap<'_>,
        upper: &Upper,
        seconds: f64,
        limited: bool,
        stop: &Stop,
    ) -> Result<(), Error> {
        let (began, limit, found) = (Instant::now(), stop.below(), upper.found());
        if limited {
            let seconds = (seconds * tuning::CHECKING).max(tuning::LEAST_CHECK);
            limit.set_at(began + Duration::from_secs_f64(seconds));
        }
        let (sum, error_bound) = found.sum();
        match map.verify(&map.listed(&found.best), sum, error_bound, true, &limit) {
            Ok(()) => (self.values, self.lower) = (found.best.clone(), found.last.lower),
            // a check that was not possible says nothing about the sum
            Err(error) if error.is_stop() || matches!(error, Error::Memory(_)) => {}
            Err(error) => return Err(error),
        }
        self.spent += began.elapsed().as_secs_f64();
        stop.check()
    }
}
