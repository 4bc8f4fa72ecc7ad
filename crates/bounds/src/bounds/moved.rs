//! Entries that costs move between, on the host and on a device.

use crate::elimination::cuda::Element;
use crate::tensor::tiles::Movable;

/// An entry that costs move between on both sides.
pub(crate) trait Moved: Movable + Element {}
impl<E: Movable + Element> Moved for E {}
