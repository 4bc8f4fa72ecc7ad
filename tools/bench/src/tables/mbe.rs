//! The table `mbe`: single buckets by the fused kernel beside the published aggregate-then-eliminate (GpuBE, sections
//! 5.3 and 5.4).

use crate::elimination::speed::BUCKETS;
use crate::error::Error;
use crate::experiment::ExperimentFlags;
use crate::single_bucket::{SingleBucketRow, measure};
use clap::Args;

/// Options of the table.
#[derive(Args, Debug)]
pub struct MbeFlags {
    /// Repetitions on the CUDA device, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,
    /// Options of every table
    #[command(flatten)]
    shared: ExperimentFlags,
}

/// Measures the table.
///
/// # Errors
/// [`Error::Usage`] if there is no device; an error if a message has an incorrect entry.
pub fn run(flags: MbeFlags) -> Result<(), Error> {
    let (table, gpu) = flags.shared.begin(
        "milliseconds and 10^9 combinations a second\n  \
         d   w  functions  combinations     fused        G/s     paper    G/s  times",
    )?;
    let gpu = gpu.ok_or_else(|| Error::Usage("mbe needs a CUDA device".into()))?;
    table.run(BUCKETS, |shape| {
        let row = measure(&gpu, shape, flags.repeats.into()).map_err(|error| Error::Internal(error.to_string()))?;
        let line = line(&row);
        Ok((row, line))
    })
}

fn line(row: &SingleBucketRow) -> String {
    format!(
        "{:3} {:3}  {:9}  {:12.3e}  {:8.4}  {:9.1}  {:8.3}  {:5.1}  {:5.1}",
        row.d, row.w, row.functions, row.joint as f64, row.fused_ms, row.fused_g, row.paper_ms, row.paper_g, row.ratio,
    )
}
