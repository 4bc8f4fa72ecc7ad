//! Cost shifting between functions on a device: the waves of the host, with the same result (kernels/shift.cu).
//!
//! A wave is one launch. The tables are uploaded once, for each of their variables with its values fastest. The costs
//! taken and the costs of values stay on the device until all passes are done. The host reads only the constant, after
//! many waves.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::amounts::Amounts;
use super::cuda_words::{BlockWords, DigitWords, PieceWords, THREADS, Tables, VisitWords, Words};
use super::layout::{Costs, Layout};
use crate::bounds::moved::Moved;
use crate::bounds::tuning::STAGED;
use crate::bounds::tuning::cost_shifting::ROWS;
use crate::device::shared::{constants, device_structs};
use crate::device::{Blocks, CudaSlice, DeviceError, Held, Kernel, PushKernelArg, Source};
use crate::elimination::cuda::{Element, Gpu, Text};
use crate::kernels;
use crate::model::Cost;
use crate::stop::Stop;
use crate::tensor::tiles::Movable;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Byte that fills a least cost before it is computed: the resulting number exceeds any cost.
const UNSET: u8 = 0x3f;
const TEXT: Text = Text::new(text);

fn text() -> Source {
    const UNSET: i64 = i64::from_ne_bytes([self::UNSET; 8]);
    const NEVER_SHORT: i32 = i32::NEVER;
    const NEVER: i64 = i64::NEVER;
    let shared = constants! { u32: THREADS, ROWS; i32: NEVER_SHORT; i64: NEVER, UNSET; };
    let source = kernels::source("shift.cu").declare(&shared).asserts::<Addresses>();
    source.asserts::<PieceWords>().asserts::<DigitWords>().asserts::<VisitWords>().asserts::<BlockWords>()
}

