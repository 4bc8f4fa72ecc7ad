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
// The same of steps that are made in tiles.
constexpr u32 TILE_THREADS = 256;
// Inputs of a step, digits of a message, and digits of a message that is made in tiles, at most
// (src/inference/cuda/tile.rs).
constexpr u32 INPUTS = 12;
constexpr u32 DIGITS = 40;
constexpr u32 TILE_DIGITS = 12;

// A digit of a message as it is cut: `boxes` boxes of `extent` tiles of `tile` values, the last ones moved back so
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

    // The first value of a box.
    __device__ __forceinline__ u32 start(u32 block) const {
        return min(block / below % boxes * extent * tile, last);
    }

    // How far from there the tile of the thread of rank `rank` is, which becomes its rank among the other digits.
    __device__ __forceinline__ u32 local(u32 start, u32 &rank) const {
        const u32 quotient = rank * magic >> 20;
        const u32 value = min(start + (rank - quotient * extent) * tile, last) - start;
        rank = quotient;
        return value;
    }
};

// A table that is joined. Strides are in bytes; tables are placed in bytes from the beginning of memory.
struct Input {
    u64 table;
    // From one value of the eliminated variable to the next.
    u64 slab;
    // From one value of the tile's digits to the next; 0 where it does not read them.
    u32 x, y, z;
    // Whether it reads the fastest digit, neighbours lying side by side.
    u32 run;
};

// min(x + y, z)
template <class E> __device__ __forceinline__ E add_min(E x, E y, E z) { return min(x + y, z); }
#if __CUDA_ARCH__ >= 900
template <> __device__ __forceinline__ int add_min(int x, int y, int z) { return __viaddmin_s32(x, y, z); }
#endif

// ---- small messages ----

// A step whose message is small, or whose inputs have too little in common for tiles.
struct Step {
    // Where the message is.
    u64 out;
    // Number of its first block among those of all steps.
    u32 first;
    // Values of the eliminated variable.
    u32 domain;
    // Digits of the message; the first `spread` of them vary between the threads of a block.
    u32 digits, spread;
    u32 inputs;
    // Threads of a block that have work, and how many of them share an output, as a power of two.
    u32 threads, split;
    // Where its digits, inputs and strides begin.
    u32 digit_at, input_at, stride_at;
};

// Steps that are launched together: a block's step is steps[map[block]].
struct Program {
    char *memory;
    const Step *steps;
    const u32 *map;
    const Digit *digits;
    const Input *inputs;
    // By step: a row for each digit, with the strides of the inputs and of the message.
    const u64 *strides;
};

// One output a thread, or a power of two of threads an output.
template <class E> __global__ void __launch_bounds__(THREADS) join_each(Program program, u32 first_block, E cap) {
    constexpr u32 VALUES = 4;
    __shared__ u64 base[INPUTS + 1];
    __shared__ u32 start[DIGITS];
    __shared__ u32 offsets[INPUTS * THREADS];
    const u32 t = threadIdx.x, block = blockIdx.x + first_block;
    const Step step = program.steps[program.map[block]];
    const Digit *digits = program.digits + step.digit_at;
    const Input *inputs = program.inputs + step.input_at;
    const u64 *strides = program.strides + step.stride_at;
    const u32 columns = step.inputs + 1;
    if (t < step.digits) start[t] = digits[t].start(block - step.first);
    __syncthreads();
    if (t < columns) {
        u64 sum = (u64)program.memory + (t < step.inputs ? inputs[t].table : step.out);
        for (u32 i = 0; i < step.digits; i++) sum += strides[i * columns + t] * start[i];
        base[t] = sum;
    }
    // offsets of this thread in its block, by input
    u32 *own = offsets + t;
    for (u32 k = 0; k < step.inputs; k++) own[k * THREADS] = 0;
    u32 rank = t >> step.split;
    u64 out = 0;
    for (u32 i = 0; i < step.spread; i++) {
        const u32 value = digits[i].local(start[i], rank);
        for (u32 k = 0; k < step.inputs; k++) own[k * THREADS] += value * (u32)strides[i * columns + k];
        out += value * strides[i * columns + step.inputs];
    }
    __syncthreads();
    E least = cap;
    for (u32 a = t & ((1u << step.split) - 1); a < step.domain; a += VALUES << step.split) {
        E sum[VALUES] = {};
        for (u32 k = 0; k < step.inputs; k++) {
            const char *table = (const char *)base[k] + own[k * THREADS];
            const u64 slab = inputs[k].slab;
#pragma unroll
            for (u32 v = 0; v < VALUES; v++) {
                // past the last value: the last one again
                const u32 value = min(a + (v << step.split), step.domain - 1);
                sum[v] = add_min(sum[v], __ldg((const E *)(table + value * slab)), cap);
            }
        }
#pragma unroll
        for (u32 v = 0; v < VALUES; v++) least = min(least, sum[v]);
    }
    for (u32 lane = 1; lane < 1u << step.split; lane <<= 1) least = min(least, __shfl_xor_sync(~0u, least, lane));
    if (t < step.threads) *(E *)(base[step.inputs] + out) = least;
}

