//! Device memory that kernels access by addresses.

use super::cuda::Cuda;
use super::device_error::DeviceError;
use super::{CudaSlice, DeviceRepr};
use std::any::Any;
use std::fmt;

/// Memory of any kind on a device, which is freed when this is dropped.
#[derive(Default)]
pub struct Held(Vec<Box<dyn Any + Send + Sync>>);

impl Held {
    /// Copies words to the device and holds the copy. Returns its address.
    ///
    /// # Errors
    /// Returns an error if there is too little memory, or if the device has failed.
    pub fn words(&mut self, cuda: &Cuda, words: &[u32]) -> Result<u64, DeviceError> {
        self.upload(cuda, words)
    }

    /// Copies items to the device and holds the copy. Returns its address.
    pub fn upload<T>(&mut self, cuda: &Cuda, items: &[T]) -> Result<u64, DeviceError>
    where
        T: DeviceRepr + Send + Sync + 'static,
    {
        Ok(self.keep(cuda, cuda.upload(items)?))
    }

    /// Holds memory. Returns its address.
    pub fn keep<T: Send + Sync + 'static>(&mut self, cuda: &Cuda, memory: CudaSlice<T>) -> u64 {
        let address = cuda.address(&memory);
        self.0.push(Box::new(memory));
        address
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pieces of device memory", self.0.len())
    }
}
