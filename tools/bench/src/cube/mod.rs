//! Tables I and II of Bistaffa, Bombieri and Farinelli, "An efficient approach for accelerating bucket elimination on
//! GPUs" (CUBE): all posteriors of Bayesian networks, on the CPU, on a device, and there by the published kernels.
//!
//! The published propagation runs on the junction tree of the order of Fangs with the same potentials, in doubles like
//! the authors' program. It must yield the same partition function and posteriors. It begins with potential tables,
//! which the authors compile beforehand, and ends with tables of cliques; Fangs begins with functions and ends with
//! posteriors.

mod figures;
mod published;
mod schedule;
#[cfg(test)]
mod tests;
mod tree;

use crate::device::DeviceError;
use crate::elimination::Gpu;
use crate::error::Error;
use crate::marginals::{Evidence, Marginals, Options, Prepared};
use crate::median;
use crate::model::Potentials;
use crate::stop::Stop;
use published::Found;
pub(crate) use published::source;
use schedule::Schedule;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use tree::JunctionTree;

/// The milliseconds from which on a run of the CPU is not repeated.
const LONG_MS: f64 = 1000.0;

/// Options of the measurements.
#[derive(Clone, Copy, Debug)]
pub struct CubeOptions<'a> {
    /// The device, if there is one.
    pub gpu: Option<&'a Arc<Gpu>>,
    /// Whether the CPU also runs if there is a device.
    pub cpu: bool,
    /// The maximum bytes of tables.
    pub memory: u64,
    /// The number of repetitions on the device, of which the median counts.
    pub repeats: usize,
}

/// The measurements of a network. Sizes are entries of tables, times are in milliseconds. Fields with `paper_` are the
/// paper's figures for a network of this name, on an AMD A8-7600 and a Tesla K40; fields with `published_` are
/// measurements of its algorithm on the present device.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CubeRow {
    /// The name of the network.
    pub network: String,
    /// The number of variables of the file.
    pub variables: usize,
    /// The logarithm of the partition function.
    pub ln_z: f64,
    /// The number of maximal cliques of the junction tree, without variables that are substituted.
    pub cliques: u64,
    /// The entries of all cliques together.
    pub clique_entries: u64,
    /// The entries of the largest clique.
    pub largest_clique: u64,
    /// The mean entries of a clique.
    pub mean_clique: f64,
    /// The entries of the largest separator.
    pub largest_separator: u64,
    /// The mean entries of a separator.
    pub mean_separator: f64,
    /// The entries of all buckets, which are those that Fangs visits.
    pub bucket_entries: u64,
    /// The time of the search for the order, which determines the tree.
    pub order_ms: f64,
    /// The time of collect and distribute on the CPU.
    pub cpu_ms: Option<f64>,
    /// The time of the layout and of the copies to the device and back.
    pub transfer_ms: Option<f64>,
    /// The time of collect and distribute on the device, with all tables there.
    pub device_ms: Option<f64>,
    /// The number of launches of collect and distribute on the device.
    pub launches: Option<usize>,
    /// The time of the CPU divided by that of the device.
    pub speed_up: Option<f64>,
    /// The published algorithm's layout of tables on the host, two for each separator.
    pub published_layout_ms: Option<f64>,
    /// The published algorithm's copies to the device.
    pub published_transfer_ms: Option<f64>,
    /// The published algorithm's messages, reduced and scattered.
    pub published_ms: Option<f64>,
    /// The published algorithm's rearrangements between messages.
    pub published_rearrange_ms: Option<f64>,
    /// The published algorithm's number of messages, each of which is a launch.
    pub published_launches: Option<usize>,
    /// The threads of a block with which the published algorithm's messages are fastest.
    pub published_threads: Option<u32>,
    /// The logarithm of the partition function by the published algorithm.
    pub published_ln_z: Option<f64>,
    /// The time of the published algorithm's messages divided by that of Fangs.
    pub times: Option<f64>,
    /// The number of cliques of the paper's junction tree.
    pub paper_cliques: Option<u64>,
    /// The entries of all cliques of the paper's junction tree.
    pub paper_clique_entries: Option<u64>,
    /// The entries of the largest clique of the paper's junction tree.
    pub paper_largest_clique: Option<u64>,
    /// The mean entries of a clique of the paper's junction tree.
    pub paper_mean_clique: Option<u64>,
    /// The entries of the largest separator of the paper's junction tree.
    pub paper_largest_separator: Option<u64>,
    /// The mean entries of a separator of the paper's junction tree.
    pub paper_mean_separator: Option<u64>,
    /// The time of all messages on the paper's CPU.
    pub paper_cpu_ms: Option<f64>,
    /// The time of the paper's preprocessing.
    pub paper_layout_ms: Option<f64>,
    /// The time of the paper's copies.
    pub paper_transfer_ms: Option<f64>,
    /// The time of all messages on the paper's device.
    pub paper_device_ms: Option<f64>,
    /// The paper's speed-up, as printed.
    pub paper_speed_up: Option<f64>,
    /// The reason why something was not measured.
    pub trouble: Option<String>,
}

