//! Collect and distribute on a device, and their results. The device computes tables and their ranges; the host keeps
//! track of powers of two and rounding errors.

use super::conditioned::limited;
use super::propagate::{Note, Planned, Posteriors, Propagated, Trouble, joined, posterior, sources, variable};
use crate::algebra::{OfNumbers, Range, SumProduct};
use crate::elimination::{Gpu, Machine, Made, Propagation, Wanted};
use crate::error::Error;
use crate::model::{ROUNDOFF, Scaled};
use crate::stop::Stop;
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The result of a device.
#[derive(Debug)]
pub(super) struct OnDevice {
    pub found: Propagated,
    /// The seconds of copies to the device and back.
    pub transfer_s: f64,
    /// The seconds until the device's kernels were ready.
    pub kernels_s: f64,
}

/// Returns for each step which tables the requested variables need.
pub(super) fn wanted(planned: Planned<'_>, asked: &[bool]) -> Vec<Wanted> {
    let steps = planned.plan.steps.iter();
    let own = steps.zip(planned.matters(asked));
    own.map(|(step, matters)| Wanted { values: asked[variable(planned.plan, step)], outside: matters }).collect()
}

/// Returns the bytes of device memory that a propagation takes, or `None` if no device is large enough.
pub(super) fn bytes(planned: Planned<'_>, asked: &[bool], kept: &[u32]) -> Option<u64> {
    Propagation::bytes(planned.plan, &wanted(planned, asked), kept)
}

/// Runs both directions on a device. Posteriors are also split by the values of the `kept` positions, whose axes are
/// the fastest. After its kernels are ready, the run may take `share`. Returns `None` if the device has no room for the
/// tables.
///
/// # Errors
/// Returns [`Trouble`] if the propagation fails or is stopped.
pub(super) fn propagate(
    gpu: &Arc<Gpu>,
    planned: Planned<'_>,
    asked: &[bool],
    kept: &[u32],
    share: Option<Duration>,
    stop: &Stop,
) -> Result<Option<OnDevice>, Trouble> {
    let began = Instant::now();
    let wanted = wanted(planned, asked);
    let Some(mut device) = Propagation::new(gpu, planned.task(SumProduct), &wanted, kept)? else { return Ok(None) };
    let mut transfer_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    goes_on(device.ready(stop)?)?;
    let kernels_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let found = run(&mut device, planned, asked, &limited(share, stop))?;
    transfer_s += began.elapsed().as_secs_f64() - found.collect_s - found.distribute_s;
    Ok(Some(OnDevice { found, transfer_s, kernels_s }))
}

/// Measures both directions on a device. Returns the median of `repeats` in milliseconds and the number of launches, or
/// `None` if the device has no room for the tables.
///
/// # Errors
/// Returns [`Trouble`] if the device fails or the run is stopped.
pub(super) fn time(
    gpu: &Arc<Gpu>,
    planned: Planned<'_>,
    asked: &[bool],
    repeats: usize,
    stop: &Stop,
) -> Result<Option<(f64, usize)>, Trouble> {
    let wanted = wanted(planned, asked);
    let Some(mut device) = Propagation::new(gpu, planned.task(SumProduct), &wanted, &[])? else { return Ok(None) };
    goes_on(device.ready(stop)?)?;
    Ok(Some((device.time(repeats)?, device.launches())))
}

fn goes_on(goes_on: bool) -> Result<(), Trouble> {
    if goes_on { Ok(()) } else { Err(Trouble::Failed(Error::Stopped)) }
}

/// Runs collect and, if posteriors are requested, distribute.
pub(super) fn run(
    device: &mut Propagation<impl Machine>,
    planned: Planned<'_>,
    asked: &[bool],
    stop: &Stop,
) -> Result<Propagated, Trouble> {
    let began = Instant::now();
    goes_on(device.collect(stop)?)?;
    let collect_s = began.elapsed().as_secs_f64();
    let mut ranges = Ranges(device.ranges()?);
    let (z, error, notes) = collected(device, planned, &ranges)?;
    let mut found = Propagated { z, error, posteriors: Vec::new(), posterior_error: 0.0, collect_s, distribute_s: 0.0 };
    if z.mantissa > 0.0 && asked.contains(&true) {
        let began = Instant::now();
        goes_on(device.distribute(stop)?)?;
        found.distribute_s = began.elapsed().as_secs_f64();
        ranges = Ranges(device.ranges()?);
        (found.posteriors, found.posterior_error) = distributed(device, planned, &ranges, &notes)?;
    }
    Ok(found)
}

