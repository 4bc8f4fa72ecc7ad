// What the bucket kernels share.
#pragma once
#include "semiring.cuh"

// Threads of a block.
constexpr u32 THREADS = 256;
// Inputs of a step, digits of a message, and digits of a message that is made in tiles, at most
// (src/elimination/cuda/tile.rs).
constexpr u32 INPUTS = 12;
constexpr u32 DIGITS = 40;
constexpr u32 TILE_DIGITS = 12;

// A digit of a message as it is cut: `boxes` boxes of `extent` tiles of `tile` values, the last ones moved back so
// that all are whole (their outputs are made twice, alike).
struct Digit {
    u32 boxes;
    // Boxes of all digits before it.
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

    // How far from there the tile of the thread of rank `rank` is, which becomes its rank among the other digits.
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
    // From one value of the tile's digits to the next; 0 where it does not read them.
    u32 x, y, z;
    // Whether it reads the fastest digit, neighbours lying side by side.
    u32 run;
};

// A step that is made in tiles; handed over as a whole, so that a block need not look for it.
struct Box {
    u64 out;
    // Strides of the tile's digits in the message.
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
    // Of a box in stages, its values along the tile's digits.
    u32 values[3];
    // The number 1, which the compiler does not know.
    u32 one;
    Digit digit[TILE_DIGITS];
    Input input[INPUTS];
    // By digit and input; last, the message.
    u64 stride[TILE_DIGITS][INPUTS + 1];
};

// What a group of inputs is, as a number: any number of inputs, or a digit of base 4 for each of a few: one whose
// neighbours along the fastest digit lie side by side, or one that does not read that digit.
constexpr int MANY = -1, RUN = 1, SINGLE = 2;

constexpr __host__ __device__ int inputs_of(int kinds) {
    return kinds <= 0 ? 0 : kinds < 4 ? 1 : kinds < 16 ? 2 : 3;
}

