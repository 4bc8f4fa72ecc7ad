//! Sums over all assignments of a product of functions: the partition function, or the probability of the evidence, and
//! the posterior of each variable.
//!
//! Variables that are observed are sliced out, an order is looked for, and messages go along its bucket tree to the
//! roots (collect) and back (distribute), as in Bistaffa, Bombieri and Farinelli, "An efficient approach for
//! accelerating bucket elimination on GPUs", 2017, section II-A3. Numbers are doubles with a power of two for each
//! table, so that nothing cancels and little is rounded: [`Marginals::error_bound`] says how much at most. Where
//! products could be below the range of doubles all is done again with a power of two for each entry.
//!
//! ```
//! use fangs::marginals::{Evidence, Options, compute};
//! use fangs::model::{Potentials, Variable};
//! use fangs::stop::Stop;
//!
//! // rain, and grass that is wet by it
//! let mut garden = Potentials::new("garden");
//! for name in ["rain", "wet"] {
//!     let _ = garden.variable(Variable { domain: 2, name: Some(name.into()), values: None })?;
//! }
//! garden.function(&[0], &[0.75, 0.25])?;
//! garden.function(&[0, 1], &[0.75, 0.25, 0.25, 0.75])?;
//! let mut evidence = Evidence::default();
//! evidence.observe(&garden, "wet=1")?;
//! let found = compute(&garden, &evidence, &Options::default(), &Stop::new())?;
//! assert!((found.ln_z - 0.375f64.ln()).abs() < 1e-15);
//! assert_eq!(found.posteriors[0].as_deref(), Some(&[0.5, 0.5][..]));
//! # Ok::<(), fangs::Error>(())
//! ```

mod anytime;
mod bounds;
mod climb;
mod components;
#[cfg(test)]
mod device_tests;
mod evidence;
mod levels;
mod many;
mod map;
mod measured;
mod on_device;
mod parts;
mod peeling;
mod propagate;
mod rows;
mod simplify;
mod sliced;
#[cfg(test)]
mod tests;
mod tuning;
mod weighted;

pub use anytime::MapBounds;
pub use bounds::{SumBounds, bound};
pub use evidence::Evidence;
pub use map::{MarginalMap, PreparedMap};
pub(crate) use sliced::Sliced;

use crate::algebra::{OfNumbers, SumProduct, WideSumProduct};
use crate::elimination::{EliminationPlan, Gpu, Placement};
use crate::error::Error;
use crate::memory;
use crate::model::{Potentials, Problem, ROUNDOFF, Scaled};
use crate::order::{Method, Order, OrderSearch, Ordering};
use crate::stop::Stop;
use on_device::OnDevice;
use propagate::{Planned, Posteriors, Trouble};
use simplify::{Keep, LeftOut};
use std::sync::Arc;
use std::time::Instant;

/// What is asked for.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The variables whose posteriors are wanted; all where `None`.
    pub variables: Option<Vec<u32>>,
    /// Where the elimination order comes from.
    pub order: Ordering,
    /// Bytes that tables may take; half of the free memory where `None`.
    pub memory: Option<u64>,
}

impl Options {
    /// Changes some of them.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
    /// Seconds from the leaves to the roots, and back.
    pub collect_s: f64,
    /// The same of the way back.
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
#[non_exhaustive]
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
    domains: Vec<u32>,
    observed: Vec<Option<u32>>,
    /// Which variables are asked for.
    asked: Vec<bool>,
    only_z: bool,
    /// None where the evidence contradicts itself.
    tree: Option<Tabled>,
    memory: u64,
    gpu: Option<Arc<Gpu>>,
    choice: Ordering,
    /// Seconds that the order took.
    pub order_s: f64,
}

/// Why a device has no result.
enum NotThere {
    /// It was told to stop.
    Stopped(Error),
    /// The CPU goes on.
    Trouble(String),
}

/// What is left of the product, and its plan.
#[derive(Debug)]
struct Tabled {
    sliced: Sliced,
    order: Order,
    plan: EliminationPlan,
    placement: Placement,
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

    /// Whether a device was given.
    pub fn has_device(&self) -> bool {
        self.gpu.is_some()
    }

    /// Leaves all to the CPU from now on.
    pub fn leave_device(&mut self) {
        self.gpu = None;
    }

