// The lanes of a state, a lane group, assign one variable: FANG's steps with every rating in registers. Lane p of the
// first NV holds the values p * N .. p * N + N - 1 of a row, so lanes are in the order of values and the selected
// values equal the CPU's bit for bit. NN slots of NV lanes share the variable's functions. A lane group of one lane
// needs no shuffles.
//
// Rows are read in units of 16 bytes: four entries of 32 bits or, if HALF, eight of 16. These are added two at a time
// without a carry, because the host has checked that no row of a variable sums to 2^16. With BYTE_ROWS, memory has
// eight entries of 8 bits (`unit_at`).
#pragma once
#include "core.cuh"
#include "weight.cuh"

template <int NV_, int NN_, int Q_, bool HALF_> struct StateLanes {
    static constexpr int NV = NV_, NN = NN_, Q = Q_, LANES = NV * NN, UNIT = HALF_ ? 8 : 4, N = UNIT * Q;
    static constexpr bool HALF = HALF_;
    int lane;   // within the group
    u32 mask;   // lanes of the warp that run together

    __device__ __forceinline__ int part() const { return lane % NV; }
    __device__ __forceinline__ int slot() const { return lane / NV; }
    __device__ __forceinline__ void sync() const {
        if (LANES > 1) __syncwarp(mask);
    }
    template <class T> __device__ __forceinline__ T from(T x, int source) const {
        return LANES > 1 ? __shfl_sync(mask, x, source, LANES) : x;
    }
    __device__ __forceinline__ u64 sum(u64 x) const {
#pragma unroll
        for (int s = 1; s < LANES; s <<= 1) x += __shfl_xor_sync(mask, x, s);
        return x;
    }
    // Returns the least of all parts' numbers.
    __device__ __forceinline__ int least(int x) const {
#pragma unroll
        for (int s = 1; s < NV; s <<= 1) x = min(x, __shfl_xor_sync(mask, x, s));
        return x;
    }
};

// Adds four words of a row: entries, or pairs of them.
__device__ __forceinline__ void add(uint4 &a, const uint4 &b) {
    a.x += b.x;
    a.y += b.y;
    a.z += b.z;
    a.w += b.w;
}

// Returns a unit of the core's rows. With BYTE_ROWS, converts eight bytes in memory to eight entries of 16 bits.
__device__ __forceinline__ uint4 unit_at(const Core &core, u32 at) {
#ifdef BYTE_ROWS
    const uint2 bytes = __ldg((const uint2 *)core.rows + at);
    return make_uint4(__byte_perm(bytes.x, 0, 0x4140), __byte_perm(bytes.x, 0, 0x4342),
                      __byte_perm(bytes.y, 0, 0x4140), __byte_perm(bytes.y, 0, 0x4342));
#else
    return __ldg(core.rows + at);
#endif
}

template <class T> __device__ __forceinline__ void entries_of(const uint4 &unit, int *entries) {
    if (T::HALF) {
        entries[0] = unit.x & 0xffff, entries[1] = unit.x >> 16, entries[2] = unit.y & 0xffff,
        entries[3] = unit.y >> 16;
        entries[4] = unit.z & 0xffff, entries[5] = unit.z >> 16, entries[6] = unit.w & 0xffff,
        entries[7] = unit.w >> 16;
    } else {
        entries[0] = unit.x, entries[1] = unit.y, entries[2] = unit.z, entries[3] = unit.w;
    }
}

// An incidence as it is loaded; the distance between the rows of consecutive values, if it is binary; and its row in a
// state.
#ifdef LINKS
using Link = uint2;
__device__ __forceinline__ Link link_at(const Core &core, u32 at) { return __ldg(core.links + at); }
__device__ __forceinline__ u32 stride_of(const Link &, u32 units) { return units; }
template <class V>
__device__ __forceinline__ u32 row_of(const Core &, u32, const Link &it, bool, const Values<V> &x, const u8 *,
                                      u32 units) {
    return it.x + x[it.y] * units;
}
#else
using Link = uint4;
__device__ __forceinline__ Link link_at(const Core &core, u32 at) { return __ldg(core.incidences + at); }
__device__ __forceinline__ u32 stride_of(const Link &it, u32) { return it.z; }
template <class V>
__device__ __forceinline__ u32 row_of(const Core &core, u32 place, const Link &it, bool more, const Values<V> &x,
                                      const u8 *member, u32) {
    return row_of(core, place, it, more, x, member);
}
#endif

// Adds the entries of this lane's values in a row to `ratings`; lanes beyond the row add nothing.
template <class T>
__device__ __forceinline__ void add_row(const T &lanes, const uint4 *row, int units, int (&ratings)[T::N]) {
#pragma unroll
    for (int j = 0; j < T::Q; j++) {
        const int at = lanes.part() * T::Q + j;
        if (at < units) {
            int entries[T::UNIT];
            entries_of<T>(__ldg(row + at), entries);
#pragma unroll
            for (int k = 0; k < T::UNIT; k++) ratings[T::UNIT * j + k] += entries[k];
        }
    }
}

