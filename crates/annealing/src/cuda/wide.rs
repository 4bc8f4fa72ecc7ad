//! One state over a whole device (`kernels/wide.cu`). It is used if a state does not fit a multiprocessor, or if one
//! state annealed by all multiprocessors is good sooner than many states. Its child equals, bit for bit, the one that
//! all threads of the CPU make together (`annealing::cpu::growth`). If one child does not keep the device busy, several
//! grow at once, and the state becomes the best combination of all of them by components.

use super::wide_growth::{Growing, Grown, Growth, Measured, Turn, standing_of, sweep_time};
use super::wide_parts::{Part, Parts};
use super::wide_program::{CrossoverArgument, Shape, Step, THREADS, WAITING};
use super::{Standing, disagreement, missing, packed, unpacked};
use crate::core::context::SearchContext;
use crate::core::cuda::Device;
use crate::core::effort::LostDevice;
use crate::core::elite::Elite;
use crate::device::{Blocks, CudaSlice, DeviceError, Held, PushKernelArg};
use crate::fang::boltzmann::Boltzmann;
use crate::generation::{Generation, Heat, Offspring, Population, Replacement, Tally, decision};
use crate::rng::mix;
use crate::stop::Stop;
use crate::tuning::wide::{LEAST_VARIABLES, MOST_PARTS, SHARED_SWEEP, TELLING};
use crate::value_tables::Energy;
use std::ops::Range;

/// Returns whether a whole device anneals one state of a reduced problem: if all threads of the CPU would do so, or if
/// one state annealed by all multiprocessors is good sooner than many.
pub(crate) fn suits(context: &SearchContext) -> bool {
    let is_free = !context.portable && context.population.is_none();
    let least = LEAST_VARIABLES[usize::from(context.falls_into_parts())];
    context.has_one_state() || is_free && context.is_large() && context.variables() >= least
}

/// Returns whether several devices anneal one state of a reduced problem together.
pub(crate) fn is_shared(context: &SearchContext) -> bool {
    suits(context) && sweep_time(context) >= SHARED_SWEEP
}

/// A state and its children in device memory.
pub(crate) struct WidePopulation {
    /// The parts of the variables, each with a copy of the children's values.
    parts: Parts,
    /// A second stream of the first device, whose copies do not wait for sweeps.
    aside: Device,
    shape: Shape,
    state_values: CudaSlice<u8>,
    /// Snapshots of the children's values, written alternately: the host reads one while the device writes the other.
    measured: [CudaSlice<u8>; 2],
    /// The index of the latest snapshot.
    last_measured: usize,
    state: Standing,
    grown: Option<Grown>,
    growing: Option<Growing>,
    heat: Heat,
    crossover: CrossoverArgument,
    _held: Held,
    best: i64,
    best_allowed: i64,
    /// The estimated nanoseconds of sweeps since a state was last reported.
    untold: u64,
}

impl WidePopulation {
    /// Makes a population without a state: on several devices if they [share](is_shared) the problem, otherwise on the
    /// first.
    pub fn new(devices: &[Device], context: &SearchContext) -> Result<WidePopulation, LostDevice> {
        let count = if is_shared(context) { devices.len().min(MOST_PARTS) } else { 1 };
        let shape = Shape::of(&devices[0], context);
        let shape = if count > 1 { shape.in_parts(context) } else { shape };
        Self::shaped(&devices[..count], context, shape)
    }

    /// Makes a population on one device with one launch per class, whatever the class sizes.
    #[cfg(test)]
    pub fn by_class(cuda: &Device, context: &SearchContext, links: bool) -> Result<WidePopulation, LostDevice> {
        let shape = Shape::of(cuda, context);
        Self::shaped(
            std::slice::from_ref(cuda),
            context,
            Shape { by_class: true, links: links && shape.links, ..shape.of_one_child() },
        )
    }

    /// Makes a population on one device that makes one child at a time.
    #[cfg(test)]
    pub fn of_one_child(cuda: &Device, context: &SearchContext) -> Result<WidePopulation, LostDevice> {
        Self::shaped(std::slice::from_ref(cuda), context, Shape::of(cuda, context).of_one_child())
    }

