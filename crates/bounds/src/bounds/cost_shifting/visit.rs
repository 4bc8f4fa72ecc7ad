//! Visits on the host by any number of threads, with the same result.

use super::journal::Journal;
use super::layout::{Costs, Layout, Scratch, Use};
use crate::bounds::tuning::cost_shifting::{PARTS, SHARED};
use crate::error::Error;
use crate::model::Cost;
use crate::stop::Stop;
use crate::tensor::tiles::NEVER;
use rayon::prelude::*;

/// A use of a variable, with room for its function's least cost for each value.
type Job<'a> = (Use, &'a mut [Cost]);

/// The computation of the functions' least costs for several uses of variables.
struct Least<'a, 'b> {
    layout: &'a Layout,
    costs: &'a Costs,
    jobs: &'a mut [Job<'b>],
    stop: &'a Stop,
}

impl pulp::WithSimd for Least<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let mut scratch = Scratch::default();
        for job in self.stop.each(self.jobs) {
            let Ok((own, least)) = job else { return };
            self.layout.least(self.costs, *own, least, &mut scratch);
        }
    }
}

/// Variables and cells of a wave that are processed at once: some megabytes, and some milliseconds of one thread.
const PART: usize = if cfg!(test) { 1 << 6 } else { 1 << 20 };

/// A wave of a forward or a backward pass, by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassWave {
    pub forward: bool,
    pub number: usize,
}

/// Visits the variables of a wave. The constant rises by the costs that all values of a variable share; it reaches
/// `range` if there is no solution. If stopped, only some variables have been visited, and costs and constant are still
/// valid.
pub(crate) fn visit(
    layout: &Layout,
    costs: &mut Costs,
    at: PassWave,
    constant: &mut Cost,
    range: Cost,
    mut journal: Option<&mut Journal>,
    stop: &Stop,
) -> Result<(), Error> {
    let PassWave { forward, number } = at;
    let wave = layout.wave(forward, number);
    let (left, mut rest, mut own) = (range - *constant, &wave.variables[..], Own::default());
    while !rest.is_empty() {
        // the variables of a wave share no function, so a part changes nothing that another one reads
        let mut size = 0;
        let enough = |&v: &u32| {
            size += 1 + layout.rows(v).len();
            size >= PART
        };
        let (part, others) = rest.split_at(rest.iter().position(enough).map_or(rest.len(), |last| last + 1));
        rest = others;
        let memory = least(layout, costs, part, wave.work >= SHARED, stop)?;
        let mut memory = &memory[..];
        for v in stop.each(part) {
            let v = *v?;
            let (least, others) = memory.split_at(layout.rows(v).len());
            memory = others;
            own.read(layout, costs, v);
            let sum = (*constant + own.collect(least, left)).min(range);
            if let Some(journal) = &mut journal {
                own.write(layout, costs, v, stop)?;
                // what has been collected counts even if a stop comes before the rest is given
                *constant = sum;
                let lost = own.unary.iter().map(|&cost| cost == NEVER);
                journal.visited(v, lost, |function, place| layout.taken(costs, function, place as usize));
            }
            own.give(layout.uses(v), forward);
            own.write(layout, costs, v, stop)?;
            *constant = sum;
            if *constant >= range {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Computes the least costs of the variables' functions for each of their values.
fn least(layout: &Layout, costs: &Costs, variables: &[u32], shared: bool, stop: &Stop) -> Result<Vec<Cost>, Error> {
    let cells = variables.iter().map(|&v| layout.rows(v).len()).sum();
    let mut memory: Vec<Cost> = vec![0; cells];
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(variables.iter().map(|&v| layout.uses(v).len()).sum());
    let mut rest = &mut memory[..];
    for v in stop.each(variables) {
        let v = *v?;
        let values = layout.values(v).len();
        for &own in layout.uses(v) {
            let (least, others) = rest.split_at_mut(values);
            jobs.push((own, least));
            rest = others;
        }
    }
    let least = |jobs: &mut [Job<'_>]| pulp::Arch::new().dispatch(Least { layout, costs, jobs, stop });
    if shared {
        let many = jobs.len().div_ceil(PARTS).max(1);
        jobs.par_chunks_mut(many).for_each(least);
    } else {
        least(&mut jobs);
    }
    drop(jobs);
    stop.check()?;
    Ok(memory)
}

/// The costs of the visited variable.
#[derive(Debug, Default)]
struct Own {
    unary: Vec<Cost>,
    taken: Vec<Cost>,
    shares: Vec<Cost>,
}

impl Own {
    fn read(&mut self, layout: &Layout, costs: &Costs, v: u32) {
        self.unary.clear();
        self.taken.clear();
        costs.unary.read(layout.values(v), &mut self.unary);
        costs.taken.read(layout.rows(v), &mut self.taken);
    }

    /// Writes all costs, or none if stopped.
    fn write(&self, layout: &Layout, costs: &mut Costs, v: u32, stop: &Stop) -> Result<(), Error> {
        costs.unary.prepare(&self.unary, stop)?;
        costs.taken.prepare(&self.taken, stop)?;
        costs.unary.write(layout.values(v).start, &self.unary);
        costs.taken.write(layout.rows(v).start, &self.taken);
        Ok(())
    }

    /// Collects the least costs of the variable's functions for each value, and returns the cost that all values share.
    /// Values that cost `left` or more are removed.
    fn collect(&mut self, least: &[Cost], left: Cost) -> Cost {
        let Own { unary, taken, .. } = self;
        let size = unary.len().max(1);
        for (least, taken) in least.chunks_exact(size).zip(taken.chunks_exact_mut(size)) {
            for ((sum, &least), taken) in unary.iter_mut().zip(least).zip(taken) {
                if least.max(*sum) >= NEVER / 2 {
                    *sum = NEVER;
                } else {
                    *sum += least;
                    *taken += least;
                }
            }
        }
        let lowest = unary.iter().copied().min().unwrap_or(0);
        // no solution below the limit has a value that costs this much
        unary.iter_mut().for_each(|sum| *sum = if *sum >= left { NEVER } else { *sum - lowest });
        lowest
    }

    /// Gives most of the remaining costs to the functions that have variables to come.
    fn give(&mut self, uses: &[Use], forward: bool) {
        let Own { unary, taken, shares } = self;
        let onward = |forward: bool| uses.iter().filter(|own| own.onward(forward)).count() as Cost;
        let (size, parts) = (unary.len().max(1), onward(true).max(onward(false)).max(1));
        shares.clear();
        shares.extend(unary.iter().map(|&sum| sum / parts));
        for (own, taken) in uses.iter().zip(taken.chunks_exact_mut(size)) {
            let gives = own.onward(forward);
            for ((taken, &share), &sum) in taken.iter_mut().zip(&*shares).zip(&*unary) {
                if sum == NEVER {
                    // all its entries count as forbidden from now on
                    *taken = -NEVER;
                } else if gives {
                    *taken -= share;
                }
            }
        }
        for (sum, share) in unary.iter_mut().zip(&*shares) {
            *sum -= if *sum < NEVER { share * onward(forward) } else { 0 };
        }
    }
}
