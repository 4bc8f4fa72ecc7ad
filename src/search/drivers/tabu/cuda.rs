//! Tabu walks in device memory, a block of threads each.

#![allow(unsafe_code, reason = "kernel launches and device pointers in structures that kernels take")]

use super::cpu::{STATES, host_step_work, round_steps};
use super::walk::{Layout, REMEMBERED, Round, Start, TabuWalks, WalkProgress};
use crate::device::shared::device_structs;
use crate::device::{CudaSlice, CudaStream, DeviceError, Info, Kernel, PushKernelArg, Source, ValidAsZeroBits};
use crate::kernels;
use crate::search::context::cuda::{Device, address, largest_sums};
use crate::search::context::value_tables::ValueTables;
use crate::search::scheduler::driver::SearchContext;
use crate::stop::Stop;
use std::sync::Arc;

device_structs! {
    /// `kernels/tabu.cu`: Layout.
    #[derive(Clone, Copy, Debug)]
    struct LayoutArgument as "Layout" {
        variables: u32,
        quads: u32,
        incidents_count: u32,
        group: u32,
        laps: u32,
        unused: u32,
        entries: u64,
        starts: u64,
        domains: u64,
        floors: u64,
        ranges: u64,
        affected: u64,
        incidents: u64,
        pairs: u64,
    }

    /// `kernels/tabu.cu`: Walks.
    #[derive(Clone, Copy, Debug)]
    struct WalksArgument as "Walks" {
        tables: u64,
        words: u64,
        best: u64,
        seen: u64,
        progress: u64,
        keys: u64,
        starts: u64,
        stop: u64,
    }
}

// SAFETY: zeros are a walk that has not begun.
unsafe impl ValidAsZeroBits for WalkProgress {}

/// Tabu walks on a device.
pub(crate) struct CudaTabuWalks {
    cuda: Device,
    /// For what cannot wait for the kernels' stream.
    aside: Arc<CudaStream>,
    /// Walks and rounds are those of the CPU.
    portable: bool,
    open: Option<Open>,
}

/// What depends on core and number.
struct Open {
    program: Program,
    layout: LayoutArgument,
    walks: WalksArgument,
    variables: usize,
    /// Keys of walks that begin, and where they do, by walks.
    keys: CudaSlice<u64>,
    starts: CudaSlice<u16>,
    best: CudaSlice<u16>,
    progress: CudaSlice<WalkProgress>,
    /// Not 0 once a round is to end early.
    stop: CudaSlice<u32>,
    /// Kept for their memory.
    _tables: (Vec<CudaSlice<u32>>, CudaSlice<i32>),
}

/// Moves of the core for each thread of a walk, about; in a step those of variables in conflict are rated. Half as many
/// and twice as many were no faster (results/notes/tabu-cuda.md).
const RATED: u32 = 32;
/// Shared memory that the kernel takes beside a walk's tables, at most.
const BESIDE: u32 = 1 << 10;
/// Work of a round: some ten milliseconds.
const ROUND_WORK: u64 = 10_000_000;
/// Steps of a round, at most, as on the CPU.
const MOST_STEPS: u32 = 20_000;

/// About how long a step of all resident walks takes, in nanoseconds: an estimate; a round with the host's part took
/// twice as long on DSJC1000.1 (results/notes/tabu-cuda.md).
fn step_work(layout: &Layout) -> u64 {
    (2000 + layout.moves() / 20 + 2 * layout.changed_quads()) as u64
}

/// The kernel for a core, and how it is launched.
struct Program {
    walk: Kernel,
    /// Words of a walk's tables.
    words: usize,
    threads: u32,
    shared: u32,
}

/// How walks lie in memory.
#[derive(Clone, Copy)]
struct Cut {
    /// Words of a walk's tables.
    words: usize,
    /// Whether costs of moves and steps have 16 bits.
    short: bool,
    /// Bytes of shared memory; 0 where tables do not fit.
    shared: u32,
}

impl Cut {
    fn new(info: &Info, tables: &ValueTables, layout: &Layout) -> Cut {
        let (n, moves) = (tables.variables(), layout.moves());
        let room = info.shared_memory.saturating_sub(BESIDE) as usize;
        // costs of moves and until when they are tabu; of each variable its cost and value, a bit and a place in a list
        let words = |short: bool| {
            let numbers = 2 * moves + n.next_multiple_of(32);
            (2 * n + n.div_ceil(32) + if short { numbers / 2 } else { numbers }).next_multiple_of(4)
        };
        let short = fits_short(tables, layout) && 4 * (words(true) + 2 * (n + 1)) <= room;
        let in_shared = 4 * (words(short) + 2 * (n + 1)) <= room;
        let shared = if in_shared { 4 * (words(short) + 2 * (n + 1)) as u32 } else { 0 };
        Cut { words: words(short), short, shared }
    }

