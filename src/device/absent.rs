//! The device layer of a build without the feature `cuda`: the same names and signatures, and a [`Cuda`] without
//! values.

#![allow(missing_docs, reason = "documented where they do something: cuda.rs, launch.rs, memory.rs, and cudarc")]

use super::{Compiled, DeviceError, Info, Memory, Source, Survey};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::time::Duration;

fn absent<T>() -> Result<T, DeviceError> {
    Err(DeviceError::Unusable("this build is without CUDA (the feature `cuda` is off)".into()))
}

/// The devices of this machine: none is visible.
///
/// # Errors
/// Always.
pub fn devices() -> Result<Vec<Info>, DeviceError> {
    absent()
}

/// The report of `fangs devices`.
pub fn survey() -> Survey {
    Survey { driver: absent(), compiler: absent(), devices: absent() }
}

/// Compiles a source; there is no compiler.
///
/// # Errors
/// Always.
pub fn compiles(_source: &Source) -> Result<(), DeviceError> {
    absent()
}

/// A device ready for use; there is none.
#[derive(Debug)]
pub struct Cuda {
    pub info: Info,
    never: Infallible,
}

#[derive(Debug)]
pub struct Module(Infallible);

#[derive(Clone, Debug)]
pub struct Kernel(Infallible);

#[derive(Debug)]
pub struct Recorded(Infallible);

#[derive(Debug)]
pub struct CudaStream(Infallible);

#[derive(Debug)]
pub struct CudaEvent(Infallible);

#[derive(Debug)]
pub struct CudaSlice<T>(Infallible, PhantomData<T>);

#[derive(Debug)]
pub struct CudaView<'a, T>(Infallible, PhantomData<&'a T>);

#[derive(Debug)]
pub struct CudaViewMut<'a, T>(Infallible, PhantomData<&'a mut T>);

#[derive(Debug)]
pub struct Pinned<T>(Infallible, PhantomData<T>);

#[derive(Debug)]
pub struct LaunchArgs<'a>(Infallible, PhantomData<&'a ()>);

pub trait PushKernelArg<T> {
    fn arg(&mut self, argument: T) -> &mut Self;
}

impl<T> PushKernelArg<T> for LaunchArgs<'_> {
    fn arg(&mut self, _argument: T) -> &mut Self {
        match self.0 {}
    }
}

/// # Safety
/// Nothing reaches a device.
#[allow(unsafe_code, reason = "implemented as cudarc's trait is")]
pub unsafe trait DeviceRepr {}

/// # Safety
/// Nothing reaches a device.
#[allow(unsafe_code, reason = "implemented as cudarc's trait is")]
pub unsafe trait ValidAsZeroBits {}

macro_rules! plain {
    ($($number:ty),*) => {$(
        // SAFETY: nothing reaches a device.
        #[allow(unsafe_code, reason = "as cudarc's trait is")]
        unsafe impl DeviceRepr for $number {}
        // SAFETY: as above.
        #[allow(unsafe_code, reason = "as cudarc's trait is")]
        unsafe impl ValidAsZeroBits for $number {}
    )*};
}
plain!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);

pub trait DevicePtr<T> {
    fn device_ptr(&self, stream: &CudaStream) -> (u64, ());
}

pub trait DevicePtrMut<T> {
    fn device_ptr_mut(&mut self, stream: &CudaStream) -> (u64, ());
}

macro_rules! addresses {
    ($($memory:ty),*) => {$(
        impl<T> DevicePtr<T> for $memory {
            fn device_ptr(&self, _stream: &CudaStream) -> (u64, ()) {
                match self.0 {}
            }
        }
        impl<T> DevicePtrMut<T> for $memory {
            fn device_ptr_mut(&mut self, _stream: &CudaStream) -> (u64, ()) {
                match self.0 {}
            }
        }
    )*};
}
addresses!(CudaSlice<T>, CudaView<'_, T>, CudaViewMut<'_, T>);

impl<T> CudaView<'_, T> {
    pub fn len(&self) -> usize {
        match self.0 {}
    }
}

impl<T> CudaSlice<T> {
    pub fn len(&self) -> usize {
        match self.0 {}
    }

    pub fn is_empty(&self) -> bool {
        match self.0 {}
    }

    pub fn slice(&self, _range: impl RangeBounds<usize>) -> CudaView<'_, T> {
        match self.0 {}
    }

    pub fn slice_mut(&mut self, _range: impl RangeBounds<usize>) -> CudaViewMut<'_, T> {
        match self.0 {}
    }
}

impl Cuda {
    /// Opens a device.
    ///
    /// # Errors
    /// Always.
    pub fn open(_ordinal: usize) -> Result<Arc<Cuda>, DeviceError> {
        absent()
    }

    pub fn label(&self) -> String {
        match self.never {}
    }

    pub fn cache_trouble(&self) -> Option<String> {
        match self.never {}
    }

    pub fn stream(&self) -> &Arc<CudaStream> {
        match self.never {}
    }

    pub fn beside(&self) -> Result<Arc<Cuda>, DeviceError> {
        match self.never {}
    }

    pub fn fork(&self) -> Result<Arc<CudaStream>, DeviceError> {
        match self.never {}
    }

