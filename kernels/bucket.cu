// The fused bucket kernel: it combines the inputs of a mini-bucket and folds over one variable, entry by entry of the
// message, in any semiring. The joint table is never stored.
//
// A thread computes a tile of RX * RY * RZ outputs along up to three axes x, y, z of the message. For each value of the
// eliminated variable it loads each input's part of the tile once: RX * RY entries of an input that does not depend on
// z. Inputs are grouped by the axes that they depend on, and all outputs of a tile share the sums of a group. For
// costs:
//
//     message[x, y, z] = min over a of (xy[x, y] + xz[x, z] + yz[y, z] + xyz[x, y, z])
//
// A block computes a box of tiles, whose inputs stay in the L1 cache. An index is a sum of positions times strides: a
// block finds its positions by division once, a thread by multiplication once, and the loop over the eliminated
// variable only adds.
//
// Entries are settled (saturated or rescaled, see elimination/algebra); costs are between 0 and the cap. At most five
// entries are combined before the result is settled, so the message equals the CPU's, in whatever order inputs are
// combined.
//
// staged.cu computes large steps with few inputs, if shapes and the device allow it; propagate.cu the downward pass.

#include "bucket.cuh"
#include "settle.cuh"

// ---- small messages ----

// Computes messages with one thread, or a power of two of threads, for each output.
template <class S> __global__ void __launch_bounds__(THREADS) join_each(Program program, u32 first_block, S s) {
    using E = typename S::Entry;
    constexpr u32 VALUES = 4;
    __shared__ Corner corner;
    const u32 t = threadIdx.x, block = blockIdx.x + first_block;
    const Step step = program.steps[program.map[block]];
    const Input *inputs = program.inputs + step.input_at;
    const u64 out = corner.locate(program, step, block);
    const u32 *own = corner.offsets + t;
    E least = s.zero();
    for (u32 a = t & ((1u << step.split) - 1); a < step.domain; a += VALUES << step.split) {
        E sum[VALUES];
#pragma unroll
        for (u32 v = 0; v < VALUES; v++) sum[v] = s.one();
        for (u32 k = 0; k < step.inputs; k++) {
            const char *table = (const char *)corner.base[k] + own[k * THREADS];
            const u64 slab = inputs[k].slab;
#pragma unroll
            for (u32 v = 0; v < VALUES; v++) {
                // beyond the last value, the last one is read again
                const u32 value = min(a + (v << step.split), step.domain - 1);
                sum[v] = s.join(sum[v], __ldg((const E *)(table + value * slab)));
            }
        }
#pragma unroll
        for (u32 v = 0; v < VALUES; v++)
            if (S::IDEMPOTENT || a + (v << step.split) < step.domain) least = s.fold(least, sum[v]);
    }
    least = fold_lanes(s, least, step.split);
    if (t < step.threads) *(E *)(corner.base[step.inputs] + out) = least;
    settle_last(program, step, s);
}

// ---- large messages ----

// N adjacent entries.
template <class E, int N> struct alignas(N * sizeof(E)) Pack {
    E of[N];

    static __device__ __forceinline__ Pack all(E entry) {
        Pack pack;
#pragma unroll
        for (int n = 0; n < N; n++) pack.of[n] = entry;
        return pack;
    }
};

// Loads adjacent entries in as few loads as possible.
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

