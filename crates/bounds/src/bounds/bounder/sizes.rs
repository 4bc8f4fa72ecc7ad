//! The choice of the next elimination plan.

use crate::bounds::tuning::EXACT_WORK;
use crate::elimination::{Limits, MOST_WORK, Plan, Slices};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::Order;
use crate::stop::Stop;

/// Plans of growing strength under a memory limit: bucket elimination at once if it is affordable, otherwise
/// mini-buckets of growing z, each z with every order.
///
/// Each z at least doubles the work, so all plans together take at most about twice the time of the last one that was
/// finished. The schedule depends on nothing but its arguments.
#[derive(Clone, Debug, Default)]
pub struct SizeSchedule {
    orders: Vec<Order>,
    memory: u64,
    /// Bytes of messages that files may take for an exact plan that does not fit into memory. Such a plan comes last
    /// ([`SizeSchedule::last`]), or is the only one if it takes little work or [`SizeSchedule::exact_work`] sets no
    /// limit.
    pub(in crate::bounds) spill: u64,
    /// Slices for an exact plan that does not fit, or that several devices share.
    pub(in crate::bounds) slices: Option<Slices>,
    fixed: Option<u32>,
    /// Work up to which elimination is exact without preceding mini-buckets.
    pub(in crate::bounds) exact_work: u64,
    z: u32,
    order: usize,
    /// Combinations of the last plan; initially those of an earlier, similar problem.
    pub(in crate::bounds) work: u64,
    done: bool,
}

impl SizeSchedule {
    /// Creates a schedule over `orders` (the best first) with tables of at most `memory` bytes. `z` is fixed if it is
    /// given, and grows otherwise.
    pub fn new(orders: Vec<Order>, memory: u64, z: Option<u32>) -> SizeSchedule {
        let done = orders.is_empty();
        SizeSchedule { orders, memory, fixed: z, exact_work: EXACT_WORK, done, ..SizeSchedule::default() }
    }

    /// Excludes files from later plans.
    pub fn without_spill(&mut self) {
        self.spill = 0;
        // the exact plan was the first, so the others still follow
        self.done &= self.z > 0;
    }

    /// Returns z if it does not grow.
    pub fn fixed(&self) -> Option<u32> {
        self.fixed
    }

    /// Returns the best order.
    pub fn order(&self) -> Option<&Order> {
        self.orders.first()
    }

    /// Restricts the schedule to the first order, and to steps of more than twice this work.
    pub fn follow(&mut self, work: u64) {
        self.orders.truncate(1);
        self.order = 0;
        self.work = self.work.max(work);
    }

    /// Returns the bytes that the tables of a plan may take.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Reserves memory that the plans then lack.
    pub fn reserve(&mut self, bytes: u64) {
        self.memory = self.memory.saturating_sub(bytes);
    }

    /// Returns whether the first plan is exact, unless it does not fit.
    pub fn affordable(&self) -> bool {
        let fits = |order: &Order| order.joint_entries <= self.exact_work as f64;
        self.fixed.is_none() && self.orders.first().is_some_and(fits)
    }

    /// Returns whether a plan is exact and takes little enough to come first.
    pub fn affords(&self, plan: &Plan) -> bool {
        let few = plan.spilled_bytes() == 0 || self.exact_work == u64::MAX || plan.work() <= EXACT_WORK;
        self.affordable() && plan.exact && few
    }

