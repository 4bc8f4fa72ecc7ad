// Cost shifting between the functions of a network: the visits of a wave, equal to the CPU's to the last bit. A warp
// reads pieces of tables, each stored with the visited variable's values fastest. A variable's last thread block
// collects the least costs of its functions and forwards most of them. Sums have 64 bits, because the amounts shifted
// from and to a function may far exceed its entries.

#include "constants.cuh"
#include "rng.cuh"

typedef long long i64;

constexpr u32 WARPS = THREADS / 32;
constexpr u32 ALL = ~0u;

__device__ __forceinline__ i64 wide(int entry) { return entry >= NEVER_SHORT ? NEVER : entry; }
__device__ __forceinline__ i64 wide(i64 entry) { return entry; }

// Rows of a function's table: one for each combination of the other variables' values.
struct Piece {
    u64 entries;
    // Index of the variable's row in `taken`.
    u64 row;
    // Number of values and of rows, and number of the first row.
    u32 size, rows, first;
    // Number of other variables, and index of the first; the fastest axis is first.
    u32 digits, digit;
};

// Another variable of a function: the index of its row in `taken`, and its number of values.
struct Digit {
    u64 row;
    u64 size;
};

struct Visit {
    u64 unary;
    // Index of the first of `uses` consecutive rows.
    u64 row;
    u32 size, uses, blocks;
    // Index of the first use; bits of each use say whether its function has later variables in a forward and in a
    // backward sweep. `onward` has the numbers of such functions.
    u32 use;
    u32 onward[2];
};

// The work of a thread block.
struct Block {
    u32 visit, begin, end;
};

struct Pass {
    const Piece *pieces;
    const Digit *digits;
    const Visit *visits;
    const Block *blocks;
    const u32 *uses;
    // For each visit, the number of thread blocks that have finished.
    u32 *arrived;
    i64 *unary;
    i64 *taken;
    i64 *least;
    // For each wave of a run; the first is the previous constant.
    i64 *constants;
};

// Computes the least cost of a piece's rows for each value.
template <class E> __device__ __forceinline__ void look(const Pass &pass, const Piece &piece, i64 *outer, u32 lane) {
    const u32 size = piece.size, rows = piece.rows;
    __syncwarp();
    for (u32 row = lane; row < rows; row += 32) {
        u32 rest = piece.first + row;
        i64 sum = 0;
        for (u32 k = 0; k < piece.digits; k++) {
            const Digit digit = pass.digits[piece.digit + k];
            const u32 values = (u32)digit.size;
            sum += pass.taken[digit.row + rest % values];
            rest /= values;
        }
        outer[row] = sum;
    }
    __syncwarp();
    const E *const entries = (const E *)piece.entries;
    // lanes beyond a small domain read other rows
    const u32 groups = size < 32 ? 32 / size : 1, group = size < 32 ? lane / size : 0;
    if (group >= groups || group >= rows) return;
    for (u32 value = size < 32 ? lane % size : lane; value < size; value += 32) {
        i64 least = UNSET;
#pragma unroll 4
        for (u32 row = group; row < rows; row += groups)
            least = min(least, wide(entries[(u64)row * size + value]) - outer[row]);
        atomicMin(pass.least + piece.row + value, least);
    }
}

// Performs the visits of wave number `step` of a run.
template <class E>
__global__ void __launch_bounds__(THREADS)
    shift_visit(const __grid_constant__ Pass pass, u32 first, u32 step, u32 back, i64 range) {
    __shared__ i64 outer[WARPS][ROWS];
    __shared__ i64 lows[WARPS], sums[THREADS];
    __shared__ u32 arrived;
    const u32 thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const i64 before = pass.constants[step], left = range - before;
    unsigned long long *const constant = (unsigned long long *)(pass.constants + step + 1);
    if (blockIdx.x == 0 && thread == 0) atomicAdd(constant, (unsigned long long)before);
    if (left <= 0) return;
    const Block block = pass.blocks[first + blockIdx.x];
    for (u32 piece = block.begin + warp; piece < block.end; piece += WARPS)
        look<E>(pass, pass.pieces[piece], outer[warp], lane);
    const Visit visit = pass.visits[block.visit];
    // the last block sees the results of all blocks
    __threadfence();
    __syncthreads();
    if (visit.blocks > 1) {
        if (thread == 0) arrived = atomicAdd(pass.arrived + block.visit, 1);
        __syncthreads();
        if (arrived + 1 < visit.blocks) return;
        if (thread == 0) pass.arrived[block.visit] = 0;
        __threadfence();
    }
    // a thread keeps its values throughout; threads beyond a small domain process other uses
    const u32 size = visit.size, groups = size < THREADS ? THREADS / size : 1,
              group = size < THREADS ? thread / size : 0;
    const u32 begin = group >= groups ? size : size < THREADS ? thread % size : thread;
    i64 *const unary = pass.unary + visit.unary;
    i64 lowest = NEVER;
    for (u32 value = begin; value < size; value += THREADS) {
        i64 sum = group == 0 ? unary[value] : 0;
        for (u32 use = group; use < visit.uses; use += groups) {
            const u64 at = visit.row + (u64)use * size + value;
            const i64 own = pass.taken[at], least = min(__ldcg(pass.least + at), NEVER) - own;
            pass.least[at] = UNSET;
            // the amount for a forbidden value makes no difference
            if (max(least, sum) >= NEVER / 2)
                sum = NEVER;
            else
                sum += least, pass.taken[at] = own + least;
        }
        if (groups == 1)
            unary[value] = sum, lowest = min(lowest, sum);
        else
            sums[thread] = sum;
    }
    if (groups > 1) {
        __syncthreads();
        if (thread < size) {
            i64 sum = sums[thread];
            for (u32 other = thread + size; other < groups * size; other += size)
                sum = max(sum, sums[other]) >= NEVER / 2 ? NEVER : sum + sums[other];
            sums[thread] = lowest = sum;
        }
    }
    for (u32 distance = 16; distance > 0; distance >>= 1) lowest = min(lowest, __shfl_xor_sync(ALL, lowest, distance));
    if (lane == 0) lows[warp] = lowest;
    __syncthreads();
    for (u32 other = 0; other < WARPS; other++) lowest = min(lowest, lows[other]);
    if (thread == 0) atomicAdd(constant, (unsigned long long)min(lowest, left));
    const u32 onward = visit.onward[back], parts = max(max(visit.onward[0], visit.onward[1]), 1);
    for (u32 value = begin; value < size; value += THREADS) {
        // every solution with such a value costs at least `range`, so the value is forbidden
        const i64 sum = groups == 1 ? unary[value] : sums[value], rest = sum >= left ? NEVER : sum - lowest,
                  share = rest / parts;
        const bool lost = rest == NEVER;
        for (u32 use = group; use < visit.uses; use += groups) {
            i64 *const taken = pass.taken + visit.row + (u64)use * size + value;
            if (lost)
                *taken = -NEVER;
            else if (share > 0 && pass.uses[visit.use + use] >> back & 1)
                *taken -= share;
        }
        if (group == 0) unary[value] = lost ? NEVER : rest - share * onward;
    }
}