/// The largest and the smallest entry of each table, as bits that the device measured.
struct Ranges(Vec<[u64; 2]>);

impl Ranges {
    fn of(&self, range: usize) -> Range {
        let [most, least] = self.0[range];
        if most == 0 {
            return Range { exponent: 0, least: 0 };
        }
        let exponent = |bits: u64| Scaled::new(f64::from_bits(bits)).exponent;
        Range { exponent: exponent(most), least: exponent(!least) - exponent(most) }
    }
}

/// Returns an error if products of such numbers may be below the range of doubles.
fn in_range(least: i64) -> Result<(), Trouble> {
    if least < -SumProduct.range() { Err(Trouble::Narrow) } else { Ok(()) }
}

/// Returns the sum, its relative error, and the error and range of each message.
fn collected(
    device: &Propagation<impl Machine>,
    planned: Planned<'_>,
    ranges: &Ranges,
) -> Result<(Scaled, f64, Vec<Note>), Trouble> {
    let Planned { sliced, plan, .. } = planned;
    let mut notes = vec![Note::default(); plan.steps.len()];
    let (mut z, mut error) = (sliced.taken_out(), 0.0);
    let mut constants = device.constants()?.into_iter();
    for (index, (step, own)) in plan.steps.iter().zip(device.steps()).enumerate() {
        let Note { error: inputs, least } = joined(sliced, step, &notes, Note::default());
        in_range(least)?;
        let added = f64::from(plan.domains[step.position as usize]) * ROUNDOFF;
        let least = match own.message {
            Some(range) => {
                let Range { exponent, least } = ranges.of(range);
                z.exponent += exponent;
                least
            }
            None => {
                z = z.times(Scaled::new(constants.next().unwrap_or(0.0)));
                error += inputs + added + ROUNDOFF;
                0
            }
        };
        notes[index] = Note { error: inputs + added, least };
    }
    Ok((z, error, notes))
}

/// Returns the posteriors and their relative error.
fn distributed(
    device: &Propagation<impl Machine>,
    planned: Planned<'_>,
    ranges: &Ranges,
    notes: &[Note],
) -> Result<(Posteriors, f64), Trouble> {
    let Planned { sliced, plan, .. } = planned;
    let mut outside = vec![Note::default(); plan.steps.len()];
    let (mut posteriors, mut error) = (vec![None; plan.sequence.len()], 0.0f64);
    let mut values = device.values()?;
    let steps = device.steps();
    for (index, step) in plan.steps.iter().enumerate().rev() {
        let all = joined(sliced, step, notes, outside[index]);
        let mut below: Vec<usize> = sources(step).filter(|&from| steps[from].outside.is_some()).collect();
        if values[index].is_none() && below.is_empty() {
            continue;
        }
        in_range(all.least)?;
        // rounding errors of the table that is folded, and of folding it
        let folded = |made: Made, outside: &[Note]| {
            let whole = match made.from {
                Some(from) => {
                    in_range(notes[from].least.saturating_add(outside[from].least))?;
                    notes[from].error + outside[from].error + 2.0 * ROUNDOFF
                }
                None => all.error,
            };
            Ok::<_, Trouble>(whole + made.depth as f64 * ROUNDOFF)
        };
        // in the order in which the device made them
        below.sort_by_key(|&from| Reverse(plan.steps[from].entries));
        for from in below {
            let Some(range) = steps[from].outside else { continue };
            // both operands of the division contain the message's own error, which cancels
            let error = folded(steps[from].outside_made, &outside)? - notes[from].error + ROUNDOFF;
            outside[from] = Note { error, least: ranges.of(range).least };
        }
        let Some(values) = values[index].take() else { continue };
        let own = folded(steps[index].values_made, &outside)?;
        let (own, off) = posterior(SumProduct, values, own);
        posteriors[variable(plan, step)] = Some(own);
        error = error.max(off);
    }
    Ok((posteriors, error))
}

/// Returns the message that says why the CPU takes over from a device without room.
pub(super) fn refused(gpu: &Gpu, bytes: Option<u64>) -> String {
    let label = gpu.cuda().label();
    match (bytes, gpu.budget()) {
        (Some(bytes), Ok(free)) => {
            format!("{label}: tables would take {bytes} bytes, {free} are free there; going on on the CPU")
        }
        _ => format!("{label}: tables are too large for a device; going on on the CPU"),
    }
}
