//! One state over a whole device (`kernels/wide.cu`): for cores whose states are too long for a multiprocessor each, or
//! so long that one that all multiprocessors anneal is sooner good. Its children are those that all threads of the CPU
//! make together (`annealing::cpu::growth`), bit for bit.

use super::wide_program::{CrossoverArgument, Outcome, Program, Shape, Step, THREADS, WAITING};
use super::{Standing, disagreement, missing, packed, unpacked};
use crate::core::context::SearchContext;
use crate::core::cuda::{Device, DeviceCore};
use crate::core::elite::Elite;
use crate::core::row_shape::RowShape;
#[cfg(test)]
use crate::cuda::lanes::StateLanes;
use crate::device::{Blocks, CudaSlice, DeviceError, Held, PushKernelArg};
use crate::fang::boltzmann::Boltzmann;
use crate::generation::{ChildPlan, Generation, Offspring, Population, Replacement, Tally, decision};
use crate::rng::mix;
use crate::stop::Stop;
use crate::sweep::class_numbers;
use crate::tuning::GREEDY_SWEEPS;
use crate::tuning::wide::{BARRIER, MOST_SHARED, SPEED, TELLING, TURN_WORK};
use crate::value_tables::Energy;
use std::ops::Range;

/// Whether a whole device anneals one state of a core: where all threads of the CPU do, or where the shared memory of a
/// multiprocessor has no room for one.
pub(crate) fn suits(context: &SearchContext) -> bool {
    let is_free = !context.portable && context.population.is_none();
    context.has_one_state() || is_free && context.is_large() && context.variables() >= MOST_SHARED
}

/// A state and its child in device memory.
pub(crate) struct WidePopulation {
    cuda: Device,
    core: DeviceCore,
    program: Program,
    /// Bytes of a value.
    bytes: u32,
    /// The state's values and its child's.
    values: [CudaSlice<u8>; 2],
    state: Standing,
    child: Option<(Standing, ChildPlan)>,
    growing: Option<Growing>,
    steps: Vec<Boltzmann>,
    outcome: CudaSlice<Outcome>,
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
}

impl WidePopulation {
    /// Without a state.
    pub fn new(cuda: &Device, context: &SearchContext) -> Result<WidePopulation, DeviceError> {
        Self::shaped(cuda, context, Shape::of(cuda, context))
    }

    /// As [`WidePopulation::new`], with a launch for each class and a lane a visit, whatever the sizes of classes.
    #[cfg(test)]
    pub fn by_class(cuda: &Device, context: &SearchContext, links: bool) -> Result<WidePopulation, DeviceError> {
        let (shape, row) = (Shape::of(cuda, context), context.row_shape());
        let (lanes, links) = (StateLanes::new(row.quads, row.half, 1), links && shape.links);
        Self::shaped(cuda, context, Shape { by_class: true, lanes, links, ..shape })
    }

    fn shaped(cuda: &Device, context: &SearchContext, shape: Shape) -> Result<WidePopulation, DeviceError> {
        // bounds use the device too
        let cuda = cuda.beside()?;
        let core = DeviceCore::without_moves(&cuda, context, RowShape { links: shape.links, ..context.row_shape() })?;
        let (n, bytes) = (context.variables(), shape.bytes);
        let row = || cuda.zeros::<u8>(core.argument.pad as usize * bytes as usize);
        let mut held = Held::default();
        let crossover = CrossoverArgument {
            label: held.keep(&cuda, cuda.zeros::<u32>(n)?),
            delta: held.keep(&cuda, cuda.zeros::<i64>(n)?),
        };
        Ok(WidePopulation {
            program: Program::new(&cuda, context, shape)?,
            bytes,
            values: [row()?, row()?],
            state: Standing::of(&Elite::none()),
            child: None,
            growing: None,
            steps: Vec::new(),
            outcome: cuda.zeros(1)?,
            crossover,
            _held: held,
            best: i64::MAX,
            best_allowed: i64::MAX,
            untold: u64::MAX,
            core,
            cuda,
        })
    }

    /// Nanoseconds of a sweep, about.
    fn sweep_time(context: &SearchContext) -> u64 {
        context.sweep_work / SPEED + BARRIER * context.order.classes.len() as u64
    }

    fn fetch(&self, which: usize) -> Result<Vec<u16>, DeviceError> {
        Ok(unpacked(&self.cuda.read(&self.values[which])?, self.core.argument.variables as usize, self.bytes))
    }

