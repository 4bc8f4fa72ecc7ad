//! The device layer of a build without the feature `cuda`: the same names, and a [`Cuda`] that nobody can make.

use super::{DeviceError, Info, Memory, Source, Survey};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

fn absent<T>() -> Result<T, DeviceError> {
    Err(DeviceError::Unusable("this build is without CUDA (the feature `cuda` is off)".into()))
}

/// The devices of this machine: none can be seen.
///
/// # Errors
/// Always.
pub fn devices() -> Result<Vec<Info>, DeviceError> {
    absent()
}

/// Looks at everything, for `fangs devices`.
pub fn survey() -> Survey {
    Survey { driver: absent(), compiler: absent(), devices: absent() }
}

/// A device ready for use; there is none.
#[derive(Debug)]
pub struct Cuda {
    /// What it is.
    pub info: Info,
    never: Infallible,
}

/// Kernels compiled together and loaded.
#[derive(Debug)]
pub struct Module(Infallible);

/// A kernel that can be launched.
#[derive(Clone, Debug)]
pub struct Kernel(Infallible);

/// An order of work.
#[derive(Debug)]
pub struct CudaStream(Infallible);

/// A mark in a stream.
#[derive(Debug)]
pub struct CudaEvent(Infallible);

/// Items in device memory.
#[derive(Debug)]
pub struct CudaSlice<T>(Infallible, PhantomData<T>);

/// Arguments of a launch.
#[derive(Debug)]
pub struct LaunchArgs<'a>(Infallible, PhantomData<&'a ()>);

/// What can be an argument.
pub trait PushKernelArg<T> {
    /// Adds an argument.
    fn arg(&mut self, argument: T) -> &mut Self;
}

impl<T> PushKernelArg<T> for LaunchArgs<'_> {
    fn arg(&mut self, _argument: T) -> &mut Self {
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

    /// The name that it goes by on the command line.
    pub fn label(&self) -> String {
        match self.never {}
    }

    /// Its memory, measured now.
    pub fn memory(&self) -> Result<Memory, DeviceError> {
        match self.never {}
    }

    /// Compiles and loads a source.
    pub fn load(&self, _source: &Source) -> Result<Module, DeviceError> {
        match self.never {}
    }
}

impl<T> CudaSlice<T> {
    /// How many.
    pub fn len(&self) -> usize {
        match self.0 {}
    }
}
