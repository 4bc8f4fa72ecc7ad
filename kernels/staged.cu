// The fused bucket kernel for large steps (see bucket.cu), with inputs staged in shared memory.
//
// A block computes a box of outputs: tiles along three axes x, y, z of the message, and adjacent entries along its
// fastest axis. A *stage* holds the box's part of all inputs for one value of the eliminated variable. Asynchronous
// copies fill stages ahead of the sums and need no registers. A thread reads single entries of a stage, and the next
// lanes of its warp the adjacent entries. The compiler knows the shape of a box, so the loop over the eliminated
// variable computes almost no addresses.
//
// At most five entries are combined, so no intermediate result is settled.

#include "bucket.cuh"

// Copies a piece asynchronously. No thread reads the target before `await_stages` and a barrier, so the compiler may
// move other accesses across the copies, which hides their latency behind the sums.
__device__ __forceinline__ void copy(char *to, const char *from) {
#if __CUDA_ARCH__ >= 800
    const u32 place = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from));
#else
    *(int4 *)to = __ldg((const int4 *)from);
#endif
}

// Ends a stage, which consists of the copies since the last call.
__device__ __forceinline__ void end_stage() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for this thread's copies of all stages but the last N.
template <u32 N> __device__ __forceinline__ void await_stages() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

// The inputs of a group that depends on two axes of the tile: A and B values of a tile, TA and TB tiles of the box,
// LANES adjacent entries. A stage stores rows of adjacent entries as [value of A in its tile][of B][tile of A][of B],
// so the rows that a warp reads at a time are adjacent.
template <class S, int A, int B, int TA, int TB, int LANES, u32 THREADS, int FEW, int FIRST, int SECOND> struct Staged {
    using E = typename S::Entry;
    static constexpr u32 TILES = TA * TB;

    // Bytes of a row; pieces of a row, of an input, and of a thread.
    static constexpr u32 ROW = sizeof(E) * LANES, IN_ROW = ROW / PIECE;
    static constexpr u32 PIECES = A * B * TILES * IN_ROW, OWN = (PIECES + THREADS - 1) / THREADS;
    static_assert(ROW % PIECE == 0, "rows are copied in pieces");

    static constexpr u32 BYTES = FEW * PIECES * PIECE, SHARE = FEW * OWN;

    // The next slice of each input, from the start of the box.
    const char *table[FEW + 1];
    u64 slab[FEW + 1];
    // The offsets of this thread's pieces from there.
    u32 from[SHARE + 1];
    // This thread's tile in the box, and its lane.
    u32 tile, lane;

    static __device__ __forceinline__ u32 stride(const Input &input, int digit) {
        return digit == 0 ? input.x : digit == 1 ? input.y : input.z;
    }

    __device__ __forceinline__ Staged(const Box &box, const char *memory, u32 begin, u32 a, u32 b, u32 own_lane)
        : tile(a * TB + b), lane(own_lane) {
#pragma unroll
        for (int k = 0; k < FEW; k++) {
            const Input &input = box.input[begin + k];
            table[k] = memory + input.table;
            slab[k] = input.slab;
#pragma unroll
            for (u32 i = 0; i < OWN; i++) {
                const u32 piece = threadIdx.x + i * THREADS, row = piece / IN_ROW;
                const u32 tiles = row % TILES, value = row / TILES;
                const u32 first = min(tiles / TB * A, box.values[FIRST] - A) + value / B;
                const u32 second = min(tiles % TB * B, box.values[SECOND] - B) + value % B;
                from[k * OWN + i] =
                    first * stride(input, FIRST) + second * stride(input, SECOND) + piece % IN_ROW * PIECE;
            }
        }
    }

    // Advances along an axis to the start of the box.
    __device__ __forceinline__ void move(const u64 *strides, u32 begin, u32 start) {
#pragma unroll
        for (int k = 0; k < FEW; k++) table[k] += start * strides[begin + k];
    }

    // Copies this thread's pieces of the next slices whose numbers are from `low` to below `high`.
    __device__ __forceinline__ void fill(char *stage, u32 low, u32 high) const {
#pragma unroll
        for (int k = 0; k < FEW; k++) {
#pragma unroll
            for (u32 i = 0; i < OWN; i++) {
                const u32 number = k * OWN + i, piece = threadIdx.x + i * THREADS;
                if (number >= low && number < high && ((i + 1) * THREADS <= PIECES || piece < PIECES))
                    copy(stage + (k * PIECES + piece) * PIECE, table[k] + from[number]);
            }
        }
    }

    // Advances to the next value of the eliminated variable.
    __device__ __forceinline__ void advance() {
#pragma unroll
        for (int k = 0; k < FEW; k++) table[k] += slab[k];
    }

    // Returns the combination of the inputs for values `i` and `j` of the tile's axes.
    __device__ __forceinline__ E read(const char *stage, int i, int j, S s) const {
        E sum = s.one();
#pragma unroll
        for (int k = 0; k < FEW; k++) {
            const char *own = stage + (tile * ROW + lane * (u32)sizeof(E));
            sum = s.combine(sum, *(const E *)(own + (k * PIECES * PIECE + (i * B + j) * TILES * ROW)));
        }
        return sum;
    }
};

// Returns n - before, or 0 if n is smaller.
constexpr __host__ __device__ u32 beyond(u32 n, u32 before) { return n < before ? 0 : n - before; }