// The inputs that depend on two axes of the tile, with A values of the first axis and B values of the second, N
// adjacent entries at a time.
template <class S, int A, int B, int N, int KINDS, int FIRST, int SECOND> struct Group {
    using E = typename S::Entry;
    static constexpr int FEW = inputs_of(KINDS);
    using Row = Pack<E, N>[B];

    // If the inputs are few: the next slice of each, this thread's tile in it, and the strides of the two axes.
    const char *table[FEW + 1];
    u64 slab[FEW + 1];
    u32 at[FEW + 1], first[FEW + 1], second[FEW + 1];
    // If KINDS is MANY, the sums of any number of inputs.
    Pack<E, N> many[KINDS == MANY ? A : 1][B];

    static __device__ __forceinline__ u32 stride(const Input &input, int digit) {
        return digit == 0 ? input.x : digit == 1 ? input.y : input.z;
    }

    __device__ __forceinline__ Group(const Box &box, const char *memory, u32 begin) {
#pragma unroll
        for (int k = 0; k < FEW; k++) {
            const Input &input = box.input[begin + k];
            table[k] = memory + input.table;
            slab[k] = input.slab;
            at[k] = 0;
            first[k] = stride(input, FIRST);
            second[k] = stride(input, SECOND);
        }
    }

    // Advances along an axis to the block's start, and to the thread's start in it.
    __device__ __forceinline__ void move(const u64 *strides, u32 begin, u32 start, u32 local) {
#pragma unroll
        for (int k = 0; k < FEW; k++) {
            table[k] += start * strides[begin + k];
            at[k] += local * (u32)strides[begin + k];
        }
    }

    // Adds entries along the second axis to a row of sums; if FIRST_OF_ALL, replaces the row.
    template <bool SIDE_BY_SIDE, bool FIRST_OF_ALL, bool SETTLED>
    static __device__ __forceinline__ void add(Row &row, const char *table, u32 at, u32 second, S s) {
        Row next;
#pragma unroll
        for (int j = 0; j < B; j++) {
            const char *from = table + (at + j * second);
            next[j] = SIDE_BY_SIDE ? load<E, N>(from) : Pack<E, N>::all(__ldg((const E *)from));
        }
#pragma unroll
        for (int j = 0; j < B; j++)
#pragma unroll
            for (int n = 0; n < N; n++) {
                E &sum = row[j].of[n];
                const E entry = next[j].of[n];
                sum = FIRST_OF_ALL ? entry : SETTLED ? s.join(sum, entry) : s.combine(sum, entry);
            }
    }

    // Computes the sums of any number of inputs, before their rows are read.
    __device__ __forceinline__ void prepare(const Box &box, const u64 *bases, const u32 *offsets, u32 from, u32 to,
                                            u32 a, S s) {
        if constexpr (KINDS == MANY) {
#pragma unroll
            for (int i = 0; i < A; i++)
#pragma unroll
                for (int j = 0; j < B; j++) many[i][j] = Pack<E, N>::all(s.one());
            for (u32 k = from; k < to; k++) {
                const Input &input = box.input[k];
                const char *table = (const char *)bases[k] + a * input.slab;
                const u32 at = offsets[k * TILE_THREADS], first = stride(input, FIRST), second = stride(input, SECOND);
                if (input.run) {
#pragma unroll
                    for (int i = 0; i < A; i++) add<true, false, true>(many[i], table, at + i * first, second, s);
                } else {
#pragma unroll
                    for (int i = 0; i < A; i++) add<false, false, true>(many[i], table, at + i * first, second, s);
                }
            }
        }
    }

    // Reads the sums for value `i` of the first axis.
    __device__ __forceinline__ void read(Row &row, int i, S s) const {
        if constexpr (FEW == 0) {
#pragma unroll
            for (int j = 0; j < B; j++) row[j] = KINDS == MANY ? many[i][j] : Pack<E, N>::all(s.one());
        }
        // at most five entries are combined, so no intermediate result is settled
        if constexpr (FEW > 0) add<(KINDS & 3) == RUN, true, false>(row, table[0], at[0] + i * first[0], second[0], s);
        if constexpr (FEW > 1)
            add<(KINDS >> 2 & 3) == RUN, false, false>(row, table[1], at[1] + i * first[1], second[1], s);
        if constexpr (FEW > 2)
            add<(KINDS >> 4 & 3) == RUN, false, false>(row, table[2], at[2] + i * first[2], second[2], s);
    }

    // Advances to the next value of the eliminated variable.
    __device__ __forceinline__ void advance() {
#pragma unroll
        for (int k = 0; k < FEW; k++) table[k] += slab[k];
    }
};

