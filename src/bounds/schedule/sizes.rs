//! Which elimination plan comes next.

use crate::bounds::tuning::EXACT_WORK;
use crate::elimination::plan::{Limits, Plan};
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::Order;
use crate::stop::Stop;

/// A plan to run, with its name and work.
#[derive(Clone, Debug)]
pub struct SizeStep {
    /// `be` or `mbe(z)`.
    pub name: String,
    /// Combinations it looks at, with what files take ([`Plan::work`]).
    pub work: u64,
    /// Which of the size schedule's orders it follows.
    pub order: usize,
    /// What to run.
    pub plan: Plan,
}

/// Plans of growing strength under a memory limit: bucket elimination at once where it is affordable,
/// otherwise mini-buckets of growing z, each z with every order.
///
/// Each step at least doubles the work of the last, so that all of them together take at most about twice the time of
/// the last one that was finished. Nothing here depends on anything but its arguments.
#[derive(Clone, Debug)]
pub struct SizeSchedule {
    orders: Vec<Order>,
    memory: u64,
    spill: u64,
    fixed: Option<u32>,
    exact_work: u64,
    z: u32,
    order: usize,
    work: u64,
    done: bool,
}

impl SizeSchedule {
    /// A size schedule over `orders` (the best first) with tables of at most `memory` bytes, of growing z or of a fixed
    /// one.
    pub fn new(orders: Vec<Order>, memory: u64, z: Option<u32>) -> SizeSchedule {
        let done = orders.is_empty();
        SizeSchedule { orders, memory, spill: 0, fixed: z, exact_work: EXACT_WORK, z: 0, order: 0, work: 0, done }
    }

    /// Changes the work up to which elimination is exact without trying mini-buckets first.
    pub fn exact_work(mut self, work: u64) -> SizeSchedule {
        self.exact_work = work;
        self
    }

    /// Lets files take so many bytes of messages for an exact plan that does not fit into memory. It is
    /// [`SizeSchedule::last`], or the only step where it takes little work or [`SizeSchedule::exact_work`] sets no
    /// limit.
    pub fn spill(mut self, bytes: u64) -> SizeSchedule {
        self.spill = bytes;
        self
    }

    /// Goes on without files.
    pub fn without_spill(&mut self) {
        self.spill = 0;
        // the exact plan was the first: now the others come
        self.done &= self.z > 0;
    }

    /// Leaves out steps of less work, for a network whose like has been bounded before.
    pub fn above(mut self, work: u64) -> SizeSchedule {
        self.work = work;
        self
    }

    /// The only z, where it does not grow.
    pub fn fixed(&self) -> Option<u32> {
        self.fixed
    }

    /// The best order.
    pub fn order(&self) -> Option<&Order> {
        self.orders.first()
    }

    /// Goes on with the first order alone, and with steps of more than twice this work.
    pub fn follow(&mut self, work: u64) {
        self.orders.truncate(1);
        self.order = 0;
        self.work = self.work.max(work);
    }

    /// Bytes that the tables of a plan may take.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Leaves so many of them to others.
    pub fn reserve(&mut self, bytes: u64) {
        self.memory = self.memory.saturating_sub(bytes);
    }

    /// Whether the first plan is exact, unless it does not fit.
    pub fn affordable(&self) -> bool {
        let fits = |order: &Order| order.joint_entries <= self.exact_work as f64;
        self.fixed.is_none() && self.orders.first().is_some_and(fits)
    }

    /// Whether a plan is exact and takes little enough to come first.
    pub fn affords(&self, plan: &Plan) -> bool {
        let few = plan.spilled_bytes() == 0 || self.exact_work == u64::MAX || plan.work() <= EXACT_WORK;
        self.affordable() && plan.exact && few
    }

    /// Combinations of the last plan.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// The next plan; `None` once z cannot grow any more or the exact plan was handed out. `ub` is the cost
    /// of the best solution known.
    ///
    /// # Errors
    /// [`Error::Stopped`] once `stop` is set.
    pub fn next(&mut self, problem: &Problem, ub: Option<Cost>, stop: &Stop) -> Result<Option<SizeStep>, Error> {
        if self.done {
            return Ok(None);
        }
        if self.z == 0 {
            if let Some(z) = self.fixed {
                self.z = z;
            } else {
                if self.affordable() {
                    let plan = self.plan(problem, ub, None, stop)?;
                    if self.affords(&plan) {
                        self.done = true;
                        return Ok(Some(self.size_step(plan)));
                    }
                }
                self.z = 1;
                return self.larger(problem, ub, stop);
            }
        } else if self.order + 1 < self.orders.len() {
            self.order += 1;
        } else if self.fixed.is_some() {
            self.done = true;
            return Ok(None);
        } else {
            self.order = 0;
            return self.larger(problem, ub, stop);
        }
        let plan = self.plan(problem, ub, Some(self.z), stop)?;
        self.done = plan.exact;
        Ok(Some(self.size_step(plan)))
    }

    /// The first plan of a larger z with at least twice the work.
    fn larger(&mut self, problem: &Problem, ub: Option<Cost>, stop: &Stop) -> Result<Option<SizeStep>, Error> {
        let enough = |plan: &Plan, work: u64| plan.exact || plan.joint_entries / 2 >= work;
        // plans are cheap but not free: where z hardly matters, take longer and longer strides
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
        // and step back to the least z that will do
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
        Ok(Some(self.size_step(found)))
    }

    /// The exact plan with files, for when nothing else is left; `None` where z is fixed or there is no room, and once
    /// `stop` is set.
    pub fn last(&self, problem: &Problem, ub: Option<Cost>, stop: &Stop) -> Option<SizeStep> {
        let wanted = self.spill > 0 && self.fixed.is_none() && !self.orders.is_empty();
        let plan = if wanted { self.plan(problem, ub, None, stop).ok()? } else { return None };
        (plan.spilled_bytes() > 0).then(|| self.size_step(plan))
    }

    fn plan(&self, problem: &Problem, ub: Option<Cost>, z: Option<u32>, stop: &Stop) -> Result<Plan, Error> {
        let limits = Limits { z, max_bytes: self.memory, spill: self.spill, keep_messages: true, ub };
        Plan::until(problem, &self.orders[self.order], &limits, stop)
    }

    fn size_step(&self, plan: Plan) -> SizeStep {
        SizeStep { name: plan.name(), work: plan.work(), order: self.order, plan }
    }
}
