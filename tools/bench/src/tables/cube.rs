//! The table `cube`: posteriors of networks beside the published algorithm of the CUBE paper.

use crate::cube::{CubeOptions, CubeRow, cube};
use crate::error::Error;
use crate::experiment::ExperimentFlags;
use crate::formats::{self, ReadOptions, Source};
use crate::stop::Stop;
use clap::Args;
use std::path::PathBuf;

/// Options of the table.
#[derive(Args, Debug)]
pub struct CubeFlags {
    /// Networks of potentials; figures of the paper stand beside mildew, diabetes, barley, munin1 to munin4 and water
    #[arg(value_name = "NETWORK", required = true)]
    networks: Vec<PathBuf>,
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
/// An error if a network cannot be read or results do not agree; [`Error::Memory`].
pub fn run(flags: CubeFlags) -> Result<(), Error> {
    let stop = Stop::new();
    flags.shared.spare(&flags.networks)?;
    let (memory, cpu) = (flags.shared.memory(), !flags.shared.no_cpu);
    let (table, gpu) = flags.shared.begin(
        "milliseconds of collect and distribute\n\
         network   cliques  entries    largest   order     CPU       transfers  device    speed-up  published: \
         layout, transfers, messages, rearranged  times   paper: CPU, layout, transfers, device",
    )?;
    let options = CubeOptions { gpu: gpu.as_ref(), cpu, memory, repeats: flags.repeats.into() };
    table.run(&flags.networks, |path| {
        let potentials =
            formats::read_potentials(&Source::File(path.clone()), None, &ReadOptions::default(), None, &stop)?;
        potentials.warnings.iter().for_each(|warning| eprintln!("{}: {warning}", path.display()));
        let row = cube(&potentials, options, &stop)?;
        if let Some(trouble) = &row.trouble {
            eprintln!("{}: {trouble}", row.network);
        }
        let line = line(&row);
        Ok((row, line))
    })
}

fn line(row: &CubeRow) -> String {
    let ms = |ms: Option<f64>| ms.map_or("-".into(), |ms| format!("{ms:.3}"));
    let factor = |times: Option<f64>| times.map_or("-".into(), |times| format!("{times:.1}"));
    let plain = |ms: Option<f64>| ms.map_or("-".into(), |ms| ms.to_string());
    format!(
        "{:<8}  {:>7}  {:<9.3e}  {:<8.2e}  {:<8}  {:<8}  {:<9}  {:<8}  {:<8}  {:>18}  {:>9}  {:>8}  {:>10}  {:>5}  \
         {:>11}  {:>6}  {:>9}  {:>6}",
        row.network,
        row.cliques,
        row.clique_entries as f64,
        row.largest_clique as f64,
        ms(Some(row.order_ms)),
        ms(row.cpu_ms),
        ms(row.transfer_ms),
        ms(row.device_ms),
        factor(row.speed_up),
        ms(row.published_layout_ms),
        ms(row.published_transfer_ms),
        ms(row.published_ms),
        ms(row.published_rearrange_ms),
        factor(row.times),
        plain(row.paper_cpu_ms),
        plain(row.paper_layout_ms),
        plain(row.paper_transfer_ms),
        plain(row.paper_device_ms),
    )
}
