//! The paper's own algorithm on the device, as the baseline of `fangs bench fang`: the host's side of
//! `kernels/bench_paper.cu`.

#![allow(unsafe_code, reason = "launches of kernels")]

use super::fang::BATCH;
use crate::device::{Cuda, CudaSlice, DeviceError, Kernel, PushKernelArg};
use crate::fang::cuda::launch::Pass;
use crate::fang::cuda::{Domain, ManhattanOnDevice};
use crate::kernels;
use std::sync::Arc;

/// Group sizes tried; the paper says a multiple of the warp.
const THREADS: [u32; 3] = [128, 256, 512];

/// Storage for every possibility of every state (section 3.7).
pub(super) struct Paper {
    kernels: Vec<(u32, Kernel)>,
    ratings: CudaSlice<u32>,
    prefixes: CudaSlice<u64>,
    possibilities: u32,
    shared: u32,
}

impl Paper {
    pub(super) fn new(cuda: &Arc<Cuda>, states: usize, possibilities: usize) -> Result<Self, DeviceError> {
        let name = |threads| format!("paper<{threads}, Manhattan>");
        let source = THREADS
            .iter()
            .fold(kernels::source("bench_paper.cu").asserts::<Pass>(), |source, &n| source.kernel(name(n)));
        let module = cuda.load(&source)?;
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

    /// One pass with groups of the `which`th size.
    fn run(&self, cuda: &Cuda, domain: &ManhattanOnDevice, pass: &Pass, which: usize) -> Result<(), DeviceError> {
        let (threads, kernel) = &self.kernels[which];
        let problem = domain.problem();
        // SAFETY: the pass is a population's; ratings and prefixes hold `possibilities` places for each of its states.
        unsafe {
            kernel.launch(cuda.stream(), (pass.clones, *threads, self.shared), |arguments| {
                arguments.arg(pass).arg(problem).arg(&self.ratings).arg(&self.prefixes).arg(&self.possibilities)
            })
        }
    }

    /// Median milliseconds with the group size that is best here.
    pub(super) fn best_ms(
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
