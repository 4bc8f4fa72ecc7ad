//! Elimination on a CUDA device: the same plan, the same messages to the last bit.
//!
//! [`Program`] lays a plan out (tables in device memory, steps in levels, launches), `tile`
//! decides how a step is cut, kernels/bucket.cu and kernels/staged.cu compute. Functions go up once, messages stay
//! where they were made; what a level of the bucket tree needs runs in one launch for each kernel that its steps
//! take, and the host waits at the end of a slice of work only. A plan whose tables do not fit runs in `parts`,
//! with the host as the place of all messages (`stream`).

mod choose;
mod decoder;
pub mod execution;
mod parts;
mod program;
mod propagation;
mod running;
mod stage;
mod staging;
mod stream;
mod tile;
mod words;

pub(crate) use decoder::Decoder;
pub use execution::{DeviceSemiring, Element, Execution, Resident};
pub use program::{Content, DeviceTable, Expected, Made, Pairing, Program, Wanted};
pub use propagation::Propagation;
pub use running::{Machine, Running};
pub use stream::Streamed;

use super::executor::{Failure, Messages, Task};
use super::plan::{EliminationPlan, Plan, Width};
use super::sparse::DeviceRows;
use crate::algebra::{CostEntry, Counting, MinSum, SumProduct};
use crate::device::shared::constants;
use crate::device::{Choice, Cuda, DeviceError, Kernel, Opening, Source};
use crate::error::Error;
use crate::kernels;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use program::{NEVER, Room};
use stage::{STAGES, Staged};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
pub use tile::Chip;
use tile::{CONSTANT, EXPECT, LARGEST, MEASURE, Phase, Role, SCALE, SETTLED, WHOLE};
use tile::{DIGITS, INPUTS, Kinds, MANY, RUN, SINGLE, THREADS, TILE_DIGITS, TILE_THREADS, Variant};
use words::{BoxWords, DigitWords, FoldWords, InputWords, SettledWords, StepWords};

/// A device with the kernels that elimination takes, each compiled when a plan first asks for it.
#[derive(Debug)]
pub struct Gpu {
    cuda: Arc<Cuda>,
    /// Bytes that tables may take in any case.
    limit: u64,
    /// By expression: what they are compiled from is long.
    kernels: Mutex<HashMap<String, Kernel>>,
}

/// How long a kernel is waited for at a time.
const PATIENCE: Duration = Duration::from_millis(20);
/// The part of free device memory that tables may take.
const USABLE: f64 = 0.9;
/// Combinations for each thread of the CPU below which it is done before a device has begun.
const SMALL: f64 = 1e7;

impl Gpu {
    /// Uses a device that is open.
    pub fn new(cuda: Arc<Cuda>) -> Arc<Gpu> {
        Gpu::limited(cuda, u64::MAX)
    }

    /// Uses a device whose tables take `limit` bytes at most.
    pub fn limited(cuda: Arc<Cuda>, limit: u64) -> Arc<Gpu> {
        Arc::new(Gpu { cuda, limit, kernels: Mutex::default() })
    }

    /// Whether so many combinations are worth the way to a device. A few are not: copies and launches take longer.
    pub fn pays(joint_entries: f64) -> bool {
        joint_entries >= SMALL * rayon::current_num_threads() as f64
    }

    /// The device for so many combinations, where it is wanted. None is the CPU.
    ///
    /// # Errors
    /// Why the device that was named cannot be used; [`Error::Stopped`] where `stop` is set before that is known.
    pub fn of(opening: &Opening, joint_entries: f64, needed: bool, stop: &Stop) -> Result<Option<Arc<Gpu>>, Error> {
        match Gpu::is_wanted(opening.choice(), joint_entries, needed) {
            true => Ok(opening.wait(stop)?.cuda.map(Gpu::new)),
            false => Ok(None),
        }
    }

    /// Whether a device should do it: one that was named in any case; where none was, one that works, if that pays or
    /// is `needed` because the host cannot do it.
    pub fn is_wanted(choice: &Choice, joint_entries: f64, needed: bool) -> bool {
        choice.is_named() || (*choice == Choice::Auto && (needed || Gpu::pays(joint_entries)))
    }

    /// The device.
    pub fn cuda(&self) -> &Arc<Cuda> {
        &self.cuda
    }

