//! The number of states that fit into memory.

use crate::memory;

/// Returns the number of states of `bytes` bytes that fit into half of the available memory, at least 1.
pub fn most_states(bytes: usize) -> usize {
    usize::try_from(memory::available() / 2 / bytes.max(1) as u64).unwrap_or(usize::MAX).max(1)
}

/// Returns the number of states wanted, or that for which there is memory; `told` then contains a message.
pub fn clipped(wanted: usize, most: usize, told: &mut Option<String>) -> usize {
    if wanted > most {
        *told = Some(format!("a population of {wanted} was asked for: there is memory for {most} states"));
    }
    wanted.clamp(1, most)
}
