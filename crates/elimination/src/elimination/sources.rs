//! Sources of the kernels of elimination, to compile them without a device.

use super::cuda::{Decoder, DeviceSemiring, Element, Kinds, Phase, Role, Staged, Variant, texts};
use super::sparse::DeviceRows;
use crate::algebra::{Counting, MinSum, SumProduct};
use crate::device::Source;

/// Returns sources of every kind of kernel that plans may need, to compile them without a device.
pub fn sources() -> Vec<Source> {
    let few = |runs, singles| Kinds::Few { runs, singles };
    let small: &[[u32; 4]] = &[[2, 2, 2, 1]];
    let semirings = [
        (MinSum::<i32>::name(), i32::NAME, &[[4, 2, 2, 4], [5, 5, 2, 1]][..]),
        (MinSum::<i64>::name(), i64::NAME, small),
        (Counting::name(), u64::NAME, small),
        (SumProduct::name(), f64::NAME, small),
    ];
    let mut source = texts::bucket();
    for (semiring, entry, tiles) in &semirings {
        source = source.kernel(format!("gather<{entry}>")).kernel(Variant::Each.expression(semiring));
        for &tile in *tiles {
            let [one, many] = [[few(1, 0); 3], [Kinds::Many; 3]].map(|[a, b, c]| [a, b, c, Kinds::NONE]);
            for kinds in [one, many, [few(1, 1), Kinds::NONE, few(0, 1), Kinds::Many]] {
                source = source.kernel(Variant::Tile(tile, kinds).expression(semiring));
            }
        }
    }
    let short = MinSum::<i32>::name();
    let kinds = [Kinds::NONE, few(2, 1), few(1, 1), Kinds::NONE];
    source = source.kernel(Variant::Tile([5, 2, 1, 4], kinds).expression(&short));
    let staged = |tile, tiles, lanes, inputs| {
        Variant::Staged(Staged { tile, tiles, lanes, blocks: 1 }, inputs).expression(&short)
    };
    let staged = texts::staged()
        .kernel(staged([5, 5, 3], [1, 5, 3], 16, [1, 1, 1]))
        .kernel(staged([4, 4, 4], [2, 2, 2], 20, [2, 2, 1]))
        .kernel(staged([9, 3, 3], [1, 2, 2], 32, [0, 1, 2]));
    let back = [Variant::Down, Variant::Settle(Phase::Whole)].into_iter();
    let back = back.chain([Phase::Measure, Phase::Scale].map(Variant::Settle));
    let back = back.map(|variant| variant.expression(&SumProduct::name())).fold(texts::propagate(), Source::kernel);
    let roles = [Role::Expect, Role::Largest, Role::Constant].map(Variant::Pair);
    let roles =
        roles.map(|variant| variant.expression(&SumProduct::name())).into_iter().fold(texts::pairs(), Source::kernel);
    let decoder = [i32::NAME, i64::NAME].into_iter().map(Decoder::expression);
    let decoder = decoder.fold(Decoder::source(), Source::kernel);
    vec![source, staged, back, roles, decoder, DeviceRows::kernels()]
}