    /// Bytes of tables that fit the device now: a budget to make plans with.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn budget(&self) -> Result<u64, DeviceError> {
        Ok(((self.cuda.free_memory()? as f64 * USABLE) as u64).min(self.limit))
    }

    /// Bytes of device memory that a plan takes: its tables, all functions at a time, sums made beforehand.
    pub fn bytes(plan: &Plan) -> u64 {
        Gpu::bytes_of(plan, plan.placement.keep_messages, plan.costs.width.bytes())
    }

    /// Whether a device with so many bytes of free memory can hold a plan whose messages are not kept.
    pub(super) fn holds(plan: &EliminationPlan, entry_bytes: u64, bytes: u64) -> bool {
        let room = Room { keep_messages: false, bytes: entry_bytes, entries: bytes / entry_bytes };
        program::Program::new(plan, room, &Chip::default()).is_ok()
    }

    fn bytes_of(plan: &EliminationPlan, keep_messages: bool, entry_bytes: u64) -> u64 {
        let room = Room { keep_messages, bytes: entry_bytes, entries: 0 };
        // it is laid out as far as its size
        let program = program::Program::new(plan, room, &Chip::default());
        program.map_or_else(|entries| entries, |program| program.entries).saturating_mul(entry_bytes)
    }

    /// Begins to compile a kernel.
    pub fn begin(&self, text: Text, expression: &str) {
        // what is wrong with it is said to whoever takes it
        let _ = self.ready(text, expression);
    }

    /// A kernel; `None` where it takes longer than some milliseconds.
    pub fn poll(&self, text: Text, expression: &str) -> Result<Option<Kernel>, DeviceError> {
        self.wait(text, expression, PATIENCE)
    }

    /// The same, at once.
    pub fn ready(&self, text: Text, expression: &str) -> Result<Option<Kernel>, DeviceError> {
        self.wait(text, expression, Duration::ZERO)
    }

    fn wait(&self, text: Text, expression: &str, patience: Duration) -> Result<Option<Kernel>, DeviceError> {
        let known = || self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = known().get(expression) {
            return Ok(Some(kernel.clone()));
        }
        let Some(module) = self.cuda.poll(&(text.source)().kernel(expression), patience)? else {
            return Ok(None);
        };
        let kernel = module.kernel(expression, (text.shared)(self.cuda.info.shared_memory))?;
        let _ = known().insert(expression.into(), kernel.clone());
        Ok(Some(kernel))
    }

    /// A kernel, once it is compiled.
    pub fn kernel(&self, text: Text, expression: &str) -> Result<Kernel, DeviceError> {
        loop {
            if let Some(kernel) = self.poll(text, expression)? {
                return Ok(kernel);
            }
        }
    }
}

/// What a plan takes on a device.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Milliseconds for all launches, the median.
    pub ms: f64,
    /// The entries asked for.
    pub entries: Vec<Cost>,
    /// Its kernels and their blocks.
    pub launch: String,
    /// How many launches.
    pub launches: usize,
}

/// Times a plan, everything that it needs being on the device; `entries` of its first message are looked at.
///
/// # Errors
/// The device's, and a plan that does not fit.
pub fn measure(
    gpu: &Arc<Gpu>,
    problem: &Problem,
    plan: &Plan,
    repeats: usize,
    entries: &[u64],
) -> Result<Measured, DeviceError> {
    match plan.costs.width {
        Width::I32 => measure_entries::<i32>(gpu, problem, plan, repeats, entries),
        Width::I64 => measure_entries::<i64>(gpu, problem, plan, repeats, entries),
    }
}

fn measure_entries<E: CostEntry + Element>(
    gpu: &Arc<Gpu>,
    problem: &Problem,
    plan: &Plan,
    repeats: usize,
    entries: &[u64],
) -> Result<Measured, DeviceError> {
    let semiring = MinSum { cap: E::from_cost(plan.cap()) };
    let task = Task { plan: &plan.structure, placement: &plan.placement, factors: problem, semiring };
    let Some(mut execution) = Execution::new(gpu.clone(), task)? else {
        return Err(DeviceError::Unusable(format!("{} takes {} bytes of the device", plan.name(), Gpu::bytes(plan))));
    };
    let ms = execution.time(repeats)?;
    let (launch, launches) = (execution.describe(), execution.launches());
    let resident = execution.leave();
    let wanted: Vec<(u32, u64)> = entries.iter().map(|&index| (0, index)).collect();
    let entries = resident.entries(&wanted).map_err(|failure| match failure {
        Failure::Device(error) => error,
        Failure::Host(error) => DeviceError::Unusable(error.to_string()),
    })?;
    Ok(Measured { ms, entries: entries.into_iter().map(E::cost).collect(), launch, launches })
}

/// A text of kernels.
#[derive(Clone, Copy)]
pub struct Text {
    /// What is compiled.
    pub source: fn() -> Source,
    /// Bytes of shared memory that a block takes, of those that it may.
    pub shared: fn(u32) -> u32,
}

impl Text {
    /// A text whose blocks have what shared memory they say.
    pub const fn new(source: fn() -> Source) -> Text {
        Text { source, shared: |_| 0 }
    }
}

