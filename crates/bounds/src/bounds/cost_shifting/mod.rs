//! Cost shifting: a network with the same cost for every assignment and a larger constant.
//!
//! What a function costs at least for a value of one of its variables moves to that value's unary cost, and unary costs
//! move to functions; what every value of a variable costs is what every assignment costs. Passes go along an order of
//! the variables, there and back: a variable collects from all its functions and gives most of it on to those that have
//! variables to come, as in sequential reweighted message passing (Kolmogorov, "A new look at reweighted message
//! passing", 2015; TRW-S for functions of two variables). No entry ever becomes negative, so the sum that has become
//! constant is a bound at any time, and it never falls.
//!
//! What a visit needs of others decides which visits share a wave ([`layout`]); threads ([`visit`]) or a device
//! ([`cuda`](crate::elimination::cuda)) make a wave's, with the same result.
//!
//! Everything is in integers. Costs are multiplied by a power of two before, so that shares can be smaller than the
//! network's unit; what a division leaves over stays where it was.

mod amounts;
mod cuda;
#[cfg(test)]
mod cuda_tests;
mod cuda_words;
mod journal;
mod layout;
mod visit;

use crate::bounds::tuning::cost_shifting::{DEVICE_POLL, DEVICE_WAVES, LAUNCH, PASSES};
use crate::bounds::tuning::{DEVICE_SPEED, DEVICE_WORTHWHILE, MOST_BITS};
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
pub(crate) use cuda::kernels;
use cuda::{ShiftDevice, begin as begin_shift};
use journal::Journal;
pub(crate) use layout::{Costs, Layout};
use layout::{Scale, Scratch};
use std::sync::Arc;
use visit::{PassWave, visit};

/// A scaled cost of a solution stays below this: tables of 32 bits take it, five of them summed (see `Plan::new`).
pub(super) const SHORT: Cost = 1 << 28;
/// The same where the unscaled ones need 64 bits already.
pub(super) const LONG: Cost = 1 << 48;

/// A network on its way to a larger constant.
#[derive(Debug)]
pub struct Shift {
    problem: Arc<Problem>,
    /// Costs are multiplied by 2^bits.
    bits: u32,
    layout: Arc<Layout>,
    /// After as much as `here` tells.
    costs: Costs,
    here: State,
    /// Goes on from there, and has come as far as `there` tells.
    device: Option<Box<ShiftDevice>>,
    there: State,
    gpu: Option<Arc<Gpu>>,
    /// Nothing is done before the device is ready.
    waits: bool,
    trouble: Option<DeviceError>,
    lost: bool,
    /// The largest constant so far.
    reached: Cost,
    /// Scaled: with the constant, no solution costs as much.
    range: Cost,
    /// Whether entries fit into 32 bits.
    short: bool,
    infeasible: bool,
    /// What was done, so that it can be checked; only where that is asked for.
    journal: Option<Journal>,
    work: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Waves of the pass at work that are done, and passes.
    at: usize,
    passes: u32,
    /// Scaled, and without the network's own constant.
    constant: Cost,
    /// The same when this pass began.
    before: Cost,
    /// That was the last.
    done: bool,
}

impl State {
    /// Some waves are done, of so many of a pass. The last pass is one there and back that gained less than a
    /// thousandth.
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
        self.done |= self.passes >= PASSES;
    }
}

impl Shift {
    /// Nothing is shifted yet. Costs from `ub` on need not be told apart; passes follow `order`. `None` where costs are
    /// too large for sums of 64 bits, and once `stop` is set.
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

    /// From now on, which is before the first pass, keeps what a certificate needs.
    pub fn keep_journal(&mut self) {
        self.journal = Some(Journal::new(&self.problem));
    }

    /// A device makes the passes, `always` or where they are worth the way there and as soon as its kernel is compiled.
    /// Not where a journal is kept: that needs the costs at each loss of a value.
    pub fn on(mut self, gpu: Option<&Arc<Gpu>>, always: bool) -> Shift {
        let (_, waves, work) = self.passes();
        let pays = work >= DEVICE_WORTHWHILE.max(LAUNCH * waves as u64);
        let fits = |gpu: &Gpu| gpu.budget().is_ok_and(|free| work.saturating_mul(size_of::<Cost>() as u64) <= free / 2);
        let wanted = |gpu: &&Arc<Gpu>| self.journal.is_none() && (always || pays && fits(gpu));
        self.gpu = gpu.filter(wanted).cloned();
        self.waits = always;
        if let Some(gpu) = &self.gpu {
            begin_shift(gpu, self.short);
        }
        self
    }

    /// The power of two that costs are multiplied by.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The steps so far from the network to the shifted one, where a journal was kept.
    pub(crate) fn steps(&self) -> Option<Vec<Step>> {
        let taken = |function: u32, place: u32| self.layout.taken(&self.costs, function, place as usize);
        Some(self.journal.as_ref()?.complete(taken))
    }

