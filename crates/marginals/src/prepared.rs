//! A product with its elimination order and plan, ready for its sums.

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

/// The sum of a product, and the posteriors.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginals {
    /// The natural logarithm of the sum; minus infinity if no assignment has a product above 0.
    pub ln_z: f64,
    /// The absolute error of `ln_z`, at most.
    pub error_bound: f64,
    /// The relative error of a posterior, at most.
    pub posterior_error: f64,
    /// Whether posteriors may be 0 only because entries were dropped that are too small to matter for the sum.
    pub underflow: bool,
    /// The posteriors of the requested variables, in file order; an observed variable has 0 and 1. All are `None` if
    /// the sum is 0.
    pub posteriors: Vec<Option<Box<[f64]>>>,
    /// The seconds of collect, from the leaves to the roots.
    pub collect_s: f64,
    /// The seconds of distribute, from the roots to the leaves.
    pub distribute_s: f64,
    /// The device that computed it; `None` if the CPU did.
    pub device: Option<String>,
    /// The reason why the CPU took over from a device.
    pub trouble: Option<String>,
    /// The seconds that copies to a device and back took.
    pub transfer_s: f64,
    /// The seconds until a device's kernels were compiled or loaded.
    pub kernels_s: f64,
}

/// The sizes of a bucket tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Tree {
    /// The number of variables of the largest clique, less one.
    pub induced_width: u32,
    /// The number of cliques.
    pub cliques: u64,
    /// Entries of the largest clique.
    pub largest_clique: u64,
    /// Entries of all cliques.
    pub clique_entries: u64,
    /// Bytes of all messages of one direction.
    pub messages_bytes: u64,
    /// Peak bytes of tables.
    pub bytes: u64,
}

/// A product with its elimination order and plan. The sizes of its tables are known, and none is allocated yet.
#[derive(Debug)]
pub struct Prepared {
    pub(super) domains: Vec<u32>,
    pub(super) observed: Vec<Option<u32>>,
    /// For each variable, whether its posterior is requested.
    pub(super) asked: Vec<bool>,
    pub(super) only_z: bool,
    /// The sliced product and its plan; `None` if the evidence contradicts itself.
    pub(super) tree: Option<Tabled>,
    pub(super) memory: u64,
    pub(super) gpu: Option<Arc<Gpu>>,
    pub(super) until: Option<Instant>,
    pub(super) choice: Ordering,
    /// The seconds that the search for an order took.
    pub order_s: f64,
}

/// A sliced product, its order and its plan.
#[derive(Clone, Debug)]
pub(super) struct Tabled {
    pub(super) sliced: Sliced,
    pub(super) order: Order,
    pub(super) plan: EliminationPlan,
    pub(super) placement: Placement,
}

/// Computes the sum and the posteriors.
///
/// # Errors
/// Returns an error if evidence or options do not fit, [`Error::Memory`] if the tables exceed the memory limit, and
/// [`Error::Stopped`] if `stop` is set.
pub fn compute(
    potentials: &Potentials,
    evidence: &Evidence,
    options: &Options,
    stop: &Stop,
) -> Result<Marginals, Error> {
    Prepared::new(potentials, evidence, options, stop)?.run(stop)
}

impl Prepared {
    /// Slices the tables, searches for an order and plans.
    ///
    /// # Errors
    /// Returns an error if evidence or options do not fit, and [`Error::Stopped`] if `stop` is set.
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

    /// Returns the sizes of the bucket tree, all 0 if the evidence contradicts itself.
    pub fn tree(&self) -> Tree {
        match &self.tree {
            Some(tree) => tree.sizes(self.only_z),
            None => {
                Tree { induced_width: 0, cliques: 0, largest_clique: 0, clique_entries: 0, messages_bytes: 0, bytes: 0 }
            }
        }
    }

    /// Returns the position of each variable in the order; variables that are not in the product any more come last.
    pub fn places(&self) -> Vec<usize> {
        let variables = self.domains.len();
        self.tree.as_ref().map_or_else(|| vec![usize::MAX; variables], |tree| tree.places(&tree.order, variables))
    }

    /// Returns the rule that made the order, or `None` if it was given.
    pub fn rule(&self) -> Option<Method> {
        self.tree.as_ref().and_then(|tree| tree.order.method)
    }

    /// Selects a device. The CPU computes what does not fit there, and everything if the device fails.
    pub fn use_device(&mut self, gpu: Arc<Gpu>) {
        self.gpu = Some(gpu);
    }

    /// Sets the time by which sums in slices should end. They are not begun if that is impossible, and they are given
    /// up if the slices done so far show it.
    pub fn end_at(&mut self, until: Instant) {
        self.until = Some(until);
    }

    /// Returns whether a device is selected.
    pub fn has_device(&self) -> bool {
        self.gpu.is_some()
    }

    /// Deselects the device, so that the CPU computes everything.
    pub fn leave_device(&mut self) {
        self.gpu = None;
    }

    /// Returns for each variable that is left whether its posterior is needed.
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

    /// Plans along an order.
    pub(super) fn along(sliced: Sliced, order: Order, keep_messages: bool, stop: &Stop) -> Result<Self, Error> {
        let bytes = size_of::<f64>() as u64;
        let (plan, placement) = EliminationPlan::exact(&sliced.structure(), &order, keep_messages, bytes, stop)?;
        Ok(Tabled { sliced, order, plan, placement })
    }

    /// Returns the position of each variable in an order of those that are left; the others come last.
    pub(super) fn places(&self, order: &Order, variables: usize) -> Vec<usize> {
        let mut places = vec![usize::MAX; variables];
        let whole = order.sequence.iter().map(|&v| self.sliced.variables[v as usize]);
        whole.enumerate().for_each(|(place, v)| places[v as usize] = place);
        // a variable that another one determines has the position of that one
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
        // distribute also holds the outside messages and the tables that they are made from
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

/// Returns the order with the smallest sum of clique sizes. Restarts continue while they are cheap beside the
/// propagation.
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