    /// Writes the state's values, which the host knows.
    fn store(&mut self, elite: &Elite) -> Result<(), DeviceError> {
        self.best = self.best.min(elite.energy.total);
        if elite.energy.violations == 0 {
            self.best_allowed = self.best_allowed.min(elite.energy.total);
        }
        let row = packed(&elite.values, self.bytes);
        self.cuda.write(&row, &mut self.values[0].slice_mut(..row.len()))?;
        self.state = Standing::of(elite);
        Ok(())
    }

    /// Begins a child: at random values, or as the state.
    fn begin(&mut self, context: &SearchContext, generation: &Generation, slot: usize) -> Result<Growing, DeviceError> {
        let key = generation.key(slot);
        let [state, child] = &mut self.values;
        if generation.opens() {
            let (blocks, draw) = ((context.variables() as u32).div_ceil(THREADS), mix(key, decision::VALUES));
            // SAFETY: the arguments are the kernel's; there is a value for each variable.
            unsafe {
                self.program.scatter.launch(self.cuda.stream(), Blocks::new(blocks, THREADS), |arguments| {
                    arguments.arg(&self.core.argument).arg(&*child).arg(&draw)
                })?;
            }
        } else {
            self.cuda.copy(&*state, child)?;
        }
        Ok(Growing { plan: generation.plan(key), sweeps: 0 })
    }

    /// Makes the child's next sweeps; returns its moves.
    fn sweep(&mut self, context: &SearchContext, steps: &[Step]) -> Result<u64, DeviceError> {
        self.cuda.set_bytes(&self.outcome, 0)?;
        if self.program.by_class {
            for step in steps {
                for class in class_numbers(context, step.order) {
                    self.visit(step, class)?;
                }
            }
        } else {
            self.sweep_at_once(steps)?;
        }
        Ok(self.cuda.read(&self.outcome)?[0].moves)
    }

    /// All sweeps in one launch.
    fn sweep_at_once(&self, steps: &[Step]) -> Result<(), DeviceError> {
        let (cuda, count) = (&*self.cuda, steps.len() as u32);
        let steps = cuda.upload(steps)?;
        let blocks = Blocks::new(self.program.blocks[0], WAITING);
        // SAFETY: the arguments are the kernel's; these blocks are on the device at once.
        unsafe {
            self.program.sweeps.launch_together(cuda.stream(), blocks, |arguments| {
                let arguments = arguments.arg(&self.core.argument).arg(&self.values[1]);
                arguments.arg(&steps).arg(&count).arg(&self.outcome)
            })
        }
    }

    /// The visits of a class.
    fn visit(&self, step: &Step, class: usize) -> Result<(), DeviceError> {
        let Program { sweeps, class_begin, lanes, .. } = &self.program;
        let (begin, end) = (class_begin[class], class_begin[class + 1]);
        let blocks = Blocks::new(((end - begin) * lanes).div_ceil(THREADS).max(1), THREADS);
        // SAFETY: the arguments are the kernel's; a thread beyond the class does nothing.
        unsafe {
            sweeps.launch(self.cuda.stream(), blocks, |arguments| {
                let arguments = arguments.arg(&self.core.argument).arg(&self.values[1]);
                arguments.arg(step).arg(&begin).arg(&end).arg(&self.outcome)
            })
        }
    }

    /// Makes the child the best combination of itself and the state.
    fn combine(&mut self, draw: u64) -> Result<(), DeviceError> {
        self.cuda.set_bytes(&self.outcome, 0)?;
        let blocks = Blocks::new(self.program.blocks[1], WAITING);
        // SAFETY: as above; labels and differences are there for each variable.
        unsafe {
            self.program.combine.launch_together(self.cuda.stream(), blocks, |arguments| {
                let arguments = arguments.arg(&self.core.argument).arg(&self.values[1]).arg(&self.values[0]);
                arguments.arg(&self.crossover).arg(&draw).arg(&self.outcome)
            })
        }
    }

