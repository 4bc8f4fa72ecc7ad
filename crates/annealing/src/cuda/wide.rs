//! One state over a whole device (`kernels/wide.cu`): for cores whose states are too long for a multiprocessor each, or
//! so long that one that all multiprocessors anneal is sooner good. Its children are those that all threads of the CPU
//! make together (`annealing::cpu::growth`), bit for bit.

use super::wide_parts::{Part, Parts};
use super::wide_program::{CrossoverArgument, Outcome, Shape, Step, THREADS, WAITING};
use super::{Standing, disagreement, missing, packed, unpacked};
use crate::core::context::SearchContext;
use crate::core::cuda::Device;
use crate::core::effort::LostDevice;
use crate::core::elite::Elite;
use crate::device::{Blocks, CudaSlice, DeviceError, Held, PushKernelArg};
use crate::fang::boltzmann::Boltzmann;
use crate::generation::{ChildPlan, Generation, Offspring, Population, Replacement, Tally, decision};
use crate::rng::mix;
use crate::stop::Stop;
use crate::tuning::wide::{BARRIER, LEAST_VARIABLES, MOST_PARTS, SHARED_SWEEP, SPEED, TELLING, TURN_PART, TURN_WORK};
use crate::tuning::{GREEDY_SWEEPS, TURN_SWEEPS};
use crate::value_tables::Energy;
use std::ops::Range;

/// Returns whether a whole device anneals one state of a core: where all threads of the CPU do, or where one state that
/// all multiprocessors anneal is sooner good than many.
pub(crate) fn suits(context: &SearchContext) -> bool {
    let is_free = !context.portable && context.population.is_none();
    let least = LEAST_VARIABLES[usize::from(context.falls_into_parts())];
    context.has_one_state() || is_free && context.is_large() && context.variables() >= least
}

/// Returns whether several devices anneal one state of a core together.
pub(crate) fn is_shared(context: &SearchContext) -> bool {
    suits(context) && sweep_time(context) >= SHARED_SWEEP
}

/// Returns an estimate of the nanoseconds that one device takes for a sweep.
fn sweep_time(context: &SearchContext) -> u64 {
    context.sweep_work / SPEED + BARRIER * context.order.classes.len() as u64
}

/// A state and its child in device memory.
pub(crate) struct WidePopulation {
    /// The parts of the variables, each with a copy of the child's values.
    parts: Parts,
    /// A second stream of the first device, whose copies do not wait for sweeps.
    aside: Device,
    shape: Shape,
    state_values: CudaSlice<u8>,
    /// Snapshots of the child's values, written by turns: the host reads one while the device writes the other.
    measured: [CudaSlice<u8>; 2],
    /// The index of the latest snapshot.
    last_measured: usize,
    state: Standing,
    child: Option<(Standing, ChildPlan)>,
    growing: Option<Growing>,
    steps: Vec<Boltzmann>,
    crossover: CrossoverArgument,
    _held: Held,
    best: i64,
    best_allowed: i64,
    /// Nanoseconds of sweeps, about, since something was told of.
    untold: u64,
}

/// A child in the making.
#[derive(Clone, Copy, Debug)]
struct Growing {
    plan: ChildPlan,
    sweeps: u32,
    /// The turn that the device is executing, if one is launched.
    ahead: Option<Turn>,
}

/// A number of sweeps of a child that are launched together.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The number of the child's sweeps at the end of the turn.
    last: u32,
    /// The index of the snapshot if the child is measured at the end of the turn.
    measured: Option<usize>,
}

/// What determines a child: the core, the generation and the slot.
#[derive(Clone, Copy)]
struct Growth<'a> {
    context: &'a SearchContext,
    generation: &'a Generation,
    slot: usize,
    /// The number of devices that sweep it.
    devices: usize,
}