    /// Whether tables fit into the memory of the device, or into what the CPU's may take.
    pub fn fits(&self) -> bool {
        let on_device = |gpu: &Arc<Gpu>, tree: &Tabled| {
            let bytes = on_device::bytes(tree.planned(), &self.asked_of(tree), &[]);
            bytes.is_some_and(|bytes| gpu.budget().is_ok_and(|free| bytes <= free))
        };
        self.tree().bytes <= self.memory
            || self.gpu.as_ref().zip(self.tree.as_ref()).is_some_and(|(gpu, tree)| on_device(gpu, tree))
    }

    /// The sum and the posteriors: on the device that was given, or in as many bytes as [`Self::tree`] says; twice as
    /// many where products could be below the range of doubles and so many are allowed.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::Stopped`].
    pub fn run(&self, stop: &Stop) -> Result<Marginals, Error> {
        let Some(tree) = &self.tree else { return Ok(self.impossible()) };
        let mut trouble = None;
        if let Some(gpu) = &self.gpu {
            match self.run_on(tree, gpu, stop) {
                Ok(found) => return Ok(found),
                Err(NotThere::Stopped(error)) => return Err(error),
                Err(NotThere::Trouble(why)) => trouble = Some(why),
            }
        }
        let found = self.run_here(tree, stop)?;
        Ok(Marginals { trouble, ..found })
    }

    /// The same on the CPU.
    fn run_here(&self, tree: &Tabled, stop: &Stop) -> Result<Marginals, Error> {
        let (bytes, allowed) = (self.tree().bytes, self.memory);
        if bytes > allowed {
            return Err(Error::Memory(format!("tables would take {bytes} bytes, {allowed} are allowed")));
        }
        match self.run_with(tree, SumProduct, stop) {
            Err(Trouble::Narrow) => {
                let bytes = bytes.saturating_mul(2);
                if bytes > allowed {
                    return Err(Error::Memory(format!(
                        "products are below the range of doubles, and tables with a power of two for each entry would \
                         take {bytes} bytes, {allowed} are allowed"
                    )));
                }
                Ok(self.run_with(tree, WideSumProduct, stop)?)
            }
            done => Ok(done?),
        }
    }

    /// The same on a device.
    fn run_on(&self, tree: &Tabled, gpu: &Arc<Gpu>, stop: &Stop) -> Result<Marginals, NotThere> {
        let (label, asked) = (gpu.cuda().label(), self.asked_of(tree));
        let done = match on_device::propagate(gpu, tree.planned(), &asked, &[], stop) {
            Ok(Some(done)) => done,
            Ok(None) => {
                let bytes = on_device::bytes(tree.planned(), &asked, &[]);
                return Err(NotThere::Trouble(on_device::refused(gpu, bytes)));
            }
            Err(Trouble::Failed(error)) => return Err(NotThere::Stopped(error)),
            Err(Trouble::Narrow) => {
                let why = "products are below the range of doubles; going on on the CPU with wider numbers";
                return Err(NotThere::Trouble(format!("{label}: {why}")));
            }
            Err(Trouble::Device(error)) => {
                return Err(NotThere::Trouble(format!("{label}: {error}; going on on the CPU")));
            }
        };
        let OnDevice { found, transfer_s, kernels_s } = done;
        let mut marginals = self.result(tree, found.z, found.error);
        marginals.collect_s = found.collect_s;
        marginals.distribute_s = found.distribute_s;
        (marginals.device, marginals.transfer_s, marginals.kernels_s) = (Some(label), transfer_s, kernels_s);
        if found.z.mantissa > 0.0 {
            self.put_posteriors(tree, &mut marginals, found.posteriors, found.posterior_error);
        }
        Ok(marginals)
    }

    /// What is asked for among the variables that are left.
    fn asked_of(&self, tree: &Tabled) -> Vec<bool> {
        let needed = tree.sliced.needed(&self.asked);
        tree.sliced.variables.iter().map(|&v| needed[v as usize]).collect()
    }

    /// The sum, without posteriors but of what is observed.
    fn result(&self, tree: &Tabled, z: Scaled, error: f64) -> Marginals {
        self.result_of(&tree.sliced, z, error)
    }

