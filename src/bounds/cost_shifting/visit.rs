//! Visits on the host: any number of threads, with the same result.

use super::journal::Journal;
use super::layout::{Costs, Layout, Use};
use crate::bounds::tuning::cost_shifting::{PARTS, SHARED};
use crate::error::Error;
use crate::model::Cost;
use crate::stop::Stop;
use crate::tensor::tiles::NEVER;
use rayon::prelude::*;

/// A variable's use, with what its function costs at least for each value.
type Job<'a> = (Use, &'a mut [Cost]);

/// What functions cost at least, for several uses of variables.
struct Least<'a, 'b> {
    layout: &'a Layout,
    costs: &'a [Costs],
    jobs: &'a mut [Job<'b>],
    stop: &'a Stop,
}

impl pulp::WithSimd for Least<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let mut sums = Vec::new();
        for job in self.stop.each(self.jobs) {
            let Ok((own, least)) = job else { return };
            self.layout.least(self.costs, *own, least, &mut sums);
        }
    }
}

/// Visits the variables of a wave. What they all cost goes to the constant, which stays below `range` or comes to it
/// where there is no solution. A wave that is stopped has visited some of them: costs and constant are as right as
/// before.
pub(crate) fn visit(
    layout: &Layout,
    costs: &mut [Costs],
    (forward, number): (bool, usize),
    constant: &mut Cost,
    range: Cost,
    mut journal: Option<&mut Journal>,
    stop: &Stop,
) -> Result<(), Error> {
    let wave = layout.wave(forward, number);
    let (mut cells, mut uses) = (0, 0);
    for v in stop.each(&wave.variables) {
        let v = *v? as usize;
        cells += costs[v].taken.len();
        uses += layout.uses[v].len();
    }
    let mut memory: Vec<Cost> = vec![0; cells];
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(uses);
    let mut rest = &mut memory[..];
    for v in stop.each(&wave.variables) {
        let v = *v?;
        let values = costs[v as usize].unary.len();
        for &own in &layout.uses[v as usize] {
            let (least, others) = rest.split_at_mut(values);
            jobs.push((own, least));
            rest = others;
        }
    }
    let least = |jobs: &mut [Job<'_>]| pulp::Arch::new().dispatch(Least { layout, costs, jobs, stop });
    if wave.work >= SHARED {
        let many = jobs.len().div_ceil(PARTS).max(1);
        jobs.par_chunks_mut(many).for_each(least);
    } else {
        least(&mut jobs);
    }
    drop(jobs);
    stop.check()?;
    let (left, mut rest) = (range - *constant, &memory[..]);
    let mut shares = Vec::new();
    for v in stop.each(&wave.variables) {
        let v = *v?;
        let own = &mut costs[v as usize];
        let (least, others) = rest.split_at(own.taken.len());
        rest = others;
        let lowest = own.collect(least, left);
        if let Some(journal) = &mut journal {
            let lost = costs[v as usize].unary.iter().map(|&cost| cost == NEVER);
            journal.visited(v, lost, |function, place| layout.taken(costs, function, place as usize));
        }
        costs[v as usize].give(&layout.uses[v as usize], forward, &mut shares);
        *constant = (*constant + lowest).min(range);
        if *constant >= range {
            break;
        }
    }
    Ok(())
}

impl Costs {
    /// Collects what the variable's functions cost at least for each value, and returns what all values cost. From
    /// `left` on a value is too dear.
    fn collect(&mut self, least: &[Cost], left: Cost) -> Cost {
        let Costs { unary, taken } = self;
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
        // every solution with a value that is too dear costs as much
        unary.iter_mut().for_each(|sum| *sum = if *sum >= left { NEVER } else { *sum - lowest });
        lowest
    }

    /// Gives most of what is left on to the functions that have variables to come.
    fn give(&mut self, uses: &[Use], forward: bool, shares: &mut Vec<Cost>) {
        let Costs { unary, taken } = self;
        let onward = |forward: bool| uses.iter().filter(|own| own.onward[usize::from(!forward)]).count() as Cost;
        let (size, parts) = (unary.len().max(1), onward(true).max(onward(false)).max(1));
        shares.clear();
        shares.extend(unary.iter().map(|&sum| sum / parts));
        for (own, taken) in uses.iter().zip(taken.chunks_exact_mut(size)) {
            let gives = own.onward[usize::from(!forward)];
            for ((taken, &share), &sum) in taken.iter_mut().zip(&*shares).zip(&*unary) {
                if sum == NEVER {
                    // all its entries look forbidden from now on
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
