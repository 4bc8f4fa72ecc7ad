//! Copies of tables between the host and a device, through page-locked memory.
//!
//! A *window* of device memory is copied at a time: neighbouring tables, or a piece of a large one. Two buffers
//! alternate: while the device copies one, the host works on the other.

use super::gpu::Gpu;
use super::program::{ALIGNMENT, Content, DeviceTable, Program};
use super::semiring::Element;
use crate::device::{Cuda, CudaSlice, CudaStream, DeviceError, Pinned};
use crate::elimination::plan::slices::Stretch;
use crate::error::Error;
use crate::memory;
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use crate::threads;

/// Bytes of a buffer. Locking memory takes 0.4 ms a megabyte.
const BUFFER: usize = 32 << 20;
/// Number of entries that a thread copies at a time.
const TASK: usize = 1 << 16;

/// A stretch of device memory that is copied at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Index of its first entry in device memory; `entries` is its number of entries.
    pub at: u64,
    pub entries: u64,
    pub shares: Vec<Share>,
}

/// The part of a table that is in a window, in entries including gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub table: usize,
    pub from: u64,
    pub entries: u64,
}

/// Covers some tables, in the order of their positions in memory, by windows of at most `most` entries.
pub(crate) fn windows(tables: &[DeviceTable], mut chosen: Vec<usize>, most: u64) -> Vec<Window> {
    chosen.sort_by_key(|&table| tables[table].at);
    let mut windows: Vec<Window> = Vec::new();
    for table in chosen {
        let (mut from, extent) = (0, tables[table].extent());
        while from < extent {
            let at = tables[table].at + from;
            // smaller gaps contain no other table
            let adjoins = |window: &&mut Window| at - window.at < most && at - window.at - window.entries < ALIGNMENT;
            let window = match windows.last_mut().filter(adjoins) {
                Some(window) => window,
                None => {
                    windows.push(Window { at, entries: 0, shares: Vec::new() });
                    let Some(window) = windows.last_mut() else { break };
                    window
                }
            };
            let entries = (extent - from).min(most - (at - window.at));
            window.entries = at - window.at + entries;
            window.shares.push(Share { table, from, entries });
            from += entries;
        }
    }
    windows
}

impl DeviceTable {
    /// Returns the number of the plan's entries before an offset in the table.
    fn before(&self, place: u64) -> u64 {
        place / self.pitch * self.row + (place % self.pitch).min(self.row)
    }
}

/// Fills a share of a table from the stretch of a source; gaps are left unchanged.
pub(crate) fn gather<E: Copy + Send + Sync>(
    out: &mut [E],
    table: &DeviceTable,
    from: u64,
    stretch: Stretch,
    source: &[E],
) {
    let fill = |(task, out): (usize, &mut [E])| {
        let first = from + (task * TASK) as u64;
        let (mut index, end) = (table.before(first), table.before(first + out.len() as u64));
        while index < end {
            let (along, column) = (index % stretch.length, index % table.row);
            let count = (stretch.length - along).min(table.row - column).min(end - index);
            let at = (stretch.offset + index / stretch.length * stretch.stride + along) as usize;
            let place = (table.place(index) - first) as usize;
            out[place..place + count as usize].copy_from_slice(&source[at..at + count as usize]);
            index += count;
        }
    };
    let _ = threads::map(out.chunks_mut(TASK).enumerate(), fill);
}

/// Copies a share of a message to the host's table, in which the message is one stretch.
pub fn scatter<E: Copy + Send + Sync>(share: &[E], table: &DeviceTable, from: u64, stretch: Stretch, target: &mut [E]) {
    let (begin, end) = (table.before(from), table.before(from + share.len() as u64));
    let take = |(task, target): (usize, &mut [E])| {
        let first = begin + (task * TASK) as u64;
        let (mut index, end) = (first, first + target.len() as u64);
        while index < end {
            let count = (table.row - index % table.row).min(end - index);
            let (at, place) = ((index - first) as usize, (table.place(index) - from) as usize);
            target[at..at + count as usize].copy_from_slice(&share[place..place + count as usize]);
            index += count;
        }
    };
    let target = &mut target[(stretch.offset + begin) as usize..(stretch.offset + end) as usize];
    let _ = threads::map(target.chunks_mut(TASK).enumerate(), take);
}

/// Two buffers that alternate.
#[derive(Debug)]
pub(crate) struct Staging<E> {
    buffers: [Pinned<E>; 2],
    turn: usize,
}

impl<E: Element> Staging<E> {
    /// Allocates the page-locked buffers.
    ///
    /// # Errors
    /// Returns an error if the host has too little memory that can be locked.
    pub fn new(cuda: &Cuda) -> Result<Self, DeviceError> {
        let buffer = || cuda.pinned(room::<E>() as usize);
        Ok(Staging { buffers: [buffer()?, buffer()?], turn: 0 })
    }

    /// Enqueues copies to device memory, at `base` entries beyond the windows' positions, on a stream. `fill` writes a
    /// window's entries. Returns `false` if `stop` was set before the end.
    pub fn send(
        &mut self,
        windows: &[Window],
        memory: &mut CudaSlice<E>,
        base: u64,
        stream: &CudaStream,
        stop: &Stop,
        mut fill: impl FnMut(&Window, &mut [E]),
    ) -> Result<bool, DeviceError> {
        for window in windows {
            if stop.is_set() {
                return Ok(false);
            }
            let buffer = &mut self.buffers[self.turn];
            let count = window.entries as usize;
            fill(window, &mut buffer.items_mut()?[..count]);
            let at = (base + window.at) as usize;
            buffer.upload(stream, count, &mut memory.slice_mut(at..at + count))?;
            self.turn = 1 - self.turn;
        }
        Ok(true)
    }

