//! Constraint-weighting walks in device memory, a warp each.

#![allow(unsafe_code, reason = "kernel launches and device pointers in structures that kernels take")]

use super::cpu::{WalkStart, WeightingWalks};
use super::walk::{IncidenceLists, Limit, WalkProgress};
use crate::device::shared::device_structs;
use crate::device::{CudaSlice, CudaStream, DeviceError, Kernel, PushKernelArg, Source, ValidAsZeroBits};
use crate::kernels;
use crate::search::context::cuda::{Device, address};
use crate::search::context::value_tables::ValueTables;
use crate::search::scheduler::driver::SearchContext;
use crate::stop::Stop;
use std::sync::Arc;

device_structs! {
    /// `kernels/weighting.cu`: WalkInput.
    #[derive(Clone, Copy, Debug)]
    struct InputArgument as "WalkInput" {
        variables: u32,
        functions: u32,
        group: u32,
        hard: i32,
        entries: u64,
        first: u64,
        domains: u64,
        starts: u64,
        incidences: u64,
        ranges: u64,
        on: u64,
        further: u64,
    }

    /// `kernels/weighting.cu`: Walks.
    #[derive(Clone, Copy, Debug)]
    struct WalksArgument as "Walks" {
        tables: u64,
        words: u64,
        found: u64,
        progress: u64,
        starts: u64,
        stop: u64,
        count: u32,
        padding as "": u32,
    }
}

// SAFETY: zeros are numbers.
unsafe impl ValidAsZeroBits for WalkProgress {}

/// Walks on a device.
pub(crate) struct CudaWeightingWalks {
    cuda: Device,
    /// For what cannot wait for the kernels' stream.
    aside: Arc<CudaStream>,
    begin: Kernel,
    walk: Kernel,
    open: Option<Open>,
}

/// What depends on core and number.
struct Open {
    input: InputArgument,
    walks: WalksArgument,
    variables: usize,
    found: CudaSlice<u16>,
    progress: CudaSlice<WalkProgress>,
    /// Not 0 once a round is to end early.
    stop: CudaSlice<u32>,
    /// Kept for their memory.
    _tables: (Vec<CudaSlice<u32>>, CudaSlice<i32>, CudaSlice<u16>),
}

/// Threads of a block: four walks.
const THREADS: u32 = 128;
/// Walks of a multiprocessor. On an H200 528 of them made 40 million moves a second on a random formula of 1000
/// variables, 1056 69 and 4224 124, which no cache holds. On four networks of six 528 to 2112 were the soonest to find
/// something, on two 264, by 0.01 s (results/notes/weights.md).
const RESIDENT: usize = 8;
/// Work of a round: some ten milliseconds.
const ROUND_WORK: u64 = 10_000_000;
/// Steps of a round, at most.
const MOST_STEPS: u64 = 20_000;

/// Words of a walk's tables.
fn words(tables: &ValueTables) -> usize {
    let (n, sums, functions) = (tables.variables(), tables.width.iter().sum::<u32>(), tables.problem.functions.len());
    3 * n + 2 * sums as usize + 4 * functions
}

/// About how long a step of all walks takes, in nanoseconds.
fn step_work(tables: &ValueTables) -> u64 {
    let n = tables.variables().max(1);
    let degree = (0..n).map(|v| tables.degree(v)).sum::<usize>() / n;
    let width = tables.width.iter().sum::<u32>() as usize / n;
    (5000 + 40 * degree * (8 + width)) as u64
}

/// The kernels of constraint-weighting walks.
pub(crate) fn sources() -> Vec<Source> {
    vec![CudaWeightingWalks::source()]
}

impl CudaWeightingWalks {
    /// Their kernels.
    pub fn source() -> Source {
        let source = kernels::source("weighting.cu").declare(&super::walk::declared());
        let source = source.asserts::<InputArgument>().asserts::<WalksArgument>().asserts::<WalkProgress>();
        source.kernel("begin").kernel("walk")
    }

    /// A device without walks.
    pub fn new(cuda: Device) -> Result<CudaWeightingWalks, DeviceError> {
        // bounds use the device too
        let cuda = cuda.beside()?;
        let aside = cuda.fork()?;
        let loaded = cuda.load(&CudaWeightingWalks::source())?;
        let (begin, walk) = (loaded.kernel("begin", 0)?, loaded.kernel("walk", 0)?);
        Ok(CudaWeightingWalks { cuda, aside, begin, walk, open: None })
    }

    fn opened(&self) -> Result<&Open, DeviceError> {
        let missing = || DeviceError::Unusable("walks were asked for before there were any".into());
        self.open.as_ref().ok_or_else(missing)
    }
}

impl WeightingWalks for CudaWeightingWalks {
    fn suitable(&mut self, context: &SearchContext) -> Result<usize, DeviceError> {
        let resident = RESIDENT * self.cuda.info.multiprocessors as usize;
        let one = 4 * words(&context.tables) + 4 * context.variables() + size_of::<WalkProgress>();
        let fitting = self.cuda.free_memory()? as usize / 4 / one;
        Ok(resident.min(fitting).max(1))
    }

