// Cost shifting between the tables of a join graph, equal to the CPU's to the last bit. Tables and separator messages
// stay in device memory; the host decides the operations of each wave.

#include "constants.cuh"
#include "rng.cuh"

typedef long long i64;

// Number of entries that a thread loads at a time.
constexpr u32 STEP = 4;
constexpr u32 ALL = ~0u;
constexpr u64 NOWHERE = ~0ull;

// Forbidden entries. Unset separator messages hold more: every byte is 0x3f.
template <class E> struct Entry;
template <> struct Entry<int> {
    static constexpr int NEVER = NEVER_SHORT;
};
template <> struct Entry<i64> {
    static constexpr i64 NEVER = NEVER_LONG;
};

// Stride map of a separator message along a table: the offsets of a tile's entries from the tile's own offset.
struct StrideMap {
    u64 separator;
    u64 offsets;
};

// Changes to a table, and the separator message that is computed afterwards.
struct Operation {
    u64 table;
    // Entries of a tile, number of tiles, and tiles per thread block; `first` is the first thread block.
    u32 size, count, chunk, first;
    // Number of axes from tile to tile, fastest first; their sizes, and the strides of the table and of the stride
    // maps.
    u32 axes, sizes, strides;
    // The first of the stride maps, the number of those of inputs, and whether one of an output follows.
    u32 maps, inputs, output;
};

// An operation on separator messages.
struct Move {
    u64 from, to;
    u64 entries;
    u32 kind, parts;
    // The first thread block, and the index at which the least cost is stored.
    u32 first, number;
};

struct Pass {
    const Operation *operations;
    const StrideMap *maps;
    const u32 *sizes;
    const u64 *strides;
    const Move *moves;
    // The operation or move of each thread block.
    const u32 *map;
    i64 *lowest;
    i64 *constant;
};

template <class E> __device__ __forceinline__ E allowed(E entry) { return min(entry, Entry<E>::NEVER); }

// Lowers a minimum over many threads; most of them come late and only read.
template <class E> __device__ __forceinline__ void lower(E *slot, E least) {
    if (least < *(volatile E *)slot) atomicMin(slot, least);
}

// Processes tiles of a table, with adjacent threads along a tile and at most N inputs.
template <class E, u32 N>
__device__ __forceinline__ void walk(const Operation &operation, const StrideMap *maps, const u64 (*bases)[INPUTS + 2],
                                     u32 blocks, E limit) {
    constexpr E NEVER = Entry<E>::NEVER;
    const u32 size = operation.size, inputs = operation.inputs;
    E *const table = (E *)operation.table;
    E *const output = operation.output ? (E *)maps[inputs].separator : nullptr;
    // threads beyond a small tile process other tiles
    u32 begin = 0, end = blocks, i = threadIdx.x;
    if (size < THREADS) {
        const u32 groups = THREADS / size, each = (blocks + groups - 1) / groups, group = threadIdx.x / size;
        i = threadIdx.x % size;
        begin = min(group * each, blocks);
        end = group < groups ? min(begin + each, blocks) : begin;
    }
    u64 at = NOWHERE;
    E least = NEVER;
    for (; i < size; i += THREADS) {
        u32 offsets[N + 1];
#pragma unroll
        for (u32 k = 0; k < N; k++) offsets[k] = k < inputs ? __ldg((const u32 *)maps[k].offsets + i) : 0;
        offsets[N] = output ? __ldg((const u32 *)maps[inputs].offsets + i) : 0;
        for (u32 b = begin; b < end; b += STEP) {
            E entry[STEP];
#pragma unroll
            for (u32 s = 0; s < STEP; s++)
                if (b + s < end) entry[s] = table[bases[b + s][0] + i];
#pragma unroll
            for (u32 k = 0; k < N; k++) {
                if (k >= inputs) continue;
                const E *const slot = (const E *)maps[k].separator + offsets[k];
#pragma unroll
                for (u32 s = 0; s < STEP; s++)
                    if (b + s < end) entry[s] = entry[s] >= NEVER ? NEVER : entry[s] + slot[bases[b + s][1 + k]];
            }
            if (N > 0) {
#pragma unroll
                for (u32 s = 0; s < STEP; s++)
                    if (b + s < end) {
                        if (entry[s] >= limit) entry[s] = NEVER;
                        table[bases[b + s][0] + i] = entry[s];
                    }
            }
            if (output) {
#pragma unroll
                for (u32 s = 0; s < STEP; s++)
                    if (b + s < end) {
                        const u64 place = bases[b + s][1 + inputs] + offsets[N];
                        if (place != at) {
                            if (at != NOWHERE) lower(output + at, least);
                            at = place, least = entry[s];
                        } else
                            least = min(least, entry[s]);
                    }
            }
        }
    }
    if (!output) return;
    // if all lanes of a warp have the same entry of the message, one lane is enough
    if (__all_sync(ALL, at == __shfl_sync(ALL, at, 0))) {
        for (u32 step = 16; step > 0; step >>= 1) least = min(least, __shfl_xor_sync(ALL, least, step));
        if (threadIdx.x % 32 != 0) return;
    }
    if (at != NOWHERE) lower(output + at, least);
}