// The part of a visit's data that does not depend on the state: this lane's first incidence and unary costs, or those
// of another lane if it has none. Lane groups load it one visit ahead; a lane with its own state has no registers to
// spare. No branch depends on these loads, because it would wait for them.
template <class T> struct Ahead {
    static constexpr bool AHEAD = T::LANES > 1;
    static constexpr int QUADS = T::N / 4;
    Link first;
    int4 costs[QUADS];

    __device__ __forceinline__ Ahead(const Core &core, const T &lanes, const uint4 &info) {
        if (!AHEAD) return;
        first = load_incidence(core, lanes, info);
#pragma unroll
        for (int q = 0; q < QUADS; q++) costs[q] = load_unary(core, lanes, info, q);
    }

    __device__ __forceinline__ Link incidence(const Core &core, const T &lanes, const uint4 &info) const {
        return AHEAD ? first : load_incidence(core, lanes, info);
    }
    __device__ __forceinline__ int4 unary(const Core &core, const T &lanes, const uint4 &info, int q) const {
        return AHEAD ? costs[q] : load_unary(core, lanes, info, q);
    }

  private:
    static __device__ __forceinline__ Link load_incidence(const Core &core, const T &lanes, const uint4 &info) {
        return link_at(core, info.x + min((u32)lanes.lane, max(incidences_of(info), 1u) - 1));
    }
    static __device__ __forceinline__ int4 load_unary(const Core &core, const T &lanes, const uint4 &info, int q) {
        return __ldg(core.unary_rows + info.z + min(lanes.part() * QUADS + q, quads_of(info) - 1));
    }
};

// Sums the rows of a variable's functions under the other variables' values, without functions whose first other
// variable is in `member`.
template <class T, class V>
__device__ __forceinline__ void sum_rows(const Core &core, const T &lanes, const Values<V> &x, const uint4 &info,
                                         const Ahead<T> &ahead, const u8 *member, uint4 (&sums)[T::Q]) {
    constexpr int LANES = T::LANES, NV = T::NV, Q = T::Q;
    const int width = quads_of(info), units = T::HALF ? width / 2 : width, first = lanes.part() * Q;
    const bool more = info.w >> 31;
    int at[Q];
#pragma unroll
    for (int j = 0; j < Q; j++) {
        sums[j] = make_uint4(0, 0, 0, 0);
        at[j] = min(first + j, units - 1);
    }
    const u32 incidences = incidences_of(info);
    if (NV == 1) {
        // each lane sums its own incidences without exchange; binary functions first, which need less unpacking
        const u32 binaries = LANES == 1 && !member && !more ? binaries_of(info) : 0;
        constexpr u32 IN_FLIGHT = 4;
        // loads IN_FLIGHT rows at a time; incidences beyond `last` load that of `last`
        const auto load_ahead = [&](u32 k, u32 last, auto row) {
            Link its[IN_FLIGHT];
            uint4 loaded[IN_FLIGHT][Q];
#pragma unroll
            for (u32 r = 0; r < IN_FLIGHT; r++) its[r] = link_at(core, info.x + min(k + r, last));
#pragma unroll
            for (u32 r = 0; r < IN_FLIGHT; r++)
#pragma unroll
                for (int j = 0; j < Q; j++) loaded[r][j] = unit_at(core, row(k + r, its[r]) + at[j]);
#pragma unroll
            for (u32 r = 0; r < IN_FLIGHT; r++)
#pragma unroll
                for (int j = 0; j < Q; j++) add(sums[j], loaded[r][j]);
        };
        const auto row_under = [&](const Link &it) { return it.x + x[it.y] * stride_of(it, units); };
        u32 k = 0;
#pragma unroll 1
        for (; k + IN_FLIGHT <= binaries; k += IN_FLIGHT)
            load_ahead(k, ~0u, [&](u32, const Link &it) { return row_under(it); });
        // lanes without an incidence add the first row, which is zeros
        if (k < binaries)
            load_ahead(k, binaries - 1, [&](u32 r, const Link &it) { return r < binaries ? row_under(it) : 0; });
#pragma unroll 4
        for (u32 k = binaries + lanes.lane; k < incidences; k += LANES) {
            const Link it =
                LANES > 1 && k == lanes.lane ? ahead.incidence(core, lanes, info) : link_at(core, info.x + k);
            const u32 row = row_of(core, info.x + k, it, more, x, member, units);
#pragma unroll
            for (int j = 0; j < Q; j++)
                if (j < units) add(sums[j], unit_at(core, row + j));
        }
    } else {
        // number of rows loaded at a time: eight units, or those of one incidence per lane
        constexpr int MOST = Q < 8 ? 8 / Q : 1, ROWS = MOST < NV ? MOST : NV;
        for (u32 k = 0; k < incidences; k += LANES) {
            const u32 mine = k + lanes.lane, there = min(mine, incidences - 1);
            const Link it = k == 0 ? ahead.incidence(core, lanes, info) : link_at(core, info.x + there);
            const int own = row_of(core, info.x + there, it, more, x, member, units);
            // lanes without an incidence add the first row, which is zeros and as long as the longest row
            const int row = mine < incidences ? own : 0;
#pragma unroll
            for (int t = 0; t < NV; t += ROWS) {
                if (k + t * T::NN >= incidences) break;
                uint4 loaded[ROWS][Q];
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    const u32 from = __shfl_sync(lanes.mask, row, (t + r) * T::NN + lanes.slot(), LANES);
#pragma unroll
                    for (int j = 0; j < Q; j++) loaded[r][j] = unit_at(core, from + at[j]);
                }
#pragma unroll
                for (int r = 0; r < ROWS; r++)
#pragma unroll
                    for (int j = 0; j < Q; j++) add(sums[j], loaded[r][j]);
            }
        }
    }