template <class S, int RX, int RY, int RZ, int N, int XY, int XZ, int YZ, int XYZ>
__global__ void __launch_bounds__(TILE_THREADS, 2) join_tile(char *memory, const __grid_constant__ Box box, S s) {
    using E = typename S::Entry;
    constexpr bool ANY = XY == MANY || XZ == MANY || YZ == MANY || XYZ == MANY;
    // For each input: the address of the block's first entry, and this thread's distance from it.
    __shared__ u64 bases[ANY ? INPUTS : 1];
    __shared__ u32 offsets[ANY ? INPUTS * TILE_THREADS : 1];
    const u32 t = threadIdx.x;
    u32 *own = offsets + (ANY ? t : 0);
    if (!ANY && t >= box.threads) return;
    Group<S, RX, RY, N, XY, 0, 1> group_xy(box, memory, 0);
    Group<S, RX, RZ, N, XZ, 0, 2> group_xz(box, memory, box.ends[0]);
    Group<S, RY, RZ, N, YZ, 1, 2> group_yz(box, memory, box.ends[1]);
    u64 base = 0;
    if constexpr (ANY) {
        if (t < box.inputs) base = (u64)memory + box.input[t].table;
        for (u32 k = 0; k < box.inputs; k++) own[k * TILE_THREADS] = 0;
    }
    char *out = memory + box.out;
    u32 rank = t;
#pragma unroll 1
    for (u32 i = 0; i < box.digits; i++) {
        const Digit &digit = box.digit[i];
        const u64 *strides = box.stride[i];
        const u32 start = digit.start(blockIdx.x + box.first);
        const u32 local = i < box.spread ? digit.local(start, rank) : 0;
        out += (start + local) * strides[box.inputs];
        group_xy.move(strides, 0, start, local);
        group_xz.move(strides, box.ends[0], start, local);
        group_yz.move(strides, box.ends[1], start, local);
        if constexpr (ANY) {
            if (t < box.inputs) base += start * strides[t];
            if (i < box.spread)
                for (u32 k = 0; k < box.inputs; k++) own[k * TILE_THREADS] += local * (u32)strides[k];
        }
    }
    if constexpr (ANY) {
        if (t < box.inputs) bases[t] = base;
        __syncthreads();
        if (t >= box.threads) return;
    }
    Pack<E, N> least[RX][RY][RZ];
#pragma unroll
    for (int x = 0; x < RX; x++)
#pragma unroll
        for (int y = 0; y < RY; y++)
#pragma unroll
            for (int z = 0; z < RZ; z++) least[x][y][z] = Pack<E, N>::all(s.zero());
    const u32 domain = box.domain;
#pragma unroll 1
    for (u32 a = 0; a < domain; a++) {
        group_xy.prepare(box, bases, own, 0, box.ends[0], a, s);
        group_xz.prepare(box, bases, own, box.ends[0], box.ends[1], a, s);
        group_yz.prepare(box, bases, own, box.ends[1], box.ends[2], a, s);
        Pack<E, N> yz[RY][RZ];
#pragma unroll
        for (int y = 0; y < RY; y++) group_yz.read(yz[y], y, s);
#pragma unroll
        for (int x = 0; x < RX; x++) {
            Pack<E, N> xy[RY], xz[RZ];
            group_xy.read(xy, x, s);
            group_xz.read(xz, x, s);
            if constexpr (XYZ == 0) {
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int z = 0; z < RZ; z++)
#pragma unroll
                        for (int n = 0; n < N; n++) {
                            const E first = XY == 0 ? xz[z].of[n] : s.combine(xy[y].of[n], xz[z].of[n]);
                            E &own = least[x][y][z].of[n];
                            own = s.fold_joined(first, yz[y][z].of[n], own);
                        }
            } else {
                // inputs that depend on all three axes: one row of outputs at a time, so that few loads wait in
                // registers
                Pack<E, N> row[RY][RZ];
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int z = 0; z < RZ; z++)
#pragma unroll
                        for (int n = 0; n < N; n++)
                            row[y][z].of[n] =
                                s.combine(s.combine(xy[y].of[n], xz[z].of[n]), yz[y][z].of[n]);
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
                                // at most four entries before it is settled
                                row[y][z].of[n] = s.join(row[y][z].of[n], next.of[n]);
                        }
                }
#pragma unroll
                for (int y = 0; y < RY; y++)
#pragma unroll
                    for (int z = 0; z < RZ; z++)
#pragma unroll
                        for (int n = 0; n < N; n++)
                            least[x][y][z].of[n] = s.fold(least[x][y][z].of[n], row[y][z].of[n]);
            }
        }
        group_xy.advance();
        group_xz.advance();
        group_yz.advance();
    }
#pragma unroll
    for (int x = 0; x < RX; x++)
#pragma unroll
        for (int y = 0; y < RY; y++)
#pragma unroll
            for (int z = 0; z < RZ; z++)
                *(Pack<E, N> *)(out + (x * box.x + y * box.y + z * box.z)) = least[x][y][z];
}

// Gathers entries of tables anywhere in memory, one entry per thread.
template <class E> __global__ void gather(const u64 *addresses, E *entries, u32 count) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < count) entries[t] = *(const E *)addresses[t];
}
