// What the bucket kernels share.
#pragma once
#include "constants.cuh"
#include "semiring.cuh"

// An axis of a message in tiles: `boxes` boxes of `extent` tiles of `tile` values, the last ones moved back so that all
// are whole (their outputs are computed twice, alike).
struct Digit {
    u32 boxes;
    // Boxes of all axes before it.
    u32 below;
    u32 extent;
    // 2^20 / extent, rounded up: exact quotients of numbers below THREADS.
    u32 magic;
    u32 tile;
    // The largest value that a tile begins at.
    u32 last;

    // The first value of a box.
    __device__ __forceinline__ u32 start(u32 block) const {
        return min(block / below % boxes * extent * tile, last);
    }

    // The distance from there of the tile of the thread with rank `rank`, which becomes its rank among the other axes.
    __device__ __forceinline__ u32 local(u32 start, u32 &rank) const {
        const u32 quotient = rank * magic >> 20;
        const u32 value = min(start + (rank - quotient * extent) * tile, last) - start;
        rank = quotient;
        return value;
    }
};

// A table that is joined. Strides are in bytes; tables are placed in bytes from the beginning of memory.
struct Input {
    u64 table;
    // From one value of the eliminated variable to the next.
    u64 slab;
    // From one value of the tile's axes to the next; 0 where the table does not read them.
    u32 x, y, z;
    // Whether it reads the fastest axis, with adjacent neighbours.
    u32 run;
};

// A step whose message is small, or whose inputs share too little for tiles.
struct Step {
    // Where the message is.
    u64 out;
    // Where several parts of a step each write what they fold: from one of an output's parts to the next.
    u64 part;
    // Number of its first block among those of all steps.
    u32 first;
    // Values of the eliminated variable, or combinations that are folded.
    u32 domain;
    // Axes of the message; the first `spread` of them vary between the threads of a block.
    u32 digits, spread;
    u32 inputs;
    // Threads of a block that have work, and how many of them share an output, as a power of two.
    u32 threads, split;
    // Where its axes, inputs and strides begin.
    u32 digit_at, input_at, stride_at;
    // The axes that are folded over, where those are several, and where they begin.
    u32 folds, fold_at;
    // Parts that the folded combinations are cut into, and blocks of one of them.
    u32 parts, boxes;
    // On pairs: how many inputs are added up, after those that are multiplied; whether the last input is written; and
    // relative differences, up to which the first value is chosen, and beyond which that is certain.
    u32 sums, also;
    double tie, margin;
    // Where its table is among those that are settled, from 1, if the block that ends last settles it; else 0.
    u64 settled;
};

// An axis that is folded over.
struct Fold {
    u32 size;
    // Quotients by the size are exact for numbers below 2^31.
    u32 magic, shift;
    // Where its strides begin, in entries, by input.
    u32 stride_at;

    __device__ __forceinline__ u32 divide(u32 number) const { return (__umulhi(magic, number) + number) >> shift; }
};

// A table that is settled: divided by another one that lies alike, unless that is NEVER, and scaled by a power of two.
struct Settled {
    u64 table, divisor;
    u64 entries;
    // Entries of a row, and from one row to the next.
    u64 row, pitch;
    // Its first block, and its place among the ranges.
    u32 first, range;

    __device__ __forceinline__ u64 place(u64 entry) const {
        if (row == entries) return entry;
        // divisions of 64 bits take several times as long
        const u64 quotient = entries >> 32 ? entry / row : (u32)entry / (u32)row;
        return quotient * pitch + (entry - quotient * row);
    }
};

// Steps that are launched together: a block's step is steps[map[block]], the table that it settles
// settled[settled_map[block]].
struct Program {
    char *memory;
    const Step *steps;
    const u32 *map;
    const Digit *digits;
    const Input *inputs;
    // By step: a row for each axis, with the strides of the inputs and of the message.
    const u64 *strides;
    const Fold *folds;
    const Settled *settled;
    const u32 *settled_map;
    // By settled table: the bits of its largest entry before it was scaled, and those of its least one but 0, inverted.
    u64 *ranges;
    // By settled table: how many blocks of its step have ended.
    u32 *ended;
};

// Where a block begins, and its threads from there. Shared by the block.
struct Corner {
    // By input, and of the message: the address of the block's first entry.
    u64 base[INPUTS + 1];
    u32 start[DIGITS];
    // By input, the offsets of all threads.
    u32 offsets[INPUTS * THREADS];

    // Finds all of that; returns the offset of this thread's output.
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

// What the threads that share an output folded, folded.
template <class S> __device__ __forceinline__ typename S::Entry fold_lanes(S s, typename S::Entry entry, u32 split) {
    for (u32 lane = 1; lane < 1u << split; lane <<= 1) entry = s.fold(entry, __shfl_xor_sync(~0u, entry, lane));
    return entry;
}

// A step computed in tiles; passed as an argument, so that a block need not look it up.
struct Box {
    u64 out;
    // Strides of the tile's axes in the message.
    u64 x, y, z;
    // Values of the eliminated variable.
    u32 domain;
    u32 digits, spread;
    u32 inputs;
    u32 threads;
    // Ends of the groups xy, xz, yz and xyz among the inputs.
    u32 ends[4];
    // The first block of this launch.
    u32 first;
    // In a staged box, the number of its values along the tile's axes.
    u32 values[3];
    // The number 1, hidden from the compiler.
    u32 one;
    Digit digit[TILE_DIGITS];
    Input input[INPUTS];
    // By axis and input; last, the message.
    u64 stride[TILE_DIGITS][INPUTS + 1];
};

// A group of inputs as a number: any number of inputs, or a digit of base 4 for each of a few: one whose neighbours
// along the fastest axis are adjacent, or one that does not read that axis.
constexpr __host__ __device__ int inputs_of(int kinds) {
    return kinds <= 0 ? 0 : kinds < 4 ? 1 : kinds < 16 ? 2 : 3;
}

