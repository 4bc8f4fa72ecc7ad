//! Cost shifting between the mini-buckets of a plan: the join graph (Ihler, Flerova, Dechter, Otten, "Join-graph based
//! cost-shifting schemes", 2012).
//!
//! Each mini-bucket is a table over all its variables, the sum of its functions. The least cost of a table for each
//! combination of the variables that it shares with another table may move there: all of it forward along the plan
//! (mini-buckets with moment matching), a damped share backward, or half of the difference along every edge (averaging,
//! as in diffusion). No entry becomes negative, so the constant is a lower bound at any time and never falls. All costs
//! are integers; the remainder of a division stays.
//!
//! This file decides which passes are made and when they end, and [`schedule`](self::schedule) what a pass does. The
//! [`tables`](self::tables) of the host or of a device ([`cuda`](crate::elimination::cuda)) execute it.

pub(crate) mod cuda;
#[cfg(test)]
mod cuda_tests;
mod cuda_words;
pub(crate) mod schedule;
pub(crate) mod tables;

use crate::bounds::moved::Moved;
use crate::bounds::tuning::DEVICE_SPEED;
use crate::bounds::tuning::join_graph::{DEVICE_POLL, POLL};
use crate::certificate;
use crate::device::DeviceError;
use crate::elimination::Gpu;
use crate::elimination::Plan;
use crate::elimination::Progress;
use crate::elimination::table;
use crate::error::Error;
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem, SparseTable, Table};
use crate::stop::Stop;
use crate::tensor::tiles::{Movable, NEVER};
use crate::threads;
use crate::tuning::tuning;
pub(crate) use cuda::kernels;
use cuda::{Graph as Device, begin as begin_graph};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use schedule::{Kind, Layout, Wave};
use std::sync::Arc;
use tables::{Clusters, Given, Host, Tables};

/// The rule that ends the passes over a join graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// One forward pass: mini-buckets with moment matching.
    Once,
    /// Forward and backward passes, until a backward and a forward pass together gain less than an eighth of the total
    /// gain: larger mini-buckets gain more in the time.
    Short,
    /// Averaging along all edges, which gains more in the long run, until a pair of passes gains less than a
    /// ten-thousandth of the bound.
    Long,
}

/// The source of a graph's first tables.
#[derive(Debug)]
enum Origin {
    Problem(Arc<Problem>),
    /// The tables of another graph along the same order of variables.
    Graph(Box<JoinGraph>),
}

impl Origin {
    /// Returns the functions whose sums the first tables are.
    fn given(&self) -> Given<'_> {
        match self {
            Origin::Problem(problem) => Given::Problem(problem),
            Origin::Graph(graph) => Given::Graph { tables: graph.tables(), clusters: &graph.clusters },
        }
    }
}

/// A join graph whose constant grows as costs move between mini-buckets.
#[derive(Debug)]
pub struct JoinGraph {
    /// The problem; of it, constant, domains, limit and the scopes of functions are used.
    problem: Arc<Problem>,
    /// Limit of the problem that the first graph was made of.
    top: Cost,
    plan: Plan,
    layout: Arc<Layout>,
    clusters: Clusters,
    /// The source of the tables; `None` once they are made.
    origin: Option<Origin>,
    tables: Option<Box<dyn Tables>>,
    gpu: Option<Arc<Gpu>>,
    trouble: Option<DeviceError>,
    schedules: FxHashMap<Kind, Arc<Vec<Wave>>>,
    /// Constant gained, without the problem's own.
    constant: Cost,
    /// Limit of the gained constant that no solution reaches.
    range: Cost,
    /// The graphs that led to this one, with their passes; `None` if no certificate is wanted.
    past: Option<Vec<Arc<certificate::Graph>>>,
    /// Numbers of directed and of averaging passes over this graph.
    made: (u32, u32),
    /// Number of finished waves of the current pass.
    at: usize,
    /// Number of finished passes.
    passes: u32,
    /// Constant after the last forward pass.
    before: Cost,
    patience: Patience,
    done: bool,
    work: u64,
}

impl JoinGraph {
    /// Creates a graph without any moves. Returns `None` if costs are too large for sums of 64 bits, the plan does not
    /// join all functions, or `stop` is set.
    pub fn new(problem: &Arc<Problem>, plan: Plan, patience: Patience, stop: &Stop) -> Option<JoinGraph> {
        JoinGraph::made(problem.clone(), problem.top, Origin::Problem(problem.clone()), plan, patience, stop)
    }

