//! The tables of a join graph in device memory: the host's passes, wave by wave, with the same result
//! (kernels/joingraph.cu).
//!
//! A wave takes at most three launches: its operations on tables, the least entries of what moves, and the moves. A
//! large table is divided among thread blocks; each small table has one. The host waits only for the constant.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::cuda_words::{LEVEL, LieWords, MoveWords, OperationWords, SHARE, Words};
use super::schedule::{INPUTS, Kind, Layout, Operation, Separator, Wave};
use super::tables::{Given, Tables, lay_out, source, wide};
use crate::bounds::moved::Moved;
use crate::bounds::tuning::STAGED;
use crate::bounds::tuning::join_graph::{BLOCKS, CHUNK};
use crate::device::shared::{constants, device_structs};
use crate::device::{self, Blocks, Cuda, CudaSlice, DeviceError, Held, Kernel, PushKernelArg};
use crate::elimination::cuda::Element;
use crate::elimination::cuda::{Gpu, Text};
use crate::elimination::plan::{Plan, Source};
use crate::kernels;
use crate::model::Cost;
use crate::stop::Stop;
use crate::tensor::tiles::{Movable, NEVER};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

const THREADS: u32 = 256;
/// Byte that fills a separator message before it is computed: the resulting number exceeds any entry.
const UNSET: u8 = 0x3f;

device_structs! {
    #[derive(Clone, Copy, Debug)]
    struct Addresses as "Pass" {
        operations: u64,
        maps: u64,
        sizes: u64,
        strides: u64,
        moves: u64,
        map: u64,
        lowest: u64,
        constant: u64,
    }
}

const TEXT: Text = Text::new(text);

fn text() -> device::Source {
    const NEVER_SHORT: i32 = i32::NEVER;
    const NEVER_LONG: i64 = i64::NEVER;
    let shared = constants! {
        u32: THREADS, BLOCKS, INPUTS, CHUNK, SHARE, LEVEL;
        i32: NEVER_SHORT;
        i64: NEVER_LONG;
    };
    let source = kernels::source("joingraph.cu").declare(&shared).asserts::<Addresses>();
    source.asserts::<OperationWords>().asserts::<LieWords>().asserts::<MoveWords>()
}

pub(crate) fn expressions(entry: &str) -> [String; 3] {
    ["relax", "lowest", "exchange"].map(|name| format!("graph_{name}<{entry}>"))
}

pub(crate) fn kernels() -> device::Source {
    [i32::NAME, i64::NAME].into_iter().flat_map(expressions).fold(text(), device::Source::kernel)
}

/// The tables of a join graph on a device.
#[derive(Debug)]
pub(crate) struct Graph<E> {
    gpu: Arc<Gpu>,
    layout: Arc<Layout>,
    kernels: [Kernel; 3],
    tables: CudaSlice<E>,
    separators: CudaSlice<E>,
    /// Offset in entries of each table, with an end mark.
    tables_at: Vec<u64>,
    /// Offset in entries of each separator message, with an end mark.
    slots_at: Vec<u64>,
    /// Addresses of the tile offsets of each separator message.
    offsets: Vec<u64>,
    lowest: CudaSlice<i64>,
    constant: CudaSlice<i64>,
    passes: FxHashMap<Kind, Uploaded>,
    _held: Held,
}

/// The descriptors of a pass on the device.
#[derive(Debug)]
struct Uploaded {
    words: Words,
    _held: Held,
    addresses: Addresses,
}

/// Uploads the offsets of separator messages within tiles, and returns their addresses; equal offsets are shared.
fn offsets(cuda: &Cuda, separators: &[Separator], held: &mut Held) -> Result<Vec<u64>, DeviceError> {
    let mut known: FxHashMap<&[u32], usize> = FxHashMap::default();
    let (mut all, mut at) = (Vec::new(), Vec::with_capacity(separators.len()));
    for separator in separators {
        let offsets = &separator.map.offsets[..];
        at.push(*known.entry(offsets).or_insert_with(|| {
            all.extend_from_slice(offsets);
            all.len() - offsets.len()
        }));
    }
    let base = held.upload(cuda, &all)?;
    Ok(at.into_iter().map(|at| base + (at * size_of::<u32>()) as u64).collect())
}