    /// Copies from device memory, at `base` entries beyond the windows' positions, in the order of a stream. `take`
    /// receives a window's entries. Returns `false` if `stop` was set before the end.
    pub fn fetch(
        &mut self,
        windows: &[Window],
        memory: &CudaSlice<E>,
        base: u64,
        stream: &CudaStream,
        stop: &Stop,
        mut take: impl FnMut(&Window, &[E]),
    ) -> Result<bool, DeviceError> {
        let ask = |buffer: &mut Pinned<E>, window: &Window| {
            let at = (base + window.at) as usize;
            buffer.download(stream, &memory.slice(at..at + window.entries as usize))
        };
        for (number, window) in windows.iter().enumerate() {
            if stop.is_set() {
                return Ok(false);
            }
            let (own, next) = (self.turn, 1 - self.turn);
            if number == 0 {
                ask(&mut self.buffers[own], window)?;
            }
            if let Some(following) = windows.get(number + 1) {
                ask(&mut self.buffers[next], following)?;
            }
            take(window, &self.buffers[own].items()?[..window.entries as usize]);
            self.turn = next;
        }
        Ok(true)
    }
}

impl Stretch {
    /// Returns the stretch of all entries of a table.
    fn whole(table: &DeviceTable) -> Stretch {
        Stretch { offset: 0, length: table.entries.max(1), stride: 0 }
    }
}

/// Returns the number of entries of a buffer.
pub(super) fn room<E>() -> u64 {
    (BUFFER / size_of::<E>()) as u64
}

/// Returns whether the windows are so small that locking memory would take longer than the copies.
fn are_few<E>(windows: &[Window]) -> bool {
    windows.iter().map(|window| window.entries).sum::<u64>() <= room::<E>()
}

/// Allocates device memory for all tables of a program, and fills the host's tables.
pub(super) fn upload<E: Element>(
    gpu: &Gpu,
    program: &Program,
    lay_out: &dyn Fn(&DeviceTable) -> Storage<E>,
) -> Result<CudaSlice<E>, DeviceError> {
    let mut memory = gpu.cuda().reserve::<E>(program.entries.max(1) as usize)?;
    fill(gpu, program, lay_out, &mut memory)?;
    Ok(memory)
}

/// Fills the host's tables in the memory of a program.
pub fn fill<E: Element>(
    gpu: &Gpu,
    program: &Program,
    lay_out: &dyn Fn(&DeviceTable) -> Storage<E>,
    memory: &mut CudaSlice<E>,
) -> Result<(), DeviceError> {
    let (cuda, tables) = (gpu.cuda(), &program.tables);
    let filled: Vec<usize> = (0..tables.len()).filter(|&table| tables[table].content != Content::Made).collect();
    // a table may span several windows, but is laid out once
    let mut last = (usize::MAX, Storage::default());
    let mut fill = |window: &Window, out: &mut [E]| {
        for share in &window.shares {
            let table = &tables[share.table];
            if last.0 != share.table {
                last = (share.table, lay_out(table));
            }
            let at = (table.at + share.from - window.at) as usize;
            gather(&mut out[at..at + share.entries as usize], table, share.from, Stretch::whole(table), &last.1);
        }
    };
    let windows = windows(tables, filled, room::<E>());
    if are_few::<E>(&windows) {
        for window in &windows {
            let mut entries = vec![E::default(); window.entries as usize];
            fill(window, &mut entries);
            let at = window.at as usize;
            cuda.write(&entries, &mut memory.slice_mut(at..at + entries.len()))?;
        }
        return Ok(());
    }
    let mut staging = Staging::new(cuda)?;
    staging.send(&windows, memory, 0, cuda.stream(), &Stop::new(), fill).map(drop)
}

/// Copies some tables to the host; `None` if the host has too little memory.
pub(super) fn download<E: Element>(
    gpu: &Gpu,
    tables: &[DeviceTable],
    chosen: &[usize],
    memory: &CudaSlice<E>,
) -> Result<Option<Vec<Storage<E>>>, DeviceError> {
    let cuda = gpu.cuda();
    let bytes = |entries: u64| entries * size_of::<E>() as u64;
    let entries = chosen.iter().map(|&table| tables[table].entries).sum();
    if bytes(entries) + 2 * BUFFER as u64 > memory::available() {
        return Ok(None);
    }
    let copies = chosen.iter().map(|&table| Storage::try_new(tables[table].entries as usize)).collect();
    let Ok::<Vec<Storage<E>>, Error>(mut copies) = copies else { return Ok(None) };
    let mut number = vec![0; tables.len()];
    chosen.iter().enumerate().for_each(|(own, &table)| number[table] = own);
    let mut take = |window: &Window, entries: &[E]| {
        for share in &window.shares {
            let table = &tables[share.table];
            let at = (table.at + share.from - window.at) as usize;
            let own = &entries[at..at + share.entries as usize];
            scatter(own, table, share.from, Stretch::whole(table), &mut copies[number[share.table]]);
        }
    };
    let windows = windows(tables, chosen.to_vec(), room::<E>());
    if are_few::<E>(&windows) {
        for window in &windows {
            let at = window.at as usize;
            take(window, &cuda.read(&memory.slice(at..at + window.entries as usize))?);
        }
        return Ok(Some(copies));
    }
    let mut staging = Staging::new(cuda)?;
    let _ = staging.fetch(&windows, memory, 0, cuda.stream(), &Stop::new(), take)?;
    Ok(Some(copies))
}