// ---- large messages ----

// A step that is made in tiles; handed over as a whole, so that a block need not look for it.
struct Box {
    u64 out;
    // Strides of the tile's digits in the message.
    u64 x, y, z;
    // Values of the eliminated variable.
    u32 domain;
    u32 digits, spread;
    u32 inputs;
    u32 threads;
    // Ends of the groups xy, xz, yz and xyz among the inputs.
    u32 ends[4];
    // The first block of this launch.
    u32 first;
    Digit digit[TILE_DIGITS];
    Input input[INPUTS];
    // By digit and input; last, the message.
    u64 stride[TILE_DIGITS][INPUTS + 1];
};

// What a group of inputs is: nothing, a single one (whose neighbours along the fastest digit lie side by side, or which
// does not read it), or any number.
enum Count { NONE, RUN, SINGLE, MANY };

// N neighbouring entries.
template <class E, int N> struct alignas(N * sizeof(E)) Pack {
    E of[N];

    static __device__ __forceinline__ Pack all(E entry) {
        Pack pack;
#pragma unroll
        for (int n = 0; n < N; n++) pack.of[n] = entry;
        return pack;
    }
};

// Side by side, in as few loads as there can be.
template <class E, int N> __device__ __forceinline__ Pack<E, N> load(const char *from) {
    Pack<E, N> pack;
    if constexpr (N * sizeof(E) == 16) {
        const int4 words = __ldg((const int4 *)from);
        memcpy(&pack, &words, 16);
    } else if constexpr (N * sizeof(E) == 8) {
        const int2 words = __ldg((const int2 *)from);
        memcpy(&pack, &words, 8);
    } else {
#pragma unroll
        for (int n = 0; n < N; n++) pack.of[n] = __ldg((const E *)from + n);
    }
    return pack;
}

// Where a thread's tile begins in each table.
struct Place {
    const Box &box;
    const char *memory;
    // First values of the block's box and of the thread's tile from there.
    u32 start[TILE_DIGITS], local[TILE_DIGITS];

    __device__ __forceinline__ Place(const Box &box, const char *memory) : box(box), memory(memory) {
        u32 rank = threadIdx.x;
        const u32 block = blockIdx.x + box.first;
#pragma unroll
        for (u32 i = 0; i < TILE_DIGITS; i++) {
            if (i >= box.digits) break;
            start[i] = box.digit[i].start(block);
            local[i] = i < box.spread ? box.digit[i].local(start[i], rank) : 0;
        }
    }

    // Address of the box in a table.
    __device__ __forceinline__ u64 base(u64 table, u32 column) const {
        u64 sum = (u64)memory + table;
#pragma unroll
        for (u32 i = 0; i < TILE_DIGITS; i++) {
            if (i >= box.digits) break;
            sum += start[i] * box.stride[i][column];
        }
        return sum;
    }