    /// Creates a graph of the tables that this graph has left, by a plan for its [`outline`](JoinGraph::outline) along
    /// the same order. Returns `None` within a pass, and once `stop` is set.
    pub fn after(self, outline: Arc<Problem>, plan: Plan, patience: Patience, stop: &Stop) -> Option<JoinGraph> {
        if self.is_within_pass() {
            return None;
        }
        let past = self.past.is_some().then(|| self.graphs());
        let graph = JoinGraph::made(outline, self.top, Origin::Graph(Box::new(self)), plan, patience, stop)?;
        Some(JoinGraph { past, ..graph })
    }

    /// Frees the memory without waiting for it.
    pub(crate) fn free(self) {
        let clusters = self.layout.clusters.len();
        threads::free(self, clusters);
    }

    /// Keeps nothing for a certificate.
    pub(crate) fn without_past(self) -> JoinGraph {
        JoinGraph { past: None, ..self }
    }

    /// Returns the graphs that led to this one, and this one, with the passes made; scopes are of the problem's
    /// variables. Empty if no certificate is wanted.
    pub(crate) fn graphs(&self) -> Vec<Arc<certificate::Graph>> {
        let Some(past) = &self.past else { return Vec::new() };
        let begun = u32::from(self.at > 0);
        let (passes, even) = match self.patience {
            Patience::Long => (self.made.0, self.made.1 + begun),
            _ => (self.made.0 + begun, self.made.1),
        };
        let clusters = self.scopes().enumerate().map(|(index, mut over)| {
            let (to, beside) = self.layout.neighbours(index);
            over.sort_unstable();
            certificate::Cluster { over, to, beside }
        });
        let own = certificate::Graph { clusters: clusters.collect(), passes, even };
        past.iter().cloned().chain([Arc::new(own)]).collect()
    }

    fn made(
        problem: Arc<Problem>,
        top: Cost,
        origin: Origin,
        plan: Plan,
        patience: Patience,
        stop: &Stop,
    ) -> Option<JoinGraph> {
        if plan.cap() >= i64::LARGEST || plan.steps.iter().any(|step| step.lowered) {
            return None;
        }
        let steps = || plan.steps.iter().enumerate();
        let functions = steps().filter(|(_, step)| !step.scope.is_empty()).map(|(index, _)| index).collect();
        let unary = steps().filter(|(_, step)| step.scope.is_empty());
        let unary = unary.map(|(index, step)| (plan.sequence[step.position as usize], index)).collect();
        Some(JoinGraph {
            problem,
            top,
            layout: Arc::new(Layout::new(&plan, stop).ok()?),
            range: plan.cap().max(1),
            plan,
            clusters: Clusters { functions, unary },
            origin: Some(origin),
            tables: None,
            gpu: None,
            trouble: None,
            schedules: FxHashMap::default(),
            constant: 0,
            past: Some(Vec::new()),
            made: (0, 0),
            at: 0,
            passes: 0,
            before: 0,
            patience,
            done: false,
            work: 0,
        })
    }

    /// Puts the tables on a device, if one is given.
    pub fn on(mut self, gpu: Option<&Arc<Gpu>>) -> JoinGraph {
        self.gpu = gpu.cloned();
        if let Some(gpu) = gpu {
            begin_graph(gpu, self.is_short());
        }
        self
    }

    /// Restarts the passes on the present tables.
    pub fn resume(&mut self, patience: Patience) {
        // a pass that left nothing to move ended before its last wave
        let made = if self.patience == Patience::Long { &mut self.made.1 } else { &mut self.made.0 };
        *made += u32::from(self.at > 0);
        (self.patience, self.at, self.passes, self.done, self.before) = (patience, 0, 0, false, self.constant);
    }

    fn is_short(&self) -> bool {
        self.range < i32::LARGEST
    }

