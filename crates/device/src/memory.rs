//! Memory of a device, copies to it and back, and page-locked memory of the host for asynchronous copies.

#![allow(unsafe_code, reason = "calls of the driver are foreign")]

use super::cuda::Cuda;
use super::device_error::DeviceError;
use super::driver::failed;
use super::info::Memory;
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, ValidAsZeroBits, result};
use std::ptr::NonNull;
use std::slice;

/// Returns the number of bytes of `length` items, or an error if it exceeds the address space.
fn bytes<T>(length: usize) -> Result<usize, DeviceError> {
    let bytes = length.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
    let what = || format!("taking memory for {length} items of {} bytes", size_of::<T>());
    bytes.ok_or_else(|| DeviceError::Failed { what: what(), cause: "that is more than addresses reach".into() })
}

/// Returns an error if a copy does not fit its target.
fn fits(items: usize, room: usize) -> Result<(), DeviceError> {
    let what = || format!("copying {items} items to or from a device");
    if items <= room {
        Ok(())
    } else {
        Err(DeviceError::Failed { what: what(), cause: format!("there is room for {room}") })
    }
}

impl Cuda {
    /// Returns the current free and total memory of the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn memory(&self) -> Result<Memory, DeviceError> {
        let (free, total) = self.context().mem_get_info().map_err(failed("asking for free device memory"))?;
        Ok(Memory { free: free as u64, total: total as u64 })
    }

    /// Returns the number of bytes of device memory that are free now.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn free_memory(&self) -> Result<u64, DeviceError> {
        self.memory().map(|memory| memory.free)
    }

    /// Allocates memory for `length` items with arbitrary contents.
    #[doc(hidden)]
    pub fn reserve<T: DeviceRepr + ValidAsZeroBits>(&self, length: usize) -> Result<CudaSlice<T>, DeviceError> {
        self.take(length)
    }

    /// Allocates memory for `length` items, all zero.
    #[doc(hidden)]
    pub fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, length: usize) -> Result<CudaSlice<T>, DeviceError> {
        let mut memory = self.take(length)?;
        if length > 0 {
            let what = || format!("clearing {} bytes of device memory", length * size_of::<T>());
            self.stream().memset_zeros(&mut memory).map_err(|error| failed(what())(error))?;
        }
        Ok(memory)
    }

    /// Allocates memory with copies of `items`.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory, or if the copy fails.
    #[doc(hidden)]
    pub fn upload<T: DeviceRepr>(&self, items: &[T]) -> Result<CudaSlice<T>, DeviceError> {
        let mut memory = self.take(items.len())?;
        self.write(items, &mut memory)?;
        Ok(memory)
    }

    fn take<T: DeviceRepr>(&self, length: usize) -> Result<CudaSlice<T>, DeviceError> {
        let what = format!("taking {} bytes of device memory", bytes::<T>(length)?);
        // SAFETY: `upload` and `zeros` write all of the memory before it is read; any bits are a value of the types
        // that `reserve` is for.
        let memory = unsafe { self.stream().alloc(length.max(1)) }.map_err(failed(what))?;
        if length > 0 {
            return Ok(memory);
        }
        // the driver cannot allocate zero bytes
        // SAFETY: the allocation was made on this stream and is owned by the new slice alone.
        Ok(unsafe { self.stream().upgrade_device_ptr(memory.leak(), 0) })
    }

    /// Returns the address of memory, for kernels whose arguments are structures.
    pub fn address<T>(&self, memory: &CudaSlice<T>) -> u64 {
        memory.device_ptr(self.stream()).0
    }

    /// Copies items to existing device memory.
    #[doc(hidden)]
    pub fn write<T: DeviceRepr, S: DevicePtrMut<T>>(&self, items: &[T], target: &mut S) -> Result<(), DeviceError> {
        fits(items.len(), target.len())?;
        if items.is_empty() {
            return Ok(());
        }
        let what = || format!("copying {} bytes to the device", size_of_val(items));
        self.stream().memcpy_htod(items, target).map_err(|error| failed(what())(error))
    }

    /// Sets every byte of device memory, in the order of the stream's work.
    ///
    /// # Errors
    /// Returns errors of earlier work that the driver reports late.
    #[doc(hidden)]
    pub fn set_bytes<T: DeviceRepr>(&self, target: &CudaSlice<T>, byte: u8) -> Result<(), DeviceError> {
        self.set_bytes_on(self.stream(), target, byte)
    }

    /// Sets every byte of device memory, in the order of another stream, concurrently with a kernel that reads the
    /// memory.
    #[doc(hidden)]
    pub fn set_bytes_on<T: DeviceRepr>(
        &self,
        stream: &CudaStream,
        target: &CudaSlice<T>,
        byte: u8,
    ) -> Result<(), DeviceError> {
        if target.is_empty() {
            return Ok(());
        }
        let failed = failed("setting device memory");
        // the thread may have used another device
        if let Err(error) = self.context().bind_to_thread() {
            return Err(failed(error));
        }
        let (address, _guard) = target.device_ptr(stream);
        // SAFETY: the memory is the slice's; any bits are values of the types stored on devices.
        let set = unsafe { result::memset_d8_async(address, byte, target.num_bytes(), stream.cu_stream()) };
        set.map_err(failed)
    }

    /// Copies from device memory to device memory.
    #[doc(hidden)]
    pub fn copy<T, S: DevicePtr<T>, D: DevicePtrMut<T>>(&self, source: &S, target: &mut D) -> Result<(), DeviceError> {
        fits(source.len(), target.len())?;
        self.stream().memcpy_dtod(source, target).map_err(failed("copying on the device"))
    }

    /// Returns the contents of device memory after all previous work is done.
    ///
    /// # Errors
    /// Returns errors of the copy or of the previous work.
    #[doc(hidden)]
    pub fn read<T: DeviceRepr, S: DevicePtr<T>>(&self, source: &S) -> Result<Vec<T>, DeviceError> {
        if source.is_empty() {
            return Ok(Vec::new());
        }
        let what = || format!("copying {} bytes from the device", source.num_bytes());
        let copied = self.stream().clone_dtoh(source).map_err(|error| failed(what())(error))?;
        // if the device reads the host's pages itself, the copy may still be running
        self.synchronize()?;
        Ok(copied)
    }

    /// Allocates page-locked memory of the host for `length` items, all zero, for asynchronous copies.
    #[doc(hidden)]
    pub fn pinned<T: DeviceRepr + ValidAsZeroBits + Copy>(&self, length: usize) -> Result<Pinned<T>, DeviceError> {
        let bytes = bytes::<T>(length)?;
        let what = format!("locking {bytes} bytes of memory");
        let busy = self.context().new_event(None).map_err(failed(what.clone()))?;
        // SAFETY: making the event has bound the context; the driver's memory is aligned to pages.
        let memory = unsafe { result::malloc_host(bytes.max(1), 0) }.map_err(failed(what.clone()))?;
        let Some(pointer) = NonNull::new(memory.cast::<T>()) else {
            return Err(DeviceError::Failed { what, cause: "the driver gave none".into() });
        };
        // SAFETY: the memory has room for `length` items, and zero is a value of `T`.
        unsafe { pointer.write_bytes(0, length) };
        Ok(Pinned { pointer, length, busy })
    }

    /// Marks the end of the work given to a stream so far.
    #[doc(hidden)]
    pub fn mark(&self, stream: &CudaStream) -> Result<CudaEvent, DeviceError> {
        stream.record_event(None).map_err(failed("marking a place in a stream"))
    }

    /// Returns whether all work before a mark is done.
    ///
    /// # Errors
    /// Returns errors of that work: a failed kernel never reaches its mark.
    #[doc(hidden)]
    pub fn reached(&self, mark: &CudaEvent) -> Result<bool, DeviceError> {
        mark.try_is_complete().map_err(failed("waiting for the device"))
    }

    /// Makes later work of a stream wait for a mark of another stream.
    #[doc(hidden)]
    pub fn wait(&self, stream: &CudaStream, mark: &CudaEvent) -> Result<(), DeviceError> {
        stream.wait(mark).map_err(failed("letting a stream wait for another"))
    }
}

