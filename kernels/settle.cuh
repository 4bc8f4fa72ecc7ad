// Settling of tables: a table is divided by a message that it must not contain, and scaled by a power of two so that
// its largest entry is in [1/2, 1). This keeps sums of products in the range of doubles.
#pragma once
#include "bucket.cuh"

// Returns the largest of all threads' numbers.
__device__ __forceinline__ u64 largest(u64 number, u64 *of_warps) {
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (u32 other = 16; other > 0; other /= 2) number = max(number, __shfl_xor_sync(~0u, number, other));
    if (lane == 0) of_warps[warp] = number;
    __syncthreads();
    number = of_warps[lane % (THREADS / 32)];
    for (u32 other = 16; other > 0; other /= 2) number = max(number, __shfl_xor_sync(~0u, number, other));
    return number;
}

// Settles some entries of a table with a block: divides and measures, scales, or does both if they are all entries.
template <class S, int PHASE>
__device__ __forceinline__ void settle_entries(const Program &program, const Settled &own, u64 begin, u64 end, S s) {
    using E = typename S::Entry;
    // Number of loads in flight.
    constexpr u32 LOADS = 4;
    __shared__ u64 of_warps[2][THREADS / 32];
    E *const table = (E *)(program.memory + own.table);
    u64 *const range = program.ranges + 2 * own.range;
    u64 most = 0;
    if constexpr (PHASE == SCALE) {
        most = range[0];
    } else {
        u64 least = 0;
        for (u64 first = begin + threadIdx.x; first < end; first += LOADS * THREADS) {
            E entries[LOADS], divisors[LOADS];
            u64 places[LOADS];
#pragma unroll
            for (u32 n = 0; n < LOADS; n++) {
                places[n] = own.place(min(first + n * THREADS, end - 1));
                // other blocks may just have written it
                entries[n] = __ldcg(table + places[n]);
                if (own.divisor != NEVER) divisors[n] = ((const E *)(program.memory + own.divisor))[places[n]];
            }
#pragma unroll
            for (u32 n = 0; n < LOADS; n++) {
                if (first + n * THREADS >= end) break;
                E entry = entries[n];
                if (own.divisor != NEVER) {
                    entry = s.divide(entry, divisors[n]);
                    table[places[n]] = entry;
                }
                const u64 order = S::order(entry);
                most = max(most, order);
                if (order != 0) least = max(least, ~order);
            }
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
        // each thread has written the entries that it reads, or nothing was divided
#pragma unroll 4
        for (u64 i = begin + threadIdx.x; i < end; i += THREADS) {
            const u64 place = own.place(i);
            table[place] = S::scaled(__ldcg(table + place), -exponent);
        }
    }
}

// If a step's table is settled immediately, the last block to finish does it.
template <class S> __device__ __forceinline__ void settle_last(const Program &program, const Step &step, S s) {
    if constexpr (S::SETTLES) {
        __shared__ u32 is_last;
        if (step.settled == 0) return;
        // makes this block's writes visible to the last block
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 *const ended = program.ended + step.settled - 1;
            is_last = atomicAdd(ended, 1) + 1 == step.boxes * step.parts;
            if (is_last) *ended = 0;
        }
        __syncthreads();
        if (!is_last) return;
        __threadfence();
        const Settled own = program.settled[step.settled - 1];
        settle_entries<S, WHOLE>(program, own, 0, own.entries, s);
    }
}
