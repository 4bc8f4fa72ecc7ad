//! The scheduler of a run: which driver, bound or background task works next, for how long, and on which threads.

pub(crate) mod background;
pub(crate) mod budget;
pub(crate) mod concurrent_bounds;
mod concurrent_drivers;
pub(crate) mod group;
pub(crate) mod portfolio;
pub(crate) mod shares;
pub(crate) mod threads;
