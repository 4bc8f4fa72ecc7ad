//! A bound on a sum from above in no time: functions are taken off one by one. Of a Bayesian network, whose tables sum
//! to 1, it is at most 1, whatever was observed.

use super::sliced::{Sliced, strides};
use crate::error::Error;
use crate::model::{ROUNDOFF, Scaled};
use crate::stop::Stop;

/// No more than this is the sum. A variable that one function alone reads is summed out of it, and the largest of these
/// sums goes out of the product; where there is none, the largest entry of a table goes, of the smallest one first.
///
/// # Errors
/// [`Error::Stopped`].
pub(super) fn peel(sliced: &Sliced, stop: &Stop) -> Result<Scaled, Error> {
    let mut reading: Vec<Vec<usize>> = vec![Vec::new(); sliced.domains.len()];
    for (index, function) in sliced.functions.iter().enumerate() {
        function.scope.iter().for_each(|&v| reading[v as usize].push(index));
    }
    let most = |index: usize| sliced.functions[index].table.iter().copied().fold(0.0, f64::max);
    let ln = |index: usize| Scaled::with(most(index), sliced.functions[index].exponent).ln();
    let mut smallest: Vec<(f64, usize)> = (0..sliced.functions.len()).map(|index| (ln(index), index)).collect();
    smallest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = vec![true; sliced.functions.len()];
    let mut summed = vec![false; sliced.domains.len()];
    let mut alone: Vec<usize> = (0..reading.len()).filter(|&v| reading[v].len() == 1).collect();
    let (mut bound, mut rounding) = (sliced.constant, sliced.rounding);
    loop {
        stop.check()?;
        let (index, largest) = if let Some(v) = alone.pop() {
            let [index] = reading[v][..] else { continue };
            summed[v] = true;
            (index, largest_sum(sliced, index, v))
        } else if let Some((_, index)) = smallest.pop() {
            if !left[index] {
                continue;
            }
            (index, most(index))
        } else {
            break;
        };
        left[index] = false;
        let Some(function) = sliced.functions.get(index) else { continue };
        bound = bound.times(Scaled::with(largest, function.exponent));
        rounding +=
            (function.table.len() as f64).min(sliced.domains.iter().copied().max().unwrap_or(1).into()) * ROUNDOFF;
        for &v in &function.scope {
            reading[v as usize].retain(|&other| other != index);
            if reading[v as usize].len() == 1 && !summed[v as usize] {
                alone.push(v as usize);
            }
        }
    }
    for (&domain, _) in sliced.domains.iter().zip(&summed).filter(|(_, summed)| !**summed) {
        bound = bound.times(Scaled::new(domain.into()));
        rounding += ROUNDOFF;
    }
    Ok(bound.times(Scaled::new(1.0 + 2.0 * rounding)))
}

/// The largest sum over a variable, by the values of the others.
fn largest_sum(sliced: &Sliced, index: usize, variable: usize) -> f64 {
    let function = &sliced.functions[index];
    let axis = function.scope.iter().position(|&v| v as usize == variable).unwrap_or(0);
    let inner = strides(function, &sliced.domains)[axis];
    let columns = function
        .table
        .chunks_exact(inner * sliced.domains[variable] as usize)
        .flat_map(|slab| (0..inner).map(move |column| slab[column..].iter().step_by(inner).sum::<f64>()));
    columns.fold(0.0, f64::max)
}
