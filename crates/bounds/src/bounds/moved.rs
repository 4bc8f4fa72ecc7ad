//! Table entries between which costs move, on the host and on a device.

use crate::elimination::cuda::Element;
use crate::tensor::tiles::Movable;

/// A table entry whose costs can move on the host and on a device.
pub(crate) trait Moved: Movable + Element {}
impl<E: Movable + Element> Moved for E {}