impl Growth<'_> {
    /// Returns the number of all sweeps of the child, greedy ones included.
    fn sweeps(self) -> u32 {
        self.generation.sweeps + GREEDY_SWEEPS
    }

    /// Returns the turn that begins after `sweeps` sweeps.
    fn turn(self, sweeps: u32) -> Turn {
        let time = TURN_WORK.max(self.context.sweep_work / TURN_PART);
        let turn = match self.context.portable {
            true => TURN_SWEEPS.into(),
            false => (time * self.devices as u64 / sweep_time(self.context).max(1)).max(1),
        };
        let last = u64::from(sweeps).saturating_add(turn).min(self.sweeps().into()) as u32;
        Turn { last, measured: None }
    }

    /// Returns whether the child is measured after a turn. A hot child does not improve on the incumbent. In a portable
    /// run every child is measured if costs are exact, because the CPU knows its energy then.
    fn measures(self, turn: Turn) -> bool {
        let is_measured = match self.context.portable {
            true => self.context.tables.shift == 0,
            false => 2 * turn.last >= self.sweeps(),
        };
        turn.last < self.sweeps() && is_measured
    }
}

impl WidePopulation {
    /// Makes a population without a state: on several devices if they [share](is_shared) the core, else on the first.
    pub fn new(devices: &[Device], context: &SearchContext) -> Result<WidePopulation, LostDevice> {
        let count = if is_shared(context) { devices.len().min(MOST_PARTS) } else { 1 };
        let shape = Shape::of(&devices[0], context);
        let shape = if count > 1 { shape.in_parts() } else { shape };
        Self::shaped(&devices[..count], context, shape)
    }

    /// Makes a population on one device with one launch per class, whatever the class sizes.
    #[cfg(test)]
    pub fn by_class(cuda: &Device, context: &SearchContext, links: bool) -> Result<WidePopulation, LostDevice> {
        let shape = Shape::of(cuda, context);
        Self::shaped(
            std::slice::from_ref(cuda),
            context,
            Shape { by_class: true, links: links && shape.links, ..shape },
        )
    }

    /// Makes a population on all of these devices, whatever the class sizes.
    #[cfg(test)]
    pub fn in_parts(devices: &[Device], context: &SearchContext) -> Result<WidePopulation, LostDevice> {
        Self::shaped(devices, context, Shape::of(&devices[0], context).in_parts())
    }

    fn shaped(devices: &[Device], context: &SearchContext, shape: Shape) -> Result<WidePopulation, LostDevice> {
        let first = |error| LostDevice { ordinal: devices[0].info.ordinal, error };
        // bounds use the devices' first streams
        let mut beside: Vec<Device> = Vec::new();
        for cuda in devices {
            let known = beside.iter().find(|known| known.info.ordinal == cuda.info.ordinal).cloned();
            let lost = |error| LostDevice { ordinal: cuda.info.ordinal, error };
            beside.push(known.map_or_else(|| cuda.beside().map_err(lost), Ok)?);
        }
        let (cuda, n) = (beside[0].clone(), context.variables());
        let parts = Parts::new(&beside, context, shape)?;
        let row = || cuda.zeros(parts.first().child.len()).map_err(first);
        let mut held = Held::default();
        let crossover = CrossoverArgument {
            label: held.keep(&cuda, cuda.zeros::<u32>(n).map_err(first)?),
            delta: held.keep(&cuda, cuda.zeros::<i64>(n).map_err(first)?),
        };
        Ok(WidePopulation {
            aside: cuda.beside().map_err(first)?,
            state_values: row()?,
            measured: [row()?, row()?],
            last_measured: 0,
            parts,
            shape,
            state: Standing::of(&Elite::none()),
            child: None,
            growing: None,
            steps: Vec::new(),
            crossover,
            _held: held,
            best: i64::MAX,
            best_allowed: i64::MAX,
            untold: u64::MAX,
        })
    }

    fn cuda(&self) -> &Device {
        &self.parts.first().cuda
    }

    /// Returns the conversion of an error of the first device.
    fn first(&self) -> impl Fn(DeviceError) -> LostDevice + use<> {
        let ordinal = self.cuda().info.ordinal;
        move |error| LostDevice { ordinal, error }
    }

