// Structures that the bucket kernels share.
#pragma once
#include "constants.cuh"
#include "semiring.cuh"

// An axis of a message in tiles: `boxes` boxes of `extent` tiles of `tile` values. The last boxes and tiles are moved
// back so that all are complete; the outputs of the overlap are computed twice, with equal results.
struct Digit {
    u32 boxes;
    // Product of the numbers of boxes of all previous axes.
    u32 below;
    u32 extent;
    // 2^20 / extent, rounded up: exact quotients of numbers below THREADS.
    u32 magic;
    u32 tile;
    // The largest first value of a tile.
    u32 last;

    // Returns the first value of a box.
    __device__ __forceinline__ u32 start(u32 block) const {
        return min(block / below % boxes * extent * tile, last);
    }

    // Returns the distance from the box's start to the tile of the thread with rank `rank`, and replaces `rank` by the
    // rank among the remaining axes.
    __device__ __forceinline__ u32 local(u32 start, u32 &rank) const {
        const u32 quotient = rank * magic >> 20;
        const u32 value = min(start + (rank - quotient * extent) * tile, last) - start;
        rank = quotient;
        return value;
    }
};

// A table that is joined. Strides are in bytes; `table` is its offset in bytes from the start of memory.
struct Input {
    u64 table;
    // Distance between values of the eliminated variable.
    u64 slab;
    // Distances between values of the tile's axes; 0 if the table does not depend on the axis.
    u32 x, y, z;
    // Whether the table depends on the fastest axis, with adjacent entries.
    u32 run;
};

// A step whose message is small, or whose inputs share too few axes for tiles.
struct Step {
    // Offset of the message in memory.
    u64 out;
    // Distance between partial results of an output, if several parts of a step each write one.
    u64 part;
    // Number of the step's first block among those of all steps.
    u32 first;
    // Number of values of the eliminated variable, or of combinations that are folded.
    u32 domain;
    // Number of axes of the message; the first `spread` of them vary between the threads of a block.
    u32 digits, spread;
    u32 inputs;
    // Number of threads of a block that have work; binary logarithm of the number of threads that share an output.
    u32 threads, split;
    // Indices of the step's first axis, input and stride.
    u32 digit_at, input_at, stride_at;
    // Number of axes that are folded over, if several, and the index of the first.
    u32 folds, fold_at;
    // Number of parts that the folded combinations are divided into, and number of blocks of a part.
    u32 parts, boxes;
    // On pairs: the number of inputs that are added, which follow those that are multiplied; whether the last input is
    // written; and relative differences: the first value within `tie` of the best is chosen, and is certain if all
    // others differ by more than `margin`.
    u32 sums, also;
    double tie, margin;
    // Index plus 1 of the step's table among the settled ones, if the last block to finish settles it; otherwise 0.
    u64 settled;
};

// An axis that is folded over.
struct Fold {
    u32 size;
    // Multiplier and shift for exact quotients, by the size, of numbers below 2^31.
    u32 magic, shift;
    // Index of the axis's strides, in entries, one for each input.
    u32 stride_at;

    __device__ __forceinline__ u32 divide(u32 number) const { return (__umulhi(magic, number) + number) >> shift; }
};

// A table that is settled: divided by a table with the same layout, unless `divisor` is NEVER, and scaled by a power of
// two.
struct Settled {
    u64 table, divisor;
    u64 entries;
    // Length of a row in entries, and distance between rows.
    u64 row, pitch;
    // Number of the table's first block, and index of its range.
    u32 first, range;

    __device__ __forceinline__ u64 place(u64 entry) const {
        if (row == entries) return entry;
        // divisions of 64 bits take several times as long as those of 32 bits
        const u64 quotient = entries >> 32 ? entry / row : (u32)entry / (u32)row;
        return quotient * pitch + (entry - quotient * row);
    }
};

// Steps that are launched together: a block computes steps[map[block]] and settles settled[settled_map[block]].
struct Program {
    char *memory;
    const Step *steps;
    const u32 *map;
    const Digit *digits;
    const Input *inputs;
    // For each step, a row for each axis, with the strides of the inputs and of the message.
    const u64 *strides;
    const Fold *folds;
    const Settled *settled;
    const u32 *settled_map;
    // For each settled table: the bits of its largest entry before scaling, and the inverted bits of its least nonzero
    // entry.
    u64 *ranges;
    // For each settled table: how many blocks of its step have finished.
    u32 *ended;
};

// The start of a block, and the threads' offsets from it. Shared by the block.
struct Corner {
    // For each input and, last, for the message: the address of the block's first entry.
    u64 base[INPUTS + 1];
    u32 start[DIGITS];
    // For each input, the offsets of all threads.
    u32 offsets[INPUTS * THREADS];

    // Computes the start and the offsets; returns the offset of this thread's output.
    __device__ __forceinline__ u64 locate(const Program &program, const Step &step, u32 block) {
        const u32 t = threadIdx.x;
        const Digit *digits = program.digits + step.digit_at;
        const Input *inputs = program.inputs + step.input_at;
        const u64 *strides = program.strides + step.stride_at;
        const u32 columns = step.inputs + 1;
        if (t < step.digits) start[t] = digits[t].start(block - step.first);
        __syncthreads();
        if (t < columns) {
            u64 sum = (u64)program.memory + (t < step.inputs ? inputs[t].table : step.out);
            for (u32 i = 0; i < step.digits; i++) sum += strides[i * columns + t] * start[i];
            base[t] = sum;
        }
        u32 *own = offsets + t;
        for (u32 k = 0; k < step.inputs; k++) own[k * THREADS] = 0;
        u32 rank = t >> step.split;
        u64 out = 0;
        for (u32 i = 0; i < step.spread; i++) {
            const u32 value = digits[i].local(start[i], rank);
            for (u32 k = 0; k < step.inputs; k++) own[k * THREADS] += value * (u32)strides[i * columns + k];
            out += value * strides[i * columns + step.inputs];
        }
        __syncthreads();
        return out;
    }
};

// Folds the results of the threads that share an output.
template <class S> __device__ __forceinline__ typename S::Entry fold_lanes(S s, typename S::Entry entry, u32 split) {
    for (u32 lane = 1; lane < 1u << split; lane <<= 1) entry = s.fold(entry, __shfl_xor_sync(~0u, entry, lane));
    return entry;
}

// A step computed in tiles; passed as an argument, so that a block need not look it up.
struct Box {
    u64 out;
    // Strides of the tile's axes in the message.
    u64 x, y, z;
    // Number of values of the eliminated variable.
    u32 domain;
    u32 digits, spread;
    u32 inputs;
    u32 threads;
    // Ends of the groups xy, xz, yz and xyz among the inputs.
    u32 ends[4];
    // Number of the first block of this launch.
    u32 first;
    // In a staged box, the number of its values along the tile's axes.
    u32 values[3];
    // The number 1, hidden from the compiler.
    u32 one;
    Digit digit[TILE_DIGITS];
    Input input[INPUTS];
    // For each axis, the strides of the inputs and, last, of the message.
    u64 stride[TILE_DIGITS][INPUTS + 1];
};

// Decodes the number of inputs of a group. `kinds` is MANY for any number of inputs, or has a digit of base 4 for each
// of a few: RUN for an input with adjacent entries along the fastest axis, another digit for one that does not depend
// on it.
constexpr __host__ __device__ int inputs_of(int kinds) {
    return kinds <= 0 ? 0 : kinds < 4 ? 1 : kinds < 16 ? 2 : 3;
}

