//! Cutset conditioning: for each assignment of a few variables the remaining problem, a *slice*, is eliminated, and all
//! slices share one plan (Pearl, "Probabilistic reasoning in intelligent systems", 1988, section 4.3; Bidyuk and
//! Dechter, "Cutset sampling for Bayesian networks", 2007, for cutsets that leave a bounded width).

use super::cuda::Gpu;
use super::plan::{Cutset, EliminationPlan, Placement, Slices};
use crate::error::Error;
use crate::stop::Stop;
use std::sync::Arc;

/// The largest factor by which slices may multiply the combinations of the unsliced plan. SPOT5 505 makes 2.1 times as
/// many if tables of 275 GB must fit in 70 GB; Mastermind 03_08_05 makes 1.3 times as many if tables of 1.1 TB must.
pub const MOST_WORK: u64 = 4;
/// Least number of slices for each of several devices, so that none waits long for the last slice of another.
const SLICES: u64 = 4;
/// The reciprocal of the fraction of its memory that a device reserves for descriptors.
const DESCRIPTORS: u64 = 32;
/// Combinations from which on several devices share an elimination that fits one of them: some tenths of a second.
pub(super) const WORTH_SHARING: f64 = 1e11;

/// Chooses a cutset one position at a time until a slice fits and there are enough slices. `plan_without` leaves a
/// position out of the plan, in addition to those before. Returns `None` if the slices would take too much work, or if
/// no position is left.
pub(super) fn choose(
    whole: &EliminationPlan,
    slices: Slices,
    mut plan_without: impl FnMut(u32) -> Result<(EliminationPlan, Placement), Error>,
    entry_bytes: u64,
    stop: &Stop,
) -> Result<Option<(EliminationPlan, Placement)>, Error> {
    // a device executes all steps of a level at a time
    let room = slices.bytes - slices.bytes / DESCRIPTORS;
    let on_device = |plan: &EliminationPlan| Gpu::holds(plan, entry_bytes, room);
    let enough = if slices.devices > 1 { SLICES * u64::from(slices.devices) } else { 1 };
    let mut places = vec![0; whole.sequence.len()];
    whole.sequence.iter().enumerate().for_each(|(place, &v)| places[v as usize] = place);
    let mut cut = vec![false; places.len()];
    let mut cutset = Cutset { variables: Vec::new(), domains: Vec::new(), bytes: slices.bytes };
    let mut plan = whole.clone();
    loop {
        let is_open = |v: usize| !cut[places[v]] && whole.domains[places[v]] > 1;
        let Some(next) = widest(&plan, is_open, stop)? else { return Ok(None) };
        let position = places[next as usize];
        cut[position] = true;
        cutset.variables.push(next);
        cutset.domains.push(whole.domains[position]);
        let (slice, mut placement) = plan_without(position as u32)?;
        let count = cutset.slices();
        let work = slice.joint_entries.saturating_mul(count);
        if work / MOST_WORK > whole.joint_entries {
            return Ok(None);
        }
        let fits = placement.peak_bytes <= slices.bytes && (slices.devices == 0 || on_device(&slice));
        if fits && count >= enough {
            placement.cutset = Some(Arc::new(cutset));
            return Ok(Some((EliminationPlan { joint_entries: work, ..slice }, placement)));
        }
        plan = slice;
    }
}

/// Returns the variable whose assignment shrinks the cliques of a plan most, relative to the logarithm of its domain
/// size. Only variables for which `may` holds are considered; `None` if there are none.
pub fn widest(plan: &EliminationPlan, may: impl Fn(usize) -> bool, stop: &Stop) -> Result<Option<u32>, Error> {
    let mut gains = vec![0.0; plan.sequence.len()];
    for index in stop.each(0..plan.steps.len()) {
        let scope = plan.scope(index?);
        let entries = entries(&scope, &plan.domains);
        for p in scope {
            gains[plan.sequence[p as usize] as usize] += gain(entries, plan.domains[p as usize]);
        }
    }
    let able = (0..gains.len()).filter(|&v| may(v));
    Ok(able.max_by(|&a, &b| gains[a].total_cmp(&gains[b])).map(|best| best as u32))
}

/// Returns by how much a clique shrinks if one of its variables is fixed, relative to the logarithm of the domain size.
fn gain(entries: f64, domain: u32) -> f64 {
    let domain = f64::from(domain);
    entries.min(1e300) * (1.0 - 1.0 / domain) / domain.ln().max(0.1)
}

/// Returns the number of entries of a table over positions.
fn entries(scope: &[u32], domains: &[u32]) -> f64 {
    scope.iter().map(|&p| f64::from(domains[p as usize])).product()
}

/// A set of variables that are fixed together, and the entries of all cliques after that.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The variables that are fixed.
    pub variables: Vec<u32>,
    /// Entries of all cliques that are left after this cut and those before it.
    pub left: f64,
}

/// Chooses variables to fix until all cliques together have at most `most` entries. Each step takes the variable that
/// shrinks the cliques most, and all variables with at least half its gain that share no clique with a chosen one.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set.
pub fn cuts(plan: &EliminationPlan, most: f64, stop: &Stop) -> Result<Vec<Cut>, Error> {
    let mut scopes: Vec<Vec<u32>> = (0..plan.steps.len()).map(|step| plan.scope(step)).collect();
    let mut reading: Vec<Vec<u32>> = vec![Vec::new(); plan.sequence.len()];
    for (index, scope) in (0..).zip(&scopes) {
        scope.iter().for_each(|&p| reading[p as usize].push(index));
    }
    let mut cuts = Vec::new();
    loop {
        stop.check()?;
        let mut gains = vec![0.0; reading.len()];
        let mut left = 0.0;
        for scope in scopes.iter().filter(|scope| !scope.is_empty()) {
            let entries = entries(scope, &plan.domains);
            left += entries;
            scope.iter().for_each(|&p| gains[p as usize] += gain(entries, plan.domains[p as usize]));
        }
        if let Some(Cut { left: last, .. }) = cuts.last_mut() {
            *last = left;
        }
        let mut best: Vec<u32> = (0..gains.len() as u32).filter(|&p| gains[p as usize] > 0.0).collect();
        best.sort_by(|&a, &b| gains[b as usize].total_cmp(&gains[a as usize]));
        let Some(&first) = best.first().filter(|_| left > most) else { return Ok(cuts) };
        let mut blocked = vec![false; gains.len()];
        let mut cut = Cut { variables: Vec::new(), left };
        for &p in best.iter().take_while(|&&p| gains[p as usize] >= gains[first as usize] / 2.0) {
            if blocked[p as usize] {
                continue;
            }
            cut.variables.push(plan.sequence[p as usize]);
            for &scope in &reading[p as usize] {
                scopes[scope as usize].iter().for_each(|&other| blocked[other as usize] = true);
                scopes[scope as usize].retain(|&other| other != p);
            }
        }
        cuts.push(cut);
    }
}