    /// Makes a population on all of these devices, whatever the class sizes; `in_step` says whether its parts wait for
    /// each other.
    #[cfg(test)]
    pub fn in_parts(devices: &[Device], context: &SearchContext, in_step: bool) -> Result<WidePopulation, LostDevice> {
        let shape = Shape::of(&devices[0], context);
        Self::shaped(devices, context, if in_step { shape.in_step() } else { shape.in_parts(context) })
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
        let (all, row) = (parts.first().children.len(), parts.first().row_of(0).len());
        let bytes = |length: usize| cuda.zeros(length).map_err(first);
        let mut held = Held::default();
        let crossover = CrossoverArgument {
            label: held.keep(&cuda, cuda.zeros::<u32>(n).map_err(first)?),
            delta: held.keep(&cuda, cuda.zeros::<i64>(n).map_err(first)?),
        };
        Ok(WidePopulation {
            aside: cuda.beside().map_err(first)?,
            state_values: bytes(row)?,
            measured: [bytes(all)?, bytes(all)?],
            last_measured: 0,
            parts,
            shape,
            state: Standing::of(&Elite::none()),
            grown: None,
            growing: None,
            heat: Heat::default(),
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

    /// Distributes the variables over the remaining devices. Children in progress are lost; the state is not.
    fn go_on_without(&mut self, context: &SearchContext, lost: &LostDevice) -> Result<(), DeviceError> {
        self.growing = None;
        let mut devices = self.parts.devices();
        devices.retain(|cuda| cuda.info.ordinal != lost.ordinal);
        if devices.len() == 1 {
            self.shape = Shape::of(&devices[0], context).of_one_child();
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

    /// Starts children at random values or as copies of the state.
    fn begin(&mut self, growth: Growth<'_>) -> Result<Growing, LostDevice> {
        let Growth { context, generation, .. } = growth;
        let keys: Vec<u64> = growth.keys().collect();
        if generation.opens() {
            let draws: Vec<u64> = keys.iter().map(|&key| mix(key, decision::VALUES)).collect();
            self.parts.scatter(context.variables(), &draws)?;
        } else {
            self.parts.copy(&self.state_values)?;
        }
        self.parts.keep()?;
        Ok(Growing { plans: keys.into_iter().map(|key| generation.plan(key)).collect(), sweeps: 0, ahead: None })
    }

    /// Launches the next slice of the children.
    fn launch(&mut self, growth: Growth<'_>, growing: &Growing) -> Result<Turn, LostDevice> {
        let Growth { context, generation, slot, .. } = growth;
        let (group, heat) = (generation.group_key(slot), &self.heat);
        let mut turn = growth.turn(growing.sweeps);
        let steps_of = |(key, &plan)| {
            (growing.sweeps..turn.last).map(move |pass: u32| {
                let boltzmann = match pass >= generation.sweeps {
                    true => Boltzmann::GREEDY,
                    false => heat.steps[generation.step(plan, pass)],
                };
                let number = decision::PASSES + 2 * u64::from(pass);
                let draw = mix(mix(key, number), 0);
                Step { order: mix(group, number), draw, boltzmann: boltzmann.numbers(), least: heat.least.into() }
            })
        };
        let steps: Vec<Step> = growth.keys().zip(&growing.plans).flat_map(steps_of).collect();
        self.parts.sweep(context, &steps)?;
        if growth.measures(turn) {
            self.parts.gather()?;
            (0..growth.children).try_for_each(|child| self.launch_measure(child)).map_err(self.first())?;
            turn.measured = Some(self.keep_measured()?);
        }
        Ok(turn)
    }

    /// Launches the partition crossover of a child with the child before it; the first child is combined with the
    /// state. The result replaces the child.
    fn combine(&self, child: usize, draw: u64) -> Result<(), DeviceError> {
        let Part { cuda, core, program, children, outcomes, .. } = self.parts.first();
        let row = |child| children.slice(self.parts.first().row_of(child));
        let (values, outcome) = (row(child), outcomes.slice(child..=child));
        let theirs = child.checked_sub(1).map_or(self.state_values.as_view(), row);
        let blocks = Blocks::new(program.blocks[1], WAITING);
        // SAFETY: the arguments are the kernel's; labels and differences are there for each variable.
        unsafe {
            program.combine.launch_together(cuda.stream(), blocks, |arguments| {
                let arguments = arguments.arg(&core.argument).arg(&values).arg(&theirs);
                arguments.arg(&self.crossover).arg(&draw).arg(&outcome)
            })
        }
    }

    /// Launches the computation of a child's energy and hash.
    fn launch_measure(&self, child: usize) -> Result<(), DeviceError> {
        let Part { cuda, core, program, children, outcomes, .. } = self.parts.first();
        let values = children.slice(self.parts.first().row_of(child));
        let outcome = outcomes.slice(child..=child);
        let items = core.argument.functions.max(core.argument.variables) as u32;
        let blocks = items.div_ceil(THREADS).clamp(1, 8 * cuda.info.multiprocessors);
        // SAFETY: the arguments are the kernel's.
        unsafe {
            program.measure.launch(cuda.stream(), Blocks::new(blocks, THREADS), |arguments| {
                arguments.arg(&core.argument).arg(&values).arg(&outcome)
            })
        }
    }

    /// Launches a copy of the children to a snapshot and returns its index.
    fn keep_measured(&mut self) -> Result<usize, LostDevice> {
        self.last_measured = 1 - self.last_measured;
        let (first, Part { cuda, children, .. }) = (self.first(), self.parts.first());
        cuda.copy(children, &mut self.measured[self.last_measured]).map_err(first)?;
        Ok(self.last_measured)
    }

    /// Combines the children after their last sweep, each with all before it and with the state, so that the last is
    /// the best. Measures them and returns the last.
    fn complete(&mut self, growth: Growth<'_>, growing: Growing) -> Result<Measured, LostDevice> {
        self.parts.gather()?;
        let first = self.first();
        self.parts.first().forget_counts().map_err(&first)?;
        for (child, key) in growth.keys().enumerate() {
            if child > 0 || !growth.generation.opens() {
                self.combine(child, mix(key, decision::TIES_AFTER)).map_err(&first)?;
            }
            self.launch_measure(child).map_err(&first)?;
        }
        let snapshot = self.keep_measured()?;
        let Part { cuda, outcomes, .. } = self.parts.first();
        let standings: Vec<Standing> = cuda.read(outcomes).map_err(&first)?.into_iter().map(standing_of).collect();
        let child = standings.len() - 1;
        let standing = standings[child];
        self.grown = Some(Grown { standings, plans: growing.plans });
        Ok(Measured { standing, snapshot, child })
    }

    /// Returns whether a state is better than all reported before and the last report is long enough ago, because the
    /// host's evaluation takes as long as a number of sweeps. A child that `is_whole` waits less, because nothing
    /// better comes soon. A portable run ignores the time.
    fn tells(&self, context: &SearchContext, standing: Standing, is_whole: bool) -> bool {
        let is_best = standing.total < self.best;
        let is_better = is_best || standing.violations == 0 && standing.total < self.best_allowed;
        if context.portable {
            return if is_whole { is_better } else { is_best };
        }
        let each = if is_whole { 1 } else { TELLING };
        is_better && self.untold / each >= context.sweep_work
    }

    /// Returns the measured child or, if [`tells`](Self::tells) rejects it, the state from which it began. The result
    /// is empty if both are rejected.
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
        let row_of = |child: Measured| self.measured[child.snapshot].slice(self.parts.first().row_of(child.child));
        let values = child.map_or(self.state_values.as_view(), row_of);
        let elite = Elite::new(&context.tables, self.unpacked(&self.aside.read(&values)?));
        if elite.energy.total != standing.total || elite.hash != standing.hash {
            return Err(disagreement(standing.total, elite.energy.total));
        }
        Ok(vec![elite])
    }

    /// Completes a slice of the children. The device executes the next slice while the host evaluates this one.
    fn go_on(&mut self, growth: Growth<'_>, stop: &Stop, offspring: &mut Offspring) -> Result<(), LostDevice> {
        let mut growing = match self.growing.take() {
            Some(growing) => growing,
            None => self.begin(growth)?,
        };
        let turn = match growing.ahead.take() {
            Some(turn) => turn,
            None => self.launch(growth, &growing)?,
        };
        let outcomes = self.parts.outcomes()?;
        offspring.moves = outcomes.iter().map(|outcome| outcome.moves).sum();
        offspring.sweeps = turn.last - growing.sweeps;
        let sweeps = u64::from(offspring.sweeps);
        offspring.ratings = self.parts.first().core.domains * sweeps * growth.children as u64;
        growing.sweeps = turn.last;
        self.untold = self.untold.saturating_add(sweep_time(growth.context).saturating_mul(sweeps));
        if growing.sweeps == growth.sweeps() {
            let measured = self.complete(growth, growing)?;
            offspring.best = self.better(growth.context, Some(measured), true).map_err(self.first())?;
            offspring.made = 1;
            return Ok(());
        }
        let next = if stop.is_set() { Ok(None) } else { self.launch(growth, &growing).map(Some) };
        let measured = turn.measured.and_then(|snapshot| Measured::best(&outcomes, snapshot));
        offspring.best = self.better(growth.context, measured, false).map_err(self.first())?;
        growing.ahead = next?;
        self.growing = Some(growing);
        Ok(())
    }
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
        (self.growing, self.grown, self.state) = (None, None, Standing::of(&Elite::none()));
        (self.best, self.best_allowed) = (i64::MAX, i64::MAX);
        seeds.first().map_or(Ok(()), |seed| self.store(seed))
    }

    fn heat(&mut self, heat: Heat) -> Result<(), DeviceError> {
        self.heat = heat;
        Ok(())
    }

    /// Continues the children for one slice at most. `slots` begins with the slot of the first child.
    fn make_offspring(
        &mut self,
        context: &SearchContext,
        generation: &Generation,
        slots: Range<usize>,
        stop: &Stop,
    ) -> Result<Offspring, DeviceError> {
        let (devices, children) = (self.parts.count(), self.shape.children as usize);
        let growth = Growth { context, generation, slot: slots.start, devices, children };
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
        let Grown { standings, plans } = self.grown.take().ok_or_else(missing)?;
        let child = standings.len() - 1;
        let standing = standings[child];
        let gain = self.state.total.saturating_sub(standing.total);
        let accepted = gain >= 0 && (generation.opens() || standing.hash != self.state.hash);
        let mut tally = Tally::default();
        if !generation.opens() {
            // the gain of a child is counted against all before it
            let mut best = self.state.total;
            for (Standing { total, .. }, plan) in standings.into_iter().zip(plans) {
                tally.note(plan, if accepted { best.saturating_sub(total).max(0) as u64 } else { 0 });
                best = best.min(total);
            }
        }
        if accepted {
            let Part { cuda, children, .. } = self.parts.first();
            cuda.copy(&children.slice(self.parts.first().row_of(child)), &mut self.state_values)?;
            self.state = standing;
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
