// Small integers, two in a register, as subnormal halves: the bits of such a half are the integer that it represents,
// up to 2047, with a separate sign. Sums and differences are exact, absolute values are free, and half units process
// two numbers at a time beside the integer units that compare: on compute capability 9.0, 128 pairs and 64 integers per
// clock.
#pragma once
#include "rng.cuh"

// Returns one number in both halves; |n| is at most 2047.
__device__ __forceinline__ u32 both(int n) { return (n < 0 ? 0x8000u - n : (u32)n) * 0x10001u; }

__device__ __forceinline__ u32 add(u32 a, u32 b) {
    u32 sum;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

__device__ __forceinline__ u32 subtract(u32 a, u32 b) {
    u32 difference;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}

__device__ __forceinline__ u32 absolute(u32 a) {
    u32 size;
    asm("abs.f16x2 %0, %1;" : "=r"(size) : "r"(a));
    return size;
}

// Returns 1.0, the number and not the integer, in each half with a >= b, and 0 otherwise.
__device__ __forceinline__ u32 where_at_least(u32 a, u32 b) {
    u32 mask;
    asm("set.ge.f16x2.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
    return mask;
}

// Returns a + b in each half whose mask is 1.0, and a otherwise.
__device__ __forceinline__ u32 add_where(u32 mask, u32 a, u32 b) {
    u32 sum;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(mask), "r"(b), "r"(a));
    return sum;
}

// Returns the larger of two integers from 0 to 31743, whose bits have the same order as the halves that they represent.
__device__ __forceinline__ u32 larger(u32 a, u32 b) {
#if __CUDA_ARCH__ >= 800
    u32 larger;
    asm("max.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
#else
    return __vmaxu2(a, b);
#endif
}
