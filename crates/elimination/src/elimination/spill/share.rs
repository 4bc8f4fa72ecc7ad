//! Choice of the messages of a plan that go to files, and division of the steps that read or make them.

use crate::elimination::cpu::{Shape, THREADS, temporary};
use crate::elimination::plan::slices::{Cut, entries};
use crate::elimination::plan::{EliminationPlan, Placement, Source, Spill};
use crate::error::Error;
use crate::stop::Stop;
use std::sync::Arc;

/// Largest number of entries of a slice of a message: some milliseconds of work, and with its inputs some tenths of a
/// second of a slow disk, after which a run can be stopped.
const MOST_SLICE: u64 = 1 << 22;
/// Least number of slices of a step with more than [`LEAST_SLICE`] entries, so that the disk works while the processor
/// computes.
const SLICES: u64 = 8;
const LEAST_SLICE: u64 = 1 << 18;

/// Chooses the messages of an exact plan that go to files of at most `room` bytes, so that everything else fits into
/// `memory`. Returns `None` if that is impossible.
pub(crate) fn share(
    plan: &EliminationPlan,
    placement: &mut Placement,
    entry_bytes: u64,
    memory: u64,
    room: u64,
    stop: &Stop,
) -> Result<Option<()>, Error> {
    let mut sizes: Vec<u64> = plan.steps.iter().map(|step| step.entries).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    for least in sizes {
        let files: Vec<bool> = plan.steps.iter().map(|step| !step.scope.is_empty() && step.entries >= least).collect();
        let filed = plan.steps.iter().zip(&files).filter(|(_, filed)| **filed);
        let bytes = filed.map(|(step, _)| step.entries * entry_bytes).sum();
        if bytes > room {
            return Ok(None);
        }
        let mut spill = Spill { files, cuts: vec![None; plan.steps.len()], bytes };
        if let Some(peak) = cut_all(plan, placement.keep_messages, entry_bytes, &mut spill, memory, stop)? {
            placement.peak_bytes = peak;
            placement.spill = Some(Arc::new(spill));
            return Ok(Some(()));
        }
    }
    Ok(None)
}

/// Divides the steps that need it. Returns the peak bytes of memory, or `None` if they exceed `memory`.
fn cut_all(
    plan: &EliminationPlan,
    keep_messages: bool,
    bytes: u64,
    spill: &mut Spill,
    memory: u64,
    stop: &Stop,
) -> Result<Option<u64>, Error> {
    let (mut alive, mut peak) = (0, 0);
    for item in stop.each(plan.steps.iter().enumerate()) {
        let (index, step) = item?;
        let concerned = spill.concerns(plan, index);
        let own = if spill.files[index] { 0 } else { step.entries * bytes };
        let Some(free) = memory.checked_sub(alive + own) else { return Ok(None) };
        let temporary = if concerned {
            let Some((cut, entries)) = cut(plan, spill, index, free / bytes) else { return Ok(None) };
            spill.cuts[index] = cut;
            entries * bytes
        } else {
            temporary(step, &plan.domains).saturating_mul(bytes)
        };
        peak = peak.max(alive.saturating_add(own).saturating_add(temporary));
        if !keep_messages {
            let consumed = step.inputs.iter().filter_map(|input| match input.source {
                Source::Message(from) if !spill.files[from as usize] => Some(plan.steps[from as usize].entries * bytes),
                _ => None,
            });
            alive -= consumed.sum::<u64>();
        }
        alive += if step.scope.is_empty() { 0 } else { own };
        if alive > memory / 2 || peak > memory {
            return Ok(None);
        }
    }
    Ok(Some(peak))
}

/// Returns the division of a step with which it takes at most `room` entries beside the tables that stay, and the
/// number of entries that it takes.
fn cut(plan: &EliminationPlan, spill: &Spill, index: usize, room: u64) -> Option<(Option<Cut>, u64)> {
    let step = &plan.steps[index];
    let functions = step.inputs.iter().filter(|input| matches!(input.source, Source::Function(_)));
    let laid_out: u64 = functions.map(|input| entries(&input.scope, &plan.domains)).sum();
    let taken = |domains: &[u32], sets: u64| {
        let copied = step.inputs.iter().filter(|input| {
            spill.reads(input.source) || entries(&input.scope, domains) < entries(&input.scope, &plan.domains)
        });
        let copied: u64 = copied.map(|input| entries(&input.scope, domains)).sum();
        let shape = Shape::new(&step.scope, domains, domains[step.position as usize] as usize);
        let scratch = (shape.scratch(&step.inputs) as u64).saturating_mul(THREADS);
        let slice = entries(&step.scope, domains) + copied;
        slice.saturating_mul(sets).saturating_add(scratch).saturating_add(laid_out)
    };
    let fits = |cut: Cut| {
        let domains = cut.domains(plan, index);
        entries(&step.scope, &domains) <= MOST_SLICE && taken(&domains, 2) <= room
    };
    let slices = (step.entries / LEAST_SLICE).clamp(1, SLICES);
    match Cut::largest(plan, step, slices, fits) {
        Some(cut) => Some((Some(cut), taken(&cut.domains(plan, index), 2))),
        None => Some((None, taken(&plan.domains, 1))).filter(|&(_, entries)| entries <= room),
    }
}