    /// Bytes that shifting a problem takes, and those of the shifted problem.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn bytes(problem: &Problem, stop: &Stop) -> Result<(u64, u64), Error> {
        Layout::bytes(problem, stop)
    }

    /// Does passes for about `work` entries. Done once a pass there and back gains less than a thousandth.
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
                // all begins again from what is here; the bound stays
                Err(error) => (self.trouble, self.lost, self.gpu, self.device) = (Some(error), true, None, None),
                Ok(()) if done => return Progress::Done,
                Ok(()) => {}
            }
        }
    }

    /// Makes a wave, or several on a device.
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
                    // nothing goes on from here, but the bound counts
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
        // those of a device count as many as a core looks at in the time
        let on_device = self.device.is_some();
        self.work += if on_device { entries / DEVICE_SPEED + LAUNCH * waves as u64 } else { entries };
        self.reached = self.reached.max(now.constant);
        self.infeasible |= now.constant >= self.range;
        Ok(())
    }

    /// Takes costs as they are to a device, once its kernel is compiled.
    fn begin(&self, gpu: &Arc<Gpu>) -> Result<Option<Box<ShiftDevice>>, DeviceError> {
        let (layout, costs, range) = (&self.layout, &self.costs, self.range);
        let device = match self.short {
            true => ShiftDevice::new::<i32>(gpu, layout, costs, range, self.waits)?,
            false => ShiftDevice::new::<i64>(gpu, layout, costs, range, self.waits)?,
        };
        Ok(device.map(Box::new))
    }

    /// Brings what a device has moved here.
    fn fetch(&mut self) -> Result<(), DeviceError> {
        if let Some(device) = &self.device {
            (self.costs, self.here) = (device.costs(self.short)?, self.there);
            self.device = None;
        }
        Ok(())
    }

    /// Passes so far, waves of a pass, and entries that it looks at.
    pub fn passes(&self) -> (u32, usize, u64) {
        let waves = &self.layout.waves;
        (self.here.passes, waves.len(), waves.iter().map(|wave| wave.work).sum())
    }

    /// Why a device that was meant to does nothing any more, told once. What it had moved is lost, and made again.
    pub fn take_trouble(&mut self) -> Option<DeviceError> {
        self.trouble.take()
    }

    pub(crate) fn has_lost_device(&self) -> bool {
        self.lost
    }

    /// No solution costs less; `limit` or more where there is none below.
    pub fn lower_bound(&self, limit: Cost) -> Cost {
        if self.infeasible {
            return limit;
        }
        self.unscaled(self.reached).saturating_add(self.problem.constant).min(limit)
    }

    /// Entries looked at so far.
    pub fn work_done(&self) -> u64 {
        self.work
    }

    /// A better solution is known: what costs as much need not be told apart any more.
    pub fn below(&mut self, ub: Cost) {
        let room = ub.saturating_sub(self.problem.constant).max(1);
        if room < self.range >> self.bits {
            self.range = room << self.bits;
            self.infeasible |= self.reached >= self.range;
        }
    }

    /// What a solution with each value costs at least: the constant, the value's own cost and what each of its
    /// functions takes for it, shares of one sum as all that is moved. [`FORBIDDEN`] where no solution below the limit
    /// has the value.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn value_bounds(&self, stop: &Stop) -> Result<Vec<Vec<Cost>>, Error> {
        // a device's costs may have come further
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

    /// The cost that a scaled one stands for at least.
    fn unscaled(&self, scaled: Cost) -> Cost {
        // rounded up: costs are integers
        scaled.saturating_add((1 << self.bits) - 1) >> self.bits
    }

    /// The lower bound on the network that follows from one on the shifted network; [`FORBIDDEN`] stays.
    pub fn bound(&self, scaled: Cost) -> Cost {
        if scaled >= FORBIDDEN { FORBIDDEN } else { self.unscaled(scaled).saturating_add(self.problem.constant) }
    }

    /// The total in the shifted network of an assignment whose total in the network is `cost`. The network's constant,
    /// which may be far larger than all other costs, is not scaled: the shifted network lacks it.
    pub fn scaled(&self, cost: Cost) -> Cost {
        if cost >= FORBIDDEN { FORBIDDEN } else { self.scaled_entry(cost.saturating_sub(self.problem.constant)) }
    }

    /// The entry of the shifted network for an entry of the network.
    fn scaled_entry(&self, cost: Cost) -> Cost {
        if cost >= FORBIDDEN >> self.bits { FORBIDDEN } else { cost << self.bits }
    }

    /// The total from which on no assignment of the shifted network is a solution of interest.
    pub fn limit(&self) -> Cost {
        self.range
    }

    /// The shifted network: an assignment costs 2^bits times what it cost above the network's constant, or is forbidden
    /// if that reached the limit.
    ///
    /// # Errors
    /// [`Error::Stopped`].
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

    /// All entries of a function less what was taken.
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

/// What tests of devices look at.
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
