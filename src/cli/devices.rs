//! `fangs devices`: lists the threads and devices of this machine.

use super::{Exit, output, values};
use clap::Args;
use fangs_base::Error;
use fangs_device::{Choice, DeviceError, Found, Survey, survey};
use fangs_report::text::counted;
use serde_json::{Value, json};
use std::fmt::{self, Display};

#[derive(Args, Debug)]
pub struct DevicesFlags {
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

/// Lists the CPU threads and the CUDA devices.
pub fn run(flags: DevicesFlags) -> Result<Exit, Error> {
    values::use_threads(None)?;
    let seen = Seen { threads: rayon::current_num_threads(), survey: survey() };
    if flags.json {
        output::print_json(&seen.json())?;
    } else {
        output::print(&seen)?;
    }
    Ok(Exit::Done)
}

/// The devices of this machine.
struct Seen {
    threads: usize,
    survey: Survey,
}

impl Seen {
    /// Returns the device that `--device auto` takes.
    fn auto(&self) -> String {
        let devices = self.survey.devices.iter().flatten();
        let taken = devices.filter(|found| found.usable.is_ok()).map(|found| Choice::Cuda(found.info.ordinal)).next();
        taken.unwrap_or(Choice::Cpu).to_string()
    }

    /// Returns the devices that `--device cuda:all` takes; `None` if there are none.
    fn all(&self) -> Option<String> {
        match self.survey.devices.as_ref().map_or(0, Vec::len) {
            0 => None,
            1 => Some(Choice::Cuda(0).to_string()),
            count => Some(Choice::Several((0..count).collect()).to_string()),
        }
    }

    fn json(&self) -> Value {
        let Survey { driver, compiler, devices } = &self.survey;
        let nvrtc = compiler
            .as_ref()
            .ok()
            .map(|((major, minor), path)| json!({"version": dotted(*major, *minor), "path": path}));
        let list: Vec<Value> = devices.iter().flatten().map(device_json).collect();
        json!({
            "cpu": {"threads": self.threads},
            "cuda": {
                "driver": driver.as_ref().ok().map(|&(major, minor)| dotted(major, minor)),
                "nvrtc": nvrtc,
                "devices": list,
                "reason": reason(devices).or(reason(compiler)),
            },
            "auto": self.auto(),
            "all": self.all(),
        })
    }
}

fn reason<T>(result: &Result<T, DeviceError>) -> Option<String> {
    result.as_ref().err().map(ToString::to_string)
}

fn device_json(Found { info, usable }: &Found) -> Value {
    let memory = usable.as_ref().ok();
    json!({
        "name": Choice::Cuda(info.ordinal).to_string(),
        "model": info.name,
        "compute_capability": dotted(info.architecture / 10, info.architecture % 10),
        "multiprocessors": info.multiprocessors,
        "memory_bytes": memory.map_or(info.memory, |memory| memory.total),
        "free_bytes": memory.map(|memory| memory.free),
        "usable": usable.is_ok(),
        "reason": reason(usable),
    })
}

impl Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Survey { driver, compiler, devices } = &self.survey;
        writeln!(f, "cpu     {}", counted(self.threads, "thread"))?;
        match devices {
            Ok(list) => list.iter().try_for_each(|found| device_line(f, found))?,
            Err(error) => writeln!(f, "cuda    none: {error}")?,
        }
        if let Ok((major, minor)) = driver {
            writeln!(f, "driver  CUDA {}", dotted(*major, *minor))?;
        }
        match compiler {
            Ok(((major, minor), path)) => writeln!(f, "nvrtc   {} at {}", dotted(*major, *minor), path.display())?,
            // one reason is enough if there is no device either
            Err(error) if devices.is_ok() => writeln!(f, "nvrtc   none: {error}")?,
            Err(_) => {}
        }
        writeln!(f, "auto    {} (what --device auto takes)", self.auto())?;
        self.all().map_or(Ok(()), |all| writeln!(f, "all     {all} (what --device cuda:all takes)"))
    }
}

fn device_line(f: &mut fmt::Formatter<'_>, Found { info, usable }: &Found) -> fmt::Result {
    let label = Choice::Cuda(info.ordinal).to_string();
    let capability = dotted(info.architecture / 10, info.architecture % 10);
    write!(f, "{label:<7} {}, compute capability {capability}, {} multiprocessors", info.name, info.multiprocessors)?;
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    match usable {
        Ok(memory) => writeln!(f, ", {:.1} of {:.1} GiB free", gib(memory.free), gib(memory.total)),
        Err(error) => writeln!(f, ", {:.1} GiB; not usable: {error}", gib(info.memory)),
    }
}

fn dotted(major: i32, minor: i32) -> String {
    format!("{major}.{minor}")
}
