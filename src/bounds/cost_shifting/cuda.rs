//! Cost shifting between functions on a device: the host's waves, with the host's result (kernels/shift.cu).
//!
//! A wave is one launch. Tables go up once, for each of their variables with its values fastest; what is taken and what
//! values cost stays there until all passes are done. The host waits for what has become constant only, after many
//! waves.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::cuda_words::{BlockWords, DigitWords, PieceWords, Places, Tables, VisitWords, Words};
use super::{Costs, Device, Layout};
use crate::bounds::join_graph::cuda::Moved;
use crate::bounds::tuning::cost_shifting::STAGED;
use crate::device::{CudaSlice, DeviceError, DevicePtr, DeviceRepr, Kernel, PushKernelArg, Source};
use crate::elimination::cuda::{Element, Gpu};
use crate::kernels;
use crate::model::Cost;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Threads of a block.
const THREADS: u32 = 256;
/// What every byte is of a least cost that nothing was read into: more than any cost.
const UNSET: u8 = 0x3f;
const TEXT: &str = "shift.cu";

/// `Pass` of kernels/shift.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Addresses {
    pieces: u64,
    digits: u64,
    visits: u64,
    blocks: u64,
    uses: u64,
    arrived: u64,
    unary: u64,
    taken: u64,
    least: u64,
    constants: u64,
}

// SAFETY: the kernel's struct, field by field.
unsafe impl DeviceRepr for Addresses {}
// SAFETY: plain numbers, laid out as the kernel reads them.
unsafe impl DeviceRepr for PieceWords {}
// SAFETY: as above.
unsafe impl DeviceRepr for DigitWords {}
// SAFETY: as above.
unsafe impl DeviceRepr for VisitWords {}
// SAFETY: as above.
unsafe impl DeviceRepr for BlockWords {}

/// The kernel for an entry type.
pub(crate) fn expression(entry: &str) -> String {
    format!("shift_visit<{entry}>")
}

/// The kernel, to compile without a device.
pub(crate) fn kernels() -> Source {
    [i32::NAME, i64::NAME].into_iter().map(expression).fold(kernels::source(TEXT), Source::kernel)
}

/// Begins to compile the kernel.
pub(crate) fn begin(gpu: &Gpu, short: bool) {
    gpu.begin(TEXT, &expression(if short { i32::NAME } else { i64::NAME }));
}

/// Costs on a device.
#[derive(Debug)]
pub(crate) struct ShiftDevice<E> {
    gpu: Arc<Gpu>,
    kernel: Kernel,
    places: Places,
    waves: Vec<Range<u32>>,
    unary: CudaSlice<i64>,
    taken: CudaSlice<i64>,
    constants: CudaSlice<i64>,
    addresses: Addresses,
    _memory: Memory<E>,
}

/// What the kernel reads besides.
#[derive(Debug)]
struct Memory<E> {
    _tables: CudaSlice<E>,
    _pieces: CudaSlice<PieceWords>,
    _digits: CudaSlice<DigitWords>,
    _visits: CudaSlice<VisitWords>,
    _blocks: CudaSlice<BlockWords>,
    _uses: CudaSlice<u32>,
    _arrived: CudaSlice<u32>,
    _least: CudaSlice<i64>,
}