/// The texts of the kernels: steps in tiles or one by one, the way back, probabilities with utilities, large steps of
/// few inputs, the decoder.
pub(crate) const BUCKET: Text = Text::new(bucket);
pub(crate) const PROPAGATE: Text = Text::new(propagate);
pub(crate) const PAIRS: Text = Text::new(pairs);
pub(crate) const STAGED: Text = Text { source: staged, shared: |most| most };
pub(crate) const DECODER: Text = Text { source: decoder::source, shared: Decoder::shared };

/// What texts of steps have in common.
fn steps(name: &str) -> Source {
    let shared = constants! { u32: THREADS, TILE_THREADS, INPUTS, DIGITS, TILE_DIGITS; i32: MANY, RUN, SINGLE; };
    let settling = constants! { u64: SETTLED, NEVER; i32: WHOLE, MEASURE, SCALE; };
    let source = kernels::source(name).declare(&shared).declare(&settling);
    let source = source.asserts::<MinSum<i32>>().asserts::<MinSum<i64>>().asserts::<Counting>();
    let source = source.asserts::<execution::NoWords>().asserts::<StepWords>().asserts::<execution::Addresses>();
    source.asserts::<DigitWords>().asserts::<InputWords>().asserts::<BoxWords>().asserts::<SettledWords>()
}

fn bucket() -> Source {
    steps("bucket.cu")
}

fn propagate() -> Source {
    steps("propagate.cu").asserts::<FoldWords>()
}

fn pairs() -> Source {
    steps("pairs.cu").declare(&constants! { i32: EXPECT, LARGEST, CONSTANT; })
}

fn staged() -> Source {
    // bytes of a copy
    const PIECE: u32 = stage::PIECE * stage::ENTRY;
    steps("staged.cu").declare(&constants! { u32: STAGES, PIECE; })
}

/// Sources of every kind of kernel that plans may ask for, to compile without a device.
pub fn sources() -> Vec<Source> {
    let few = |runs, singles| Kinds::Few { runs, singles };
    let small: &[[u32; 4]] = &[[2, 2, 2, 1]];
    let semirings = [
        (MinSum::<i32>::name(), i32::NAME, &[[4, 2, 2, 4], [5, 5, 2, 1]][..]),
        (MinSum::<i64>::name(), i64::NAME, small),
        (Counting::name(), u64::NAME, small),
        (SumProduct::name(), f64::NAME, small),
    ];
    let mut source = bucket();
    for (semiring, entry, tiles) in &semirings {
        source = source.kernel(format!("gather<{entry}>")).kernel(Variant::Each.expression(semiring));
        for &tile in *tiles {
            let [one, many] = [[few(1, 0); 3], [Kinds::Many; 3]].map(|[a, b, c]| [a, b, c, Kinds::NONE]);
            for kinds in [one, many, [few(1, 1), Kinds::NONE, few(0, 1), Kinds::Many]] {
                source = source.kernel(Variant::Tile(tile, kinds).expression(semiring));
            }
        }
    }
    let short = MinSum::<i32>::name();
    let kinds = [Kinds::NONE, few(2, 1), few(1, 1), Kinds::NONE];
    source = source.kernel(Variant::Tile([5, 2, 1, 4], kinds).expression(&short));
    let staged = |tile, tiles, lanes, inputs| {
        Variant::Staged(Staged { tile, tiles, lanes, blocks: 1 }, inputs).expression(&short)
    };
    let staged = self::staged()
        .kernel(staged([5, 5, 3], [1, 5, 3], 16, [1, 1, 1]))
        .kernel(staged([4, 4, 4], [2, 2, 2], 20, [2, 2, 1]))
        .kernel(staged([9, 3, 3], [1, 2, 2], 32, [0, 1, 2]));
    let back = [Variant::Down, Variant::Settle(Phase::Whole)].into_iter();
    let back = back.chain([Phase::Measure, Phase::Scale].map(Variant::Settle));
    let back = back.map(|variant| variant.expression(&SumProduct::name())).fold(propagate(), Source::kernel);
    let roles = [Role::Expect, Role::Largest, Role::Constant].map(Variant::Pair);
    let roles = roles.map(|variant| variant.expression(&SumProduct::name())).into_iter().fold(pairs(), Source::kernel);
    let decoder = [i32::NAME, i64::NAME].into_iter().map(Decoder::expression);
    let decoder = decoder.fold(decoder::source(), Source::kernel);
    vec![source, staged, back, roles, decoder, DeviceRows::kernels()]
}

#[doc(hidden)]
pub mod emulator;
#[cfg(test)]
mod tests;
#[doc(hidden)]
pub use {
    emulator::{EMULATED, EmulatedMachine},
    program::Back,
};
