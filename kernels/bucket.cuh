// What the bucket kernels share.
#pragma once
#include "semiring.cuh"

// Threads of a block.
constexpr u32 THREADS = 256;
// Most inputs of a step, axes of a message, and axes of a message computed in tiles; the host has the same.
constexpr u32 INPUTS = 12;
constexpr u32 DIGITS = 40;
constexpr u32 TILE_DIGITS = 12;

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
constexpr int MANY = -1, RUN = 1, SINGLE = 2;

constexpr __host__ __device__ int inputs_of(int kinds) {
    return kinds <= 0 ? 0 : kinds < 4 ? 1 : kinds < 16 ? 2 : 3;
}