    /// Distributes the variables over the remaining devices. The child in progress is lost; the state is not.
    fn go_on_without(&mut self, context: &SearchContext, lost: &LostDevice) -> Result<(), DeviceError> {
        self.growing = None;
        let mut devices = self.parts.devices();
        devices.retain(|cuda| cuda.info.ordinal != lost.ordinal);
        if devices.len() == 1 {
            self.shape = Shape::of(&devices[0], context);
        }
        self.parts = Parts::new(&devices, context, self.shape).map_err(|lost| lost.error)?;
        Ok(())
    }

    fn unpacked(&self, row: &[u8]) -> Vec<u16> {
        unpacked(row, self.parts.first().core.argument.variables as usize, self.shape.bytes)
    }

    /// Reads the state's values.
    fn fetch(&self) -> Result<Vec<u16>, DeviceError> {
        Ok(self.unpacked(&self.cuda().read(&self.state_values)?))
    }

    /// Writes the state's values, which the host knows.
    fn store(&mut self, elite: &Elite) -> Result<(), DeviceError> {
        self.best = self.best.min(elite.energy.total);
        if elite.energy.violations == 0 {
            self.best_allowed = self.best_allowed.min(elite.energy.total);
        }
        let row = packed(&elite.values, self.shape.bytes);
        let cuda = self.cuda().clone();
        cuda.write(&row, &mut self.state_values.slice_mut(..row.len()))?;
        self.state = Standing::of(elite);
        Ok(())
    }

    /// Begins a child: at random values, or as the state.
    fn begin(&mut self, growth: Growth<'_>) -> Result<Growing, LostDevice> {
        let Growth { context, generation, slot, .. } = growth;
        let key = generation.key(slot);
        match generation.opens() {
            true => self.parts.scatter(context.variables(), mix(key, decision::VALUES))?,
            false => self.parts.copy(&self.state_values)?,
        }
        self.parts.keep()?;
        Ok(Growing { plan: generation.plan(key), sweeps: 0, ahead: None })
    }

    /// Launches the next turn of the child.
    fn launch(&mut self, growth: Growth<'_>, growing: Growing) -> Result<Turn, LostDevice> {
        let Growth { context, generation, slot, .. } = growth;
        let (key, group) = (generation.key(slot), generation.group_key(slot));
        let mut turn = growth.turn(growing.sweeps);
        let step = |pass: u32| {
            let boltzmann = match pass >= generation.sweeps {
                true => Boltzmann::GREEDY,
                false => self.steps[generation.step(growing.plan, pass)],
            };
            let number = decision::PASSES + 2 * u64::from(pass);
            let draw = mix(mix(key, number), 0);
            Step { order: mix(group, number), draw, boltzmann: boltzmann.numbers() }
        };
        let steps: Vec<Step> = (growing.sweeps..turn.last).map(step).collect();
        self.parts.sweep(context, &steps)?;
        if growth.measures(turn) {
            self.parts.gather()?;
            self.launch_measure().map_err(self.first())?;
            turn.measured = Some(self.keep_measured()?);
        }
        Ok(turn)
    }

    /// Launches the partition crossover of the child with the state, in place of the child.
    fn combine(&mut self, draw: u64) -> Result<(), DeviceError> {
        let Part { cuda, core, program, child, outcome, .. } = self.parts.first();
        self.parts.first().forget_counts()?;
        let blocks = Blocks::new(program.blocks[1], WAITING);
        // SAFETY: the arguments are the kernel's; labels and differences are there for each variable.
        unsafe {
            program.combine.launch_together(cuda.stream(), blocks, |arguments| {
                let arguments = arguments.arg(&core.argument).arg(child).arg(&self.state_values);
                arguments.arg(&self.crossover).arg(&draw).arg(outcome)
            })
        }
    }

    /// Launches the computation of the child's energy and hash.
    fn launch_measure(&self) -> Result<(), DeviceError> {
        let Part { cuda, core, program, child, outcome, .. } = self.parts.first();
        let items = core.argument.functions.max(core.argument.variables) as u32;
        let blocks = items.div_ceil(THREADS).clamp(1, 8 * cuda.info.multiprocessors);
        // SAFETY: the arguments are the kernel's.
        unsafe {
            program.measure.launch(cuda.stream(), Blocks::new(blocks, THREADS), |arguments| {
                arguments.arg(&core.argument).arg(child).arg(outcome)
            })
        }
    }