impl<E: Moved> ShiftDevice<E> {
    /// Costs as they are on the host. `None` as long as the kernel is not compiled; with `patience` after some
    /// milliseconds.
    ///
    /// # Errors
    /// The device's, and tables that do not fit.
    pub fn new(
        gpu: &Arc<Gpu>,
        layout: &Layout,
        costs: &[Costs],
        range: Cost,
        patience: bool,
    ) -> Result<Option<Self>, DeviceError> {
        let expression = expression(E::NAME);
        let Some(kernel) = (if patience { gpu.poll(TEXT, &expression)? } else { gpu.ready(TEXT, &expression)? }) else {
            return Ok(None);
        };
        let (cuda, tables) = (gpu.cuda(), Tables::new(layout));
        let (bytes, free) = (tables.entries.saturating_mul(size_of::<E>() as u64), gpu.budget()?);
        if bytes > free {
            let what = format!("cost shifting takes {bytes} bytes of device memory for its tables, {free} are free");
            return Err(DeviceError::Unusable(what));
        }
        // what becomes constant in a wave is added up before it is looked at
        let most = layout.waves.iter().map(|wave| wave.variables.len() as Cost).max().unwrap_or(0);
        if range.saturating_mul(most + 1) > 1 << 62 {
            return Err(DeviceError::Unusable("costs to shift are too large to be added on a device".into()));
        }
        let memory = upload::<E>(gpu, layout, &tables)?;
        let places = Places::new(costs.iter().map(|costs| (costs.unary.len(), costs.taken.len())));
        let stream = cuda.stream();
        let base = memory.device_ptr(stream).0;
        let bytes = size_of::<E>() as u64;
        let words = Words::new(layout, &places, bytes, |function, place| base + tables.at(function, place) * bytes);
        let all = |costs: fn(&Costs) -> &Vec<Cost>, all: &[Costs]| all.iter().flat_map(costs).copied().collect();
        let (unary, taken): (Vec<Cost>, Vec<Cost>) =
            (all(|costs| &costs.unary, costs), all(|costs| &costs.taken, costs));
        let (unary, taken, least) = (cuda.upload(&unary)?, cuda.upload(&taken)?, cuda.reserve::<i64>(taken.len())?);
        cuda.set_bytes(&least, UNSET)?;
        let constants = cuda.zeros(layout.waves.len() + 1)?;
        let memory = Memory {
            _tables: memory,
            _pieces: cuda.upload(&words.pieces)?,
            _digits: cuda.upload(&words.digits)?,
            _visits: cuda.upload(&words.visits)?,
            _blocks: cuda.upload(&words.blocks)?,
            _uses: cuda.upload(&words.uses)?,
            _arrived: cuda.zeros(words.visits.len())?,
            _least: least,
        };
        let addresses = Addresses {
            pieces: memory._pieces.device_ptr(stream).0,
            digits: memory._digits.device_ptr(stream).0,
            visits: memory._visits.device_ptr(stream).0,
            blocks: memory._blocks.device_ptr(stream).0,
            uses: memory._uses.device_ptr(stream).0,
            arrived: memory._arrived.device_ptr(stream).0,
            unary: unary.device_ptr(stream).0,
            taken: taken.device_ptr(stream).0,
            least: memory._least.device_ptr(stream).0,
            constants: constants.device_ptr(stream).0,
        };
        let (gpu, waves) = (gpu.clone(), words.waves);
        Ok(Some(ShiftDevice { gpu, kernel, places, waves, unary, taken, constants, addresses, _memory: memory }))
    }
}

/// Tables one after the other.
fn upload<E: Moved>(gpu: &Gpu, layout: &Layout, tables: &Tables) -> Result<CudaSlice<E>, DeviceError> {
    let cuda = gpu.cuda();
    let mut memory = cuda.reserve::<E>(tables.entries as usize)?;
    let entries = |&(function, _): &(u32, u32)| {
        layout.functions[function as usize].entries.as_ref().map_or(0, |entries| entries.len() as u64)
    };
    let (mut rest, mut start) = (&tables.all[..], 0);
    while !rest.is_empty() {
        let mut sum = 0;
        let enough = |own| {
            sum += entries(own);
            sum >= STAGED
        };
        let some = rest.iter().position(enough).map_or(rest.len(), |last| last + 1);
        let staged: Vec<Vec<E>> = rest[..some].par_iter().map(|&own| Tables::table(layout, own)).collect();
        let staged = staged.concat();
        cuda.write(&staged, &mut memory.slice_mut(start..start + staged.len()))?;
        (rest, start) = (&rest[some..], start + staged.len());
    }
    Ok(memory)
}

impl<E: Moved> Device for ShiftDevice<E> {
    fn run(&mut self, forward: bool, waves: Range<usize>, constant: Cost, range: Cost) -> Result<Cost, DeviceError> {
        let cuda = self.gpu.cuda();
        let mut constants = vec![0; waves.len() + 1];
        constants[0] = constant;
        cuda.write(&constants, &mut self.constants.slice_mut(..constants.len()))?;
        let (addresses, back, stream) = (self.addresses, u32::from(!forward), cuda.stream());
        for (step, number) in (0u32..).zip(waves) {
            let blocks = &self.waves[if forward { number } else { self.waves.len() - 1 - number }];
            let (first, count) = (blocks.start, blocks.len() as u32);
            // SAFETY: the arguments are the kernel's; all addresses lie in the memory of `self`.
            unsafe {
                self.kernel.launch(stream, (count, THREADS, 0), |arguments| {
                    let _ = arguments.arg(&addresses).arg(&first).arg(&step).arg(&back).arg(&range);
                })?;
            }
        }
        let last = constants.len() - 1;
        let constant = cuda.read(&self.constants.slice(last..=last))?.first().copied().unwrap_or(constant);
        Ok(constant.min(range))
    }

    fn costs(&self) -> Result<Vec<Costs>, DeviceError> {
        let cuda = self.gpu.cuda();
        let (unary, taken) = (cuda.read(&self.unary)?, cuda.read(&self.taken)?);
        let part = |all: &[Cost], at: &[u64]| all[at[0] as usize..at[1] as usize].to_vec();
        let places = self.places.unary.windows(2).zip(self.places.rows.windows(2));
        Ok(places.map(|(own, rows)| Costs { unary: part(&unary, own), taken: part(&taken, rows) }).collect())
    }
}
