//! Cost shifting (soft arc consistency by reparametrization): every assignment keeps its cost while the constant grows.
//!
//! The least cost of a function for a value of one of its variables moves to the value's unary cost, and unary costs
//! move to functions. The least unary cost of a variable is a cost of every assignment, so it moves to the constant.
//! Passes visit the variables along an order, forward and backward. A visit collects costs from all functions of the
//! variable and gives most of them to the functions with variables to come, as in sequential reweighted message passing
//! (Kolmogorov, "A new look at reweighted message passing", 2015; TRW-S for functions of two variables). No entry
//! becomes negative, so the constant is a lower bound at any time, and it never falls.
//!
//! The dependencies between visits decide which of them share a wave ([`layout`]). Threads ([`visit`]) or a device
//! ([`cuda`](crate::elimination::cuda)) process a wave, with the same result.
//!
//! All arithmetic is in integers. Costs are first multiplied by a power of two, so that shares can be smaller than the
//! network's unit. The remainder of a division stays where it was.

mod amounts;
mod cuda;
#[cfg(test)]
mod cuda_tests;
mod cuda_words;
mod journal;
mod layout;
mod visit;

use crate::bounds::tuning::cost_shifting::{DEVICE_POLL, DEVICE_WAVES, LAUNCH};
use crate::bounds::tuning::{DEVICE_SPEED, MOST_BITS};
use crate::certificate::Step;
use crate::device::DeviceError;
use crate::elimination::Gpu;
use crate::elimination::Progress;
use crate::elimination::cap;
use crate::error::Error;
use crate::model::{Cost, CostFunction, FORBIDDEN, Odometer, Problem, Table};
use crate::stop::Stop;
use crate::tensor::tiles::NEVER;
use crate::threads;
use crate::tuning::tuning;
pub(crate) use cuda::kernels;
use cuda::{ShiftDevice, begin as begin_shift};
use journal::Journal;
pub(crate) use layout::{Costs, Layout};
use layout::{Scale, Scratch};
use std::sync::Arc;
use visit::{PassWave, visit};

/// Limit of the scaled costs of a solution that tables of 32 bits can hold, five of them summed (see `Plan::new`).
pub(super) const SHORT: Cost = 1 << 28;
/// Limit of the scaled costs of a solution if the unscaled ones already need 64 bits.
pub(super) const LONG: Cost = 1 << 48;

/// A problem whose costs are being shifted.
#[derive(Debug)]
pub struct Shift {
    problem: Arc<Problem>,
    /// Exponent of the power of two that costs are multiplied by.
    bits: u32,
    layout: Arc<Layout>,
    /// Costs on the host, in the state `here`.
    costs: Costs,
    here: State,
    /// A device that goes on from these costs and has reached the state `there`.
    device: Option<Box<ShiftDevice>>,
    there: State,
    gpu: Option<Arc<Gpu>>,
    /// Whether to wait for the device before any work.
    waits: bool,
    trouble: Option<DeviceError>,
    lost: bool,
    /// The largest constant so far.
    reached: Cost,
    /// Limit of the scaled constant that no solution reaches.
    range: Cost,
    /// Whether entries fit into 32 bits.
    short: bool,
    infeasible: bool,
    /// The record for a certificate; `None` if none is wanted.
    journal: Option<Journal>,
    work: u64,
}

/// The progress of the passes.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Number of finished waves of the current pass.
    at: usize,
    /// Number of finished passes.
    passes: u32,
    /// Scaled constant, without the problem's own.
    constant: Cost,
    /// Scaled constant at the start of the current pair of passes.
    before: Cost,
    /// Whether the last pass is finished.
    done: bool,
}

impl State {
    /// Records that `waves` of the `of` waves of a pass are finished. The passes end with a forward and a backward pass
    /// that together gain at most a thousandth, or after the largest number of passes.
    fn advance(&mut self, waves: usize, of: usize, constant: Cost) {
        (self.at, self.constant) = (self.at + waves, constant);
        if self.at < of {
            return;
        }
        (self.at, self.passes) = (0, self.passes + 1);
        if self.passes.is_multiple_of(2) {
            if self.constant - self.before <= self.constant / 1000 {
                self.done = true;
            }
            self.before = self.constant;
        }
        self.done |= self.passes >= tuning().cost_shifting.passes;
    }
}

