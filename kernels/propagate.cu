// The downward pass through a bucket tree, in a semiring with division, and the scaling that keeps sums of products in
// the range of doubles.
//
// In the downward pass a step combines its inputs with the message from the rest of the tree and folds the result to
// the axes of one table: over many axes, whereas the steps of bucket.cu fold over one. The combination is never stored.
// If a table has few entries, the combinations are divided into parts, whose blocks write side by side; a step of
// bucket.cu adds the parts. So the order of all sums is fixed by the shape.
//
// Then a table is settled (settle.cuh).

#include "bucket.cuh"
#include "settle.cuh"

// Computes the outputs of parts, with one thread, or a power of two of threads, for each output.
template <class S> __global__ void __launch_bounds__(THREADS) join_down(Program program, u32 first_block, S s) {
    using E = typename S::Entry;
    constexpr u32 VALUES = 4;
    __shared__ Corner corner;
    // For each input: the distances of the folded combinations from the first one, in entries.
    __shared__ u32 offsets[INPUTS * THREADS];
    const u32 t = threadIdx.x, block = blockIdx.x + first_block;
    const Step step = program.steps[program.map[block]];
    const u64 out = corner.locate(program, step, block);
    const u32 *own = corner.offsets + t;
    const u32 part = (block - step.first) / step.boxes;
    const u32 begin = (u64)step.domain * part / step.parts, end = (u64)step.domain * (part + 1) / step.parts;
    E sum = s.zero();
    for (u32 first = begin; first < end; first += THREADS) {
        // all threads have read the previous offsets
        __syncthreads();
        if (first + t < end) {
            for (u32 k = 0; k < step.inputs; k++) offsets[k * THREADS + t] = 0;
            u32 rest = first + t;
            for (u32 i = 0; i < step.folds; i++) {
                const Fold fold = program.folds[step.fold_at + i];
                const u64 *strides = program.strides + fold.stride_at;
                const u32 quotient = fold.divide(rest), value = rest - quotient * fold.size;
                for (u32 k = 0; k < step.inputs; k++) offsets[k * THREADS + t] += value * (u32)strides[k];
                rest = quotient;
            }
        }
        __syncthreads();
        const u32 count = min(end - first, THREADS);
        for (u32 j = t & ((1u << step.split) - 1); j < count; j += VALUES << step.split) {
            E product[VALUES];
#pragma unroll
            for (u32 v = 0; v < VALUES; v++) product[v] = s.one();
            for (u32 k = 0; k < step.inputs; k++) {
                const E *table = (const E *)((const char *)corner.base[k] + own[k * THREADS]);
#pragma unroll
                for (u32 v = 0; v < VALUES; v++) {
                    // beyond the last combination, the last one is read again
                    const u32 at = min(j + (v << step.split), count - 1);
                    product[v] = s.join(product[v], __ldg(table + offsets[k * THREADS + at]));
                }
            }
#pragma unroll
            for (u32 v = 0; v < VALUES; v++)
                if (S::IDEMPOTENT || j + (v << step.split) < count) sum = s.fold(sum, product[v]);
        }
    }
    sum = fold_lanes(s, sum, step.split);
    if (t < step.threads) *(E *)(corner.base[step.inputs] + out + part * step.part) = sum;
    settle_last(program, step, s);
}

// Settles tables, SETTLED entries per block: divides and measures, scales, or does both if a block has a table to
// itself.
template <class S, int PHASE> __global__ void __launch_bounds__(THREADS) settle(Program program, u32 first_block, S s) {
    const u32 block = blockIdx.x + first_block;
    const Settled own = program.settled[program.settled_map[block]];
    const u64 begin = (u64)(block - own.first) * SETTLED;
    settle_entries<S, PHASE>(program, own, begin, min(begin + SETTLED, own.entries), s);
}
