// Arithmetic of expressions, equal to heuristics/src/language/arithmetic.rs bit for bit. There is no fused
// multiply-add, because all sources are compiled with --fmad=false.
#pragma once
#include "rng.cuh"

namespace expression {

__device__ __forceinline__ double from_bits(u64 bits) { return __longlong_as_double((long long)bits); }
__device__ __forceinline__ u64 to_bits(double x) { return (u64)__double_as_longlong(x); }
__device__ __forceinline__ bool is_nan(double x) { return x != x; }
__device__ __forceinline__ double truth(bool holds) { return holds ? 1.0 : 0.0; }
__device__ __forceinline__ double infinity() { return from_bits(0x7FF0000000000000ull); }

__device__ __forceinline__ double least(double a, double b) { return a < b || is_nan(a) ? a : b; }
__device__ __forceinline__ double largest(double a, double b) { return a > b || is_nan(a) ? a : b; }
// Returns the larger number; skips `b` if it is NaN.
__device__ __forceinline__ double larger(double a, double b) { return b > a ? b : a; }

// ln 2 in two parts.
__device__ __forceinline__ double ln_2_high() { return from_bits(0x3FE62E42FEE00000ull); }
__device__ __forceinline__ double ln_2_low() { return from_bits(0x3DEA39EF35793C76ull); }

__device__ __forceinline__ double exp(double x) {
    const double integer = 6755399441055744.0;
    const double shifted = x * from_bits(0x3FF71547652B82FEull) + integer;
    const double k = shifted - integer;
    const double r = x - k * ln_2_high() - k * ln_2_low();
    double sum = 1.0 / 6227020800.0;
    sum = sum * r + 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 1.0 / 2.0;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    double scaled = from_bits(to_bits(sum) + (to_bits(shifted) << 52));
    scaled = x < -708.0 ? 0.0 : scaled;
    scaled = x > 709.0 ? infinity() : scaled;
    return is_nan(x) ? x : scaled;
}

__device__ __forceinline__ double log(double x) {
    const bool small = x < from_bits(0x0010000000000000ull);
    const u64 bits = to_bits(small ? x * 18014398509481984.0 : x);
    const double mantissa = from_bits((bits & 0x000FFFFFFFFFFFFFull) | 0x3FE0000000000000ull);
    double exponent = from_bits((bits >> 52) | 0x4330000000000000ull) - 4503599627370496.0;
    exponent = exponent - (small ? 1076.0 : 1022.0);
    const bool low = mantissa < from_bits(0x3FE6A09E667F3BCDull);
    const double m = low ? mantissa + mantissa : mantissa;
    const double k = exponent - (low ? 1.0 : 0.0);
    const double f = m - 1.0;
    const double s = f / (m + 1.0);
    const double z = s * s;
    double sum = 1.0 / 23.0;
    sum = sum * z + 1.0 / 21.0;
    sum = sum * z + 1.0 / 19.0;
    sum = sum * z + 1.0 / 17.0;
    sum = sum * z + 1.0 / 15.0;
    sum = sum * z + 1.0 / 13.0;
    sum = sum * z + 1.0 / 11.0;
    sum = sum * z + 1.0 / 9.0;
    sum = sum * z + 1.0 / 7.0;
    sum = sum * z + 1.0 / 5.0;
    sum = sum * z + 1.0 / 3.0;
    const double tail = s * (f - 2.0 * z * sum);
    double result = k * ln_2_high() + (f - (tail - k * ln_2_low()));
    result = x == infinity() ? x : result;
    result = x == 0.0 ? -infinity() : result;
    return x < 0.0 || is_nan(x) ? from_bits(0x7FF8000000000000ull) : result;
}

// Returns a weight as an integer, relative to the largest weight `top`.
__device__ __forceinline__ u32 scale(double weight, double top) {
    double share = top == infinity() ? truth(weight == top) : weight / top;
    share = share < 1.0 ? share : 1.0;
    const u32 rounded = (u32)to_bits(share * 1048576.0 + 4503599627370496.0);
    return weight > 0.0 && top > 0.0 ? rounded : 0;
}

} // namespace expression
