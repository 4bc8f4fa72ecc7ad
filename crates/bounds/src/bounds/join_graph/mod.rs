//! Cost shifting between the mini-buckets of a plan: the join graph (Ihler, Flerova, Dechter, Otten, "Join-graph based
//! cost-shifting schemes", 2012).
//!
//! Each mini-bucket is a table over all its variables, the sum of its functions. The least cost of a table for each
//! combination of the variables that it shares with another may move there: all of it forward along the plan
//! (mini-buckets with moment matching), a damped part backward, or half of the difference along every edge (averaged,
//! as in diffusion). No entry becomes negative, so the constant is a bound at any time and never falls. All costs are
//! integers; the remainder of a division stays.
//!
//! This file says which passes are made and when they end, [`schedule`](self::schedule) what a pass does; the
//! [`tables`](self::tables) of the host or of a device ([`cuda`](crate::elimination::cuda)) do it.

pub(crate) mod cuda;
#[cfg(test)]
mod cuda_tests;
mod cuda_words;
pub(crate) mod schedule;
pub(crate) mod tables;

use crate::bounds::moved::Moved;
use crate::bounds::tuning::DEVICE_SPEED;
use crate::bounds::tuning::join_graph::{DEVICE_POLL, LONG_PASSES, PASSES, POLL};
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
pub(crate) use cuda::kernels;
use cuda::{Graph as Device, begin as begin_graph};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use schedule::{Kind, Layout, Wave};
use std::sync::Arc;
use tables::{Clusters, Given, Host, Tables};

/// When to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// After one pass down: mini-buckets with moment matching.
    Once,
    /// Down and back, until a pass back and down gains less than an eighth of all: larger mini-buckets gain more in the
    /// time.
    Short,
    /// Along all edges alike, which gains more in the long run, until it is less than a ten-thousandth of the bound.
    Long,
}

/// What a graph is made of.
#[derive(Debug)]
enum Origin {
    Problem(Arc<Problem>),
    /// The tables of another graph, along the same order of variables.
    Graph(Box<JoinGraph>),
}

impl Origin {
    /// What the first tables are sums of.
    fn given(&self) -> Given<'_> {
        match self {
            Origin::Problem(problem) => Given::Problem(problem),
            Origin::Graph(graph) => Given::Graph { tables: graph.tables(), clusters: &graph.clusters },
        }
    }
}

/// Mini-buckets on their way to a larger constant.
#[derive(Debug)]
pub struct JoinGraph {
    /// Its constant, domains and limit count here, and how the functions lie.
    problem: Arc<Problem>,
    /// The limit of the problem that the first graph was made of.
    top: Cost,
    plan: Plan,
    layout: Arc<Layout>,
    clusters: Clusters,
    /// Until the tables are made of it.
    origin: Option<Origin>,
    tables: Option<Box<dyn Tables>>,
    gpu: Option<Arc<Gpu>>,
    trouble: Option<DeviceError>,
    schedules: FxHashMap<Kind, Arc<Vec<Wave>>>,
    /// Without the problem's own.
    constant: Cost,
    /// With the constant, no solution costs as much.
    range: Cost,
    /// What was done over the graphs that it is made of, where a certificate may be wanted, and directed and even
    /// passes over this one.
    past: Option<Vec<Arc<certificate::Graph>>>,
    made: (u32, u32),
    /// Waves of the pass at work that are done, and passes.
    at: usize,
    passes: u32,
    /// `constant` after the last pass down.
    before: Cost,
    patience: Patience,
    done: bool,
    work: u64,
}

impl JoinGraph {
    /// Nothing has moved yet. `None` where costs are too large for sums of 64 bits, or the plan does not join all
    /// functions, and once `stop` is set.
    pub fn new(problem: &Arc<Problem>, plan: Plan, patience: Patience, stop: &Stop) -> Option<JoinGraph> {
        JoinGraph::made(problem.clone(), problem.top, Origin::Problem(problem.clone()), plan, patience, stop)
    }

    /// A graph of what another one has left, by a plan for its [`outline`](JoinGraph::outline) along the same order.
    /// `None` within a pass, and once `stop` is set.
    pub fn after(self, outline: Arc<Problem>, plan: Plan, patience: Patience, stop: &Stop) -> Option<JoinGraph> {
        if self.is_within_pass() {
            return None;
        }
        let past = self.past.is_some().then(|| self.graphs());
        let graph = JoinGraph::made(outline, self.top, Origin::Graph(Box::new(self)), plan, patience, stop)?;
        Some(JoinGraph { past, ..graph })
    }

    /// Frees its memory without waiting for it.
    pub(crate) fn free(self) {
        let clusters = self.layout.clusters.len();
        threads::free(self, clusters);
    }

    /// No certificate is asked for.
    pub(crate) fn without_past(self) -> JoinGraph {
        JoinGraph { past: None, ..self }
    }