// Performs the operations of a wave.
template <class E>
__global__ void __launch_bounds__(THREADS) graph_relax(const __grid_constant__ Pass pass, u32 first, i64 range) {
    __shared__ Operation operation;
    __shared__ StrideMap maps[INPUTS + 1];
    __shared__ u64 bases[BLOCKS][INPUTS + 2];
    const i64 left = range - *pass.constant;
    if (left <= 0) return;
    const u32 chunk = first + blockIdx.x;
    if (threadIdx.x == 0) operation = pass.operations[pass.map[chunk]];
    __syncthreads();
    const u32 number = operation.inputs + operation.output, begin = (chunk - operation.first) * operation.chunk;
    const u32 blocks = min(operation.chunk, operation.count - begin);
    if (threadIdx.x < number) maps[threadIdx.x] = pass.maps[operation.maps + threadIdx.x];
    for (u32 k = threadIdx.x; k < blocks * (number + 1); k += THREADS) {
        const u32 block = k / (number + 1), which = k % (number + 1);
        u32 rest = begin + block;
        u64 base = 0;
        for (u32 axis = 0; axis < operation.axes; axis++) {
            const u32 size = pass.sizes[operation.sizes + axis];
            base += rest % size * pass.strides[operation.strides + axis * (number + 1) + which];
            rest /= size;
        }
        bases[block][which] = base;
    }
    __syncthreads();
    const E limit = (E)min(left, (i64)Entry<E>::NEVER);
    if (operation.inputs == 0)
        walk<E, 0>(operation, maps, bases, blocks, limit);
    else if (operation.inputs == 1)
        walk<E, 1>(operation, maps, bases, blocks, limit);
    else if (operation.inputs == 2)
        walk<E, 2>(operation, maps, bases, blocks, limit);
    else if (operation.inputs <= 4)
        walk<E, 4>(operation, maps, bases, blocks, limit);
    else
        walk<E, INPUTS>(operation, maps, bases, blocks, limit);
}

// Computes the least costs of a wave's moves.
template <class E>
__global__ void __launch_bounds__(THREADS) graph_lowest(const __grid_constant__ Pass pass, u32 first) {
    const Move &move = pass.moves[pass.map[first + blockIdx.x]];
    const u64 begin = (u64)(first + blockIdx.x - move.first) * CHUNK, end = min(begin + CHUNK, move.entries);
    i64 least = 2 * Entry<i64>::NEVER;
    for (u64 at = begin + threadIdx.x; at < end; at += THREADS) {
        E entry = allowed(((const E *)move.from)[at]);
        if (move.kind == LEVEL) entry += allowed(((const E *)move.to)[at]);
        least = min(least, (i64)entry);
    }
    for (u32 step = 16; step > 0; step >>= 1) least = min(least, __shfl_xor_sync(ALL, least, step));
    if (threadIdx.x % 32 == 0) lower(pass.lowest + move.number, least);
}

// Performs the moves of a wave: least costs become amounts to add.
template <class E>
__global__ void __launch_bounds__(THREADS) graph_exchange(const __grid_constant__ Pass pass, u32 first, i64 range) {
    constexpr E NEVER = Entry<E>::NEVER;
    const Move &move = pass.moves[pass.map[first + blockIdx.x]];
    const u32 chunk = first + blockIdx.x - move.first;
    const u64 begin = (u64)chunk * CHUNK, end = min(begin + CHUNK, move.entries);
    const i64 lowest = pass.lowest[move.number];
    if (chunk == 0 && threadIdx.x == 0)
        atomicAdd((unsigned long long *)pass.constant, (unsigned long long)min(lowest, range));
    const E low = (E)min(lowest, (i64)(2 * NEVER - 1)), parts = (E)move.parts;
    E *const from = (E *)move.from, *const to = (E *)move.to;
    for (u64 at = begin + threadIdx.x; at < end; at += THREADS) {
        const E entry = allowed(from[at]);
        if (move.kind == LEVEL) {
            const E other = allowed(to[at]), sum = entry + other, left = sum - low;
            from[at] = sum >= NEVER ? NEVER : left / 2 - entry;
            to[at] = sum >= NEVER ? NEVER : left - left / 2 - other;
        } else {
            const E rest = entry - low, part = move.kind == SHARE ? rest / parts : rest;
            const E gone = move.kind == SHARE ? part + low : entry;
            from[at] = entry >= NEVER ? 0 : -gone;
            if (to) to[at] = entry >= NEVER ? NEVER : part;
        }
    }
}