    // And of the tile from there.
    __device__ __forceinline__ u32 offset(u32 column) const {
        u32 sum = 0;
#pragma unroll
        for (u32 i = 0; i < TILE_DIGITS; i++) {
            if (i >= box.spread) break;
            sum += local[i] * (u32)box.stride[i][column];
        }
        return sum;
    }

    // The same where it may be far.
    __device__ __forceinline__ u64 far(u32 column) const {
        u64 sum = 0;
#pragma unroll
        for (u32 i = 0; i < TILE_DIGITS; i++) {
            if (i >= box.spread) break;
            sum += local[i] * box.stride[i][column];
        }
        return sum;
    }
};

// The inputs of a group that reads two digits of the tile, the first in A values and the second in B, N neighbours at
// a time.
template <class E, int A, int B, int N, int COUNT, int FIRST, int SECOND> struct Group {
    const char *table;
    u64 slab;
    u32 at, first, second;

    static __device__ __forceinline__ u32 stride(const Input &input, int digit) {
        return digit == 0 ? input.x : digit == 1 ? input.y : input.z;
    }

    __device__ __forceinline__ void begin(const Place &place, u32 index) {
        const Input &input = place.box.input[index];
        table = (const char *)place.base(input.table, index);
        slab = input.slab;
        at = place.offset(index);
        first = stride(input, FIRST);
        second = stride(input, SECOND);
    }

    __device__ __forceinline__ Group(const Place &place, u32 index) {
        if constexpr (COUNT == RUN || COUNT == SINGLE) begin(place, index);
    }

    // The sums for the next value of the eliminated variable.
    __device__ __forceinline__ void sums(Pack<E, N> (&sum)[A][B], const Box &box, const u64 *bases, const u32 *offsets,
                                         u32 from, u32 to, u32 a, E cap) {
#pragma unroll
        for (int i = 0; i < A; i++)
#pragma unroll
            for (int j = 0; j < B; j++) {
                if constexpr (COUNT == RUN) {
                    sum[i][j] = load<E, N>(table + (at + i * first + j * second));
                } else if constexpr (COUNT == SINGLE) {
                    sum[i][j] = Pack<E, N>::all(__ldg((const E *)(table + (at + i * first + j * second))));
                } else {
                    sum[i][j] = Pack<E, N>::all(0);
                }
            }
        if constexpr (COUNT == RUN || COUNT == SINGLE) table += slab;
        if constexpr (COUNT == MANY) {
            for (u32 k = from; k < to; k++) {
                const Input &input = box.input[k];
                const char *table = (const char *)bases[k] + a * input.slab;
                const u32 at = offsets[k * TILE_THREADS], first = stride(input, FIRST), second = stride(input, SECOND);
                Pack<E, N> next[A][B];
                // two loops that differ in their loads only: all loads are on their way before the first is used
                if (input.run) {
#pragma unroll
                    for (int i = 0; i < A; i++)
#pragma unroll
                        for (int j = 0; j < B; j++) next[i][j] = load<E, N>(table + (at + i * first + j * second));
                } else {
#pragma unroll
                    for (int i = 0; i < A; i++)
#pragma unroll
                        for (int j = 0; j < B; j++)
                            next[i][j] = Pack<E, N>::all(__ldg((const E *)(table + (at + i * first + j * second))));
                }
#pragma unroll
                for (int i = 0; i < A; i++)
#pragma unroll
                    for (int j = 0; j < B; j++)
#pragma unroll
                        for (int n = 0; n < N; n++) sum[i][j].of[n] = add_min(sum[i][j].of[n], next[i][j].of[n], cap);
            }
        }
    }
};