    fn kernel(self) -> &'static str {
        kernel(self.short, self.shared > 0)
    }
}

impl Program {
    fn new(cuda: &Device, tables: &ValueTables, layout: &Layout) -> Result<Program, DeviceError> {
        let cut = Cut::new(&cuda.info, tables, layout);
        let walk = cuda.load(&source(&[cut.kernel()]))?.kernel(cut.kernel(), cut.shared)?;
        let threads = (layout.moves() as u32 / RATED).next_power_of_two().clamp(32, 512);
        Ok(Program { walk, words: cut.words, threads, shared: cut.shared })
    }
}

/// Whether costs of moves and steps of a round with a tenure behind fit 16 bits, of which the largest number stands for
/// what is tabu for good.
fn fits_short(tables: &ValueTables, layout: &Layout) -> bool {
    let largest = |v: usize| i64::from(tables.unary(v)[..tables.domain(v)].iter().copied().max().unwrap_or(0));
    let steps = MOST_STEPS as usize + tables.variables() + 2 < usize::from(u16::MAX);
    let sum = |(v, sum): (usize, &i64)| sum + largest(v) - i64::from(layout.floors[v]);
    steps && largest_sums(tables).iter().enumerate().map(sum).all(|sum| sum < i64::from(u16::MAX))
}

fn kernel(short: bool, shared: bool) -> &'static str {
    match (short, shared) {
        (true, _) => "walk<u16, true>",
        (false, true) => "walk<u32, true>",
        (false, false) => "walk<u32, false>",
    }
}

fn source(kernels: &[&str]) -> Source {
    let source = kernels::source("tabu.cu").declare(&super::walk::declared());
    let source = source.asserts::<LayoutArgument>().asserts::<WalksArgument>().asserts::<WalkProgress>();
    kernels.iter().fold(source, |source, kernel| source.kernel(*kernel))
}

/// The kernels of tabu walks.
pub(crate) fn sources() -> Vec<Source> {
    vec![source(&[(true, true), (false, true), (false, false)].map(|(short, shared)| kernel(short, shared)))]
}

impl CudaTabuWalks {
    /// The kernels for a core.
    pub fn source(info: &Info, tables: &ValueTables, layout: &Layout) -> Source {
        source(&[Cut::new(info, tables, layout).kernel()])
    }

    /// A device without walks.
    pub fn new(cuda: Device, portable: bool) -> Result<CudaTabuWalks, DeviceError> {
        // bounds use the device too
        let cuda = cuda.beside()?;
        let aside = cuda.fork()?;
        Ok(CudaTabuWalks { cuda, aside, portable, open: None })
    }

    fn opened(&self) -> Result<&Open, DeviceError> {
        let missing = || DeviceError::Unusable("walks were asked for before there were any".into());
        self.open.as_ref().ok_or_else(missing)
    }
}

impl TabuWalks for CudaTabuWalks {
    fn suitable(&mut self, context: &SearchContext, layout: &Layout) -> Result<usize, DeviceError> {
        if self.portable {
            return Ok(STATES);
        }
        let program = Program::new(&self.cuda, &context.tables, layout)?;
        let blocks = program.walk.blocks_per_multiprocessor(program.threads, program.shared)?;
        let resident = (blocks * self.cuda.info.multiprocessors) as usize;
        let one = 4 * (program.words + REMEMBERED) + 4 * layout.starts.len();
        let fitting = self.cuda.free_memory()? as usize / 2 / one;
        Ok(resident.min(fitting).max(1))
    }

    fn steps(&self, layout: &Layout, progress: &[WalkProgress]) -> u32 {
        if self.portable {
            return round_steps(layout, progress);
        }
        (ROUND_WORK / step_work(layout)).clamp(64, u64::from(MOST_STEPS)) as u32
    }

    fn step_work(&self, layout: &Layout, progress: &[WalkProgress]) -> u64 {
        if self.portable { host_step_work(layout, progress) } else { step_work(layout) }
    }