    /// Returns the next plan; `None` once z cannot grow any more or the exact plan was returned. `ub` is the
    /// incumbent's cost.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn next(&mut self, problem: &Problem, ub: Option<Cost>, stop: &Stop) -> Result<Option<Plan>, Error> {
        if self.done {
            return Ok(None);
        }
        let first = self.z == 0;
        if first && self.affordable() {
            let plan = self.plan(problem, ub, None, stop)?;
            if self.affords(&plan) {
                self.done = true;
                return Ok(Some(plan));
            }
        }
        match self.fixed {
            _ if !first && self.order + 1 < self.orders.len() => self.order += 1,
            Some(z) if first => self.z = z,
            Some(_) => {
                self.done = true;
                return Ok(None);
            }
            None => {
                (self.order, self.z) = (0, self.z.max(1));
                return self.larger(problem, ub, stop);
            }
        }
        let plan = self.plan(problem, ub, Some(self.z), stop)?;
        self.done = plan.exact;
        Ok(Some(plan))
    }

    /// Returns the first plan of a larger z with at least twice the work.
    fn larger(&mut self, problem: &Problem, ub: Option<Cost>, stop: &Stop) -> Result<Option<Plan>, Error> {
        let enough = |plan: &Plan, work: u64| plan.exact || plan.joint_entries / 2 >= work;
        // plans take some time: if z hardly changes the work, take longer and longer strides
        let (mut low, mut stride) = (self.z, 1);
        let mut found = loop {
            let plan = self.plan(problem, ub, Some(low + stride), stop)?;
            if plan.z <= low && !plan.exact {
                self.done = true;
                return Ok(None);
            }
            if enough(&plan, self.work) {
                break plan;
            }
            low = plan.z.min(low + stride);
            stride *= 2;
        };
        // and step back to the least sufficient z
        let mut high = found.z.min(low + stride);
        while low + 1 < high {
            let middle = low.midpoint(high);
            let plan = self.plan(problem, ub, Some(middle), stop)?;
            if enough(&plan, self.work) {
                high = middle;
                found = plan;
            } else {
                low = middle;
            }
        }
        self.z = high;
        self.done = found.exact;
        self.work = found.joint_entries;
        Ok(Some(found))
    }

    /// Returns the exact plan with files or in slices, for when nothing else is left. Returns `None` if z is fixed,
    /// there is no room, slices would take much more work than an affordable exact plan, or `stop` is set.
    pub fn last(&self, problem: &Problem, ub: Option<Cost>, stop: &Stop) -> Option<Plan> {
        if self.fixed.is_some() || self.orders.is_empty() {
            return None;
        }
        let few = |plan: &Plan| plan.work() / MOST_WORK <= self.exact_work;
        let plan = self.plan(problem, ub, None, stop).ok()?;
        let plan = match plan.slices() {
            1 => plan,
            _ if few(&plan) => return Some(plan),
            _ => SizeSchedule { slices: None, ..self.clone() }.plan(problem, ub, None, stop).ok()?,
        };
        (plan.spilled_bytes() > 0).then_some(plan)
    }

    fn plan(&self, problem: &Problem, ub: Option<Cost>, z: Option<u32>, stop: &Stop) -> Result<Plan, Error> {
        let slices = self.slices.map(|slices| Slices { bytes: slices.bytes.min(self.memory), ..slices });
        let limits = Limits { z, spill: self.spill, slices, ub, ..Limits::new(self.memory) };
        Plan::until(problem, &self.orders[self.order], &limits, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elimination::testing::run;
    use crate::order::{Method, best_orders};
    use crate::rng::Rng;
    use std::sync::Arc;

    const ROOMY: u64 = 1 << 30;

    fn next(sizes: &mut SizeSchedule, problem: &Problem, ub: Option<Cost>) -> Option<Plan> {
        sizes.next(problem, ub, &Stop::new()).expect("no stop is set")
    }

    #[test]
    fn the_ladder_climbs_to_what_fits() {
        let mut rng = Rng::new(18);
        let problem = Arc::new(fangs_testing::band(&mut rng, 16, 3, 9));
        let orders = best_orders(&problem, &[Method::MinFill], 1, 4, 2, &Stop::new());
        let first = next(&mut SizeSchedule::new(orders.clone(), ROOMY, None), &problem, None).expect("a plan");
        assert_eq!(first.name(), "be");
        let optimum = run(&problem, first).lower_bound();
        let mut sizes = SizeSchedule { exact_work: 0, ..SizeSchedule::new(orders.clone(), ROOMY, None) };
        let (mut best, mut names, mut last) = (0, Vec::new(), 0);
        while let Some(step) = next(&mut sizes, &problem, Some(optimum + 5)) {
            assert!(step.exact || sizes.order > 0 || step.work() >= 2 * last);
            last = if sizes.order == 0 { step.work() } else { last };
            names.push(step.name());
            best = best.max(run(&problem, step).lower_bound());
            assert!(best <= optimum);
        }
        assert_eq!(best, optimum);
        assert_eq!(names.first().map(String::as_str), Some("mbe(2)"));
        assert_eq!(names.last().map(String::as_str), Some("be"));
        let mut fixed = SizeSchedule::new(orders.clone(), ROOMY, Some(3));
        assert_eq!(next(&mut fixed, &problem, None).map(|step| step.name()).as_deref(), Some("mbe(3)"));
        assert!(next(&mut fixed, &problem, None).is_some() && fixed.order == orders.len() - 1);
        assert!(next(&mut fixed, &problem, None).is_none());
        let mut cramped = SizeSchedule::new(orders, 200_000, None);
        let mut rungs = 0;
        while let Some(step) = next(&mut cramped, &problem, None) {
            assert!(step.placement.peak_bytes <= 200_000);
            rungs += 1;
        }
        assert!(rungs > 0);
    }
}