/// Page-locked memory of the host. The device copies to it and from it asynchronously, on any stream; readers wait for
/// these copies first.
#[derive(Debug)]
pub struct Pinned<T> {
    pointer: NonNull<T>,
    length: usize,
    /// An event after the last copy.
    busy: CudaEvent,
}

// SAFETY: it owns its memory as a vector does; the driver's calls may come from any thread.
unsafe impl<T: Send> Send for Pinned<T> {}
// SAFETY: it owns its memory as a vector does; changes need a mutable reference.
unsafe impl<T: Sync> Sync for Pinned<T> {}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // a failed context has no running copies
        let _ = self.busy.synchronize();
        // SAFETY: the memory came from the driver and is freed once; no copy is running.
        let _ = unsafe { result::free_host(self.pointer.as_ptr().cast()) };
    }
}

impl<T: DeviceRepr + Copy> Pinned<T> {
    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the items after all copies are done.
    ///
    /// # Errors
    /// Returns errors of earlier work that the driver reports late.
    pub fn items(&self) -> Result<&[T], DeviceError> {
        self.idle()?;
        // SAFETY: the memory holds `length` values, and no copy writes to them: a copy takes `self` mutably.
        Ok(unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.length) })
    }

    /// Returns the items for writing, after all copies are done.
    ///
    /// # Errors
    /// Returns errors of earlier work that the driver reports late.
    pub fn items_mut(&mut self) -> Result<&mut [T], DeviceError> {
        self.idle()?;
        // SAFETY: the memory holds `length` values, no copy writes to them because a copy takes `self` mutably, and no
        // copy reads them.
        Ok(unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) })
    }

    fn idle(&self) -> Result<(), DeviceError> {
        self.busy.synchronize().map_err(failed("waiting for a copy"))
    }

    /// Gives a copy of the first `count` items to a stream and returns at once.
    ///
    /// # Errors
    /// Returns an error if the items do not fit, or the driver's error.
    pub fn upload<S: DevicePtrMut<T>>(
        &mut self,
        stream: &CudaStream,
        count: usize,
        target: &mut S,
    ) -> Result<(), DeviceError> {
        fits(count, self.length.min(target.len()))?;
        let what = || format!("copying {} bytes to the device", count * size_of::<T>());
        let failed = |error| failed(what())(error);
        // copies on another stream come first
        stream.wait(&self.busy).map_err(failed)?;
        if count > 0 {
            // SAFETY: within the memory, which is unchanged until `busy`.
            let items = unsafe { slice::from_raw_parts(self.pointer.as_ptr(), count) };
            let (address, _order) = target.device_ptr_mut(stream);
            // SAFETY: the target has room for `count` items.
            unsafe { result::memcpy_htod_async(address, items, stream.cu_stream()) }.map_err(failed)?;
        }
        self.busy.record(stream).map_err(failed)
    }

    /// Gives a copy of all of `source` to a stream and returns at once.
    ///
    /// # Errors
    /// Returns an error if the source does not fit, or the driver's error.
    pub fn download<S: DevicePtr<T>>(&mut self, stream: &CudaStream, source: &S) -> Result<(), DeviceError> {
        let count = source.len();
        fits(count, self.length)?;
        let what = || format!("copying {} bytes from the device", count * size_of::<T>());
        let failed = |error| failed(what())(error);
        stream.wait(&self.busy).map_err(failed)?;
        if count > 0 {
            // SAFETY: within the memory, which is not read before `busy`.
            let items = unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), count) };
            let (address, _order) = source.device_ptr(stream);
            // SAFETY: there is room for `count` items.
            unsafe { result::memcpy_dtoh_async(items, address, stream.cu_stream()) }.map_err(failed)?;
        }
        self.busy.record(stream).map_err(failed)
    }
}