/// Returns the prefix sums of the sizes, with the total at the end.
pub(crate) fn places(sizes: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut at = vec![0];
    for size in sizes {
        at.push(at[at.len() - 1] + size as u64);
    }
    at
}

pub(crate) fn begin(gpu: &Gpu, short: bool) {
    let name = if short { i32::NAME } else { i64::NAME };
    expressions(name).iter().for_each(|expression| gpu.begin(TEXT, expression));
}

impl<E: Moved> Graph<E> {
    /// Sums the functions of each mini-bucket; sums of `range` or more are forbidden. Returns `None` while the kernels
    /// are not compiled, after waiting some milliseconds for them.
    pub fn new(
        gpu: &Arc<Gpu>,
        layout: &Arc<Layout>,
        given: Given<'_>,
        plan: &Plan,
        range: Cost,
    ) -> Result<Option<Self>, DeviceError> {
        let mut kernels = Vec::new();
        for expression in expressions(E::NAME) {
            gpu.begin(TEXT, &expression);
            match gpu.poll(TEXT, &expression)? {
                Some(kernel) => kernels.push(kernel),
                None => return Ok(None),
            }
        }
        let Ok(kernels) = <[Kernel; 3]>::try_from(kernels) else { return Ok(None) };
        let (cuda, bytes, free) = (gpu.cuda(), layout.entries().saturating_mul(size_of::<E>() as u64), gpu.budget()?);
        if bytes > free {
            let what = format!("a join graph takes {bytes} bytes of device memory, {free} are free");
            return Err(DeviceError::Unusable(what));
        }
        // a wave's contributions to the constant are summed before the sum is checked
        if range.saturating_mul(layout.separators.len() as Cost) > 1 << 62 {
            return Err(DeviceError::Unusable("a join graph's costs are too large to be added on a device".into()));
        }
        let tables_at = places(layout.clusters.iter().map(|cluster| cluster.entries));
        let slots_at = places(layout.separators.iter().map(|separator| separator.entries));
        let last = |at: &[u64]| at.last().copied().unwrap_or(0) as usize;
        let mut held = Held::default();
        let mut graph = Graph {
            gpu: gpu.clone(),
            layout: layout.clone(),
            kernels,
            tables: cuda.zeros(last(&tables_at))?,
            separators: cuda.reserve(last(&slots_at))?,
            tables_at,
            slots_at,
            offsets: offsets(cuda, &layout.separators, &mut held)?,
            lowest: cuda.reserve(layout.separators.len())?,
            constant: cuda.zeros(1)?,
            passes: FxHashMap::default(),
            _held: held,
        };
        graph.build(given, plan, range)?;
        Ok(Some(graph))
    }

    fn table_address(&self, cluster: usize) -> u64 {
        self.gpu.cuda().address(&self.tables) + self.tables_at[cluster] * size_of::<E>() as u64
    }

