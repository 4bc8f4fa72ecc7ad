// The way back through a bucket tree, in a semiring with division, and what keeps sums of products in the range of
// numbers.
//
// Along the way back a step's inputs are combined with what all else comes to and folded to the axes of one table: over
// many axes, where the steps of bucket.cu fold over one. The combination is never stored. Where a table has few entries
// the combinations are cut into parts, whose blocks write side by side; a step of bucket.cu adds the parts up. So the
// order of all sums is fixed by the shape.
//
// Then a table is settled: divided by the message for which it is what all else comes to, and scaled by a power of two
// such that its largest entry is in [1/2, 1).

#include "bucket.cuh"

// A thread, or a power of two of threads, for each output of a part.
template <class S> __global__ void __launch_bounds__(THREADS) join_down(Program program, u32 first_block, S s) {
    using E = typename S::Entry;
    constexpr u32 VALUES = 4;
    __shared__ Corner corner;
    // By input: how far combinations that are folded lie from the first one, in entries.
    __shared__ u32 offsets[INPUTS * THREADS];
    const u32 t = threadIdx.x, block = blockIdx.x + first_block;
    const Step step = program.steps[program.map[block]];
    const u64 out = corner.locate(program, step, block);
    const u32 *own = corner.offsets + t;
    const u32 part = (block - step.first) / step.boxes;
    const u32 begin = (u64)step.domain * part / step.parts, end = (u64)step.domain * (part + 1) / step.parts;
    E sum = s.zero();
    for (u32 first = begin; first < end; first += THREADS) {
        // the offsets before were read
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
                    // past the last combination: the last one again
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
}

// The largest of all threads' numbers.
__device__ __forceinline__ u64 largest(u64 number, u64 *of_warps) {
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (u32 other = 16; other > 0; other /= 2) number = max(number, __shfl_xor_sync(~0u, number, other));
    if (lane == 0) of_warps[warp] = number;
    __syncthreads();
    number = of_warps[lane % (THREADS / 32)];
    for (u32 other = 16; other > 0; other /= 2) number = max(number, __shfl_xor_sync(~0u, number, other));
    return number;
}

// Settles tables, SETTLED entries a block: divides and measures, scales, or both where a block has a table to itself.
template <class S, int PHASE> __global__ void __launch_bounds__(THREADS) settle(Program program, u32 first_block, S s) {
    using E = typename S::Entry;
    __shared__ u64 of_warps[2][THREADS / 32];
    const u32 block = blockIdx.x + first_block;
    const Settled own = program.settled[program.settled_map[block]];
    const u64 begin = (u64)(block - own.first) * SETTLED, end = min(begin + SETTLED, own.entries);
    E *const table = (E *)(program.memory + own.table);
    u64 *const range = program.ranges + 2 * own.range;
    u64 most = 0;
    if constexpr (PHASE == SCALE) {
        most = range[0];
    } else {
        u64 least = 0;
        for (u64 i = begin + threadIdx.x; i < end; i += THREADS) {
            const u64 place = own.place(i);
            E entry = table[place];
            if (own.divisor != NEVER) {
                entry = s.divide(entry, ((const E *)(program.memory + own.divisor))[place]);
                table[place] = entry;
            }
            const u64 order = S::order(entry);
            most = max(most, order);
            if (order != 0) least = max(least, ~order);
        }
        most = largest(most, of_warps[0]);
        least = largest(least, of_warps[1]);
        if (threadIdx.x == 0) {
            atomicMax((unsigned long long *)range, most);
            atomicMax((unsigned long long *)range + 1, least);
        }
    }
    if constexpr (PHASE != MEASURE) {
        const int exponent = most == 0 ? 0 : S::exponent(most);
        if (exponent == 0) return;
        // each thread has written the entries that it reads
        for (u64 i = begin + threadIdx.x; i < end; i += THREADS) {
            const u64 place = own.place(i);
            table[place] = S::scaled(table[place], -exponent);
        }
    }
}