#pragma unroll
    for (int s = NV; s < LANES; s <<= 1) {
#pragma unroll
        for (int j = 0; j < Q; j++)
            add(sums[j],
                make_uint4(__shfl_xor_sync(lanes.mask, sums[j].x, s), __shfl_xor_sync(lanes.mask, sums[j].y, s),
                           __shfl_xor_sync(lanes.mask, sums[j].z, s), __shfl_xor_sync(lanes.mask, sums[j].w, s)));
    }
}

// Computes ratings from such sums: adds unary costs, and sets padding to PADDING.
template <class T>
__device__ __forceinline__ void complete(const Core &core, const T &lanes, const uint4 &info, const Ahead<T> &ahead,
                                         const uint4 (&sums)[T::Q], int (&ratings)[T::N]) {
    constexpr int QUADS = T::UNIT / 4;
    const int width = quads_of(info), first = lanes.part() * T::Q;
#pragma unroll
    for (int j = 0; j < T::Q; j++) {
        int *entries = ratings + T::UNIT * j;
        entries_of<T>(sums[j], entries);
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const bool in = (first + j) * QUADS + q < width;
            const int4 unary = ahead.unary(core, lanes, info, j * QUADS + q);
            int *four = entries + 4 * q;
            four[0] = in ? four[0] + unary.x : PADDING;
            four[1] = in ? four[1] + unary.y : PADDING;
            four[2] = in ? four[2] + unary.z : PADDING;
            four[3] = in ? four[3] + unary.w : PADDING;
        }
    }
}

// Computes the ratings of a variable's values under the other variables' values, without functions whose first other
// variable is in `member`.
template <class T, class V>
__device__ __forceinline__ void rate(const Core &core, const T &lanes, const Values<V> &x, const uint4 &info,
                                     const Ahead<T> &ahead, const u8 *member, int (&ratings)[T::N]) {
    uint4 sums[T::Q];
    sum_rows(core, lanes, x, info, ahead, member, sums);
    complete(core, lanes, info, ahead, sums, ratings);
}

// Aggregates, maps, computes prefix sums and selects: the value whose interval contains the scaled `bits`. The lane of
// the first slot that holds this value returns it, the others return -1.
template <class T>
__device__ __forceinline__ int pick(const T &lanes, const uint2 &boltzmann, const int (&ratings)[T::N], u64 bits) {
    int low = ratings[0];
#pragma unroll
    for (int k = 1; k < T::N; k++) low = min(low, ratings[k]);
    low = lanes.least(low);
    u32 weights[T::N], sum = 0;
#pragma unroll
    for (int k = 0; k < T::N; k++) sum += weights[k] = weight(boltzmann, ratings[k] - low);
    u32 right = sum;
#pragma unroll
    for (int s = 1; s < T::NV; s <<= 1) {
        const u32 before = __shfl_up_sync(lanes.mask, right, s, T::NV);
        if (lanes.part() >= s) right += before;
    }
    const u32 total = T::NV > 1 ? __shfl_sync(lanes.mask, right, T::NV - 1, T::NV) : right;
    // below(bits, total) for a total of 32 bits
    const u32 v = ((bits >> 32) * total + ((u32)bits * (u64)total >> 32)) >> 32;
    u32 left = right - sum;
    if (v - left >= sum || (T::NN > 1 && lanes.slot() != 0)) return -1;
    int value = lanes.part() * T::N;
#pragma unroll
    for (int k = 0; k < T::N; k++) {
        left += weights[k];
        value += left <= v;
    }
    return value;
}

// Sets a variable to the value that one lane selected; returns 1 to that lane if it changed.
template <class T, class V>
__device__ __forceinline__ u32 assign(const T &lanes, const Values<V> &x, u32 variable, int value) {
    u32 moved = 0;
    if (value >= 0) {
        moved = (u32)value != x[variable];
        if (moved) x.set(variable, value);
    }
    lanes.sync();
    return moved;
}

// Assigns one variable by its heat bath; returns 1 to the lane that changed it.
template <class T, class V>
__device__ __forceinline__ u32 visit(const Core &core, const T &lanes, const Values<V> &x, u32 variable,
                                     const uint4 &info, const Ahead<T> &ahead, const uint2 &boltzmann, u64 bits) {
    int ratings[T::N];
    rate(core, lanes, x, info, ahead, nullptr, ratings);
    return assign(lanes, x, variable, pick(lanes, boltzmann, ratings, bits));
}