    /// Launches a copy of the child to a snapshot and returns its index.
    fn keep_measured(&mut self) -> Result<usize, LostDevice> {
        self.last_measured = 1 - self.last_measured;
        let (first, Part { cuda, child, .. }) = (self.first(), self.parts.first());
        cuda.copy(child, &mut self.measured[self.last_measured]).map_err(first)?;
        Ok(self.last_measured)
    }

    /// Combines the child with the state after its last sweep, and measures it.
    fn complete(&mut self, growth: Growth<'_>) -> Result<Measured, LostDevice> {
        self.parts.gather()?;
        let first = self.first();
        if !growth.generation.opens() {
            let key = growth.generation.key(growth.slot);
            self.combine(mix(key, decision::TIES_AFTER)).map_err(&first)?;
        }
        self.parts.first().forget_counts().and_then(|()| self.launch_measure()).map_err(&first)?;
        let place = self.keep_measured()?;
        let Part { cuda, outcome, .. } = self.parts.first();
        Ok(Measured { standing: standing_of(cuda.read(outcome).map_err(&first)?[0]), place })
    }

    /// Whether a state is better than all reported before, and the last report is long enough ago: the host's
    /// evaluation takes as long as many sweeps. A child that `is_whole` waits less, because nothing better comes soon.
    /// A portable run ignores the time.
    fn tells(&self, context: &SearchContext, standing: Standing, is_whole: bool) -> bool {
        let is_best = standing.total < self.best;
        let is_better = is_best || standing.violations == 0 && standing.total < self.best_allowed;
        if context.portable {
            return if is_whole { is_better } else { is_best };
        }
        let each = if is_whole { 1 } else { TELLING };
        is_better && self.untold / each >= context.sweep_work
    }

    /// Returns the measured child, or else the state from which it began, if [`tells`](Self::tells) accepts one of
    /// them.
    fn better(
        &mut self,
        context: &SearchContext,
        child: Option<Measured>,
        is_whole: bool,
    ) -> Result<Vec<Elite>, DeviceError> {
        let child = child.filter(|child| self.tells(context, child.standing, is_whole));
        let standing = match child {
            Some(child) => child.standing,
            None if !context.portable && self.tells(context, self.state, true) => self.state,
            None => return Ok(Vec::new()),
        };
        self.best = self.best.min(standing.total);
        if standing.violations == 0 {
            self.best_allowed = self.best_allowed.min(standing.total);
        }
        self.untold = 0;
        let values = child.map_or(&self.state_values, |child| &self.measured[child.place]);
        let elite = Elite::new(&context.tables, self.unpacked(&self.aside.read(values)?));
        if elite.energy.total != standing.total || elite.hash != standing.hash {
            return Err(disagreement(standing.total, elite.energy.total));
        }
        Ok(vec![elite])
    }

    /// Completes a turn of a child. The device executes the next turn while the host evaluates this one.
    fn go_on(&mut self, growth: Growth<'_>, stop: &Stop, offspring: &mut Offspring) -> Result<(), LostDevice> {
        let mut growing = match self.growing.take() {
            Some(growing) => growing,
            None => self.begin(growth)?,
        };
        let turn = match growing.ahead.take() {
            Some(turn) => turn,
            None => self.launch(growth, growing)?,
        };
        let outcome = self.parts.outcome()?;
        offspring.moves = outcome.moves;
        offspring.sweeps = turn.last - growing.sweeps;
        offspring.ratings = self.parts.first().core.domains * u64::from(offspring.sweeps);
        growing.sweeps = turn.last;
        let time = sweep_time(growth.context).saturating_mul(offspring.sweeps.into());
        self.untold = self.untold.saturating_add(time);
        if growing.sweeps == growth.sweeps() {
            let measured = self.complete(growth)?;
            offspring.best = self.better(growth.context, Some(measured), true).map_err(self.first())?;
            offspring.made = 1;
            self.child = Some((measured.standing, growing.plan));
            return Ok(());
        }
        let next = if stop.is_set() { Ok(None) } else { self.launch(growth, growing).map(Some) };
        let measured = turn.measured.map(|place| Measured { standing: standing_of(outcome), place });
        offspring.best = self.better(growth.context, measured, false).map_err(self.first())?;
        growing.ahead = next?;
        self.growing = Some(growing);
        Ok(())
    }
}