// Computes large messages; XY, XZ and YZ are the numbers of inputs of the groups.
template <class S, int RX, int RY, int RZ, int TX, int TY, int TZ, int LANES, int BLOCKS, int XY, int XZ, int YZ>
__global__ void __launch_bounds__(TX *TY *TZ *LANES, BLOCKS)
    join_staged(char *memory, const __grid_constant__ Box box, S s) {
    using E = typename S::Entry;
    constexpr u32 THREADS = TX * TY * TZ * LANES;
    using GroupXY = Staged<S, RX, RY, TX, TY, LANES, THREADS, XY, 0, 1>;
    using GroupXZ = Staged<S, RX, RZ, TX, TZ, LANES, THREADS, XZ, 0, 2>;
    using GroupYZ = Staged<S, RY, RZ, TY, TZ, LANES, THREADS, YZ, 1, 2>;
    constexpr u32 BEGIN_XZ = XY, BEGIN_YZ = XY + XZ;
    constexpr u32 AT_XZ = GroupXY::BYTES, AT_YZ = AT_XZ + GroupXZ::BYTES, STAGE = AT_YZ + GroupYZ::BYTES;
    constexpr u32 SHARE_XZ = GroupXY::SHARE, SHARE_YZ = SHARE_XZ + GroupXZ::SHARE, SHARE = SHARE_YZ + GroupYZ::SHARE;
    extern __shared__ int4 shared[];
    char *const stages = (char *)shared;
    const u32 lane = threadIdx.x % LANES, tile = threadIdx.x / LANES;
    const u32 z = tile % TZ, y = tile / TZ % TY, x = tile / TZ / TY;
    GroupXY xy(box, memory, 0, x, y, lane);
    GroupXZ xz(box, memory, BEGIN_XZ, x, z, lane);
    GroupYZ yz(box, memory, BEGIN_YZ, y, z, lane);
    char *out = memory + box.out;
#pragma unroll 1
    for (u32 i = 0; i < box.digits; i++) {
        const u32 start = box.digit[i].start(blockIdx.x + box.first);
        const u64 *strides = box.stride[i];
        xy.move(strides, 0, start);
        xz.move(strides, BEGIN_XZ, start);
        yz.move(strides, BEGIN_YZ, start);
        out += start * strides[box.inputs];
    }
    // the last tile of a box is moved back if it would not fit
    out += min(x * RX, box.values[0] - RX) * box.x + min(y * RY, box.values[1] - RY) * box.y +
           min(z * RZ, box.values[2] - RZ) * box.z + lane * sizeof(E);

    // Copies a part of the next slices; the last part completes a stage.
    const auto fill = [&](u32 stage, u32 part, u32 parts) {
        const u32 low = part * SHARE / parts, high = (part + 1) * SHARE / parts;
        xy.fill(stages + stage, low, high);
        xz.fill(stages + stage + AT_XZ, beyond(low, SHARE_XZ), beyond(high, SHARE_XZ));
        yz.fill(stages + stage + AT_YZ, beyond(low, SHARE_YZ), beyond(high, SHARE_YZ));
        if (part + 1 == parts) {
            xy.advance();
            xz.advance();
            yz.advance();
        }
    };
    const u32 domain = box.domain;
#pragma unroll
    for (u32 a = 0; a < STAGES - 1; a++) {
        if (a < domain) fill(a * STAGE, 0, 1);
        end_stage();
    }
    E least[RX][RY][RZ];
#pragma unroll
    for (int i = 0; i < RX; i++)
#pragma unroll
        for (int j = 0; j < RY; j++)
#pragma unroll
            for (int k = 0; k < RZ; k++) least[i][j][k] = s.zero();

    // offsets of the stage of the next value, and of the free stage for the value that follows STAGES - 1 later
    u32 stage = 0, free = (STAGES - 1) * STAGE;
    // `more` is a constant where this is inlined
    const auto join = [&](bool more) {
        await_stages<STAGES - 2>();
        // all copies of the stage are done, and no thread reads the free stage any more
        __syncthreads();
        const char *own = stages + stage;
        E row_yz[RY][RZ];
#pragma unroll
        for (int j = 0; j < RY; j++)
#pragma unroll
            for (int k = 0; k < RZ; k++) row_yz[j][k] = yz.read(own + AT_YZ, j, k, s);
#pragma unroll
        for (int i = 0; i < RX; i++) {
            E row_xy[RY], row_xz[RZ];
#pragma unroll
            for (int j = 0; j < RY; j++) row_xy[j] = xy.read(own, i, j, s);
#pragma unroll
            for (int k = 0; k < RZ; k++) row_xz[k] = xz.read(own + AT_XZ, i, k, s);
#pragma unroll
            for (int j = 0; j < RY; j++)
#pragma unroll
                for (int k = 0; k < RZ; k++) {
                    // the multiplication unit adds as well, while the addition unit takes the minimum
                    const E first = XY == 0 ? row_xz[k] : s.combine_aside(row_xy[j], row_xz[k], (E)box.one);
                    least[i][j][k] = s.fold_joined(first, row_yz[j][k], least[i][j][k]);
                }
            // copies are issued between the sums, because all at once would stall every thread
            if (more) fill(free, i, RX);
        }
        end_stage();
        free = stage;
        stage = stage == (STAGES - 1) * STAGE ? 0 : stage + STAGE;
    };
    u32 a = 0;
#pragma unroll 1
    for (; a + STAGES - 1 < domain; a++) join(true);
#pragma unroll 1
    for (; a < domain; a++) join(false);

#pragma unroll
    for (int i = 0; i < RX; i++)
#pragma unroll
        for (int j = 0; j < RY; j++)
#pragma unroll
            for (int k = 0; k < RZ; k++) *(E *)(out + (i * box.x + j * box.y + k * box.z)) = least[i][j][k];
}