    /// What the child is.
    fn measure(&mut self) -> Result<Standing, DeviceError> {
        self.cuda.set_bytes(&self.outcome, 0)?;
        let items = (self.core.argument.functions.max(self.core.argument.variables)) as u32;
        let blocks = items.div_ceil(THREADS).clamp(1, 8 * self.cuda.info.multiprocessors);
        // SAFETY: as above.
        unsafe {
            self.program.measure.launch(self.cuda.stream(), Blocks::new(blocks, THREADS), |arguments| {
                arguments.arg(&self.core.argument).arg(&self.values[1]).arg(&self.outcome)
            })?;
        }
        let Outcome { total, hash, violations, .. } = self.cuda.read(&self.outcome)?[0];
        Ok(Standing { total, hash, violations, plan: 0 })
    }

    /// Whether a state is better than all reported before, and the last report is long enough ago: the host's
    /// evaluation takes as long as many sweeps. A child that `is_whole` waits less, as nothing better comes soon.
    fn tells(&self, context: &SearchContext, standing: Standing, is_whole: bool) -> bool {
        let each = if is_whole { 1 } else { TELLING };
        let is_better = standing.total < self.best || standing.violations == 0 && standing.total < self.best_allowed;
        is_better && self.untold / each >= context.sweep_work
    }

    /// The child, or else the state from which it began, if [`tells`](Self::tells) reports one of them.
    fn better(&mut self, context: &SearchContext, child: Standing, is_whole: bool) -> Result<Vec<Elite>, DeviceError> {
        let (which, standing) = match () {
            () if self.tells(context, child, is_whole) => (1, child),
            () if self.tells(context, self.state, true) => (0, self.state),
            () => return Ok(Vec::new()),
        };
        self.best = self.best.min(standing.total);
        if standing.violations == 0 {
            self.best_allowed = self.best_allowed.min(standing.total);
        }
        self.untold = 0;
        let elite = Elite::new(&context.tables, self.fetch(which)?);
        if elite.energy.total != standing.total || elite.hash != standing.hash {
            return Err(disagreement(standing.total, elite.energy.total));
        }
        Ok(vec![elite])
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
        (context.sweep_work / WidePopulation::sweep_time(context).max(1)).max(1)
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
        let (slot, mut offspring) = (slots.start, Offspring::default());
        let mut growing = match self.growing.take() {
            Some(growing) => growing,
            None => self.begin(context, generation, slot)?,
        };
        let (key, group) = (generation.key(slot), generation.group_key(slot));
        let all = generation.sweeps + GREEDY_SWEEPS;
        let turn = (TURN_WORK / WidePopulation::sweep_time(context).max(1)).max(1);
        let last = u64::from(growing.sweeps).saturating_add(turn).min(all.into()) as u32;
        let step = |pass: u32| {
            let boltzmann = match pass >= generation.sweeps {
                true => Boltzmann::GREEDY,
                false => self.steps[generation.step(growing.plan, pass)],
            };
            let number = decision::PASSES + 2 * u64::from(pass);
            let draw = mix(mix(key, number), 0);
            Step { order: mix(group, number), draw, boltzmann: boltzmann.numbers() }
        };
        let steps: Vec<Step> = (growing.sweeps..last).map(step).collect();
        offspring.moves = self.sweep(context, &steps)?;
        offspring.sweeps = last - growing.sweeps;
        offspring.ratings = self.core.domains * u64::from(offspring.sweeps);
        growing.sweeps = last;
        let time = WidePopulation::sweep_time(context).saturating_mul(offspring.sweeps.into());
        self.untold = self.untold.saturating_add(time);
        if growing.sweeps < all && stop.is_set() {
            return Ok(offspring);
        }
        if growing.sweeps == all && !generation.opens() {
            self.combine(mix(key, decision::TIES_AFTER))?;
        }
        // a hot state is no better than the best so far
        let is_cold = 2 * growing.sweeps >= all;
        let standing = if is_cold { self.measure()? } else { Standing::of(&Elite::none()) };
        offspring.best = self.better(context, standing, growing.sweeps == all)?;
        if growing.sweeps == all {
            self.child = Some((standing, growing.plan));
            offspring.made = 1;
            return Ok(offspring);
        }
        self.growing = Some(growing);
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
            self.values.swap(0, 1);
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
        Ok(vec![Elite { values: self.fetch(0)?, energy: Energy { total, violations }, hash }])
    }

    fn best(&self, context: &SearchContext) -> Result<Option<Elite>, DeviceError> {
        let known = self.top(1)?.into_iter().next();
        Ok(known.map(|elite| Elite::new(&context.tables, elite.values)))
    }
}
