//! Waiting for the kernels of the search on an NVIDIA device: annealing's population (`kernels/anneal.cu`), the tabu
//! walks (`kernels/tabu.cu`), the weighting walks (`kernels/weighting.cu`) and those on sums (`kernels/sums.cu`). The
//! host decides what a generation or a round does, the kernels do it, with the same results as the CPU.

use crate::device::{Cuda, CudaSlice, CudaStream, DeviceError};
use crate::stop::Stop;
use std::sync::Arc;
use std::time::Duration;

/// Time between two checks of a kernel's end and of the stop flag.
const LOOK: Duration = Duration::from_micros(100);

/// Waits for long kernels. When the run is stopped, makes them end by setting `flag` on the stream `aside`.
pub fn watch(cuda: &Cuda, aside: &Arc<CudaStream>, flag: &CudaSlice<u32>, stop: &Stop) -> Result<(), DeviceError> {
    let done = cuda.mark(cuda.stream())?;
    let mut told = false;
    while !cuda.reached(&done)? {
        if stop.is_set() && !told {
            cuda.set_bytes_on(aside, flag, 0xFF)?;
            told = true;
        }
        std::thread::sleep(LOOK);
    }
    if told {
        // the next kernel begins once the flag is cleared
        cuda.set_bytes_on(aside, flag, 0)?;
        cuda.wait(cuda.stream(), &cuda.mark(aside)?)?;
    }
    Ok(())
}
