// Random numbers, equal to crates/base/src/rng.rs bit for bit: xoshiro256++ for the stream of a state, a stateless mix
// for parallel draws inside a step.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;

// Returns a stateless 64-bit mix of a draw and an index (`rng::mix`).
__device__ __forceinline__ u64 mix(u64 draw, u64 index) {
    u64 z = draw + (index + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// Scales 64 random bits to 0..n by the high half of the product (`rng::below`).
__device__ __forceinline__ u64 below(u64 bits, u64 n) { return __umul64hi(bits, n); }

// The random stream of a state: xoshiro256++ (Blackman and Vigna), as in `rand_xoshiro`.
struct Xoshiro {
    u64 s[4];

    __device__ __forceinline__ static u64 rotate(u64 x, int k) { return (x << k) | (x >> (64 - k)); }

    // Returns 64 random bits.
    __device__ __forceinline__ u64 draw() {
        const u64 result = rotate(s[0] + s[3], 23) + s[0];
        const u64 t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = rotate(s[3], 45);
        return result;
    }

    // Returns a number below `n`.
    __device__ __forceinline__ u32 index(u32 n) { return (u32)below(draw(), n); }
};