impl Shift {
    /// Creates a shift without any moves. Costs from `ub` on need not be distinguished; passes follow `order`. Returns
    /// `None` if costs are too large for sums of 64 bits, or `stop` is set.
    pub fn new(problem: &Arc<Problem>, ub: Option<Cost>, order: &[u32], stop: &Stop) -> Option<Shift> {
        let range = cap(problem, ub.unwrap_or(problem.top).min(problem.top), stop).ok()?.max(1);
        if range >= LONG {
            return None;
        }
        let room = if range < SHORT { SHORT } else { LONG };
        let bits = (0..=MOST_BITS).take_while(|&bits| range < room >> bits).last().unwrap_or(0);
        let scale = Scale { bits, limit: range };
        let (layout, constant) = Layout::new(problem, order, scale, stop).ok()?;
        let short = range << bits < SHORT;
        let costs = layout.costs(short, stop).ok()?;
        let here = State { constant, ..State::default() };
        Some(Shift {
            problem: problem.clone(),
            bits,
            layout: Arc::new(layout),
            costs,
            here,
            device: None,
            there: here,
            gpu: None,
            waits: false,
            trouble: None,
            lost: false,
            reached: constant,
            range: range << bits,
            short,
            infeasible: constant >= NEVER,
            journal: None,
            work: 0,
        })
    }

    /// Keeps what a certificate needs. Call it before the first pass.
    pub fn keep_journal(&mut self) {
        self.journal = Some(Journal::new(&self.problem));
    }

    /// Lets a device make the passes: `always`, or once its kernel is compiled if the passes are worth the transfer. A
    /// shift with a journal stays on the host, because the journal needs the costs at each removal of a value.
    pub fn on(mut self, gpu: Option<&Arc<Gpu>>, always: bool) -> Shift {
        let (_, waves, work) = self.passes();
        let pays = work >= tuning().general.device_worthwhile.max(LAUNCH * waves as u64);
        let fits = |gpu: &Gpu| gpu.budget().is_ok_and(|free| work.saturating_mul(size_of::<Cost>() as u64) <= free / 2);
        let wanted = |gpu: &&Arc<Gpu>| self.journal.is_none() && (always || pays && fits(gpu));
        self.gpu = gpu.filter(wanted).cloned();
        self.waits = always;
        if let Some(gpu) = &self.gpu {
            begin_shift(gpu, self.short);
        }
        self
    }

    /// Returns the exponent of the power of two that costs are multiplied by.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the steps from the problem to the shifted one; `None` if no journal is kept.
    pub(crate) fn steps(&self) -> Option<Vec<Step>> {
        let taken = |function: u32, place: u32| self.layout.taken(&self.costs, function, place as usize);
        Some(self.journal.as_ref()?.complete(taken))
    }