device_structs! {
    #[derive(Clone, Copy, Debug)]
    struct Addresses as "Pass" {
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
}

pub(crate) fn expression(entry: &str) -> String {
    format!("shift_visit<{entry}>")
}

pub(crate) fn kernels() -> Source {
    [i32::NAME, i64::NAME].into_iter().map(expression).fold(text(), Source::kernel)
}

pub(crate) fn begin(gpu: &Gpu, short: bool) {
    gpu.begin(TEXT, &expression(if short { i32::NAME } else { i64::NAME }));
}

#[derive(Debug)]
pub(crate) struct ShiftDevice {
    gpu: Arc<Gpu>,
    kernel: Kernel,
    waves: Vec<Range<u32>>,
    unary: CudaSlice<i64>,
    taken: CudaSlice<i64>,
    constants: CudaSlice<i64>,
    addresses: Addresses,
    _held: Held,
}

impl ShiftDevice {
    /// Uploads the costs of the host, with tables of entries `E`. Returns `None` while the kernel is not compiled; with
    /// `patience`, waits some milliseconds for it.
    pub fn new<E: Moved>(
        gpu: &Arc<Gpu>,
        layout: &Layout,
        costs: &Costs,
        range: Cost,
        patience: bool,
    ) -> Result<Option<Self>, DeviceError> {
        let expression = expression(E::NAME);
        let Some(kernel) = (if patience { gpu.poll(TEXT, &expression)? } else { gpu.ready(TEXT, &expression)? }) else {
            return Ok(None);
        };
        let (cuda, tables, entry) = (gpu.cuda(), Tables::new(layout), size_of::<E>() as u64);
        let (bytes, free) = (tables.entries.saturating_mul(entry), gpu.budget()?);
        if bytes > free {
            let what = format!("cost shifting takes {bytes} bytes of device memory for its tables, {free} are free");
            return Err(DeviceError::Unusable(what));
        }
        // a wave's contributions to the constant are summed before the sum is checked
        let most = layout.waves.iter().map(|wave| wave.variables.len() as Cost).max().unwrap_or(0);
        if range.saturating_mul(most + 1) > 1 << 62 {
            return Err(DeviceError::Unusable("costs to shift are too large to be added on a device".into()));
        }
        let mut held = Held::default();
        let base = held.keep(cuda, upload::<E>(gpu, layout, &tables)?);
        let words =
            Words::new(layout, entry, |function, place| base + tables.at[layout.number(function, place)] * entry);
        let (unary, taken) = (upload_amounts(gpu, &costs.unary)?, upload_amounts(gpu, &costs.taken)?);
        let least = cuda.reserve::<i64>(taken.len())?;
        cuda.set_bytes(&least, UNSET)?;
        let constants = cuda.zeros(layout.waves.len() + 1)?;
        let addresses = Addresses {
            pieces: held.upload(cuda, &words.pieces)?,
            digits: held.upload(cuda, &words.digits)?,
            visits: held.upload(cuda, &words.visits)?,
            blocks: held.upload(cuda, &words.blocks)?,
            uses: held.upload(cuda, &words.uses)?,
            arrived: held.keep(cuda, cuda.zeros::<u32>(words.visits.len())?),
            unary: cuda.address(&unary),
            taken: cuda.address(&taken),
            least: held.keep(cuda, least),
            constants: cuda.address(&constants),
        };
        let (gpu, waves) = (gpu.clone(), words.waves);
        Ok(Some(ShiftDevice { gpu, kernel, waves, unary, taken, constants, addresses, _held: held }))
    }

    /// Runs waves of a pass and returns the new constant, given the old one; `range` if there is no solution.
    pub fn run(
        &mut self,
        forward: bool,
        waves: Range<usize>,
        constant: Cost,
        range: Cost,
    ) -> Result<Cost, DeviceError> {
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
                self.kernel.launch(stream, Blocks::new(count, THREADS), |arguments| {
                    arguments.arg(&addresses).arg(&first).arg(&step).arg(&back).arg(&range)
                })?;
            }
        }
        let last = constants.len() - 1;
        let constant = cuda.read(&self.constants.slice(last..=last))?.first().copied().unwrap_or(constant);
        Ok(constant.min(range))
    }

    /// Downloads the costs, as `short` if they are likely to fit into 32 bits.
    pub fn costs(&self, short: bool) -> Result<Costs, DeviceError> {
        let of = |all: &CudaSlice<i64>| {
            let mut amounts = Amounts::with_capacity(all.len(), short);
            for start in (0..all.len()).step_by(STAGED) {
                let part = self.gpu.cuda().read(&all.slice(start..all.len().min(start + STAGED)))?;
                // this flag is never set
                amounts.extend(&part, &Stop::new()).map_err(|error| DeviceError::Unusable(error.to_string()))?;
            }
            Ok(amounts)
        };
        Ok(Costs { unary: of(&self.unary)?, taken: of(&self.taken)? })
    }
}

fn upload_amounts(gpu: &Gpu, amounts: &Amounts) -> Result<CudaSlice<i64>, DeviceError> {
    let mut memory = gpu.cuda().reserve::<i64>(amounts.len())?;
    for (start, part) in amounts.parts() {
        gpu.cuda().write(&part, &mut memory.slice_mut(start..start + part.len()))?;
    }
    Ok(memory)
}

fn upload<E: Moved>(gpu: &Gpu, layout: &Layout, tables: &Tables) -> Result<CudaSlice<E>, DeviceError> {
    let cuda = gpu.cuda();
    let mut memory = cuda.reserve::<E>(tables.entries as usize)?;
    let entries = |&(function, _): &(u32, u32)| layout.len(function);
    let (mut rest, mut start) = (&tables.all[..], 0);
    while !rest.is_empty() {
        let mut sum = 0;
        let enough = |own| {
            sum += entries(own);
            sum >= STAGED
        };
        let some = rest.iter().position(enough).map_or(rest.len(), |last| last + 1);
        let staged: Vec<Vec<E>> =
            rest[..some].par_iter().map(|&(function, place)| Tables::table(layout, function, place)).collect();
        let staged = staged.concat();
        cuda.write(&staged, &mut memory.slice_mut(start..start + staged.len()))?;
        (rest, start) = (&rest[some..], start + staged.len());
    }
    Ok(memory)
}
