//! The published propagation on the device (CUBE, section III): the host's side of `paper_cube.cu`.
//!
//! Potential tables are products of functions that are computed before anything is timed, one for each end of a
//! separator, in the layout of that separator. Each message is a launch. The paper leaves open how the other tables of
//! a clique are updated from the one that received a message; its program arranges tables on the host between messages.
//! Here a kernel does so, and its time is reported separately.

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

/// The threads of a block that are tried for messages; the fastest counts. The authors' program uses the first.
const GROUPS: [u32; 4] = [32, 64, 128, LARGEST];
const LARGEST: u32 = 256;
/// The threads of a block that rearranges tables.
const THREADS: u32 = 256;

/// The result of the published propagation.
#[derive(Debug)]
pub(super) struct Found {
    /// The partition function.
    pub z: Scaled,
    /// The bound on the relative error of `z`.
    pub error: f64,
    /// The posteriors of the variables.
    pub posteriors: Vec<(u32, Vec<f64>)>,
}

/// The result of the published propagation with its times.
#[derive(Debug)]
pub(super) struct Measured {
    pub found: Found,
    /// The milliseconds in which the host lays tables out.
    pub layout_ms: f64,
    /// The milliseconds of copies to the device.
    pub transfer_ms: f64,
    /// The milliseconds of the device for all messages.
    pub messages_ms: f64,
    /// The milliseconds of the device for all rearrangements between messages.
    pub rearrange_ms: f64,
    /// The threads of a block of messages.
    pub group: u32,
}

/// Returns the source of the published kernels, which compile without a device.
pub(crate) fn source() -> Source {
    let source = terms::before("paper_cube.cu", include_str!("../../kernels/paper_cube.cu"))
        .declare(&constants! { u32: LARGEST; })
        .asserts::<Terms>();
    source.kernel("reduce_scatter").kernel("rearrange")
}

/// Returns the bytes of the tables on a device; `None` if they are too large for the kernels.
pub(super) fn bytes(tree: &JunctionTree<'_>, schedule: &Schedule) -> Option<u64> {
    let own = |table: &Table| tree.cliques[table.clique].entries;
    let small = |table: &Table| own(table) <= i32::MAX as u64 && table.axes.len() <= AXES;
    let entries = || schedule.tables.iter().map(own).chain(schedule.separators.iter().copied());
    let bytes = entries().sum::<u64>().checked_mul(size_of::<f64>() as u64);
    bytes.filter(|_| schedule.tables.iter().all(small))
}

/// Lays out a clique's table in the order of one of the schedule's tables.
pub(super) fn lay_out(tree: &JunctionTree<'_>, whole: &[f64], table: &Table) -> Storage<f64> {
    scatter(whole, &tree.cliques[table.clique].scope, &table.axes, tree.domains(), SumProduct, |entry| entry)
}

/// Returns the mapping by which a rearrangement reads `from` in the order of `to`.
pub(super) fn terms(tree: &JunctionTree<'_>, from: &Table, to: &Table) -> Terms {
    let places = from.axes.iter().filter_map(|p| to.axes.iter().position(|own| own == p));
    let sizes: Vec<u32> = to.axes.iter().map(|&p| tree.size(p) as u32).collect();
    Terms::new(&places.collect::<Vec<_>>(), &sizes)
}

/// Propagates and measures the times. Returns `None` if `stop` was set.
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

/// Adds the milliseconds of `work` to `ms`.
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
    /// The mapping of each act; `None` for messages.
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
        // the messages before the first are 1
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
        // SAFETY: the arguments are those of reduce_scatter; each block has an entry, and a row in both tables.
        unsafe {
            self.reduce_scatter.launch(self.cuda.stream(), blocks, |arguments| {
                let tables = arguments.arg(&self.tables[*from]).arg(&self.tables[*to]);
                tables.arg(&self.separators[*separator]).arg(reduced).arg(scattered)
            })
        }
    }

    fn bring(&self, from: usize, to: usize, terms: &Terms) -> Result<(), DeviceError> {
        let entries = self.tree.cliques[self.schedule.tables[to].clique].entries as u32;
        // SAFETY: the arguments are those of rearrange; both tables have `entries` entries.
        unsafe {
            self.rearrange.launch(self.cuda.stream(), Blocks::new(entries.div_ceil(THREADS), THREADS), |arguments| {
                arguments.arg(&self.tables[from]).arg(&self.tables[to]).arg(terms).arg(&entries)
            })
        }
    }
}

impl Found {
    /// Reads the result from the final tables of the cliques; `products` is the number of products of functions in
    /// their first entries.
    pub fn new<E>(
        tree: &JunctionTree<'_>,
        schedule: &Schedule,
        products: usize,
        mut table: impl FnMut(usize) -> Result<Vec<f64>, E>,
    ) -> Result<Found, E> {
        // for each position the smallest clique that contains it
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

/// Returns the sum of the entries for each value of an axis, by compensated summation (Neumaier).
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