    fn open(&mut self, context: &SearchContext, layout: &Arc<Layout>, count: usize) -> Result<(), DeviceError> {
        // memory goes back before more is taken
        self.open = None;
        let cuda = &*self.cuda;
        let program = Program::new(&self.cuda, &context.tables, layout)?;
        let (n, tables) = (context.variables(), &context.tables);
        let widest = tables.width.iter().max().map_or(1, |width| width / 4);
        let group = widest.next_power_of_two().min(32);
        let of_affected = layout.affected.iter();
        let of_incidents = layout.incidents.iter();
        let lists: [Vec<u32>; 7] = [
            layout.starts.iter().map(|start| start / 4).collect(),
            tables.problem.domains.clone(),
            layout.floors.iter().map(|&floor| floor as u32).collect(),
            layout.ranges.clone(),
            of_affected.flat_map(|row| [row.base, row.stride, row.variable, row.incident]).collect(),
            of_incidents.flat_map(|row| [row.base, row.pairs, row.variable, row.counts]).collect(),
            layout.pairs.iter().flat_map(|&(variable, stride)| [variable, stride]).collect(),
        ];
        let entries = cuda.upload(tables.entries())?;
        let mut uploaded = Vec::new();
        for list in &lists {
            uploaded.push(cuda.upload(list)?);
        }
        let [starts, domains, floors, ranges, affected, incidents, pairs] =
            std::array::from_fn(|list| address(cuda, &uploaded[list]));
        let layout_argument = LayoutArgument {
            variables: n as u32,
            quads: layout.moves() as u32 / 4,
            incidents_count: layout.incidents.len() as u32 - 1,
            group,
            laps: widest.div_ceil(group),
            unused: 0,
            entries: address(cuda, &entries),
            starts,
            domains,
            floors,
            ranges,
            affected,
            incidents,
            pairs,
        };
        let words = program.words;
        let of_walks = cuda.zeros::<u32>(count * words)?;
        let seen = cuda.zeros::<u32>(count * REMEMBERED)?;
        let (best, starts) = (cuda.zeros::<u16>(count * n)?, cuda.zeros::<u16>(count * n)?);
        let keys = cuda.zeros::<u64>(count)?;
        let (progress, stop) = (cuda.zeros::<WalkProgress>(count)?, cuda.zeros::<u32>(1)?);
        let walks = WalksArgument {
            tables: address(cuda, &of_walks),
            words: words as u64,
            best: address(cuda, &best),
            seen: address(cuda, &seen),
            progress: address(cuda, &progress),
            keys: address(cuda, &keys),
            starts: address(cuda, &starts),
            stop: address(cuda, &stop),
        };
        uploaded.extend([of_walks, seen]);
        let layout = layout_argument;
        self.open = Some(Open {
            program,
            layout,
            walks,
            variables: n,
            keys,
            starts,
            best,
            progress,
            stop,
            _tables: (uploaded, entries),
        });
        Ok(())
    }

    fn walk(&mut self, _: &SearchContext, round: &Round, stop: &Stop) -> Result<Vec<WalkProgress>, DeviceError> {
        let cuda = self.cuda.clone();
        if let Some(open) = &mut self.open {
            let mut keys = vec![0; open.progress.len()];
            let mut starts = vec![0; if round.begin.is_empty() { 0 } else { open.starts.len() }];
            for Start { slot, key, values } in round.begin {
                keys[*slot] = *key;
                starts[slot * open.variables..][..open.variables].copy_from_slice(values);
            }
            cuda.write(&keys, &mut open.keys)?;
            if !starts.is_empty() {
                cuda.write(&starts, &mut open.starts)?;
            }
        }
        let open = self.opened()?;
        let shape = (open.progress.len() as u32, open.program.threads, open.program.shared);
        // SAFETY: the arguments are the kernel's; every place that it reads and writes was allocated for this core and
        // number.
        unsafe {
            open.program.walk.launch(cuda.stream(), shape, |arguments| {
                let _ = arguments.arg(&open.layout).arg(&open.walks).arg(&round.steps);
            })?;
        }
        crate::search::cuda::watch(&cuda, &self.aside, &open.stop, stop)?;
        cuda.read(&open.progress)
    }

    fn bests(&self, slots: &[usize]) -> Result<Vec<Vec<u16>>, DeviceError> {
        if slots.is_empty() {
            return Ok(Vec::new());
        }
        let open = self.opened()?;
        let all = self.cuda.read(&open.best)?;
        Ok(slots.iter().map(|&slot| all[slot * open.variables..(slot + 1) * open.variables].to_vec()).collect())
    }
}
