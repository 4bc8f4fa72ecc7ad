// The fused bucket kernel: the inputs of a mini-bucket are added up and the minimum over one variable is taken, entry by
// entry of the message. The joint table never exists.
//
// A thread owns a tile of RX * RY * RZ outputs along up to three digits x, y, z of the message. For each value of the
// eliminated variable it loads what its tile needs of each input once: an input that does not read z needs RX * RY entries
// for all RX * RY * RZ outputs. So inputs come in groups by what they read of the tile, and the partial sums of a group are
// made once for all outputs that share them:
//
//     message[x, y, z] = min over a of (xy[x, y] + xz[x, z] + yz[y, z] + xyz[x, y, z])
//
// A block owns a box of tiles; its inputs stay in the L1 cache from one thread to the next. Every index is a sum of digits
// times strides: a block finds its digits by division once, a thread by multiplication once, the loop over the eliminated
// variable only adds.
//
// All entries are between 0 and the cap. Partial sums are clamped to the cap wherever more than five terms could meet (five
// capped terms fit the entry type), and the result is. As no term is negative, a partial sum that is clamped belongs to a
// sum that is at or above the cap: the result is min(cap, least sum) whatever is clamped on the way and in whatever order
// the inputs are added, which is what the CPU's kernel computes.

#include "rng.cuh"

// Threads of a block.
constexpr u32 THREADS = 256;
// Inputs of a step, and digits of a message, at most (src/inference/cuda/tile.rs).
constexpr u32 INPUTS = 12;
constexpr u32 DIGITS = 40;

// A step: how a message is made. Strides are in bytes; tables are placed in bytes from the beginning of memory.
struct Step {
    // Where the message is.
    u64 out;
    // Strides of the tile's digits in the message.
    u64 x, y, z;
    // Number of its first block among those of all steps.
    u32 first;
    // Values of the eliminated variable.
    u32 domain;
    // Digits of the message; the first `spread` of them vary between the threads of a block.
    u32 digits, spread;
    u32 inputs;
    // Threads of a block that have work.
    u32 threads;
    // Ends of the groups xy, xz, yz and xyz among the inputs.
    u32 ends[4];
    // Where its digits, inputs and strides begin.
    u32 digit_at, input_at, stride_at;
    // Threads that share an output, as a power of two.
    u32 split;
};

// A digit of the message as it is cut: `boxes` boxes of `extent` tiles of `tile` values, the last ones moved back so
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
};

struct Input {
    // Where it is.
    u64 table;
    // From one value of the eliminated variable to the next.
    u64 slab;
    // From one value of the tile's digits to the next; 0 where it does not read them.
    u32 x, y, z;
    u32 unused;
};

// What all kernels take: the block's step is steps[map[block]].
struct Program {
    char *memory;
    const Step *steps;
    const u32 *map;
    const Digit *digits;
    const Input *inputs;
    // By step: a row for each digit, with the strides of the inputs and of the message.
    const u64 *strides;
};

// min(x + y, z)
template <class E> __device__ __forceinline__ E add_min(E x, E y, E z) { return min(x + y, z); }
#if __CUDA_ARCH__ >= 900
template <> __device__ __forceinline__ int add_min(int x, int y, int z) { return __viaddmin_s32(x, y, z); }
#endif

template <class E> __device__ __forceinline__ E entry(const char *table, u32 at) { return __ldg((const E *)(table + at)); }

// Where a block and its threads are.
struct Place {
    Step step;
    const Input *inputs;
    // By input and, last, the message: address of the block's first entry.
    u64 *base;
    // By input: offset of this thread from there, THREADS apart.
    u32 *local;
    // The same of the message.
    u64 out;
};

