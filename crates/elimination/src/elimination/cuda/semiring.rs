//! Semirings that the kernels support.

#![allow(unsafe_code, reason = "types that kernels are given")]

use crate::algebra::{CostEntry, Counting, Entry, MinSum, Semiring, SumProduct};
use crate::device::shared::{DeviceStruct, assertions, device_structs};
use crate::device::{DeviceRepr, ValidAsZeroBits};

/// An entry type of both host and device.
pub trait Element: Entry + DeviceRepr + ValidAsZeroBits {
    /// The C type.
    const NAME: &'static str;
}
impl Element for i32 {
    const NAME: &'static str = "int";
}
impl Element for i64 {
    const NAME: &'static str = "long long";
}
impl Element for u64 {
    const NAME: &'static str = "unsigned long long";
}
impl Element for f64 {
    const NAME: &'static str = "double";
}

/// A semiring that the kernels support (kernels/semiring.cuh).
pub trait DeviceSemiring: Semiring<Entry: Element> {
    /// The argument by which kernels receive the semiring.
    type Words: DeviceRepr;
    /// Returns its C++ type.
    fn name() -> String;
    /// Returns the argument for the kernels.
    fn words(self) -> Self::Words;
    /// Returns whether its entries are costs, from whose messages kernels/assign.cu decodes assignments.
    fn is_costs() -> bool {
        false
    }
}

#[doc(hidden)]
// SAFETY: the type is one number, as in the kernels.
unsafe impl<E: Element> DeviceRepr for MinSum<E> {}
impl<E: CostEntry + Element> DeviceSemiring for MinSum<E> {
    type Words = Self;
    fn name() -> String {
        format!("MinSum<{}>", E::NAME)
    }
    fn words(self) -> Self {
        self
    }
    fn is_costs() -> bool {
        true
    }
}
impl<E: CostEntry + Element> DeviceStruct for MinSum<E> {
    fn assertions() -> String {
        assertions(&Self::name(), size_of::<Self>(), &[("cap", std::mem::offset_of!(Self, cap))])
    }
}

#[doc(hidden)]
// SAFETY: the type is one number, as in the kernels.
unsafe impl DeviceRepr for Counting {}
impl DeviceSemiring for Counting {
    type Words = Self;
    fn name() -> String {
        "Counting".into()
    }
    fn words(self) -> Self {
        self
    }
}
impl DeviceStruct for Counting {
    fn assertions() -> String {
        assertions(&Self::name(), size_of::<Self>(), &[("most", std::mem::offset_of!(Self, most))])
    }
}

impl DeviceSemiring for SumProduct {
    type Words = NoWords;
    fn name() -> String {
        "SumProduct".into()
    }
    fn words(self) -> NoWords {
        NoWords::default()
    }
}

device_structs! {
    /// `SumProduct` of kernels/semiring.cuh.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct NoWords as "SumProduct" {
        unused: u64,
    }
}