/// Measures a network.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Memory`] if neither the CPU nor the device has enough memory; an error if results do
/// not agree.
pub fn cube(potentials: &Potentials, options: CubeOptions<'_>, stop: &Stop) -> Result<CubeRow, Error> {
    let own = Options::default().with(|own| own.memory = Some(options.memory));
    let mut prepared = Prepared::new(potentials, &Evidence::default(), &own, stop)?;
    let mut row = CubeRow::of(potentials, &prepared);
    let mut results: Vec<Marginals> = Vec::new();
    if options.cpu || options.gpu.is_none() {
        let (found, ms) = median(LONG_MS, || {
            let found = prepared.run(stop)?;
            let ms = (found.collect_s + found.distribute_s) * 1e3;
            Ok((found, ms))
        })?;
        row.cpu_ms = Some(ms);
        results.push(found);
    }
    if let Some(gpu) = options.gpu {
        prepared.use_device(gpu.clone());
        // the first run compiles kernels, so the second one is measured
        let (_, found) = (prepared.run(stop)?, prepared.run(stop)?);
        row.trouble.clone_from(&found.trouble);
        if found.device.is_some() {
            row.transfer_ms = Some(found.transfer_s * 1e3);
            let timed = prepared.device_ms(gpu, options.repeats, stop)?;
            (row.device_ms, row.launches) = (timed.map(|(ms, _)| ms), timed.map(|(_, launches)| launches));
        }
        results.push(found);
    }
    row.speed_up = row.cpu_ms.zip(row.device_ms).map(|(cpu, device)| cpu / device);
    if let [a, b] = &results[..]
        && (a.ln_z - b.ln_z).abs() > a.error_bound + b.error_bound
    {
        let what = format!("{}: ln Z is {} on the CPU, {} on the device", row.network, a.ln_z, b.ln_z);
        return Err(Error::Internal(what));
    }
    let Some(found) = results.last() else { return Ok(row) };
    row.ln_z = found.ln_z;
    if let Some(gpu) = options.gpu
        && found.ln_z > f64::NEG_INFINITY
    {
        row.published(&prepared, found, gpu, options.repeats, stop)?;
    }
    Ok(row)
}