    pub fn synchronize(&self) -> Result<(), DeviceError> {
        match self.never {}
    }

    pub fn median_ms(
        &self,
        _warm_up: usize,
        _repeats: usize,
        _work: impl FnMut() -> Result<(), DeviceError>,
    ) -> Result<f64, DeviceError> {
        match self.never {}
    }

    pub fn load(self: &Arc<Self>, _source: &Source) -> Result<Arc<Module>, DeviceError> {
        match self.never {}
    }

    pub fn poll(self: &Arc<Self>, _source: &Source, _patience: Duration) -> Result<Option<Arc<Module>>, DeviceError> {
        match self.never {}
    }

    pub fn memory(&self) -> Result<Memory, DeviceError> {
        match self.never {}
    }

    pub fn free_memory(&self) -> Result<u64, DeviceError> {
        match self.never {}
    }

    pub fn reserve<T: DeviceRepr + ValidAsZeroBits>(&self, _length: usize) -> Result<CudaSlice<T>, DeviceError> {
        match self.never {}
    }

    pub fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, _length: usize) -> Result<CudaSlice<T>, DeviceError> {
        match self.never {}
    }

    pub fn upload<T: DeviceRepr>(&self, _items: &[T]) -> Result<CudaSlice<T>, DeviceError> {
        match self.never {}
    }

    pub(crate) fn address<T>(&self, _memory: &CudaSlice<T>) -> u64 {
        match self.never {}
    }

    pub fn write<T: DeviceRepr, S: DevicePtrMut<T>>(&self, _items: &[T], _target: &mut S) -> Result<(), DeviceError> {
        match self.never {}
    }

    pub fn set_bytes<T: DeviceRepr>(&self, _target: &CudaSlice<T>, _byte: u8) -> Result<(), DeviceError> {
        match self.never {}
    }

    pub fn set_bytes_on<T: DeviceRepr>(
        &self,
        _stream: &CudaStream,
        _target: &CudaSlice<T>,
        _byte: u8,
    ) -> Result<(), DeviceError> {
        match self.never {}
    }

    pub fn copy<T, S: DevicePtr<T>, D: DevicePtrMut<T>>(
        &self,
        _source: &S,
        _target: &mut D,
    ) -> Result<(), DeviceError> {
        match self.never {}
    }

    pub fn record(&self, _work: impl FnOnce(&CudaStream) -> Result<(), DeviceError>) -> Result<Recorded, DeviceError> {
        match self.never {}
    }

    pub fn reached(&self, _mark: &CudaEvent) -> Result<bool, DeviceError> {
        match self.never {}
    }

    pub fn read<T: DeviceRepr, S: DevicePtr<T>>(&self, _source: &S) -> Result<Vec<T>, DeviceError> {
        match self.never {}
    }

    pub fn pinned<T: DeviceRepr + ValidAsZeroBits + Copy>(&self, _length: usize) -> Result<Pinned<T>, DeviceError> {
        match self.never {}
    }

    pub fn mark(&self, _stream: &CudaStream) -> Result<CudaEvent, DeviceError> {
        match self.never {}
    }

    pub fn wait(&self, _stream: &CudaStream, _mark: &CudaEvent) -> Result<(), DeviceError> {
        match self.never {}
    }
}

impl<T: DeviceRepr + Copy> Pinned<T> {
    pub fn len(&self) -> usize {
        match self.0 {}
    }

    pub fn is_empty(&self) -> bool {
        match self.0 {}
    }

    pub fn items(&self) -> Result<&[T], DeviceError> {
        match self.0 {}
    }

    pub fn items_mut(&mut self) -> Result<&mut [T], DeviceError> {
        match self.0 {}
    }

    pub fn upload<S: DevicePtrMut<T>>(
        &mut self,
        _stream: &CudaStream,
        _count: usize,
        _target: &mut S,
    ) -> Result<(), DeviceError> {
        match self.0 {}
    }

    pub fn download<S: DevicePtr<T>>(&mut self, _stream: &CudaStream, _source: &S) -> Result<(), DeviceError> {
        match self.0 {}
    }
}

impl Module {
    pub fn compiled(&self) -> Compiled {
        match self.0 {}
    }

    pub fn kernel(&self, _expression: &str, _shared: u32) -> Result<Kernel, DeviceError> {
        match self.0 {}
    }
}

impl Recorded {
    pub fn launch(&mut self, _cuda: &Cuda) -> Result<(), DeviceError> {
        match self.0 {}
    }
}

impl Kernel {
    pub fn name(&self) -> &str {
        match self.0 {}
    }

    pub fn registers(&self) -> u32 {
        match self.0 {}
    }

    pub fn blocks_per_multiprocessor(&self, _threads: u32, _shared: u32) -> Result<u32, DeviceError> {
        match self.0 {}
    }

    /// # Safety
    /// Nothing is launched.
    #[allow(unsafe_code, reason = "the signature is that of launch.rs")]
    pub unsafe fn launch<'a>(
        &'a self,
        _stream: &'a CudaStream,
        _shape: (u32, u32, u32),
        _arguments: impl for<'b> FnOnce(&'b mut LaunchArgs<'a>) -> &'b mut LaunchArgs<'a>,
    ) -> Result<(), DeviceError> {
        match self.0 {}
    }
}