    /// Returns the bytes that shifting a problem takes, and those of the shifted problem.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn bytes(problem: &Problem, stop: &Stop) -> Result<(u64, u64), Error> {
        Layout::bytes(problem, stop)
    }

    /// Makes passes for about `work` entries. They end once a forward and a backward pass together gain at most a
    /// thousandth, or after the largest number of passes.
    pub fn advance(&mut self, work: u64, stop: &Stop) -> Progress {
        let end = self.work.saturating_add(work);
        loop {
            let now = if self.device.is_some() { &self.there } else { &self.here };
            let done = self.infeasible || now.done || self.layout.waves.is_empty();
            if !done && (self.work >= end || stop.is_set()) {
                return Progress::More;
            }
            let step = if done { self.fetch() } else { self.step(end - self.work, stop) };
            match step {
                // after a failure the host continues from its own costs; the bound is kept
                Err(error) => (self.trouble, self.lost, self.gpu, self.device) = (Some(error), true, None, None),
                Ok(()) if done => return Progress::Done,
                Ok(()) => {}
            }
        }
    }

    /// Processes one wave, or several on a device.
    fn step(&mut self, work: u64, stop: &Stop) -> Result<(), DeviceError> {
        if self.device.is_none()
            && let Some(gpu) = self.gpu.clone()
        {
            (self.device, self.there) = (self.begin(&gpu)?, self.here);
            if self.waits {
                return Ok(());
            }
        }
        let (layout, of) = (&*self.layout, self.layout.waves.len());
        let (now, waves, entries) = match &mut self.device {
            None => {
                let State { at, passes, mut constant, .. } = self.here;
                let forward = passes.is_multiple_of(2);
                let journal = self.journal.as_mut();
                let wave = PassWave { forward, number: at };
                let visited = visit(layout, &mut self.costs, wave, &mut constant, self.range, journal, stop);
                match visited {
                    Ok(()) => self.here.advance(1, of, constant),
                    // the costs are not used any more, but the bound counts
                    Err(_) => self.here.constant = constant,
                }
                (&self.here, 1, layout.wave(forward, at).work)
            }
            Some(device) => {
                let State { at, passes, constant, .. } = self.there;
                let forward = passes.is_multiple_of(2);
                let most = work.saturating_mul(DEVICE_SPEED).min(DEVICE_POLL);
                let (mut end, mut entries) = (at, 0);
                while end < of.min(at + DEVICE_WAVES) && entries < most {
                    entries += layout.wave(forward, end).work;
                    end += 1;
                }
                let constant = device.run(forward, at..end, constant, self.range)?;
                self.there.advance(end - at, of, constant);
                (&self.there, end - at, entries)
            }
        };
        // a device's time counts as the entries that a core reads in it
        let on_device = self.device.is_some();
        self.work += if on_device { entries / DEVICE_SPEED + LAUNCH * waves as u64 } else { entries };
        self.reached = self.reached.max(now.constant);
        self.infeasible |= now.constant >= self.range;
        Ok(())
    }

    /// Uploads the current costs to a device, once its kernel is compiled.
    fn begin(&self, gpu: &Arc<Gpu>) -> Result<Option<Box<ShiftDevice>>, DeviceError> {
        let (layout, costs, range) = (&self.layout, &self.costs, self.range);
        let device = match self.short {
            true => ShiftDevice::new::<i32>(gpu, layout, costs, range, self.waits)?,
            false => ShiftDevice::new::<i64>(gpu, layout, costs, range, self.waits)?,
        };
        Ok(device.map(Box::new))
    }

    /// Downloads the costs from the device.
    fn fetch(&mut self) -> Result<(), DeviceError> {
        if let Some(device) = &self.device {
            (self.costs, self.here) = (device.costs(self.short)?, self.there);
            self.device = None;
        }
        Ok(())
    }

    /// Returns the finished passes, the waves of a pass, and the work of a pass.
    pub fn passes(&self) -> (u32, usize, u64) {
        let waves = &self.layout.waves;
        (self.here.passes, waves.len(), waves.iter().map(|wave| wave.work).sum())
    }

    /// Returns the error of a device that has failed, once. The host repeats the lost work.
    pub fn take_trouble(&mut self) -> Option<DeviceError> {
        self.trouble.take()
    }

    pub(crate) fn has_lost_device(&self) -> bool {
        self.lost
    }

    /// Returns the lower bound, or `limit` if no solution is below it.
    pub fn lower_bound(&self, limit: Cost) -> Cost {
        if self.infeasible {
            return limit;
        }
        self.unscaled(self.reached).saturating_add(self.problem.constant).min(limit)
    }

    /// Returns the entries read so far.
    pub fn work_done(&self) -> u64 {
        self.work
    }

    /// Takes up the cost of a better incumbent: costs from it on need not be distinguished any more.
    pub fn below(&mut self, ub: Cost) {
        let room = ub.saturating_sub(self.problem.constant).max(1);
        if room < self.range >> self.bits {
            self.range = room << self.bits;
            self.infeasible |= self.reached >= self.range;
        }
    }

    /// Returns for each variable and value a lower bound on the solutions with that value: the constant, the value's
    /// unary cost, and the least costs of its functions. [`FORBIDDEN`] means that no solution below the limit has the
    /// value.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn value_bounds(&self, stop: &Stop) -> Result<Vec<Vec<Cost>>, Error> {
        // the costs on the host, which may be behind those of a device
        let constant = self.here.constant;
        let bounds = |v: u32| {
            stop.check()?;
            let mut sum = self.costs.unary.part(self.layout.values(v));
            let (mut least, mut scratch) = (vec![0; sum.len()], Scratch::default());
            for &own in self.layout.uses(v) {
                self.layout.least(&self.costs, own, &mut least, &mut scratch);
                sum.iter_mut().zip(&least).for_each(|(sum, &least)| *sum = (*sum + least).min(NEVER));
            }
            let total = |&sum: &Cost| match sum + constant {
                total if self.infeasible || total >= self.range => FORBIDDEN,
                total => self.unscaled(total) + self.problem.constant,
            };
            Ok(sum.iter().map(total).collect())
        };
        threads::try_map(0..self.layout.variables() as u32, bounds)
    }

    /// Returns the least cost that a scaled one stands for.
    fn unscaled(&self, scaled: Cost) -> Cost {
        // rounded up: costs are integers
        scaled.saturating_add((1 << self.bits) - 1) >> self.bits
    }

    /// Converts a lower bound of the shifted problem into one of the unscaled problem; [`FORBIDDEN`] stays.
    pub fn bound(&self, scaled: Cost) -> Cost {
        if scaled >= FORBIDDEN { FORBIDDEN } else { self.unscaled(scaled).saturating_add(self.problem.constant) }
    }

    /// Returns the total in the shifted problem of an assignment whose total in the unscaled problem is `cost`. The
    /// constant, which may exceed all other costs, is not scaled: the shifted problem lacks it.
    pub fn scaled(&self, cost: Cost) -> Cost {
        if cost >= FORBIDDEN { FORBIDDEN } else { self.scaled_entry(cost.saturating_sub(self.problem.constant)) }
    }

    /// Returns the entry of the shifted problem for an unscaled entry.
    fn scaled_entry(&self, cost: Cost) -> Cost {
        if cost >= FORBIDDEN >> self.bits { FORBIDDEN } else { cost << self.bits }
    }

    /// Returns the total from which assignments of the shifted problem are of no interest.
    pub fn limit(&self) -> Cost {
        self.range
    }

    /// Returns the shifted problem. An assignment costs 2^bits times its cost above the constant, or is forbidden if
    /// that cost reached the limit.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn problem(&self, stop: &Stop) -> Result<Problem, Error> {
        let top = self.scaled(self.problem.top);
        let back = |scaled: Cost| if scaled >= NEVER / 2 { FORBIDDEN } else { scaled };
        let functions = stop.each((0..).zip(&self.problem.functions)).map(|item| {
            let (index, function) = item?;
            let table = match (self.layout.address(index), &function.table) {
                (None, Table::Sparse(table)) => {
                    let least = function.min(&self.problem.domains);
                    let scaled =
                        |cost: Cost| if cost >= FORBIDDEN { FORBIDDEN } else { self.scaled_entry(cost - least) };
                    Table::Sparse(Arc::new(table.map(scaled)))
                }
                _ => Table::dense(self.all(index).map(back).collect()),
            };
            Ok(CostFunction { scope: function.scope.clone(), table })
        });
        let unary_of = |v: u32| self.costs.unary.part(self.layout.values(v)).into_iter().map(back).collect();
        let unary = stop.each(0..self.layout.variables() as u32).map(|v| Ok(unary_of(v?)));
        Ok(Problem {
            domains: self.problem.domains.clone(),
            functions: functions.collect::<Result<_, Error>>()?,
            unary: unary.collect::<Result<_, Error>>()?,
            constant: if self.infeasible { top } else { self.here.constant },
            top,
        })
    }

    /// Returns all entries of a function, less the costs taken.
    fn all(&self, function: u32) -> impl Iterator<Item = Cost> {
        let places = self.layout.places(function);
        let taken: Vec<Vec<Cost>> = places.iter().map(|place| self.costs.taken.part(place.cells())).collect();
        let mut values = Odometer::new(places.iter().map(|place| place.size as usize).collect());
        self.layout.entries(function).map(move |entry| {
            let taken: Cost = values.digits.iter().zip(&taken).map(|(&digit, taken)| taken[digit]).sum();
            let _ = values.advance();
            entry - taken
        })
    }
}

/// Access for the tests of devices.
#[cfg(test)]
impl Shift {
    pub(crate) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.costs
    }

    pub(crate) fn constant(&self) -> Cost {
        self.here.constant
    }

    pub(crate) fn range(&self) -> Cost {
        self.range
    }
}

#[cfg(test)]
mod tests;
