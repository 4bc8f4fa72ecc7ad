// The published operations on factors (Adoe, Chen, Doshi, "Fast solving of influence diagrams for multiagent planning
// on GPU-enabled architectures", algorithms 1 and 2, section 4.1.2): a launch an operation, all results
// in memory.

#include "constants.cuh"
#include "rng.cuh"

// Where an index leads: for each of its digits a divisor and a modulus, and its strides in the second factor and in the
// result.
struct Digits {
    u32 count;
    u32 div[AXES], mod[AXES], second[AXES], out[AXES];
};

struct Place {
    u32 second, out;
};

// The index tables in shared memory.
__device__ __forceinline__ void share(Digits &shared, const Digits &given) {
    for (u32 i = threadIdx.x; i < sizeof(Digits) / 4; i += blockDim.x) ((u32 *)&shared)[i] = ((const u32 *)&given)[i];
}

// index = sum of state * stride, state = index / stride mod size.
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
// 0/0 is 0; subnormal probabilities have no digits to divide by.
struct Over {
    __device__ __forceinline__ static double of(double a, double b) { return b < 2.2250738585072014e-308 ? 0 : a / b; }
};

// Algorithm 1: a thread for each entry of the first factor, `own` being its digits. The second one comes to shared
// memory chunk by chunk, as far as the block reads it. What the variables in common add to an index is computed once;
// each thread takes all `times` values of the second factor's others, whose digits are `others`, as they lie.
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

// Algorithm 2, and the same for the largest: a thread for each entry that is made, `own` being its digits and `others`
// those of the variable that goes. What is chosen for the largest lies behind the entries.
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