    fn open(&mut self, context: &SearchContext, walks: Vec<WalkStart>) -> Result<(), DeviceError> {
        // memory goes back before more is taken
        self.open = None;
        let (cuda, tables, n) = (&*self.cuda, &context.tables, context.variables());
        let incidences = IncidenceLists::new(tables);
        let (starts, incidences, first) = incidences.arrays();
        // of each variable the functions with its incidences
        let mut on = vec![Vec::new(); n];
        for (function, range) in starts.windows(2).enumerate() {
            for incidence in range[0]..range[1] {
                on[incidences[incidence as usize].0 as usize].push([function as u32, incidence]);
            }
        }
        let ranges = std::iter::once(0).chain(on.iter().scan(0, |end, list| {
            *end += list.len() as u32;
            Some(*end)
        }));
        let mut further = Vec::new();
        let mut packed = Vec::with_capacity(8 * incidences.len());
        for (v, incidence) in incidences {
            let rest = tables.further(incidence);
            packed.extend([incidence.base, *v, incidence.first, incidence.first_stride]);
            packed.extend([incidence.second, incidence.second_stride, further.len() as u32 / 2, rest.len() as u32]);
            further.extend(rest.iter().flat_map(|&(variable, stride)| [variable, stride]));
        }
        let lists: [Vec<u32>; 7] = [
            first.to_vec(),
            tables.problem.domains.clone(),
            starts.to_vec(),
            packed,
            ranges.collect(),
            on.iter().flatten().flatten().copied().collect(),
            further,
        ];
        let mut uploaded = Vec::new();
        for list in &lists {
            // no memory of length 0: a pointer must be one
            uploaded.push(if list.is_empty() { cuda.zeros(1)? } else { cuda.upload(list)? });
        }
        let [first, domains, starts, incidences, ranges, on, further] =
            std::array::from_fn(|list| address(cuda, &uploaded[list]));
        let entries = cuda.upload(tables.entries())?;
        let widest = tables.width.iter().max().map_or(1, |width| width / 4);
        let input = InputArgument {
            variables: n as u32,
            functions: tables.problem.functions.len() as u32,
            group: widest.next_power_of_two().min(32),
            hard: tables.hard,
            entries: address(cuda, &entries),
            first,
            domains,
            starts,
            incidences,
            ranges,
            on,
            further,
        };
        let count = walks.len();
        let of_walks = cuda.zeros::<u32>(count * words(tables))?;
        let begins: Vec<u16> = walks.iter().flat_map(|walk| &walk.values).copied().collect();
        let progress: Vec<WalkProgress> = walks.iter().map(|walk| walk.progress).collect();
        let (begins, progress) = (cuda.upload(&begins)?, cuda.upload(&progress)?);
        let (found, stop) = (cuda.zeros::<u16>(count * n)?, cuda.zeros::<u32>(1)?);
        let walks = WalksArgument {
            tables: address(cuda, &of_walks),
            words: words(tables) as u64,
            found: address(cuda, &found),
            progress: address(cuda, &progress),
            starts: address(cuda, &begins),
            stop: address(cuda, &stop),
            count: count as u32,
            padding: 0,
        };
        uploaded.push(of_walks);
        let shape = ((count as u32 * 32).div_ceil(THREADS), THREADS, 0);
        // SAFETY: the arguments are the kernel's; every place that it reads and writes was allocated for this core and
        // number.
        unsafe {
            self.begin.launch(cuda.stream(), shape, |arguments| {
                let _ = arguments.arg(&input).arg(&walks);
            })?;
        }
        self.open =
            Some(Open { input, walks, variables: n, found, progress, stop, _tables: (uploaded, entries, begins) });
        Ok(())
    }

    fn limit(&self, context: &SearchContext) -> Limit {
        let steps = (ROUND_WORK / step_work(&context.tables)).clamp(64, MOST_STEPS);
        Limit { steps: steps as u32, work: u64::MAX }
    }

    fn walk(
        &mut self,
        context: &SearchContext,
        limit: Limit,
        stop: &Stop,
    ) -> Result<(Vec<WalkProgress>, u64), DeviceError> {
        let (cuda, open) = (&*self.cuda, self.opened()?);
        let shape = ((open.walks.count * 32).div_ceil(THREADS), THREADS, 0);
        // SAFETY: as in `open`.
        unsafe {
            self.walk.launch(cuda.stream(), shape, |arguments| {
                let _ = arguments.arg(&open.input).arg(&open.walks).arg(&limit.steps);
            })?;
        }
        crate::search::cuda::watch(cuda, &self.aside, &open.stop, stop)?;
        Ok((cuda.read(&open.progress)?, u64::from(limit.steps) * step_work(&context.tables)))
    }

    fn found(&self, slots: &[usize]) -> Result<Vec<Vec<u16>>, DeviceError> {
        let open = self.opened()?;
        let n = open.variables;
        slots.iter().map(|&slot| self.cuda.read(&open.found.slice(slot * n..(slot + 1) * n))).collect()
    }
}