/// The energy and the snapshot of a child after a turn.
#[derive(Clone, Copy)]
struct Measured {
    standing: Standing,
    place: usize,
}

/// Returns the energy and hash that a device has computed.
fn standing_of(Outcome { total, hash, violations, .. }: Outcome) -> Standing {
    Standing { total, hash, violations, plan: 0 }
}

impl Population for WidePopulation {
    fn suitable_states(&mut self, _: &SearchContext, _: u32, _: u32) -> Result<usize, DeviceError> {
        Ok(1)
    }

    fn most_states(&self, _: &SearchContext) -> Result<usize, DeviceError> {
        Ok(1)
    }

    fn is_together(&self, _: &SearchContext) -> bool {
        true
    }

    fn speed(&self, context: &SearchContext) -> u64 {
        if context.portable { 1 } else { (context.sweep_work / sweep_time(context).max(1)).max(1) }
    }

    fn open(&mut self, _: &SearchContext, _: usize, seeds: &[Elite]) -> Result<(), DeviceError> {
        (self.growing, self.child, self.state) = (None, None, Standing::of(&Elite::none()));
        (self.best, self.best_allowed) = (i64::MAX, i64::MAX);
        seeds.first().map_or(Ok(()), |seed| self.store(seed))
    }

    fn heat(&mut self, steps: Vec<Boltzmann>) -> Result<(), DeviceError> {
        self.steps = steps;
        Ok(())
    }

    /// Goes on with the child of the first slot, for a turn at most.
    fn make_offspring(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        slots: Range<usize>,
        stop: &Stop,
    ) -> Result<Offspring, DeviceError> {
        let growth = Growth { context, generation, slot: slots.start, devices: self.parts.count() };
        let (first, mut offspring) = (self.cuda().info.ordinal, Offspring::default());
        match self.go_on(growth, stop, &mut offspring) {
            Ok(()) => {}
            Err(lost) if lost.ordinal == first => return Err(lost.error),
            Err(lost) => {
                self.go_on_without(context, &lost)?;
                offspring.lost = Some(lost);
            }
        }
        Ok(offspring)
    }

    fn replace(&mut self, _: &SearchContext, generation: &Generation) -> Result<Replacement, DeviceError> {
        let (child, plan) = self.child.take().ok_or_else(missing)?;
        let gain = self.state.total.saturating_sub(child.total);
        let accepted = gain >= 0 && (generation.opens() || child.hash != self.state.hash);
        let mut tally = Tally::default();
        if !generation.opens() {
            tally.note(plan, if accepted { gain as u64 } else { 0 });
        }
        if accepted {
            std::mem::swap(&mut self.state_values, &mut self.parts.first_mut().child);
            self.state = child;
        }
        Ok(Replacement { tally, best: self.state.total, at_best: 1 })
    }

    fn adopt(&mut self, elite: &Elite) -> Result<(), DeviceError> {
        self.store(elite)
    }

    fn top(&self, count: usize) -> Result<Vec<Elite>, DeviceError> {
        let Standing { total, hash, violations, .. } = self.state;
        if count == 0 || total == i64::MAX {
            return Ok(Vec::new());
        }
        Ok(vec![Elite { values: self.fetch()?, energy: Energy { total, violations }, hash }])
    }

    fn best(&self, context: &SearchContext) -> Result<Option<Elite>, DeviceError> {
        let known = self.top(1)?.into_iter().next();
        Ok(known.map(|elite| Elite::new(&context.tables, elite.values)))
    }
}
