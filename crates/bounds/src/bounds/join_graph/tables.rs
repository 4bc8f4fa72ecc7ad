//! The tables of a join graph in host memory, and their waves on any number of threads, with the same result.

use super::schedule::{Cluster, Kind, Layout, Move, Operation, Separator, Wave};
use crate::bounds::tuning::join_graph::SHARED;
use crate::device::DeviceError;
use crate::elimination::plan::{Input, Plan, Source};
use crate::elimination::table;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use crate::tensor::strides;
use crate::tensor::tiles::{Movable, StrideMap, relax};
use crate::threads::{self, Large};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// The tables of a join graph, on the host or on a device.
pub(crate) trait Tables: Debug + Send + Sync {
    /// Runs waves of a pass. No solution's costs beyond the problem's constant reach `range`. After the last wave all
    /// changes of the pass are applied. Once `stop` is set, the tables are invalid.
    fn run(
        &mut self,
        kind: Kind,
        pass: &[Wave],
        waves: Range<usize>,
        range: Cost,
        stop: &Stop,
    ) -> Result<(), DeviceError>;

    /// Returns the constant gained; `range` or more if there is no solution.
    fn constant(&mut self) -> Result<Cost, DeviceError>;

    /// Returns for each axis of each table the least entry with each value, [`crate::tensor::tiles::NEVER`] if all are
    /// forbidden. The result is invalid once `stop` is set.
    fn marginals(&mut self, stop: &Stop) -> Result<Vec<Vec<Vec<Cost>>>, DeviceError>;

    /// Returns the entries of a table, [`crate::tensor::tiles::NEVER`] for forbidden ones.
    fn table(&self, cluster: usize) -> Result<Vec<Cost>, DeviceError>;

    /// Returns the device address of a table and the bytes of an entry; `None` if it is on the host.
    fn address(&self, _cluster: usize) -> Option<(u64, usize)> {
        None
    }
}

/// The clusters of a graph that correspond to the functions of its outline.
#[derive(Debug)]
pub(crate) struct Clusters {
    /// The cluster of each function.
    pub functions: Vec<usize>,
    /// The cluster of each variable's unary costs.
    pub unary: FxHashMap<u32, usize>,
}

impl Clusters {
    /// Returns the cluster of a function of the outline, or of a variable's unary costs.
    pub fn of(&self, source: Source, variable: u32) -> Option<usize> {
        match source {
            Source::Function(f) => self.functions.get(f as usize).copied(),
            Source::Unary => self.unary.get(&variable).copied(),
            Source::Message(_) => None,
        }
    }
}

/// The functions whose sums the first tables of a graph are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<'a> {
    /// The functions of a problem.
    Problem(&'a Problem),
    /// The tables of another graph, along the same order of variables.
    Graph { tables: Option<&'a dyn Tables>, clusters: &'a Clusters },
}

impl Given<'_> {
    /// Returns the device address of the table of a function or of a variable's unary costs, and the bytes of an entry.
    pub fn address(&self, source: Source, variable: u32) -> Option<(u64, usize)> {
        match self {
            Given::Problem(_) => None,
            Given::Graph { tables, clusters } => (*tables)?.address(clusters.of(source, variable)?),
        }
    }
}

/// The tables of a join graph on the host.
#[derive(Debug)]
pub(crate) struct Host<E: Movable> {
    layout: Arc<Layout>,
    tables: Large<Storage<E>>,
    separators: Large<Vec<E>>,
    constant: Cost,
}

/// An operation with the memory that it changes.
struct Job<'a, E> {
    operation: &'a Operation,
    table: Storage<E>,
    least: Vec<E>,
}

/// A move with the separator messages that it changes.
struct Change<E> {
    what: Move,
    from: Vec<E>,
    to: Vec<E>,
    lowest: Cost,
}

impl<E: Movable> Host<E> {
    /// Sums the functions of each mini-bucket; sums of `range` or more are forbidden. Returns `None` once `stop` is
    /// set.
    pub fn new(
        layout: &Arc<Layout>,
        given: Given<'_>,
        plan: &Plan,
        range: Cost,
        stop: &Stop,
    ) -> Result<Option<Self>, DeviceError> {
        let build = |(index, cluster): (usize, &Cluster)| {
            if stop.is_set() {
                return Ok(Storage::default());
            }
            let mut table = Storage::new(cluster.entries);
            let limit = E::from_cost(range.min(E::NEVER.cost()));
            for input in &plan.steps[index].inputs {
                if let Some(costs) = lay_out::<E>(given, plan, input, range)? {
                    let map = source(index, cluster, plan, input).map;
                    relax(&mut table, &cluster.tiles, &[(&map, &costs)], None, limit);
                }
            }
            Ok(table)
        };
        let tables = threads::try_map(layout.clusters.iter().enumerate(), build)?.into();
        let separators: Result<_, Error> =
            stop.each(&layout.separators).map(|separator| Ok(vec![E::NEVER; separator?.entries])).collect();
        Ok(separators.ok().map(|separators| Host { layout: layout.clone(), tables, separators, constant: 0 }))
    }