    /// Returns the bytes of the tables of a plan's graph and of its separator messages.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub(crate) fn bytes(plan: &Plan, stop: &Stop) -> Result<u64, Error> {
        let bytes = if plan.cap().max(1) < i32::LARGEST { 4 } else { 8 };
        Ok(Layout::entries_of(plan, stop)?.saturating_mul(bytes))
    }

    /// Makes tables and moves costs for about `work` entries; a device does more in the same time. If the device fails,
    /// the bound is kept and [`JoinGraph::take_trouble`] returns the error.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        let end = self.work.saturating_add(work);
        while !self.done && self.constant < self.range && !self.layout.clusters.is_empty() {
            if self.work >= end || stop.is_set() {
                return Progress::More;
            }
            if let Err(error) = self.step(end - self.work, stop) {
                (self.trouble, self.tables, self.done) = (Some(error), None, true);
            }
        }
        Progress::Done
    }

    /// Makes the tables, or runs some waves of a pass.
    fn step(&mut self, work: u64, stop: &Stop) -> Result<(), DeviceError> {
        let Some(tables) = &mut self.tables else { return self.build(stop) };
        let kind = Kind { forward: self.passes.is_multiple_of(2), symmetric: self.patience == Patience::Long };
        let waves = match self.schedules.get(&kind) {
            Some(waves) => waves.clone(),
            // if stopped, `advance` checks the flag next
            None => match self.layout.pass(kind, stop) {
                Ok(waves) => self.schedules.entry(kind).or_insert(Arc::new(waves)).clone(),
                Err(_) => return Ok(()),
            },
        };
        let most = match self.gpu {
            None => work.min(POLL),
            Some(_) => work.saturating_mul(DEVICE_SPEED).min(DEVICE_POLL),
        };
        let (first, mut done) = (self.at, 0);
        while self.at < waves.len() && done < most {
            done += waves[self.at].work + 1;
            self.at += 1;
        }
        tables.run(kind, &waves, first..self.at, self.range, stop)?;
        if stop.is_set() {
            return Ok(());
        }
        self.constant = tables.constant()?.min(self.range);
        self.work += (done / self.speed()).max(1);
        if self.at == waves.len() {
            self.at = 0;
            self.passes += 1;
            let made = if kind.symmetric { &mut self.made.1 } else { &mut self.made.0 };
            *made += 1;
            self.done = self.ends(kind.forward);
        }
        Ok(())
    }

    fn ends(&mut self, forward: bool) -> bool {
        let most =
            if self.patience == Patience::Long { tuning().join_graph.long_passes } else { tuning().join_graph.passes };
        if !forward {
            return self.passes >= most;
        }
        let gain = self.constant - std::mem::replace(&mut self.before, self.constant);
        let little = match self.patience {
            Patience::Once => return true,
            Patience::Short => self.constant / 8,
            Patience::Long => (self.problem.constant.max(0) + self.constant) / 10_000,
        };
        self.passes >= most || self.passes > 1 && gain <= little
    }

    /// Sums the functions of the mini-buckets.
    fn build(&mut self, stop: &Stop) -> Result<(), DeviceError> {
        let Some(given) = self.origin.as_ref().map(Origin::given) else { return Ok(()) };
        self.tables = match self.is_short() {
            true => self.make::<i32>(given, stop)?,
            false => self.make::<i64>(given, stop)?,
        };
        if self.tables.is_some() {
            if let Some(Origin::Graph(graph)) = self.origin.take() {
                graph.free();
            }
            let clusters = self.layout.clusters.iter().zip(&self.plan.steps);
            let inputs = clusters.map(|(cluster, step)| (cluster.entries * step.inputs.len().max(1)) as u64);
            self.work += inputs.sum::<u64>() / self.speed();
        }
        Ok(())
    }

    fn make<E: Moved>(&self, given: Given<'_>, stop: &Stop) -> Result<Option<Box<dyn Tables>>, DeviceError> {
        let (layout, plan, range) = (&self.layout, &self.plan, self.range);
        Ok(match &self.gpu {
            Some(gpu) => Device::<E>::new(gpu, layout, given, plan, range)?.map(|tables| Box::new(tables) as _),
            None => Host::<E>::new(layout, given, plan, range, stop)?.map(|tables| Box::new(tables) as _),
        })
    }

    /// Returns whether a pass has taken costs from some tables that others have yet to receive. If there is no
    /// solution, that makes no difference.
    fn is_within_pass(&self) -> bool {
        self.at > 0 && self.constant < self.range
    }

    /// Returns the error of a device that has failed, once. The tables are lost.
    pub fn take_trouble(&mut self) -> Option<DeviceError> {
        self.trouble.take()
    }

    /// Returns whether a device has the tables.
    pub fn on_device(&self) -> bool {
        self.gpu.is_some()
    }

    pub(crate) fn tables(&self) -> Option<&dyn Tables> {
        self.tables.as_deref()
    }

    /// Returns whether a device will soon finish this graph so that a larger one can follow.
    pub(crate) fn is_brief(&self) -> bool {
        self.gpu.is_some() && self.patience != Patience::Long
    }

    fn speed(&self) -> u64 {
        if self.gpu.is_some() { DEVICE_SPEED } else { 1 }
    }

    /// Returns the entries read so far; a device's time counts as the entries that a core reads in it.
    pub fn work_done(&self) -> u64 {
        self.work
    }

    /// Returns the lower bound, or `limit` if no solution is below it. Costs are those of the given problem.
    pub fn lower_bound(&self, limit: Cost) -> Cost {
        if self.constant >= self.range { limit } else { (self.problem.constant + self.constant).min(limit) }
    }

    /// Takes up the cost of a better incumbent: costs from it on need not be distinguished any more.
    pub fn below(&mut self, ub: Cost) {
        self.range = self.range.min(ub.saturating_sub(self.problem.constant).max(1));
        self.constant = self.constant.min(self.range);
    }

    /// Returns for each variable and value a lower bound on the solutions with that value: the constant plus the least
    /// entry with the value of each table that has the variable. [`FORBIDDEN`] means that no solution of interest has
    /// the value.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn value_bounds(&mut self, stop: &Stop) -> Result<Vec<Vec<Cost>>, Error> {
        let least = stop.each(&self.problem.domains).map(|domain| Ok(vec![self.constant; *domain? as usize]));
        let mut sums = least.collect::<Result<Vec<Vec<Cost>>, Error>>()?;
        let own = self.tables.as_mut().map(|tables| tables.marginals(stop)).transpose().unwrap_or_else(|error| {
            (self.trouble, self.tables) = (Some(error), None);
            None
        });
        for item in stop.each(own.into_iter().flatten().enumerate()) {
            let (index, marginals) = item?;
            for (position, marginals) in self.plan.scope(index).into_iter().zip(marginals) {
                let sums = sums[self.plan.sequence[position as usize] as usize].iter_mut();
                sums.zip(marginals).for_each(|(sum, marginal)| *sum = (*sum + marginal).min(NEVER));
            }
        }
        let total = |sum: Cost| if sum >= self.range { FORBIDDEN } else { sum + self.problem.constant };
        for sums in stop.each(&mut sums) {
            sums?.iter_mut().for_each(|sum| *sum = total(*sum));
        }
        Ok(sums)
    }

    /// Returns the constant including the gain, or the limit if no solution is below it.
    fn constant(&self) -> Cost {
        if self.constant >= self.range { self.top } else { self.problem.constant + self.constant }
    }

    /// Returns the scope of each cluster's table, in the table's order of axes.
    fn scopes(&self) -> impl ExactSizeIterator<Item = Box<[u32]>> {
        let variable = |p: u32| self.plan.sequence[p as usize];
        (0..self.plan.steps.len()).map(move |step| self.plan.scope(step).into_iter().map(variable).collect())
    }

    /// Returns the problem whose functions are the present mini-buckets, without their entries: what a plan needs. All
    /// costs are the largest possible, so that a plan clamps only at the limit, which is this graph's.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn outline(&self, stop: &Stop) -> Result<Problem, Error> {
        let mut unary: Vec<Vec<Cost>> = self.problem.domains.iter().map(|&d| vec![0; d as usize]).collect();
        let mut functions = Vec::new();
        for scope in stop.each(self.scopes()) {
            let scope = scope?;
            if let [variable] = scope[..] {
                unary[variable as usize].fill(i64::LARGEST);
            } else {
                let table = SparseTable::new(scope.len(), i64::LARGEST, Vec::new(), Vec::new());
                functions.push(CostFunction { scope: scope.into(), table: Table::Sparse(table.into()) });
            }
        }
        let top = self.top.min(self.problem.constant + self.range);
        Ok(Problem { domains: self.problem.domains.clone(), unary, functions, constant: self.constant(), top })
    }

    /// Returns the problem whose functions are the present mini-buckets. Returns `None` before the tables are made,
    /// within a pass, when some tables have yet to receive costs, and once `stop` is set.
    ///
    /// # Errors
    /// Returns the error of a device that has the tables.
    pub fn problem(&self, stop: &Stop) -> Result<Option<Problem>, DeviceError> {
        let Some(tables) = self.tables.as_ref().filter(|_| !self.is_within_pass()) else { return Ok(None) };
        let back = |cost: &mut Cost| *cost = if *cost >= NEVER { FORBIDDEN } else { *cost };
        let mut unary: Vec<Vec<Cost>> = self.problem.domains.iter().map(|&d| vec![0; d as usize]).collect();
        let mut functions = Vec::with_capacity(self.plan.steps.len());
        for item in stop.each(self.scopes().enumerate()) {
            let Ok((index, scope)) = item else { return Ok(None) };
            let mut costs = tables.table(index)?;
            costs.par_iter_mut().for_each(back);
            if let [variable] = scope[..] {
                unary[variable as usize] = costs;
            } else if table::nonzero(&costs) {
                functions.push(CostFunction { scope: scope.into(), table: Table::dense(costs) });
            }
        }
        let domains = self.problem.domains.clone();
        Ok(Some(Problem { domains, unary, functions, constant: self.constant(), top: self.top }))
    }
}
