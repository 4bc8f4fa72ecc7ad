//! The published propagation on the device (CUBE, section III): the host's side of `paper_cube.cu`.
//!
//! Potential tables are products of functions before anything is timed, one for each end of a separator, laid out for
//! it. A message is a launch. The paper leaves open how what one table of a clique learns comes to its others; its
//! program arranges tables on the host between messages. Here a kernel does, whose time is told apart.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::schedule::{Act, Message, Schedule, Table};
use super::tree::JunctionTree;
use crate::algebra::SumProduct;
use crate::device::shared::constants;
use crate::device::{Blocks, Cuda, CudaSlice, DeviceError, Kernel, PushKernelArg, Source};
use crate::elimination::{Gpu, scatter};
use crate::model::{ROUNDOFF, Scaled};
use crate::stop::Stop;
use crate::tensor::Storage;
use crate::terms::{self, AXES, Terms};
use std::sync::Arc;
use std::time::Instant;

/// Threads of a block that are tried for messages, of which the best count; the authors' program has the first.
const GROUPS: [u32; 4] = [32, 64, 128, LARGEST];
const LARGEST: u32 = 256;
/// Threads of a block that rearranges.
const THREADS: u32 = 256;

/// What the published propagation comes to.
#[derive(Debug)]
pub(super) struct Found {
    /// The sum over all assignments.
    pub z: Scaled,
    /// How far it may be off, relatively.
    pub error: f64,
    /// Posteriors by variable.
    pub posteriors: Vec<(u32, Vec<f64>)>,
}

/// The same with its times.
#[derive(Debug)]
pub(super) struct Measured {
    pub found: Found,
    /// Milliseconds of the host to lay tables out, and of copies to the device.
    pub layout_ms: f64,
    pub transfer_ms: f64,
    /// Milliseconds of the device for all messages, and for all rearrangements between them.
    pub messages_ms: f64,
    pub rearrange_ms: f64,
    /// Threads of a block of messages.
    pub group: u32,
}

/// Its kernels, to compile without a device.
pub(crate) fn source() -> Source {
    let source = terms::before("paper_cube.cu", include_str!("../../kernels/paper_cube.cu"))
        .declare(&constants! { u32: LARGEST; })
        .asserts::<Terms>();
    source.kernel("reduce_scatter").kernel("rearrange")
}

/// Bytes of its tables on a device; none where they are too large for its kernels.
pub(super) fn bytes(tree: &JunctionTree<'_>, schedule: &Schedule) -> Option<u64> {
    let own = |table: &Table| tree.cliques[table.clique].entries;
    let small = |table: &Table| own(table) <= i32::MAX as u64 && table.axes.len() <= AXES;
    let entries = || schedule.tables.iter().map(own).chain(schedule.separators.iter().copied());
    let bytes = entries().sum::<u64>().checked_mul(size_of::<f64>() as u64);
    bytes.filter(|_| schedule.tables.iter().all(small))
}

/// A clique's table, laid out as one of the schedule's.
pub(super) fn lay_out(tree: &JunctionTree<'_>, whole: &[f64], table: &Table) -> Storage<f64> {
    scatter(whole, &tree.cliques[table.clique].scope, &table.axes, tree.domains(), SumProduct, |entry| entry)
}

/// How a rearrangement reads the one table for the other.
pub(super) fn terms(tree: &JunctionTree<'_>, from: &Table, to: &Table) -> Terms {
    let places = from.axes.iter().filter_map(|p| to.axes.iter().position(|own| own == p));
    let sizes: Vec<u32> = to.axes.iter().map(|&p| tree.size(p) as u32).collect();
    Terms::new(&places.collect::<Vec<_>>(), &sizes)
}

