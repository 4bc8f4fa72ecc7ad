//! A product that is ready for its sums.

use super::evidence::Evidence;
use super::options::Options;
use super::propagate::Planned;
use super::simplify::{Keep, LeftOut};
use super::sliced::Sliced;
use super::tuning;
use crate::elimination::{EliminationPlan, Gpu, Placement};
use crate::error::Error;
use crate::memory;
use crate::model::{Potentials, Problem};
use crate::order::{Method, Order, OrderSearch, Ordering};
use crate::stop::Stop;
use std::sync::Arc;
use std::time::Instant;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginals {
    /// The natural logarithm of the sum; minus infinity where no assignment has a product above 0.
    pub ln_z: f64,
    /// How far it may be off.
    pub error_bound: f64,
    /// How far a posterior may be off, relatively.
    pub posterior_error: f64,
    /// A posterior may be 0 only because its number was too small.
    pub underflow: bool,
    /// Of the variables that were asked for, in file order; 0 and 1 for those observed. All `None` where the sum is 0.
    pub posteriors: Vec<Option<Box<[f64]>>>,
    /// Seconds from the leaves to the roots.
    pub collect_s: f64,
    /// Seconds from the roots back to the leaves.
    pub distribute_s: f64,
    /// The device that did it; the CPU where there is none.
    pub device: Option<String>,
    /// Why the CPU did what a device was meant to.
    pub trouble: Option<String>,
    /// Seconds that copies to a device and back took.
    pub transfer_s: f64,
    /// Seconds until a device's kernels were compiled or loaded.
    pub kernels_s: f64,
}

/// The sizes of a bucket tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Tree {
    /// Variables of the largest clique, less one.
    pub induced_width: u32,
    /// Cliques, one for each variable that is left.
    pub cliques: u64,
    /// Entries of the largest clique.
    pub largest_clique: u64,
    /// Entries of all cliques.
    pub clique_entries: u64,
    /// Bytes of all messages of one direction.
    pub messages_bytes: u64,
    /// Bytes that tables take at the worst moment.
    pub bytes: u64,
}

/// A product, ready for its sums: what they take is known, and nothing of it is allocated yet.
#[derive(Debug)]
pub struct Prepared {
    pub(super) domains: Vec<u32>,
    pub(super) observed: Vec<Option<u32>>,
    /// Which variables are asked for.
    pub(super) asked: Vec<bool>,
    pub(super) only_z: bool,
    /// None where the evidence contradicts itself.
    pub(super) tree: Option<Tabled>,
    pub(super) memory: u64,
    pub(super) gpu: Option<Arc<Gpu>>,
    pub(super) until: Option<Instant>,
    pub(super) choice: Ordering,
    /// Seconds that the order took.
    pub order_s: f64,
}

/// What is left of the product, and its plan.
#[derive(Clone, Debug)]
pub(super) struct Tabled {
    pub(super) sliced: Sliced,
    pub(super) order: Order,
    pub(super) plan: EliminationPlan,
    pub(super) placement: Placement,
}

/// The sum and the posteriors.
///
/// # Errors
/// Evidence or options that do not fit; [`Error::Memory`] where tables would take more than they may;
/// [`Error::Stopped`].
pub fn compute(
    potentials: &Potentials,
    evidence: &Evidence,
    options: &Options,
    stop: &Stop,
) -> Result<Marginals, Error> {
    Prepared::new(potentials, evidence, options, stop)?.run(stop)
}

impl Prepared {
    /// Slices tables, looks for an order and plans.
    ///
    /// # Errors
    /// Evidence or options that do not fit; [`Error::Stopped`].
    pub fn new(
        potentials: &Potentials,
        evidence: &Evidence,
        options: &Options,
        stop: &Stop,
    ) -> Result<Prepared, Error> {
        let n = potentials.domains.len();
        let mut asked = vec![options.variables.is_none(); n];
        for &variable in options.variables.iter().flatten() {
            match asked.get_mut(variable as usize) {
                Some(asked) => *asked = true,
                None => return Err(Error::Usage(format!("variable {variable} is asked for, but there are {n}"))),
            }
        }
        let only_z = !asked.contains(&true);
        let observed = evidence.by_variable(potentials)?;
        let sliced = Sliced::new(potentials, evidence, |v| asked[v as usize], Keep::These(&|_| false), stop)?;
        let began = Instant::now();
        let tree = sliced.map(|sliced| Tabled::new(sliced, &options.order, !only_z, stop)).transpose()?;
        Ok(Prepared {
            domains: potentials.domains.clone(),
            observed: observed.unwrap_or_else(|| vec![None; n]),
            asked,
            only_z,
            tree,
            memory: options.memory.unwrap_or_else(|| memory::available() / 2),
            gpu: None,
            until: None,
            choice: options.order.clone(),
            order_s: began.elapsed().as_secs_f64(),
        })
    }