impl CubeRow {
    /// Returns a row with the sizes and the paper's figures.
    fn of(potentials: &Potentials, prepared: &Prepared) -> CubeRow {
        let name = Path::new(&potentials.name).file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let network = name.split('.').next().unwrap_or_default().to_string();
        let paper = figures::of_network(&network);
        let mut row = CubeRow {
            network,
            variables: potentials.domains.len(),
            ln_z: f64::NEG_INFINITY,
            bucket_entries: prepared.tree().clique_entries,
            order_ms: prepared.order_s * 1e3,
            paper_cliques: paper.map(|own| own.cliques),
            paper_clique_entries: paper.map(|own| own.cliques * own.mean_clique),
            paper_largest_clique: paper.map(|own| own.largest_clique),
            paper_mean_clique: paper.map(|own| own.mean_clique),
            paper_largest_separator: paper.map(|own| own.largest_separator),
            paper_mean_separator: paper.map(|own| own.mean_separator),
            paper_cpu_ms: paper.map(|own| own.cpu_ms),
            paper_layout_ms: paper.map(|own| own.layout_ms),
            paper_transfer_ms: paper.map(|own| own.transfer_ms),
            paper_device_ms: paper.map(|own| own.device_ms),
            paper_speed_up: paper.map(|own| own.speed_up),
            ..CubeRow::default()
        };
        if let Some((sliced, plan)) = prepared.planned() {
            let tree = JunctionTree::new(sliced, plan);
            let separators = || tree.cliques.iter().filter_map(|own| Some(tree.entries(&own.parent.as_ref()?.1)));
            row.cliques = tree.cliques.len() as u64;
            row.clique_entries = tree.cliques.iter().map(|own| own.entries).fold(0, u64::saturating_add);
            row.largest_clique = tree.cliques.iter().map(|own| own.entries).max().unwrap_or(0);
            row.mean_clique = row.clique_entries as f64 / row.cliques.max(1) as f64;
            row.largest_separator = separators().max().unwrap_or(0);
            row.mean_separator = separators().sum::<u64>() as f64 / separators().count().max(1) as f64;
        }
        row
    }

    /// Measures the published propagation on the device.
    fn published(
        &mut self,
        prepared: &Prepared,
        own: &Marginals,
        gpu: &Arc<Gpu>,
        repeats: usize,
        stop: &Stop,
    ) -> Result<(), Error> {
        let failed = |error: DeviceError| Error::Internal(format!("the published kernels: {error}"));
        let Some((sliced, plan)) = prepared.planned() else { return Ok(()) };
        let tree = JunctionTree::new(sliced, plan);
        let schedule = Schedule::new(&tree);
        let (bytes, free) = (published::bytes(&tree, &schedule), gpu.budget().map_err(failed)?);
        if bytes.is_none_or(|bytes| bytes > free) {
            let what = bytes.map_or("are too large".into(), |bytes| format!("take {bytes} bytes, {free} are free"));
            let _ = self.trouble.get_or_insert(format!("tables of the published algorithm {what}"));
            return Ok(());
        }
        let measured = published::measure(gpu, &tree, &schedule, repeats, stop).map_err(failed)?;
        let Some(measured) = measured else { return Err(Error::Stopped) };
        agrees(&self.network, &measured.found, own)?;
        self.published_layout_ms = Some(measured.layout_ms);
        self.published_transfer_ms = Some(measured.transfer_ms);
        self.published_ms = Some(measured.messages_ms);
        self.published_rearrange_ms = Some(measured.rearrange_ms);
        self.published_launches = Some(schedule.messages().count());
        self.published_threads = Some(measured.group);
        self.published_ln_z = Some(measured.found.z.ln());
        self.times = self.published_ms.zip(self.device_ms).map(|(published, own)| published / own);
        Ok(())
    }
}

/// Checks that the published propagation yields the partition function and posteriors of Fangs, within the error bounds
/// of both.
fn agrees(network: &str, found: &Found, own: &Marginals) -> Result<(), Error> {
    let ln_z = found.z.ln();
    let near = |a: f64, b: f64, off: f64| (a - b).abs() <= off;
    if !near(ln_z, own.ln_z, found.error + own.error_bound) {
        return Err(Error::Internal(format!(
            "{network}: ln Z is {ln_z} by the published kernels, {} by ours; they scale no table, so that sums of \
             products below the range of doubles are lost",
            own.ln_z
        )));
    }
    for (variable, values) in &found.posteriors {
        let Some(expected) = &own.posteriors[*variable as usize] else { continue };
        for (value, (&a, &b)) in values.iter().zip(expected).enumerate() {
            if !near(a, b, b * (2.0 * found.error + own.posterior_error) + f64::MIN_POSITIVE) {
                return Err(Error::Internal(format!(
                    "{network}: the posterior of value {value} of variable {variable} is {a} by the published kernels, \
                     {b} by ours"
                )));
            }
        }
    }
    Ok(())
}
