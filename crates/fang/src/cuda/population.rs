//! Successor generation over a double buffer of states on a device (section 3.3).

#![allow(unsafe_code, reason = "launches of kernels")]

use super::domain::{Domain, Heuristic};
use super::jumps::Jumps;
use super::launch::{Pass, Shape};
use crate::device::{Blocks, Cuda, CudaSlice, DeviceError, DeviceRepr, Kernel, PushKernelArg};
use crate::rng::Rng;
use crate::{Active, Order, State};
use std::sync::Arc;

/// States on a device, and a second buffer for their successors. Each generation equals that of the CPU's
/// [`Population`](crate::Population).
#[derive(Debug)]
pub struct Population<D: Domain> {
    domain: D,
    cuda: Arc<Cuda>,
    shape: Shape,
    pass: Kernel,
    shared: u32,
    source: States,
    target: States,
    types: Option<CudaSlice<u8>>,
    streams: Streams,
}

#[derive(Debug)]
struct States {
    count: usize,
    words: CudaSlice<u32>,
    active: CudaSlice<u64>,
    /// The random streams of the states, four words each.
    rngs: CudaSlice<u64>,
}

impl States {
    fn new(cuda: &Cuda, count: usize, variables: usize, words: usize) -> Result<Self, DeviceError> {
        // not all drivers can allocate zero bytes
        Ok(States {
            count,
            words: cuda.zeros((count * words).max(1))?,
            active: cuda.zeros((count * variables.div_ceil(64)).max(1))?,
            rngs: cuda.zeros((count * 4).max(1))?,
        })
    }
}

/// The random streams of a generation's clones. Each is one jump ahead of the one before; the CPU makes them in turn.
/// While the number of clones stays the same, a pass makes the streams of the next generation from its own.
#[derive(Debug)]
struct Streams {
    seeds: Rng,
    made: Option<Made>,
}

#[derive(Debug)]
struct Made {
    count: usize,
    now: CudaSlice<u64>,
    next: CudaSlice<u64>,
    /// The map from one generation to the next.
    jumps: Jumps,
    columns: CudaSlice<u64>,
    /// The state of the seeds after the streams of `now` are split off.
    seeds: [u64; 4],
    /// Whether the streams of `now` are used up.
    used: bool,
}

impl Streams {
    /// Returns fresh streams for `count` clones.
    fn next(&mut self, cuda: &Cuda, count: usize) -> Result<&mut Made, DeviceError> {
        let made = match self.made.take() {
            Some(mut made) if made.count == count => {
                if made.used {
                    std::mem::swap(&mut made.now, &mut made.next);
                    made.seeds = made.jumps.apply(made.seeds);
                }
                made
            }
            other => {
                if let Some(made) = other {
                    self.seeds = Rng::from_words(made.seeds);
                }
                let words: Vec<u64> = (0..count).flat_map(|_| self.seeds.split().words()).collect();
                let jumps = Jumps::new(count);
                Made {
                    count,
                    now: if count > 0 { cuda.upload(&words)? } else { cuda.zeros(1)? },
                    next: cuda.zeros((4 * count).max(1))?,
                    columns: cuda.upload(&jumps.columns())?,
                    jumps,
                    seeds: self.seeds.words(),
                    used: false,
                }
            }
        };
        let made = self.made.insert(made);
        made.used = true;
        Ok(made)
    }
}

/// A domain's problem as an argument.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Problem<P>(P);

// SAFETY: the domain promises that its layout is that of the CUDA source.
unsafe impl<P: Copy> DeviceRepr for Problem<P> {}

impl<D: Domain> Population<D> {
    /// Returns a population of `states`. As on the CPU, the random streams of the states and of all successors are
    /// split off `seeds`.
    ///
    /// # Errors
    /// Returns an error if the device or the compiler fails.
    pub fn new(cuda: &Arc<Cuda>, domain: D, states: &mut [D::State], seeds: Rng) -> Result<Self, DeviceError> {
        let shape = Shape::new(&domain.heuristics(), states.len(), cuda.info.multiprocessors);
        Self::with_shape(cuda, domain, states, seeds, shape)
    }

    /// Like [`new`](Self::new), but with a given instance of the kernel, which affects only the time.
    pub fn with_shape(
        cuda: &Arc<Cuda>,
        domain: D,
        states: &mut [D::State],
        mut seeds: Rng,
        shape: Shape,
    ) -> Result<Self, DeviceError> {
        let (variables, words) = (domain.variables(), domain.words());
        let heuristics: Vec<Heuristic> = domain.heuristics();
        let shared = shape.shared(variables, words);
        let expression = shape.expression(&heuristics, shared.is_some());
        let module = cuda.load(&domain.source().asserts::<Pass>().kernel(&expression))?;
        let shared = shared.unwrap_or(0);
        let pass = module.kernel(&expression, shared)?;

        let mut source = States::new(cuda, states.len(), variables, words)?;
        let mut all_words = vec![0; states.len() * words];
        for (state, words) in states.iter_mut().zip(all_words.chunks_exact_mut(words.max(1))) {
            *state.rng() = seeds.split();
            domain.store(state, words);
        }
        let sets: Vec<u64> = states.iter_mut().flat_map(|state| state.active().words().to_vec()).collect();
        let rngs: Vec<u64> = states.iter_mut().flat_map(|state| state.rng().words()).collect();
        cuda.write(&all_words, &mut source.words)?;
        cuda.write(&sets, &mut source.active)?;
        cuda.write(&rngs, &mut source.rngs)?;

        let types = domain.types();
        let types = if types.is_empty() { None } else { Some(cuda.upload(types)?) };
        let target = States::new(cuda, 0, variables, words)?;
        let streams = Streams { seeds, made: None };
        Ok(Population { domain, cuda: Arc::clone(cuda), shape, pass, shared, source, target, types, streams })
    }