    /// The sizes of the bucket tree.
    pub fn tree(&self) -> Tree {
        match &self.tree {
            Some(tree) => tree.sizes(self.only_z),
            None => {
                Tree { induced_width: 0, cliques: 0, largest_clique: 0, clique_entries: 0, messages_bytes: 0, bytes: 0 }
            }
        }
    }

    /// The place of each variable in the order; variables that are not left come last.
    pub fn places(&self) -> Vec<usize> {
        let variables = self.domains.len();
        self.tree.as_ref().map_or_else(|| vec![usize::MAX; variables], |tree| tree.places(&tree.order, variables))
    }

    /// The rule that made the order, if one did.
    pub fn rule(&self) -> Option<Method> {
        self.tree.as_ref().and_then(|tree| tree.order.method)
    }

    /// Has a device do it. The CPU does what does not fit there, and all where the device fails.
    pub fn use_device(&mut self, gpu: Arc<Gpu>) {
        self.gpu = Some(gpu);
    }

    /// Says when sums in slices should have ended: they are not begun where that cannot be, and end early where those
    /// that are done say so.
    pub fn end_at(&mut self, until: Instant) {
        self.until = Some(until);
    }

    /// Whether a device was given.
    pub fn has_device(&self) -> bool {
        self.gpu.is_some()
    }

    /// Leaves all to the CPU from now on.
    pub fn leave_device(&mut self) {
        self.gpu = None;
    }

    /// What is asked for among the variables that are left.
    pub(super) fn asked_of(&self, tree: &Tabled) -> Vec<bool> {
        let needed = tree.sliced.needed(&self.asked);
        tree.sliced.variables.iter().map(|&v| needed[v as usize]).collect()
    }
}

impl Tabled {
    pub(super) fn new(sliced: Sliced, choice: &Ordering, keep_messages: bool, stop: &Stop) -> Result<Self, Error> {
        let structure = sliced.structure();
        let order = match choice {
            Ordering::Promising => search(&structure, &Method::ALL.map(|(_, method)| method), stop),
            Ordering::Rule(method) => search(&structure, &[*method], stop),
            Ordering::Given(places) => {
                let mut sequence: Vec<u32> = (0..sliced.variables.len() as u32).collect();
                sequence.sort_by_key(|&v| places.get(sliced.variables[v as usize] as usize));
                Order::given(&structure, &sequence, stop)?
            }
        };
        stop.check()?;
        Tabled::along(sliced, order, keep_messages, stop)
    }

    /// Along an order.
    pub(super) fn along(sliced: Sliced, order: Order, keep_messages: bool, stop: &Stop) -> Result<Self, Error> {
        let bytes = size_of::<f64>() as u64;
        let (plan, placement) = EliminationPlan::exact(&sliced.structure(), &order, keep_messages, bytes, stop)?;
        Ok(Tabled { sliced, order, plan, placement })
    }

    /// The place of each variable in an order of those that are left; the others come last.
    pub(super) fn places(&self, order: &Order, variables: usize) -> Vec<usize> {
        let mut places = vec![usize::MAX; variables];
        let whole = order.sequence.iter().map(|&v| self.sliced.variables[v as usize]);
        whole.enumerate().for_each(|(place, v)| places[v as usize] = place);
        // what another variable determines goes where that does
        for LeftOut { variable, by, .. } in self.sliced.left_out.iter().rev() {
            by.iter().for_each(|&by| places[*variable as usize] = places[by as usize]);
        }
        places
    }

    pub(super) fn planned(&self) -> Planned<'_> {
        Planned { sliced: &self.sliced, plan: &self.plan, placement: &self.placement }
    }

    pub(super) fn sizes(&self, only_z: bool) -> Tree {
        let Tabled { plan, placement, .. } = self;
        let joint = || plan.steps.iter().map(|step| step.joint);
        // on the way back what all else comes to, and what it is made from
        let back = placement.table_bytes.saturating_add(plan.largest_table.saturating_mul(16));
        Tree {
            induced_width: plan.z.saturating_sub(1),
            cliques: plan.steps.len() as u64,
            largest_clique: joint().max().unwrap_or(0),
            clique_entries: joint().fold(0, u64::saturating_add),
            messages_bytes: placement.table_bytes,
            bytes: if only_z { placement.peak_bytes } else { placement.peak_bytes.saturating_add(back) },
        }
    }
}

/// The order of the least sum of joint tables; restarts go on while they cost little beside the propagation.
fn search(structure: &Problem, rules: &[Method], stop: &Stop) -> Order {
    let mut search = OrderSearch::new(structure, rules, 1, tuning::RESTARTS, 1, stop);
    let mut runs = 0;
    while search.advance(tuning::SLICE, stop) {
        runs += 1;
        let worth =
            search.best().map_or(0.0, |best| best.joint_entries.min(tuning::MOST_ENTRIES) * tuning::STEPS_OF_AN_ENTRY);
        if runs >= rules.len() && search.steps() as f64 > worth {
            break;
        }
    }
    search.into_orders().swap_remove(0)
}
