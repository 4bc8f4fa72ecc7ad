// Declarations that kernels of local searches share; their sources define `WalkProgress`.
#pragma once
#include "constants.cuh"
#include "rng.cuh"

typedef long long i64;

constexpr u32 NONE = ~0u;
constexpr u32 ALL = ~0u;

struct WalkProgress;

struct Walks {
    u32 *tables;            // `words` of each walk
    u64 words;
    u16 *best;              // the best assignment of each walk
    WalkProgress *progress; // of each walk; a walk without steps begins
    const u16 *starts;      // initial assignment of each walk
    const u32 *stop;
    u32 count;
};

template <class T> __device__ __forceinline__ T sum_of(T x) {
    for (int s = 16; s; s >>= 1) x += __shfl_xor_sync(ALL, x, s);
    return x;
}
