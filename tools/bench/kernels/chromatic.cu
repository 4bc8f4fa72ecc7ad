// Simulated annealing of one state with a kernel for each color class: the plain method with which the search on large
// networks is compared. All variables have D values. The costs of a variable's values are a row of bytes for each value
// of a neighbour.
typedef unsigned char u8;
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 mix(u32 key, u32 variable) {
    u64 x = ((u64)key << 32 | variable) * 0x9E3779B97F4A7C15ull;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9ull;
    return (u32)(x ^ x >> 32);
}

// Samples a new value for each variable of a color class by its Boltzmann weights at the inverse temperature `beta`.
template <int D>
__global__ void __launch_bounds__(128)
    visit(const u32 *members, u32 begin, u32 end, const u32 *first, const u32 *neighbours, const u64 *rows,
          const u64 *unary, u8 *values, float beta, u32 key) {
    constexpr int WORDS = (D + 7) / 8;
    const u32 member = begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (member >= end) return;
    int sums[D] = {};
    const auto add = [&](const u64 *row) {
        u64 words[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++) words[w] = __ldg(row + w);
#pragma unroll
        for (int k = 0; k < D; k++) sums[k] += words[k / 8] >> k % 8 * 8 & 255;
    };
    add(unary + (u64)member * WORDS);
    for (u32 e = first[member], last = first[member + 1]; e < last; e++)
        add(rows + ((u64)e * D + values[neighbours[e]]) * WORDS);
    int least = sums[0];
#pragma unroll
    for (int k = 1; k < D; k++) least = min(least, sums[k]);
    float weights[D], all = 0;
#pragma unroll
    for (int k = 0; k < D; k++) all += weights[k] = __expf(-beta * (sums[k] - least));
    const u32 variable = members[member];
    float left = (mix(key, variable) >> 8) * (all / 16777216.f);
    int value = 0;
#pragma unroll
    for (int k = 0; k < D - 1; k++)
        if (value == k && (left -= weights[k]) >= 0) value = k + 1;
    values[variable] = value;
}