/// Propagates, and times that. Nothing where `stop` was set.
pub(super) fn measure(
    gpu: &Gpu,
    tree: &JunctionTree<'_>,
    schedule: &Schedule,
    repeats: usize,
    stop: &Stop,
) -> Result<Option<Measured>, DeviceError> {
    let cuda = gpu.cuda();
    let (mut layout_ms, mut transfer_ms) = (0.0, 0.0);
    let mut tables: Vec<Option<CudaSlice<f64>>> = schedule.tables.iter().map(|_| None).collect();
    let mut products = 0;
    for clique in 0..tree.cliques.len() {
        if stop.is_set() {
            return Ok(None);
        }
        let (whole, factors) = tree.table(clique);
        products += factors;
        for (table, slot) in schedule.tables.iter().zip(&mut tables).filter(|(table, _)| table.clique == clique) {
            let laid_out = timed(&mut layout_ms, || Ok(lay_out(tree, &whole, table)))?;
            *slot = Some(timed(&mut transfer_ms, || {
                cuda.upload(&laid_out).and_then(|own| cuda.synchronize().map(|()| own))
            })?);
        }
    }
    let tables = tables.into_iter().flatten().collect();
    let device = Device::new(cuda, tree, schedule, tables)?;
    device.run(|_| true, GROUPS[0])?;
    let read = |clique: usize| cuda.read(&device.tables[schedule.last[clique]]);
    let found = Found::new(tree, schedule, products, read)?;
    let messages = |&group: &u32| {
        let ms = cuda.median_ms(1, repeats, || device.run(|act| matches!(act, Act::Message(_)), group))?;
        Ok::<_, DeviceError>((ms, group))
    };
    let times = GROUPS.iter().map(messages).collect::<Result<Vec<_>, _>>()?;
    let best = times.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let (messages_ms, group) = best.unwrap_or((f64::INFINITY, GROUPS[0]));
    let rearranges = |act: &Act| matches!(act, Act::Rearrange { .. });
    let rearrange_ms = cuda.median_ms(1, repeats, || device.run(rearranges, group))?;
    Ok(Some(Measured { found, layout_ms, transfer_ms, messages_ms, rearrange_ms, group }))
}

/// Adds the milliseconds of some work.
fn timed<T>(ms: &mut f64, work: impl FnOnce() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
    let began = Instant::now();
    let done = work();
    *ms += began.elapsed().as_secs_f64() * 1e3;
    done
}

/// A schedule's tables on a device.
struct Device<'a> {
    cuda: &'a Arc<Cuda>,
    tree: &'a JunctionTree<'a>,
    schedule: &'a Schedule,
    tables: Vec<CudaSlice<f64>>,
    separators: Vec<CudaSlice<f64>>,
    /// By act; nothing for messages.
    terms: Vec<Option<Terms>>,
    reduce_scatter: Kernel,
    rearrange: Kernel,
}

impl<'a> Device<'a> {
    fn new(
        cuda: &'a Arc<Cuda>,
        tree: &'a JunctionTree<'a>,
        schedule: &'a Schedule,
        tables: Vec<CudaSlice<f64>>,
    ) -> Result<Self, DeviceError> {
        let module = cuda.load(&source())?;
        // nothing was sent before: 1
        let separator = |&entries: &u64| cuda.upload(&vec![1.0; entries as usize]);
        let terms = |act: &Act| match *act {
            Act::Message(_) => None,
            Act::Rearrange { from, to } => Some(terms(tree, &schedule.tables[from], &schedule.tables[to])),
        };
        Ok(Device {
            cuda,
            tree,
            schedule,
            tables,
            separators: schedule.separators.iter().map(separator).collect::<Result<_, _>>()?,
            terms: schedule.acts.iter().map(terms).collect(),
            reduce_scatter: module.kernel("reduce_scatter", 0)?,
            rearrange: module.kernel("rearrange", 0)?,
        })
    }

    /// Launches the acts that are `wanted`.
    fn run(&self, wanted: impl Fn(&Act) -> bool, group: u32) -> Result<(), DeviceError> {
        let acts = self.schedule.acts.iter().zip(&self.terms).filter(|(act, _)| wanted(act));
        acts.into_iter().try_for_each(|(act, terms)| match (act, terms) {
            (Act::Message(message), _) => self.pass(message, group),
            (Act::Rearrange { from, to }, Some(terms)) => self.bring(*from, *to, terms),
            (Act::Rearrange { .. }, None) => Ok(()),
        })
    }