    /// The graphs that it is made of, and itself, with the passes made; scopes are of the problem's variables. None
    /// where no certificate is asked for.
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

    /// Its tables will be a device's.
    pub fn on(mut self, gpu: Option<&Arc<Gpu>>) -> JoinGraph {
        self.gpu = gpu.cloned();
        if let Some(gpu) = gpu {
            begin_graph(gpu, self.is_short());
        }
        self
    }

    /// Goes on with the tables as they are.
    pub fn resume(&mut self, patience: Patience) {
        // a pass that left nothing to move ended on its way
        let made = if self.patience == Patience::Long { &mut self.made.1 } else { &mut self.made.0 };
        *made += u32::from(self.at > 0);
        (self.patience, self.at, self.passes, self.done, self.before) = (patience, 0, 0, false, self.constant);
    }

    fn is_short(&self) -> bool {
        self.range < i32::LARGEST
    }

    /// Bytes of the tables of a plan's graph and of what moves between them.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub(crate) fn bytes(plan: &Plan, stop: &Stop) -> Result<u64, Error> {
        let bytes = if plan.cap().max(1) < i32::LARGEST { 4 } else { 8 };
        Ok(Layout::entries_of(plan, stop)?.saturating_mul(bytes))
    }

    /// Makes tables and moves costs for about `work` entries, on a device for more. Where that fails the bound stays,
    /// and `trouble` says why nothing else does.
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

    /// Makes the tables, or does some waves of a pass.
    fn step(&mut self, work: u64, stop: &Stop) -> Result<(), DeviceError> {
        let Some(tables) = &mut self.tables else { return self.build(stop) };
        let kind = Kind { forward: self.passes.is_multiple_of(2), symmetric: self.patience == Patience::Long };
        let waves = match self.schedules.get(&kind) {
            Some(waves) => waves.clone(),
            // `advance` looks again
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
        let most = if self.patience == Patience::Long { LONG_PASSES } else { PASSES };
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

    /// Sums up the functions of the mini-buckets.
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

    /// Whether what has left some tables has not come to others yet. Where there is no solution that makes no
    /// difference.
    fn is_within_pass(&self) -> bool {
        self.at > 0 && self.constant < self.range
    }

    /// Why a device that was meant to does nothing any more, told once. The tables are lost.
    pub fn take_trouble(&mut self) -> Option<DeviceError> {
        self.trouble.take()
    }

    /// Whether a device has the tables.
    pub fn on_device(&self) -> bool {
        self.gpu.is_some()
    }

    pub(crate) fn tables(&self) -> Option<&dyn Tables> {
        self.tables.as_deref()
    }

    /// Whether a device takes it to a larger one soon: little time passes until then.
    pub(crate) fn is_brief(&self) -> bool {
        self.gpu.is_some() && self.patience != Patience::Long
    }

    fn speed(&self) -> u64 {
        if self.gpu.is_some() { DEVICE_SPEED } else { 1 }
    }

    /// Entries looked at so far; those of a device count as many as a core looks at in the time.
    pub fn work_done(&self) -> u64 {
        self.work
    }

    /// No solution costs less; `limit` or more where there is none below. All is of the problem as it was given.
    pub fn lower_bound(&self, limit: Cost) -> Cost {
        if self.constant >= self.range { limit } else { (self.problem.constant + self.constant).min(limit) }
    }

    /// A better solution is known: what costs as much need not be told apart any more.
    pub fn below(&mut self, ub: Cost) {
        self.range = self.range.min(ub.saturating_sub(self.problem.constant).max(1));
        self.constant = self.constant.min(self.range);
    }

    /// What a solution with each value costs at least: the constant and what each table that has the variable takes for
    /// the value. [`FORBIDDEN`] where no solution of interest has it.
    ///
    /// # Errors
    /// [`Error::Stopped`].
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

    /// The constant with what has become constant; the limit where there is no solution below it.
    fn constant(&self) -> Cost {
        if self.constant >= self.range { self.top } else { self.problem.constant + self.constant }
    }

    /// The scope of each cluster's table, in its own order.
    fn scopes(&self) -> impl ExactSizeIterator<Item = Box<[u32]>> {
        let variable = |p: u32| self.plan.sequence[p as usize];
        (0..self.plan.steps.len()).map(move |step| self.plan.scope(step).into_iter().map(variable).collect())
    }

    /// The problem whose functions are the mini-buckets as they are, without their entries: what a plan needs to know.
    /// All costs are more than any, so that a plan's are cut at the limit only, which is this graph's.
    ///
    /// # Errors
    /// [`Error::Stopped`].
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

    /// The problem whose functions are the mini-buckets as they are; `None` before the tables are made, and within a
    /// pass, when what has left some of them has not come to others yet; and once `stop` is set.
    ///
    /// # Errors
    /// Those of a device that has them.
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