template <class E, int RX, int RY, int RZ, int N, int XY, int XZ, int YZ, int XYZ>
__global__ void __launch_bounds__(TILE_THREADS, 2) join_tile(char *memory, const __grid_constant__ Box box, E cap) {
    constexpr bool ANY = XY == MANY || XZ == MANY || YZ == MANY || XYZ == MANY;
    __shared__ u64 bases[ANY ? INPUTS : 1];
    __shared__ u32 offsets[ANY ? INPUTS * TILE_THREADS : 1];
    if (!ANY && threadIdx.x >= box.threads) return;
    const Place place(box, memory);
    if constexpr (ANY) {
        for (u32 k = 0; k < box.inputs; k++) {
            if (threadIdx.x == k) bases[k] = place.base(box.input[k].table, k);
            offsets[k * TILE_THREADS + threadIdx.x] = place.offset(k);
        }
        __syncthreads();
        if (threadIdx.x >= box.threads) return;
    }
    const u32 *own = offsets + (ANY ? threadIdx.x : 0);
    char *const out = (char *)place.base(box.out, box.inputs) + place.far(box.inputs);
    Pack<E, N> least[RX][RY][RZ];
#pragma unroll
    for (int x = 0; x < RX; x++)
#pragma unroll
        for (int y = 0; y < RY; y++)
#pragma unroll
            for (int z = 0; z < RZ; z++) least[x][y][z] = Pack<E, N>::all(cap);
    Group<E, RX, RY, N, XY, 0, 1> group_xy(place, 0);
    Group<E, RX, RZ, N, XZ, 0, 2> group_xz(place, box.ends[0]);
    Group<E, RY, RZ, N, YZ, 1, 2> group_yz(place, box.ends[1]);
    const u32 domain = box.domain;
#pragma unroll 1
    for (u32 a = 0; a < domain; a++) {
        Pack<E, N> xy[RX][RY], xz[RX][RZ], yz[RY][RZ];
        group_xy.sums(xy, box, bases, own, 0, box.ends[0], a, cap);
        group_xz.sums(xz, box, bases, own, box.ends[0], box.ends[1], a, cap);
        group_yz.sums(yz, box, bases, own, box.ends[1], box.ends[2], a, cap);
#pragma unroll
        for (int x = 0; x < RX; x++) {
            if constexpr (XYZ == NONE) {
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int z = 0; z < RZ; z++)
#pragma unroll
                        for (int n = 0; n < N; n++) {
                            const E first = XY == NONE ? xz[x][z].of[n] : xy[x][y].of[n] + xz[x][z].of[n];
                            E &own = least[x][y][z].of[n];
                            own = add_min(first, yz[y][z].of[n], own);
                        }
            } else {
                // inputs that read all of the tile: a row of outputs at a time, so that few loads wait in registers
                Pack<E, N> row[RY][RZ];
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int z = 0; z < RZ; z++)
#pragma unroll
                        for (int n = 0; n < N; n++)
                            row[y][z].of[n] = xy[x][y].of[n] + xz[x][z].of[n] + yz[y][z].of[n];
                for (u32 k = box.ends[2]; k < box.ends[3]; k++) {
                    const Input &input = box.input[k];
                    const char *table = (const char *)bases[k] + a * input.slab;
                    const u32 at = own[k * TILE_THREADS] + x * input.x;
#pragma unroll
                    for (int y = 0; y < RY; y++)
#pragma unroll
                        for (int z = 0; z < RZ; z++) {
                            const char *from = table + (at + y * input.y + z * input.z);
                            const Pack<E, N> next =
                                input.run ? load<E, N>(from) : Pack<E, N>::all(__ldg((const E *)from));
#pragma unroll
                            for (int n = 0; n < N; n++)
                                // four terms at most before it is clamped
                                row[y][z].of[n] = add_min(row[y][z].of[n], next.of[n], cap);
                        }
                }
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int z = 0; z < RZ; z++)
#pragma unroll
                        for (int n = 0; n < N; n++)
                            least[x][y][z].of[n] = min(least[x][y][z].of[n], row[y][z].of[n]);
            }
        }
    }
#pragma unroll
    for (int x = 0; x < RX; x++)
#pragma unroll
        for (int y = 0; y < RY; y++)
#pragma unroll
            for (int z = 0; z < RZ; z++)
                *(Pack<E, N> *)(out + (x * box.x + y * box.y + z * box.z)) = least[x][y][z];
}

// Entries of tables anywhere in memory, one a thread.
template <class E> __global__ void gather(const u64 *addresses, E *entries, u32 count) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < count) entries[t] = *(const E *)addresses[t];
}
