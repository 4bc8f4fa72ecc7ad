// The published operations on factors (Adoe, Chen, Doshi, "Fast solving of influence diagrams for multiagent planning
// on GPU-enabled architectures", algorithms 1 and 2, section 4.1.2). Each operation is a launch, and all results are in
// memory.

#include "constants.cuh"
#include "rng.cuh"

// The digits of an index: for each of them a divisor and a modulus, and its strides in the second factor and in the
// result.
struct Digits {
    u32 count;
    u32 div[AXES], mod[AXES], second[AXES], out[AXES];
};

struct Place {
    u32 second, out;
};

// Copies the index tables to shared memory.
__device__ __forceinline__ void share(Digits &shared, const Digits &given) {
    for (u32 i = threadIdx.x; i < sizeof(Digits) / 4; i += blockDim.x) ((u32 *)&shared)[i] = ((const u32 *)&given)[i];
}

// Computes index = sum of state * stride with state = index / stride mod size.
__device__ __forceinline__ Place find(const Digits &digits, u32 index) {
    Place place = {0, 0};
    for (u32 i = 0; i < digits.count; i++) {
        const u32 state = index / digits.div[i] % digits.mod[i];
        place.second += state * digits.second[i];
        place.out += state * digits.out[i];
    }
    return place;
}

struct Times {
    __device__ __forceinline__ static double of(double a, double b) { return a * b; }
};
struct Plus {
    __device__ __forceinline__ static double of(double a, double b) { return a + b; }
};
// Divides; 0/0 is 0, and subnormal divisors count as 0 because they have too few digits.
struct Over {
    __device__ __forceinline__ static double of(double a, double b) { return b < 2.2250738585072014e-308 ? 0 : a / b; }
};

// Algorithm 1. Each entry of the first factor has a thread, whose digits are `own`. The second factor is copied to
// shared memory chunk by chunk, as far as the block reads it. The contribution of the common variables to an index is
// computed once. Each thread visits all `times` combinations of the second factor's other variables, whose digits are
// `others`, in their order.
template <class OP>
__global__ void join(
    double *out, const double *first, const double *second, Digits own, Digits others, u32 entries, u32 times) {
    __shared__ Digits of_first, of_others;
    __shared__ double chunk[CHUNK];
    __shared__ u32 begin, end;
    share(of_first, own);
    share(of_others, others);
    if (threadIdx.x == 0) begin = ~0u, end = 0;
    __syncthreads();
    const u32 entry = blockIdx.x * blockDim.x + threadIdx.x;
    const bool works = entry < entries;
    const Place common = find(of_first, entry);
    if (works) {
        atomicMin(&begin, common.second);
        atomicMax(&end, common.second + find(of_others, times - 1).second + 1);
    }
    __syncthreads();
    const double value = works ? first[entry] : 0;
    u32 j = works ? 0 : times;
    Place other = {0, 0};
    for (u32 from = begin; from < end; from += CHUNK) {
        __syncthreads();
        for (u32 i = threadIdx.x; i < CHUNK && from + i < end; i += blockDim.x) chunk[i] = second[from + i];
        __syncthreads();
        while (j < times && common.second + other.second - from < CHUNK) {
            out[common.out + other.out] = OP::of(value, chunk[common.second + other.second - from]);
            other = find(of_others, ++j);
        }
    }
}

// Algorithm 2, and its variant for the maximum. Each entry of the result has a thread, whose digits are `own`; `others`
// are the digits of the eliminated variable. The choices of the maximum follow the entries.
template <bool LARGEST>
__global__ void marginalise(double *out, const double *factor, Digits own, Digits others, u32 entries, u32 times) {
    __shared__ Digits of_out, of_others;
    share(of_out, own);
    share(of_others, others);
    __syncthreads();
    const u32 entry = blockIdx.x * blockDim.x + threadIdx.x;
    if (entry >= entries) return;
    const u32 from = find(of_out, entry).second;
    double made = LARGEST ? factor[from] : 0;
    u32 chosen = 0;
    for (u32 j = 0; j < times; j++) {
        const double next = factor[from + find(of_others, j).second];
        if (!LARGEST) {
            made += next;
        } else if (next > made) {
            made = next;
            chosen = j;
        }
    }
    out[entry] = made;
    if (LARGEST) out[entries + entry] = chosen;
}
