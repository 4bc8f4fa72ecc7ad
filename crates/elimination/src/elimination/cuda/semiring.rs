//! Semirings as kernels have them.

#![allow(unsafe_code, reason = "types that kernels are given")]

use crate::algebra::{CostEntry, Counting, Entry, MinSum, Semiring, SumProduct};
use crate::device::shared::{DeviceStruct, assertions, device_structs};
use crate::device::{DeviceRepr, ValidAsZeroBits};

/// An entry on both sides.
pub trait Element: Entry + DeviceRepr + ValidAsZeroBits {
    /// Its C type.
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

/// A semiring that kernels know (kernels/semiring.cuh).
pub trait DeviceSemiring: Semiring<Entry: Element> {
    /// What kernels are given of it.
    type Words: DeviceRepr;
    /// Its type there.
    fn name() -> String;
    /// What kernels are given.
    fn words(self) -> Self::Words;
    /// Whether its entries are costs, of whose messages kernels/assign.cu makes assignments.
    fn is_costs() -> bool {
        false
    }
}

#[doc(hidden)]
// SAFETY: one number, as the kernels have it.
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
// SAFETY: one number, as the kernels have it.
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
