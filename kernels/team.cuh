// A team of lanes assigns one variable: FANG's steps with every rating in registers. A row of a variable's values is cut
// into quads; lane q of the first NV holds quads q * Q .. q * Q + Q - 1, so that lanes in order are values in order and
// picks are those of the CPU's engine bit for bit. NN slots of NV lanes share the functions on the variable. A team of one
// lane has a state to itself: no shuffles at all.
#pragma once
#include "core.cuh"

template <int NV, int NN, int Q> struct Team {
    static constexpr int LANES = NV * NN;
    int lane;   // within the team
    u32 mask;   // of the warp's lanes that go together

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
};

__device__ __forceinline__ void add(int4 &a, const int4 &b) {
    a.x += b.x;
    a.y += b.y;
    a.z += b.z;
    a.w += b.w;
}

__device__ __forceinline__ int least(const int4 &a) { return min(min(a.x, a.y), min(a.z, a.w)); }

// Sums the rows of a variable's functions: the ratings of its values under the others'. Functions whose first other
// variable is in `member` are left out.
template <int NV, int NN, int Q, class V>
__device__ __forceinline__ void rate(const Core &core, const Team<NV, NN, Q> &team, const Values<V> &x, const uint4 &info,
                                     const u8 *member, int4 (&row)[Q]) {
    constexpr int LANES = NV * NN;
    const int quads = quads_of(info), first = team.part() * Q;
    const bool more = info.w >> 31;
    int at[Q];
#pragma unroll
    for (int j = 0; j < Q; j++) {
        at[j] = min(first + j, quads - 1);
        row[j] = NN == 1 || team.slot() == 0 ? __ldg(core.rows + info.z + at[j]) : make_int4(0, 0, 0, 0);
    }
    if (LANES == 1) {
#pragma unroll 4
        for (u32 k = 0; k < info.y; k++) {
            const int4 *from = core.rows + row_of(core, info.x + k, more, x, member);
#pragma unroll
            for (int j = 0; j < Q; j++)
                if (j < quads) add(row[j], __ldg(from + j));
        }
    } else {
        for (u32 k = 0; k < info.y; k += LANES) {
            const int count = min((u32)LANES, info.y - k);
            // the first row is all zeros, as long as the widest
            const int mine = team.lane < count ? row_of(core, info.x + k + team.lane, more, x, member) : 0;
#pragma unroll 4
            for (int t = 0; t < count; t += NN) {
                const int4 *from = core.rows + __shfl_sync(team.mask, mine, t + team.slot(), LANES);
#pragma unroll
                for (int j = 0; j < Q; j++) add(row[j], __ldg(from + at[j]));
            }
        }
#pragma unroll
        for (int s = NV; s < LANES; s <<= 1) {
#pragma unroll
            for (int j = 0; j < Q; j++) {
                row[j].x += __shfl_xor_sync(team.mask, row[j].x, s);
                row[j].y += __shfl_xor_sync(team.mask, row[j].y, s);
                row[j].z += __shfl_xor_sync(team.mask, row[j].z, s);
                row[j].w += __shfl_xor_sync(team.mask, row[j].w, s);
            }
        }
    }
#pragma unroll
    for (int j = 0; j < Q; j++)
        if (first + j >= quads) row[j] = make_int4(PADDING, PADDING, PADDING, PADDING);
}

// Boltzmann weights in integers (boltzmann.rs): differences beyond `x` weigh nothing, `y` is halvings a unit.
__device__ __forceinline__ u32 weight(const uint2 &boltzmann, int delta) {
    const u32 halvings = min((u32)delta, boltzmann.x) * boltzmann.y >> 11;
    const u32 fraction = halvings & 0xffff;
    const u32 curve = 65536 - (fraction * (44012 - (fraction * 11244 >> 16)) >> 16);
    return (u32)delta > boltzmann.x ? 0 : curve << 5 >> (halvings >> 16);
}

// Aggregate, map, prefix sums, select: the value whose interval holds `bits` of the total weight. Returned to the lane that
// has it (of the first slot), -1 to the others.
template <int NV, int NN, int Q>
__device__ __forceinline__ int pick(const Team<NV, NN, Q> &team, const uint2 &boltzmann, const int4 (&row)[Q], u64 bits) {
    int low = least(row[0]);
#pragma unroll
    for (int j = 1; j < Q; j++) low = min(low, least(row[j]));
#pragma unroll
    for (int s = 1; s < NV; s <<= 1) low = min(low, __shfl_xor_sync(team.mask, low, s));
    u32 weights[4 * Q], sum = 0;
#pragma unroll
    for (int j = 0; j < Q; j++) {
        weights[4 * j] = weight(boltzmann, row[j].x - low);
        weights[4 * j + 1] = weight(boltzmann, row[j].y - low);
        weights[4 * j + 2] = weight(boltzmann, row[j].z - low);
        weights[4 * j + 3] = weight(boltzmann, row[j].w - low);
        sum += weights[4 * j] + weights[4 * j + 1] + weights[4 * j + 2] + weights[4 * j + 3];
    }
    u32 right = sum;
#pragma unroll
    for (int s = 1; s < NV; s <<= 1) {
        const u32 before = __shfl_up_sync(team.mask, right, s, NV);
        if (team.part() >= s) right += before;
    }
    const u32 total = NV > 1 ? __shfl_sync(team.mask, right, NV - 1, NV) : right;
    // below(bits, total) for a total of 32 bits
    const u32 v = ((bits >> 32) * total + ((u32)bits * (u64)total >> 32)) >> 32;
    u32 left = right - sum;
    if (v - left >= sum || (NN > 1 && team.slot() != 0)) return -1;
    int value = team.part() * Q * 4;
#pragma unroll
    for (int k = 0; k < 4 * Q; k++) {
        left += weights[k];
        value += left <= v;
    }
    return value;
}

// Assigns one variable by its heat bath; returns 1 to the lane that changed it.
template <int NV, int NN, int Q, class V>
__device__ __forceinline__ u32 visit(const Core &core, const Team<NV, NN, Q> &team, const Values<V> &x, u32 variable,
                                     const uint4 &info, const uint2 &boltzmann, u64 bits) {
    int4 row[Q];
    rate(core, team, x, info, nullptr, row);
    const int value = pick(team, boltzmann, row, bits);
    u32 moved = 0;
    if (value >= 0) {
        moved = (u32)value != x[variable];
        if (moved) x.set(variable, value);
    }
    team.sync();
    return moved;
}