    /// Returns the kernel's instance.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the kernel that makes successors.
    pub fn kernel(&self) -> &Kernel {
        &self.pass
    }

    /// Returns copies of the current states.
    pub fn states(&self) -> Result<Vec<D::State>, DeviceError> {
        let (variables, count) = (self.domain.variables(), self.source.count);
        let words: Vec<u32> = self.cuda.read(&self.source.words)?;
        let sets: Vec<u64> = self.cuda.read(&self.source.active)?;
        let rngs: Vec<u64> = self.cuda.read(&self.source.rngs)?;
        let of = |index: usize, length: usize| index * length..(index + 1) * length;
        let state = |index: usize| {
            let active = Active::from_words(variables, &sets[of(index, variables.div_ceil(64))]);
            let rng = Rng::from_words(std::array::from_fn(|word| rngs[index * 4 + word]));
            self.domain.load(&words[of(index, self.domain.words())], active, rng)
        };
        Ok((0..count).map(state).collect())
    }

    /// Returns the domain.
    pub fn domain(&self) -> &D {
        &self.domain
    }

    /// Returns the words of the successors that [`make`](Self::make) made.
    pub fn made(&self) -> Result<Vec<u32>, DeviceError> {
        self.cuda.read(&self.target.words)
    }

    /// Activates every variable of the current states.
    pub fn activate_all(&mut self) -> Result<(), DeviceError> {
        let mut all = Active::new(self.domain.variables());
        all.activate_all();
        let sets = all.words().repeat(self.source.count);
        self.cuda.write(&sets, &mut self.source.active)
    }

    /// Replaces the states by their successors, like the CPU's population.
    pub fn expand(&mut self, successors: usize, order: Order) -> Result<(), DeviceError> {
        self.make(successors, order)?;
        std::mem::swap(&mut self.source, &mut self.target);
        Ok(())
    }

    /// Makes successors and keeps the states.
    pub fn make(&mut self, successors: usize, order: Order) -> Result<(), DeviceError> {
        let list = match order {
            Order::List(variables) => Some(self.cuda.upload(if variables.is_empty() { &[0] } else { variables })?),
            _ => None,
        };
        let pass = self.arguments(successors, order, list.as_ref())?;
        self.run(&pass)
    }

    /// Runs a pass with [`arguments`](Self::arguments).
    pub fn run(&self, pass: &Pass) -> Result<(), DeviceError> {
        if pass.clones == 0 {
            return Ok(());
        }
        let groups = self.shape.groups();
        let (count, threads) = (pass.clones.div_ceil(groups), self.shape.threads * groups);
        let blocks = Blocks { count, threads, shared: self.shared };
        let problem = Problem(*self.domain.problem());
        // SAFETY: the buffers hold `words` words, active sets and streams for each state and clone; the domain promises
        // the rest.
        unsafe { self.pass.launch(self.cuda.stream(), blocks, |arguments| arguments.arg(pass).arg(&problem)) }
    }

    /// Returns the arguments of a pass over the states, and makes the target large enough.
    pub fn arguments(
        &mut self,
        successors: usize,
        order: Order,
        list: Option<&CudaSlice<u32>>,
    ) -> Result<Pass, DeviceError> {
        let (variables, words) = (self.domain.variables(), self.domain.words());
        let count = self.source.count * successors;
        let size = |what: usize, unit: &str| {
            u32::try_from(what).map_err(|_| DeviceError::Unusable(format!("{what} {unit} are too many for a device")))
        };
        if self.target.count != count {
            // frees the old buffer before it allocates the new one
            self.target = States::new(&self.cuda, 0, variables, words)?;
            self.target = States::new(&self.cuda, count, variables, words)?;
        }
        let cuda = &self.cuda;
        let made = self.streams.next(cuda, count)?;
        Ok(Pass {
            source: cuda.address(&self.source.words),
            target: cuda.address(&self.target.words),
            source_active: cuda.address(&self.source.active),
            target_active: cuda.address(&self.target.active),
            streams: cuda.address(&made.now),
            streams_next: cuda.address(&made.next),
            jumps: cuda.address(&made.columns),
            streams_after: cuda.address(&self.target.rngs),
            types: self.types.as_ref().map_or(0, |types| cuda.address(types)),
            list: list.map_or(0, |list| cuda.address(list)),
            listed: size(if let Order::List(variables) = order { variables.len() } else { 0 }, "variables")?,
            permuted: u32::from(order == Order::Permuted),
            clones: size(count, "states")?,
            successors: size(successors, "successors")?,
            words: size(words, "words of a state")?,
            variables: size(variables, "variables")?,
        })
    }
}