    fn result_of(&self, sliced: &Sliced, z: Scaled, error: f64) -> Marginals {
        if z.mantissa == 0.0 {
            return self.impossible();
        }
        let ln_z = z.ln();
        Marginals {
            ln_z,
            // the logarithm is rounded too
            error_bound: sliced.rounding + error + (2.0 + 2.0 * ln_z.abs()) * ROUNDOFF,
            posteriors: self.observed_posteriors(),
            ..self.impossible()
        }
    }

    fn put_posteriors(&self, tree: &Tabled, marginals: &mut Marginals, posteriors: Posteriors, error: f64) {
        for (&v, own) in tree.sliced.variables.iter().zip(posteriors) {
            marginals.posteriors[v as usize] = own;
        }
        let added = f64::from(tree.sliced.complete(&self.domains, &mut marginals.posteriors)) * ROUNDOFF;
        for (posterior, _) in marginals.posteriors.iter_mut().zip(&self.asked).filter(|(_, asked)| !**asked) {
            *posterior = None;
        }
        marginals.posterior_error = if self.only_z { 0.0 } else { 2.0 * tree.sliced.rounding + error + added };
    }

    fn run_with<S: OfNumbers>(&self, tree: &Tabled, semiring: S, stop: &Stop) -> Result<Marginals, Trouble> {
        let planned = tree.planned();
        let began = Instant::now();
        let collected = planned.collect(&|_| semiring, stop)?;
        let mut marginals = self.result(tree, collected.z, collected.error);
        marginals.collect_s = began.elapsed().as_secs_f64();
        if collected.z.mantissa > 0.0 && !self.only_z {
            let began = Instant::now();
            let (posteriors, error) = planned.distribute(semiring, &collected, &self.asked_of(tree), stop)?;
            self.put_posteriors(tree, &mut marginals, posteriors, error);
            marginals.distribute_s = began.elapsed().as_secs_f64();
        }
        Ok(marginals)
    }

    /// The result where no assignment has a product above 0.
    fn impossible(&self) -> Marginals {
        Marginals {
            ln_z: f64::NEG_INFINITY,
            error_bound: 0.0,
            posterior_error: 0.0,
            underflow: false,
            posteriors: vec![None; self.domains.len()],
            collect_s: 0.0,
            distribute_s: 0.0,
            device: None,
            trouble: None,
            transfer_s: 0.0,
            kernels_s: 0.0,
        }
    }

    /// 0 and 1 for what is observed.
    fn observed_posteriors(&self) -> Vec<Option<Box<[f64]>>> {
        let certain = |variable: usize| {
            let value = self.observed[variable].filter(|_| self.asked[variable])?;
            Some((0..self.domains[variable]).map(|other| f64::from(u8::from(other == value))).collect())
        };
        (0..self.domains.len()).map(certain).collect()
    }
}

impl Tabled {
    fn new(sliced: Sliced, choice: &Ordering, keep_messages: bool, stop: &Stop) -> Result<Self, Error> {
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
        let bytes = size_of::<f64>() as u64;
        let (plan, placement) = EliminationPlan::exact(&structure, &order, keep_messages, bytes, stop)?;
        Ok(Tabled { sliced, order, plan, placement })
    }

    /// The place of each variable in an order of those that are left; the others come last.
    fn places(&self, order: &Order, variables: usize) -> Vec<usize> {
        let mut places = vec![usize::MAX; variables];
        let whole = order.sequence.iter().map(|&v| self.sliced.variables[v as usize]);
        whole.enumerate().for_each(|(place, v)| places[v as usize] = place);
        // what another variable determines goes where that does
        for LeftOut { variable, by, .. } in self.sliced.left_out.iter().rev() {
            by.iter().for_each(|&by| places[*variable as usize] = places[by as usize]);
        }
        places
    }

    fn planned(&self) -> Planned<'_> {
        Planned { sliced: &self.sliced, plan: &self.plan, placement: &self.placement }
    }

    fn sizes(&self, only_z: bool) -> Tree {
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
        let worth = search.best().map_or(0.0, |best| best.joint_entries * tuning::STEPS_OF_AN_ENTRY);
        if runs >= rules.len() && search.steps() as f64 > worth {
            break;
        }
    }
    search.into_orders().swap_remove(0)
}