    /// Sums the functions of each mini-bucket; tables that another graph has on the device are read there.
    fn build(&mut self, given: Given<'_>, plan: &Plan, range: Cost) -> Result<(), DeviceError> {
        let gpu = self.gpu.clone();
        let (mut sources, mut addresses) = (Vec::new(), Vec::new());
        let mut missing: Vec<(usize, u32, usize)> = Vec::new();
        let mut waves: Vec<Wave> = Vec::new();
        for (cluster, step) in plan.steps.iter().enumerate() {
            let mut inputs = Vec::new();
            for (number, input) in step.inputs.iter().enumerate() {
                if matches!(input.source, Source::Message(_)) {
                    continue;
                }
                let known = given.address(input.source, plan.sequence[input.scope[0] as usize]);
                let separator = source(cluster, &self.layout.clusters[cluster], plan, input);
                match known {
                    Some((address, bytes)) if bytes == size_of::<E>() => addresses.push(address),
                    _ => {
                        missing.push((cluster, number as u32, separator.entries));
                        addresses.push(0);
                    }
                }
                inputs.push(sources.len() as u32);
                sources.push(separator);
            }
            for (number, inputs) in inputs.chunks(INPUTS).enumerate() {
                if waves.len() <= number {
                    waves.push(Wave::default());
                }
                let operation = Operation { cluster: cluster as u32, inputs: inputs.to_vec(), output: None };
                waves[number].operations.push(operation);
            }
        }
        let functions = self.upload(given, plan, range, &missing)?;
        let mut next = gpu.cuda().address(&functions);
        let mut entries = missing.iter().map(|&(_, _, entries)| entries);
        for address in addresses.iter_mut().filter(|address| **address == 0) {
            *address = next;
            next += (entries.next().unwrap_or(0) * size_of::<E>()) as u64;
        }
        let mut held = Held::default();
        let offsets = offsets(gpu.cuda(), &sources, &mut held)?;
        let pass = self.describe(&waves, &sources, &addresses, &offsets)?;
        self.launch(&pass, 0..waves.len(), range)?;
        // functions and descriptors must live until the launches are done
        gpu.cuda().synchronize()
    }

    /// Uploads the functions that the device does not have, one after the other.
    fn upload(
        &self,
        given: Given<'_>,
        plan: &Plan,
        range: Cost,
        missing: &[(usize, u32, usize)],
    ) -> Result<CudaSlice<E>, DeviceError> {
        let cuda = self.gpu.cuda();
        let mut memory = cuda.reserve::<E>(missing.iter().map(|&(_, _, entries)| entries).sum())?;
        let (mut staged, mut start) = (Vec::new(), 0);
        for &(cluster, number, _) in missing {
            let input = &plan.steps[cluster].inputs[number as usize];
            if let Some(costs) = lay_out::<E>(given, plan, input, range)? {
                staged.extend_from_slice(&costs);
            }
            if staged.len() >= STAGED {
                cuda.write(&staged, &mut memory.slice_mut(start..start + staged.len()))?;
                start += staged.len();
                staged.clear();
            }
        }
        if !staged.is_empty() {
            cuda.write(&staged, &mut memory.slice_mut(start..start + staged.len()))?;
        }
        Ok(memory)
    }

    /// Uploads the descriptors of waves, given the addresses of the separator messages and of their offsets.
    fn describe(
        &self,
        waves: &[Wave],
        separators: &[Separator],
        addresses: &[u64],
        offsets: &[u64],
    ) -> Result<Uploaded, DeviceError> {
        let (cuda, mut held) = (self.gpu.cuda(), Held::default());
        let table = |cluster: u32| self.table_address(cluster as usize);
        let separator = |separator: u32| (addresses[separator as usize], offsets[separator as usize]);
        let words = Words::new(waves, &self.layout.clusters, separators, table, separator);
        let addresses = Addresses {
            operations: held.upload(cuda, &words.operations)?,
            maps: held.upload(cuda, &words.maps)?,
            sizes: held.upload(cuda, &words.sizes)?,
            strides: held.upload(cuda, &words.strides)?,
            moves: held.upload(cuda, &words.moves)?,
            map: held.upload(cuda, &words.map)?,
            lowest: cuda.address(&self.lowest),
            constant: cuda.address(&self.constant),
        };
        Ok(Uploaded { words, _held: held, addresses })
    }