__device__ __forceinline__ Place locate(const Program &program, u32 block, u32 rank) {
    __shared__ u64 base[INPUTS + 1];
    __shared__ u32 start[DIGITS];
    __shared__ u32 local[INPUTS * THREADS];
    Place place;
    place.step = program.steps[program.map[block]];
    const Step &step = place.step;
    place.inputs = program.inputs + step.input_at;
    place.base = base;
    place.local = local + threadIdx.x;
    const Digit *digits = program.digits + step.digit_at;
    const u64 *strides = program.strides + step.stride_at;
    const u32 columns = step.inputs + 1;
    const u32 t = threadIdx.x;
    if (t < step.digits) {
        const Digit digit = digits[t];
        const u32 box = (block - step.first) / digit.below % digit.boxes;
        start[t] = min(box * digit.extent * digit.tile, digit.last);
    }
    __syncthreads();
    if (t < columns) {
        u64 sum = (u64)program.memory + (t < step.inputs ? place.inputs[t].table : step.out);
        for (u32 i = 0; i < step.digits; i++) sum += strides[i * columns + t] * start[i];
        base[t] = sum;
    }
    for (u32 k = 0; k < step.inputs; k++) place.local[k * THREADS] = 0;
    u64 out = 0;
    for (u32 i = 0; i < step.spread; i++) {
        const Digit digit = digits[i];
        const u32 quotient = rank * digit.magic >> 20;
        const u32 value = min(start[i] + (rank - quotient * digit.extent) * digit.tile, digit.last) - start[i];
        rank = quotient;
        for (u32 k = 0; k < step.inputs; k++) place.local[k * THREADS] += value * (u32)strides[i * columns + k];
        out += value * strides[i * columns + step.inputs];
    }
    __syncthreads();
    place.out = base[step.inputs] + out;
    return place;
}

// One output a thread, or a power of two of threads an output: for messages too small or inputs too alike for tiles.
template <class E>
__global__ void __launch_bounds__(THREADS) join_each(Program program, u32 first_block, E cap) {
    constexpr u32 VALUES = 4;
    const u32 split = program.steps[program.map[blockIdx.x + first_block]].split;
    const u32 rank = threadIdx.x >> split;
    const Place place = locate(program, blockIdx.x + first_block, rank);
    const Step &step = place.step;
    E least = cap;
    for (u32 a = threadIdx.x & ((1u << split) - 1); a < step.domain; a += VALUES << split) {
        E sum[VALUES] = {};
        for (u32 k = 0; k < step.inputs; k++) {
            const char *table = (const char *)place.base[k];
            const u64 slab = place.inputs[k].slab;
            const u32 at = place.local[k * THREADS];
#pragma unroll
            for (u32 v = 0; v < VALUES; v++) {
                // past the last value: the last one again
                const u32 value = min(a + (v << split), step.domain - 1);
                sum[v] = add_min(sum[v], entry<E>(table + value * slab, at), cap);
            }
        }
#pragma unroll
        for (u32 v = 0; v < VALUES; v++) least = min(least, sum[v]);
    }
    for (u32 lane = 1; lane < 1u << split; lane <<= 1) least = min(least, __shfl_xor_sync(~0u, least, lane));
    if (threadIdx.x < step.threads) *(E *)place.out = least;
}

// How many inputs a group has: none, one whose offsets stay in registers, or as many as the step says.
enum Count { NONE, ONE, MANY };

// The inputs of a group that reads two digits of the tile, the first in A values and the second in B.
template <class E, int A, int B, int COUNT, int FIRST, int SECOND> struct Group {
    const char *table;
    u64 slab;
    u32 at, first, second;

    static __device__ __forceinline__ u32 stride(const Input &input, int digit) {
        return digit == 0 ? input.x : digit == 1 ? input.y : input.z;
    }

    __device__ __forceinline__ Group(const Place &place, u32 index) {
        if constexpr (COUNT == ONE) {
            const Input input = place.inputs[index];
            table = (const char *)place.base[index];
            slab = input.slab;
            at = place.local[index * THREADS];
            first = stride(input, FIRST);
            second = stride(input, SECOND);
        }
    }

    // The sums for value `a` of the eliminated variable, which counts up from 0.
    __device__ __forceinline__ void sums(E (&sum)[A][B], const Place &place, u32 begin, u32 end, u32 a, E cap) {
        if constexpr (COUNT == ONE) {
#pragma unroll
            for (int i = 0; i < A; i++)
#pragma unroll
                for (int j = 0; j < B; j++) sum[i][j] = entry<E>(table, at + i * first + j * second);
            table += slab;
        } else {
#pragma unroll
            for (int i = 0; i < A; i++)
#pragma unroll
                for (int j = 0; j < B; j++) sum[i][j] = 0;
            if constexpr (COUNT == MANY) {
                for (u32 k = begin; k < end; k++) {
                    const Input &input = place.inputs[k];
                    const char *from = (const char *)place.base[k] + a * input.slab;
                    const u32 at = place.local[k * THREADS];
                    const u32 first = stride(input, FIRST), second = stride(input, SECOND);
#pragma unroll
                    for (int i = 0; i < A; i++)
#pragma unroll
                        for (int j = 0; j < B; j++)
                            sum[i][j] = add_min(sum[i][j], entry<E>(from, at + i * first + j * second), cap);
                }
            }
        }
    }
};