    fn operate(&mut self, wave: &Wave, limit: E, stop: &Stop) {
        let mut jobs: Vec<Job<'_, E>> = Vec::with_capacity(wave.operations.len());
        for operation in stop.each(&wave.operations) {
            let Ok(operation) = operation else { break };
            let least = operation.output.map(|separator| std::mem::take(&mut self.separators[separator as usize]));
            let table = std::mem::take(&mut self.tables[operation.cluster as usize]);
            jobs.push(Job { operation, table, least: least.unwrap_or_default() });
        }
        let Layout { clusters, separators, .. } = &*self.layout;
        let values = &self.separators;
        let work = |job: &mut Job<'_, E>| {
            if stop.is_set() {
                return;
            }
            let inputs: Vec<(&StrideMap, &[E])> = job
                .operation
                .inputs
                .iter()
                .map(|&separator| (&separators[separator as usize].map, &values[separator as usize][..]))
                .collect();
            job.least.fill(E::NEVER);
            let output =
                job.operation.output.map(|separator| (&separators[separator as usize].map, &mut job.least[..]));
            relax(&mut job.table, &clusters[job.operation.cluster as usize].tiles, &inputs, output, limit);
        };
        if wave.work >= SHARED {
            jobs.par_iter_mut().for_each(work)
        } else {
            jobs.iter_mut().for_each(work)
        }
        for job in stop.each(jobs) {
            // the tables are invalid anyway
            let Ok(Job { operation, table, least }) = job else { return };
            self.tables[operation.cluster as usize] = table;
            if let Some(separator) = operation.output {
                self.separators[separator as usize] = least;
            }
        }
    }

    fn exchange(&mut self, wave: &Wave, range: Cost, stop: &Stop) {
        if stop.is_set() {
            return;
        }
        let mut take = |separator: u32| std::mem::take(&mut self.separators[separator as usize]);
        let begin = |what: Result<&Move, Error>| {
            let what = *what?;
            let (from, to) = what.separators();
            let from = take(from);
            // the copy is dropped if the costs move nowhere
            let to = to.map_or_else(|| from.clone(), &mut take);
            Ok(Change { what, from, to, lowest: 0 })
        };
        let changes: Result<Vec<Change<E>>, Error> = stop.each(&wave.moves).map(begin).collect();
        let Ok(mut changes) = changes else { return };
        if wave.work >= SHARED {
            changes.par_iter_mut().for_each(Change::make);
        } else {
            stop.each(&mut changes).flatten().for_each(Change::make);
        }
        for change in stop.each(changes) {
            let Ok(Change { what, from, to, lowest }) = change else { return };
            let (a, b) = what.separators();
            self.separators[a as usize] = from;
            if let Some(b) = b {
                self.separators[b as usize] = to;
            }
            self.constant = (self.constant + lowest).min(range);
        }
    }
}

impl Move {
    /// Returns the separator messages that a move changes.
    pub fn separators(self) -> (u32, Option<u32>) {
        match self {
            Move::Push(from, to) => (from, to),
            Move::Share(a, b, _) | Move::Level(a, b) => (a, Some(b)),
        }
    }
}

impl<E: Movable> Change<E> {
    /// Replaces the least entries by the changes: equal and opposite, but for the lowest, which becomes constant.
    fn make(&mut self) {
        let (never, zero) = (E::NEVER, E::from_cost(0));
        let Change { what, from, to, lowest } = self;
        let low = match what {
            Move::Level(..) => from.iter().zip(&*to).map(|(&a, &b)| a + b).min(),
            Move::Push(..) | Move::Share(..) => from.iter().copied().min(),
        };
        let low = low.unwrap_or(zero);
        *lowest = low.cost();
        match *what {
            Move::Push(..) => each(from, to, |a, _| if a >= never { (zero, never) } else { (zero - a, a - low) }),
            Move::Share(_, _, parts) => each(from, to, |a, _| {
                let part = (a.cost() - low.cost()) / Cost::from(parts);
                if a >= never { (zero, never) } else { (E::from_cost(-(part + low.cost())), E::from_cost(part)) }
            }),
            Move::Level(..) => each(from, to, |a, b| {
                let left = (a + b - low).cost();
                let half = || (E::from_cost(left / 2) - a, E::from_cost(left - left / 2) - b);
                if a + b >= never { (never, never) } else { half() }
            }),
        }
    }
}