    fn launch(&self, pass: &Uploaded, waves: Range<usize>, range: Cost) -> Result<(), DeviceError> {
        let stream = self.gpu.cuda().stream();
        let addresses = pass.addresses;
        let [relax, lowest, exchange] = &self.kernels;
        for wave in &pass.words.waves[waves] {
            let (operations, moves) = (wave.operations.clone(), wave.moves.clone());
            // SAFETY: the arguments are the kernels'; all addresses lie in the memory of the pass, of `self`, or in
            // functions that the caller holds.
            unsafe {
                if !operations.is_empty() {
                    relax.launch(stream, Blocks::new(operations.len() as u32, THREADS), |arguments| {
                        arguments.arg(&addresses).arg(&operations.start).arg(&range)
                    })?;
                }
                if !moves.is_empty() {
                    lowest.launch(stream, Blocks::new(moves.len() as u32, THREADS), |arguments| {
                        arguments.arg(&addresses).arg(&moves.start)
                    })?;
                    exchange.launch(stream, Blocks::new(moves.len() as u32, THREADS), |arguments| {
                        arguments.arg(&addresses).arg(&moves.start).arg(&range)
                    })?;
                }
            }
        }
        Ok(())
    }
}

impl<E: Moved> Tables for Graph<E> {
    fn run(
        &mut self,
        kind: Kind,
        pass: &[Wave],
        waves: Range<usize>,
        range: Cost,
        _: &Stop,
    ) -> Result<(), DeviceError> {
        let cuda = self.gpu.cuda();
        if waves.start == 0 {
            cuda.set_bytes(&self.separators, UNSET)?;
            cuda.set_bytes(&self.lowest, UNSET)?;
        }
        if !self.passes.contains_key(&kind) {
            let base = cuda.address(&self.separators);
            let address = |&at: &u64| base + at * size_of::<E>() as u64;
            let addresses: Vec<u64> = self.slots_at.iter().map(address).collect();
            let uploaded = self.describe(pass, &self.layout.separators, &addresses, &self.offsets)?;
            let _ = self.passes.insert(kind, uploaded);
        }
        self.passes.get(&kind).map_or(Ok(()), |pass| self.launch(pass, waves, range))
    }

    fn constant(&mut self) -> Result<Cost, DeviceError> {
        Ok(self.gpu.cuda().read(&self.constant)?.first().copied().unwrap_or(0))
    }

    fn marginals(&mut self, _: &Stop) -> Result<Vec<Vec<Vec<Cost>>>, DeviceError> {
        let cuda = self.gpu.cuda();
        let mut separators = Vec::new();
        let mut wave = Wave::default();
        for (index, cluster) in self.layout.clusters.iter().enumerate() {
            for (axis, &size) in cluster.sizes.iter().enumerate() {
                let places: Vec<_> = (0..cluster.sizes.len()).map(|at| (at == axis).then_some(0)).collect();
                let map = cluster.tiles.map(&places, &[size]);
                let output = Some(separators.len() as u32);
                wave.operations.push(Operation { cluster: index as u32, inputs: Vec::new(), output });
                separators.push(Separator { cluster: index as u32, map, entries: size });
            }
        }
        let at = places(separators.iter().map(|separator| separator.entries));
        let memory = cuda.reserve::<E>(at.last().copied().unwrap_or(0) as usize)?;
        cuda.set_bytes(&memory, UNSET)?;
        let base = cuda.address(&memory);
        let addresses: Vec<u64> = at.iter().map(|at| base + at * size_of::<E>() as u64).collect();
        let mut held = Held::default();
        let offsets = offsets(cuda, &separators, &mut held)?;
        let pass = self.describe(&[wave], &separators, &addresses, &offsets)?;
        self.launch(&pass, 0..1, NEVER)?;
        let mut least = cuda.read(&memory)?.into_iter().map(wide);
        let mut axis = |&size: &usize| least.by_ref().take(size).collect();
        Ok(self.layout.clusters.iter().map(|cluster| cluster.sizes.iter().map(&mut axis).collect()).collect())
    }

    fn table(&self, cluster: usize) -> Result<Vec<Cost>, DeviceError> {
        let range = self.tables_at[cluster] as usize..self.tables_at[cluster + 1] as usize;
        Ok(self.gpu.cuda().read(&self.tables.slice(range))?.into_iter().map(wide).collect())
    }

    fn address(&self, cluster: usize) -> Option<(u64, usize)> {
        Some((self.table_address(cluster), size_of::<E>()))
    }
}
