//! The table `fang`: successor generation beside the FANG paper's algorithm on the same device, and its figures on a
//! GTX 1080 Ti.

use crate::error::Error;
use crate::experiment::ExperimentFlags;
use crate::fang::speed::{LOADS, Load};
use crate::successors::{GTX_1080_TI_MS, SuccessorRow, measure};
use clap::Args;

/// Options of the table.
#[derive(Args, Debug)]
pub struct FangFlags {
    /// Repetitions on the CUDA device, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,
    /// Options of every table
    #[command(flatten)]
    shared: ExperimentFlags,
}

/// Measures the table.
///
/// # Errors
/// [`Error::Usage`] if there is no device; an error if successors differ.
pub fn run(flags: FangFlags) -> Result<(), Error> {
    let (table, gpu) = flags.shared.begin(
        "milliseconds of a generation\n\
         load  states  vars  possib.  1080 Ti    paper     fang  times",
    )?;
    let gpu = gpu.ok_or_else(|| Error::Usage("fang needs a CUDA device".into()))?;
    let rows = (0..).zip(&LOADS).zip(GTX_1080_TI_MS);
    table.run(rows, |((seed, load), published): ((u64, &Load), f64)| {
        let row = measure(gpu.cuda(), load, seed, published, flags.repeats.into())?;
        let line = line(&row);
        Ok((row, line))
    })
}

fn line(row: &SuccessorRow) -> String {
    format!(
        "{:4}  {:6}  {:4}  {:7}  {:7.2}  {:7.4}  {:7.4}  {:5.1}",
        row.load,
        row.states,
        row.variables,
        row.possibilities,
        row.gtx_1080_ti_ms,
        row.paper_ms,
        row.fang_ms,
        row.speedup,
    )
}
