//! `fangs devices`, and the `--device` option.

use super::{Exit, output};
use clap::Args;
use fangs::Error;
use serde_json::json;

#[derive(Args, Debug)]
pub struct DevicesFlags {
    /// Exactly one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// On the CPU.
    Cpu,
}

const NO_CUDA: &str = "this build has no CUDA support yet: it runs on the CPU";

/// Reads `--device`.
pub fn parse(text: &str) -> Result<Device, String> {
    match text {
        "auto" | "cpu" => Ok(Device::Cpu),
        _ if text == "cuda" || text.starts_with("cuda:") => Err(NO_CUDA.into()),
        _ => Err("expected auto, cpu, cuda or cuda:I".into()),
    }
}

/// Says what there is to compute with.
pub fn run(flags: DevicesFlags) -> Result<Exit, Error> {
    let threads = rayon::current_num_threads();
    if flags.json {
        let cuda = json!({"devices": [], "reason": NO_CUDA});
        output::print_json(&json!({"cpu": {"threads": threads}, "cuda": cuda}))?;
    } else {
        output::print(&format_args!("cpu   {threads} threads\ncuda  none: {NO_CUDA}\n"))?;
    }
    Ok(Exit::Done)
}
