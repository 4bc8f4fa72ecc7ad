// The semirings of elimination/algebra on a device.
#pragma once
#include "rng.cuh"

// Returns min(x + y, z).
template <class E> __device__ __forceinline__ E add_min(E x, E y, E z) { return min(x + y, z); }
#if __CUDA_ARCH__ >= 900
template <> __device__ __forceinline__ int add_min(int x, int y, int z) { return __viaddmin_s32(x, y, z); }
#endif

// Minimum of sums of costs from 0 to a cap.
template <class E> struct MinSum {
    using Entry = E;
    // Whether an entry folded with itself is that entry.
    static constexpr bool IDEMPOTENT = true;
    // Whether tables are settled (settle.cuh).
    static constexpr bool SETTLES = false;

    E cap;

    __device__ __forceinline__ E one() const { return 0; }
    __device__ __forceinline__ E zero() const { return cap; }
    __device__ __forceinline__ E combine(E a, E b) const { return a + b; }
    __device__ __forceinline__ E fold(E a, E b) const { return min(a, b); }
    // Combines and settles.
    __device__ __forceinline__ E join(E a, E b) const { return add_min(a, b, cap); }
    // Folds `least` with the combination of a and b.
    __device__ __forceinline__ E fold_joined(E a, E b, E least) const { return add_min(a, b, least); }
    // Combines on the multiplication units, which are idle; `one` is the number 1, which the compiler does not know.
    __device__ __forceinline__ E combine_aside(E a, E b, E one) const { return a * one + b; }
};

// Numbers of assignments, saturated at `most`.
struct Counting {
    using Entry = unsigned long long;
    static constexpr bool IDEMPOTENT = false;
    static constexpr bool SETTLES = false;

    Entry most;

    __device__ __forceinline__ Entry one() const { return 1; }
    __device__ __forceinline__ Entry zero() const { return 0; }
    __device__ __forceinline__ Entry combine(Entry a, Entry b) const { return __umul64hi(a, b) ? ~0ull : a * b; }
    __device__ __forceinline__ Entry fold(Entry a, Entry b) const {
        const Entry sum = a + b;
        return min(sum < a ? ~0ull : sum, most);
    }
    __device__ __forceinline__ Entry join(Entry a, Entry b) const { return min(combine(a, b), most); }
    __device__ __forceinline__ Entry fold_joined(Entry a, Entry b, Entry sum) const { return fold(sum, combine(a, b)); }
    __device__ __forceinline__ Entry combine_aside(Entry a, Entry b, Entry) const { return combine(a, b); }
};

// Sums of products of nonnegative numbers.
struct SumProduct {
    using Entry = double;
    static constexpr bool IDEMPOTENT = false;
    static constexpr bool SETTLES = true;

    // kernel arguments must not be empty
    u64 unused;

    __device__ __forceinline__ double one() const { return 1; }
    __device__ __forceinline__ double zero() const { return 0; }
    __device__ __forceinline__ double combine(double a, double b) const { return a * b; }
    __device__ __forceinline__ double fold(double a, double b) const { return a + b; }
    __device__ __forceinline__ double join(double a, double b) const { return a * b; }
    __device__ __forceinline__ double fold_joined(double a, double b, double sum) const { return fma(a, b, sum); }
    __device__ __forceinline__ double combine_aside(double a, double b, double) const { return a * b; }
    __device__ __forceinline__ double divide(double all, double part) const { return part == 0 ? 0 : all / part; }

    // Returns a number that orders as the entry does, and is 0 for the entry 0.
    static __device__ __forceinline__ u64 order(double a) { return (u64)__double_as_longlong(a); }
    // Returns the binary exponent of the largest entry of a table, whose mantissa is in [1/2, 1).
    static __device__ __forceinline__ int exponent(u64 largest) {
        int exponent;
        frexp(__longlong_as_double((long long)largest), &exponent);
        return exponent;
    }
    static __device__ __forceinline__ double scaled(double a, int exponent) { return ldexp(a, exponent); }
};
