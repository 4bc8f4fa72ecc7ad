//! Tables reordered so that a given variable runs fastest.

use crate::model::{Cost, Costs, Entry, on_entries};

/// Writes a table's rows as seen from a variable of `domain` values, which are `inner` entries apart; each row has
/// `width` entries.
pub(super) fn orient<E>(
    table: &Costs,
    [domain, inner, width]: [usize; 3],
    quantize: impl Fn(Cost) -> E,
    rows: &mut [E],
) {
    on_entries!(table, entries => {
        for (before, block) in entries.chunks_exact(domain * inner).enumerate() {
            for (value, entries) in block.chunks_exact(inner).enumerate() {
                for (after, entry) in entries.iter().enumerate() {
                    rows[(before * inner + after) * width + value] = quantize(Entry::cost(*entry));
                }
            }
        }
    });
}
