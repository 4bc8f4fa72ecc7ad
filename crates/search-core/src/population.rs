//! How many states there is memory for.

use crate::memory;

/// How many states of this size half of the available memory takes.
pub fn most_states(bytes: usize) -> usize {
    usize::try_from(memory::available() / 2 / bytes.max(1) as u64).unwrap_or(usize::MAX).max(1)
}

/// As many states as were asked for, or as there is memory for; then `told` says so.
pub fn clipped(wanted: usize, most: usize, told: &mut Option<String>) -> usize {
    if wanted > most {
        *told = Some(format!("a population of {wanted} was asked for: there is memory for {most} states"));
    }
    wanted.clamp(1, most)
}
