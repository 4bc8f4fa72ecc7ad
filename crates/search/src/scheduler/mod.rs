//! Who works next, how long, and on which threads: drivers, bounds and background tasks of a run.

pub(crate) mod background;
pub(crate) mod bounds;
pub(crate) mod budget;
pub(crate) mod concurrent_bounds;
mod concurrent_drivers;
pub(crate) mod group;
pub(crate) mod portfolio;
pub(crate) mod shares;
pub(crate) mod threads;
