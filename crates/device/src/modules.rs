//! The modules of a device.

use super::device_error::DeviceError;
use super::launch::Module;
use super::source::Source;
use std::sync::{Arc, Condvar, Mutex};

/// The outcome of compiling a source; `None` while it compiles.
pub(super) type Fate = Option<Result<Arc<Module>, DeviceError>>;

/// The modules that a device was asked to load.
#[derive(Debug, Default)]
pub(super) struct Modules {
    pub(super) known: Mutex<Vec<(Source, Fate)>>,
    pub(super) changed: Condvar,
}