/// Replaces each pair of entries of the two messages.
#[inline(always)]
fn each<E: Movable>(a: &mut [E], b: &mut [E], new: impl Fn(E, E) -> (E, E)) {
    a.iter_mut().zip(b).for_each(|(a, b)| (*a, *b) = new(*a, *b));
}

impl<E: Movable> Tables for Host<E> {
    fn run(
        &mut self,
        _: Kind,
        pass: &[Wave],
        waves: Range<usize>,
        range: Cost,
        stop: &Stop,
    ) -> Result<(), DeviceError> {
        for wave in &pass[waves] {
            let limit = range - self.constant;
            if limit <= 0 || stop.is_set() {
                break;
            }
            self.operate(wave, E::from_cost(limit.min(E::NEVER.cost())), stop);
            self.exchange(wave, range, stop);
        }
        Ok(())
    }

    fn constant(&mut self) -> Result<Cost, DeviceError> {
        Ok(self.constant)
    }

    fn marginals(&mut self, stop: &Stop) -> Result<Vec<Vec<Vec<Cost>>>, DeviceError> {
        let least = |(table, cluster): (&Storage<E>, &Cluster)| {
            if stop.is_set() {
                return Vec::new();
            }
            let steps = strides(&cluster.sizes);
            let axis = |(&size, &step): (&usize, &usize)| {
                let mut least = vec![E::NEVER; size];
                for (run, costs) in table.chunks(step).enumerate() {
                    let lowest = costs.iter().copied().min().unwrap_or(E::NEVER);
                    least[run % size] = least[run % size].min(lowest);
                }
                least.into_iter().map(wide).collect()
            };
            cluster.sizes.iter().zip(&steps).map(axis).collect()
        };
        Ok(threads::map(self.tables.iter().zip(&*self.layout.clusters), least))
    }

    fn table(&self, cluster: usize) -> Result<Vec<Cost>, DeviceError> {
        Ok(self.tables[cluster].iter().copied().map(wide).collect())
    }
}

pub(crate) fn wide<E: Movable>(entry: E) -> Cost {
    if entry >= E::NEVER { crate::tensor::tiles::NEVER } else { entry.cost() }
}

/// Returns how an input of a mini-bucket is embedded in its table.
pub(crate) fn source(index: usize, cluster: &Cluster, plan: &Plan, input: &Input) -> Separator {
    let sizes: Vec<usize> = input.scope.iter().map(|&p| plan.domains[p as usize] as usize).collect();
    cluster.separator(index, &plan.scope(index), &input.scope, &sizes)
}

/// Returns an input as a table; `None` for messages, which are never made.
pub(crate) fn lay_out<E: Movable>(
    given: Given<'_>,
    plan: &Plan,
    input: &Input,
    range: Cost,
) -> Result<Option<Storage<E>>, DeviceError> {
    let entry = |cost: Cost| if cost >= range { E::NEVER } else { E::from_cost(cost) };
    let cluster = match (input.source, given) {
        (Source::Message(_), _) => return Ok(None),
        (source, Given::Graph { clusters, .. }) => clusters.of(source, plan.sequence[input.scope[0] as usize]),
        (Source::Unary, Given::Problem(problem)) => {
            let costs = &problem.unary[plan.sequence[input.scope[0] as usize] as usize];
            return Ok(Some(costs.iter().map(|&cost| entry(cost)).collect()));
        }
        (Source::Function(f), Given::Problem(problem)) => {
            let variables: Vec<u32> = input.scope.iter().map(|&p| plan.sequence[p as usize]).collect();
            let cap = E::NEVER.cost();
            let mut costs = table::costs(&problem.functions[f as usize], &variables, &problem.domains, cap);
            costs.iter_mut().for_each(|cost: &mut E| *cost = entry(cost.cost()));
            return Ok(Some(costs));
        }
    };
    let (Given::Graph { tables: Some(tables), .. }, Some(cluster)) = (given, cluster) else { return Ok(None) };
    Ok(Some(tables.table(cluster)?.into_iter().map(entry).collect()))
}
