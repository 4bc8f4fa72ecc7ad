//! A survey of what is installed and usable.

use super::cuda::Cuda;
use super::driver::driver;
use super::find::devices;
use super::info::{Found, Info, Survey};
use super::nvrtc::Nvrtc;

/// Returns the survey that `fangs devices` reports. Opens each device.
pub fn survey() -> Survey {
    let compiler = Nvrtc::get().map(|nvrtc| (nvrtc.version, nvrtc.path.clone()));
    let found = |info: Info| {
        let usable = Cuda::open(info.ordinal).and_then(|cuda| cuda.memory());
        Found { info, usable }
    };
    Survey { driver: driver(), compiler, devices: devices().map(|all| all.into_iter().map(found).collect()) }
}
