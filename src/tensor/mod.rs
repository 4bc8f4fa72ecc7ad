//! Tables over several variables: memory, strides, and how smaller tables lie along larger ones.

pub(crate) mod entry;
pub(crate) mod storage;
pub(crate) mod tiles;
