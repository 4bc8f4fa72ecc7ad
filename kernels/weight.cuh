// Boltzmann weights, equal to crates/fang/src/boltzmann.rs bit for bit.
#pragma once
#include "rng.cuh"

// Returns a Boltzmann weight as an integer: 0 for differences above `x`; `y` is the number of halvings per unit.
__device__ __forceinline__ u32 weight(const uint2 &boltzmann, int delta) {
    const u32 halvings = min((u32)delta, boltzmann.x) * boltzmann.y >> 11;
    const u32 fraction = halvings & 0xffff;
    const u32 curve = 65536 - (fraction * (44012 - (fraction * 11244 >> 16)) >> 16);
    return (u32)delta > boltzmann.x ? 0 : curve << 5 >> (halvings >> 16);
}
