//! Device memory that kernels are given by its addresses.

use crate::device::{Cuda, CudaSlice, DeviceError, DevicePtr, DeviceRepr};
use std::fmt::Debug;

/// Memory of any kind, freed together.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<Box<dyn Memory>>);

trait Memory: Debug + Send + Sync {}
impl<T: Debug + Send + Sync> Memory for T {}

impl Held {
    /// Uploads items, and returns their address.
    pub fn upload<T: DeviceRepr + Debug + Send + Sync + 'static>(
        &mut self,
        cuda: &Cuda,
        items: &[T],
    ) -> Result<u64, DeviceError> {
        Ok(self.keep(cuda, cuda.upload(items)?))
    }

    /// Keeps memory, and returns its address.
    pub fn keep<T: Debug + Send + Sync + 'static>(&mut self, cuda: &Cuda, memory: CudaSlice<T>) -> u64 {
        let address = address(cuda, &memory);
        self.0.push(Box::new(memory));
        address
    }
}

pub(super) fn address<T>(cuda: &Cuda, memory: &CudaSlice<T>) -> u64 {
    memory.device_ptr(cuda.stream()).0
}