template <class E, int RX, int RY, int RZ, int XY, int XZ, int YZ, int XYZ>
__global__ void __launch_bounds__(THREADS, 2) join_tile(Program program, u32 first_block, E cap) {
    const Place place = locate(program, blockIdx.x + first_block, threadIdx.x);
    const Step &step = place.step;
    if (threadIdx.x >= step.threads) return;
    E least[RX][RY][RZ];
#pragma unroll
    for (int x = 0; x < RX; x++)
#pragma unroll
        for (int y = 0; y < RY; y++)
#pragma unroll
            for (int z = 0; z < RZ; z++) least[x][y][z] = cap;
    Group<E, RX, RY, XY, 0, 1> group_xy(place, 0);
    Group<E, RX, RZ, XZ, 0, 2> group_xz(place, step.ends[0]);
    Group<E, RY, RZ, YZ, 1, 2> group_yz(place, step.ends[1]);
    const u32 domain = step.domain;
#pragma unroll 1
    for (u32 a = 0; a < domain; a++) {
        E xy[RX][RY], xz[RX][RZ], yz[RY][RZ];
        group_xy.sums(xy, place, 0, step.ends[0], a, cap);
        group_xz.sums(xz, place, step.ends[0], step.ends[1], a, cap);
        group_yz.sums(yz, place, step.ends[1], step.ends[2], a, cap);
        if constexpr (XYZ == NONE) {
#pragma unroll
            for (int x = 0; x < RX; x++)
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int z = 0; z < RZ; z++) {
                        if constexpr (XY == NONE) {
                            least[x][y][z] = add_min(xz[x][z], yz[y][z], least[x][y][z]);
                        } else {
                            least[x][y][z] = add_min(xy[x][y] + xz[x][z], yz[y][z], least[x][y][z]);
                        }
                    }
        } else {
            // inputs that read all of the tile: a row of outputs at a time, so that few loads wait in registers
#pragma unroll
            for (int x = 0; x < RX; x++) {
                E row[RY][RZ];
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int z = 0; z < RZ; z++) row[y][z] = xy[x][y] + xz[x][z] + yz[y][z];
                for (u32 k = step.ends[2]; k < step.ends[3]; k++) {
                    const Input &input = place.inputs[k];
                    const char *from = (const char *)place.base[k] + a * input.slab;
                    const u32 at = place.local[k * THREADS] + x * input.x;
#pragma unroll
                    for (int y = 0; y < RY; y++)
#pragma unroll
                        for (int z = 0; z < RZ; z++)
                            // four terms at most before it is clamped
                            row[y][z] = add_min(row[y][z], entry<E>(from, at + y * input.y + z * input.z), cap);
                }
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int z = 0; z < RZ; z++) least[x][y][z] = min(least[x][y][z], row[y][z]);
            }
        }
    }
#pragma unroll
    for (int x = 0; x < RX; x++)
#pragma unroll
        for (int y = 0; y < RY; y++)
#pragma unroll
            for (int z = 0; z < RZ; z++) *(E *)(place.out + x * step.x + y * step.y + z * step.z) = least[x][y][z];
}

// Entries of tables anywhere in memory, one a thread.
template <class E> __global__ void gather(const u64 *addresses, E *entries, u32 count) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < count) entries[t] = *(const E *)addresses[t];
}