    fn pass(&self, message: &Message, group: u32) -> Result<(), DeviceError> {
        let Message { from, to, separator, reduced, scattered } = message;
        let blocks = Blocks::new(self.schedule.separators[*separator] as u32, group);
        // SAFETY: the arguments are those of reduce_scatter; each block has a row in both tables, and its entry.
        unsafe {
            self.reduce_scatter.launch(self.cuda.stream(), blocks, |arguments| {
                let tables = arguments.arg(&self.tables[*from]).arg(&self.tables[*to]);
                tables.arg(&self.separators[*separator]).arg(reduced).arg(scattered)
            })
        }
    }

    fn bring(&self, from: usize, to: usize, terms: &Terms) -> Result<(), DeviceError> {
        let entries = self.tree.cliques[self.schedule.tables[to].clique].entries as u32;
        // SAFETY: the arguments are those of rearrange; both tables have so many entries.
        unsafe {
            self.rearrange.launch(self.cuda.stream(), Blocks::new(entries.div_ceil(THREADS), THREADS), |arguments| {
                arguments.arg(&self.tables[from]).arg(&self.tables[to]).arg(terms).arg(&entries)
            })
        }
    }
}

impl Found {
    /// What the tables of the cliques say in the end; `products` are those that their entries were at first.
    pub fn new<E>(
        tree: &JunctionTree<'_>,
        schedule: &Schedule,
        products: usize,
        mut table: impl FnMut(usize) -> Result<Vec<f64>, E>,
    ) -> Result<Found, E> {
        // by position, the smallest clique that has it
        let mut smallest: Vec<Option<usize>> = vec![None; tree.domains().len()];
        for (index, clique) in tree.cliques.iter().enumerate() {
            for &position in &clique.scope {
                let own = &mut smallest[position as usize];
                *own = (*own).filter(|&known| tree.cliques[known].entries <= clique.entries).or(Some(index));
            }
        }
        let mut z = tree.constant();
        let mut posteriors = Vec::new();
        for (index, clique) in tree.cliques.iter().enumerate() {
            let axes = &schedule.tables[schedule.last[index]].axes;
            let own = |&place: &usize| smallest[axes[place] as usize] == Some(index);
            let places: Vec<usize> = (0..axes.len()).filter(own).collect();
            if places.is_empty() && clique.parent.is_some() {
                continue;
            }
            let (entries, sizes) = (table(index)?, axes.iter().map(|&p| tree.size(p)).collect::<Vec<_>>());
            if clique.parent.is_none() {
                let sum: f64 = sums(&entries, &sizes, 0).iter().sum();
                z = z.times(if sum.is_finite() { Scaled::new(sum) } else { Scaled::ZERO });
            }
            for place in places {
                let values = sums(&entries, &sizes, place);
                let whole: f64 = values.iter().sum();
                let parts = values.into_iter().map(|value| value / whole).collect();
                posteriors.push((tree.variable(axes[place]), parts));
            }
        }
        // a reduction in steps of a warp at least, a division, a product; sums on the host are compensated
        let depth = |message: &Message| u64::from(message.reduced.div_ceil(GROUPS[0]) + LARGEST / 32 + 5 + 2);
        let roundings = schedule.messages().map(depth).sum::<u64>() + products as u64;
        let widest = tree.domains().iter().max().map_or(0, |&size| u64::from(size));
        let roots = tree.cliques.iter().filter(|clique| clique.parent.is_none()).count() as u64;
        Ok(Found { z, error: (roundings + roots * (4 + widest)) as f64 * ROUNDOFF, posteriors })
    }
}

/// What the entries of each value of an axis add up to, by compensated sums (Neumaier).
fn sums(entries: &[f64], sizes: &[usize], axis: usize) -> Vec<f64> {
    let inner: usize = sizes[axis + 1..].iter().product();
    let mut sums = vec![[0.0f64; 2]; sizes[axis]];
    for (row, entries) in entries.chunks_exact(inner).enumerate() {
        let [sum, lost] = &mut sums[row % sizes[axis]];
        for &entry in entries {
            let whole = *sum + entry;
            *lost += if *sum >= entry { (*sum - whole) + entry } else { (entry - whole) + *sum };
            *sum = whole;
        }
    }
    sums.into_iter().map(|[sum, lost]| sum + lost).collect()
}
