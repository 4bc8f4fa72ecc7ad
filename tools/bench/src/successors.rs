//! The algorithm of the FANG paper on the device beside that of Fangs: the host's side of `paper_fang.cu`, and the rows
//! of tables 1 and 2 of section 4.

#![allow(unsafe_code, reason = "launches of kernels")]

use crate::device::{Blocks, Cuda, CudaSlice, DeviceError, Kernel, PushKernelArg, Source};
use crate::error::Error;
use crate::fang::Order;
use crate::fang::cuda::launch::Pass;
use crate::fang::cuda::{Domain, ManhattanOnDevice};
use crate::fang::speed::{BATCH, Load, Workload, device_ms};
use crate::kernels;
use serde::Serialize;
use std::sync::Arc;

/// The group sizes tried; the paper requires a multiple of the warp size.
const THREADS: [u32; 3] = [128, 256, 512];

/// Milliseconds on the paper's GTX 1080 Ti, by load.
pub const GTX_1080_TI_MS: [f64; 20] = [
    2.20, 3.34, 5.05, 6.97, 9.85, 16.90, 6.48, 9.84, 16.94, 23.27, 37.78, 66.30, 1.88, 1.82, 3.40, 2.75, 6.26, 6.26,
    10.00, 9.91,
];

/// The measurements of a load. Times are medians for one generation in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct SuccessorRow {
    /// The number of distances that are summed for one evaluation.
    pub load: usize,
    /// The number of states.
    pub states: usize,
    /// The number of variables of a state, all of them active.
    pub variables: usize,
    /// The number of possibilities of a variable.
    pub possibilities: usize,
    /// The time that the paper states for a GTX 1080 Ti.
    pub gtx_1080_ti_ms: f64,
    /// The time of the paper's algorithm on this device.
    pub paper_ms: f64,
    /// The time of Fangs on this device, clones and streams included.
    pub fang_ms: f64,
    /// The time of the paper's algorithm divided by that of Fangs.
    pub speedup: f64,
}

/// Measures a load.
///
/// # Errors
/// Errors of the device; an error if the successors differ.
pub fn measure(
    cuda: &Arc<Cuda>,
    load: &Load,
    seed: u64,
    published_ms: f64,
    repeats: usize,
) -> Result<SuccessorRow, Error> {
    let failed = |error: DeviceError| Error::Internal(error.to_string());
    let mut population = Workload::new(load, seed).on_device(cuda).map_err(failed)?;
    let paper = Paper::new(cuda, load.states, load.possibilities()).map_err(failed)?;
    let pass = population.arguments(1, Order::Permuted, None).map_err(failed)?;
    population.run(&pass).map_err(failed)?;
    let ours = population.made().map_err(failed)?;
    let paper_ms = paper.best_ms(cuda, population.domain(), &pass, repeats).map_err(failed)?;
    if population.made().map_err(failed)? != ours {
        return Err(Error::Internal("the paper's algorithm made other successors".into()));
    }
    let fang_ms = device_ms(cuda, &mut population, repeats).map_err(failed)?;
    Ok(SuccessorRow {
        load: load.distances,
        states: load.states,
        variables: load.variables,
        possibilities: load.possibilities(),
        gtx_1080_ti_ms: published_ms,
        paper_ms,
        fang_ms,
        speedup: paper_ms / fang_ms,
    })
}

/// Returns the name of the kernel of a group size.
fn name(threads: u32) -> String {
    format!("paper<{threads}, Manhattan>")
}

/// Returns the source of the paper's kernels, which compile without a device.
pub(crate) fn source() -> Source {
    let text = kernels::own("paper_fang.cu", include_str!("../kernels/paper_fang.cu")).asserts::<Pass>();
    THREADS.into_iter().fold(text, |source, threads| source.kernel(name(threads)))
}

/// The kernels of the paper, with storage for every possibility of every state (section 3.7).
struct Paper {
    kernels: Vec<(u32, Kernel)>,
    ratings: CudaSlice<u32>,
    prefixes: CudaSlice<u64>,
    possibilities: u32,
    shared: u32,
}

impl Paper {
    fn new(cuda: &Arc<Cuda>, states: usize, possibilities: usize) -> Result<Self, DeviceError> {
        let module = cuda.load(&source())?;
        let shared = 8 * possibilities.div_ceil(32) as u32;
        let kernel = |&threads: &u32| Ok((threads, module.kernel(&name(threads), shared)?));
        Ok(Paper {
            kernels: THREADS.iter().map(kernel).collect::<Result<_, DeviceError>>()?,
            ratings: cuda.zeros(states * possibilities)?,
            prefixes: cuda.zeros(states * possibilities)?,
            possibilities: possibilities as u32,
            shared,
        })
    }

    /// Makes a pass with groups of the `which`-th size.
    fn run(&self, cuda: &Cuda, domain: &ManhattanOnDevice, pass: &Pass, which: usize) -> Result<(), DeviceError> {
        let (threads, kernel) = &self.kernels[which];
        let problem = domain.problem();
        let blocks = Blocks { count: pass.clones, threads: *threads, shared: self.shared };
        // SAFETY: the pass is a population's; ratings and prefixes hold `possibilities` entries for each of its states.
        unsafe {
            kernel.launch(cuda.stream(), blocks, |arguments| {
                arguments.arg(pass).arg(problem).arg(&self.ratings).arg(&self.prefixes).arg(&self.possibilities)
            })
        }
    }

    /// Returns the median milliseconds of a pass with the fastest group size on this device.
    fn best_ms(
        &self,
        cuda: &Cuda,
        domain: &ManhattanOnDevice,
        pass: &Pass,
        repeats: usize,
    ) -> Result<f64, DeviceError> {
        let mut best = f64::INFINITY;
        for which in 0..self.kernels.len() {
            let batch = || (0..BATCH).try_for_each(|_| self.run(cuda, domain, pass, which));
            best = best.min(cuda.median_ms(1, repeats, batch)?);
        }
        Ok(best / BATCH as f64)
    }
}
