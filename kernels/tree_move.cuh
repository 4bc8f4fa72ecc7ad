// Tree moves, exact moves on an induced forest: min-sum from the leaves up, heat bath from the roots down. A forest's
// nodes are stored in levels, roots first; nodes of a level share no function.
#pragma once
#include "rating_cache.cuh"

// A node of `Core::nodes`, eight numbers.
struct Node {
    u32 variable, parent;          // the parent's index among the forest's nodes, ~0 at a root
    u32 up, up_stride;             // rows over the parent's values, one for each value of the variable
    u32 down, down_stride;         // rows over the variable's values, one for each value of the parent
    u32 first_child, children;     // in `Core::children`: indices among the forest's nodes
};

__device__ __forceinline__ Node node_at(const Core &core, u32 at) {
    const uint4 a = __ldg((const uint4 *)core.nodes + 2 * at), b = __ldg((const uint4 *)core.nodes + 2 * at + 1);
    return Node{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
}

// Rows and messages of a state's nodes in quads, two rows of NV * N entries for each node. Quads are `stride` apart if
// each lane has its own state.
template <class T> struct Scratch {
    int4 *at;
    u32 stride;

    static constexpr int QUADS = T::N / 4, WIDTH = T::NV * QUADS;
    __device__ __forceinline__ int4 &quad(u32 row, int quad) const { return at[(u64)(row * WIDTH + quad) * stride]; }
    __device__ __forceinline__ void load(const T &lanes, u32 row, int (&entries)[T::N]) const {
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const int4 four = quad(row, lanes.part() * QUADS + q);
            entries[4 * q] = four.x, entries[4 * q + 1] = four.y, entries[4 * q + 2] = four.z,
            entries[4 * q + 3] = four.w;
        }
    }
    __device__ __forceinline__ void store(const T &lanes, u32 row, const int (&entries)[T::N]) const {
        if (T::NN > 1 && lanes.slot() != 0) return;
#pragma unroll
        for (int q = 0; q < QUADS; q++)
            quad(row, lanes.part() * QUADS + q) =
                make_int4(entries[4 * q], entries[4 * q + 1], entries[4 * q + 2], entries[4 * q + 3]);
    }
};

__device__ __forceinline__ int lower(int least, int cost, int more) {
#if __CUDA_ARCH__ >= 900
    return __viaddmin_s32(cost, more, least);
#else
    return min(least, cost + more);
#endif
}

// Subtracts a row of `units` units from sums.
template <class T>
__device__ __forceinline__ void subtract(const Core &core, const T &lanes, u32 row, int units, uint4 (&sums)[T::Q]) {
#pragma unroll
    for (int j = 0; j < T::Q; j++) {
        const uint4 unit = __ldg(core.rows + row + min(lanes.part() * T::Q + j, units - 1));
        add(sums[j], make_uint4(-unit.x, -unit.y, -unit.z, -unit.w));
    }
}

// Computes the costs of a node's values without the edges of its tree.
template <class T, class V, class K>
__device__ __forceinline__ void rate(const Core &core, const T &lanes, const Values<V> &x, const K &cache, u32 first,
                                     const Node &node, const uint4 &info, const u8 *member, int (&ratings)[T::N]) {
    if constexpr (K::KEEPS) {
        const RowPlace row_place = __ldg(core.row_places + node.variable);
        uint4 sums[T::Q];
        cache.load(lanes, row_place, sums);
        if (node.parent != ~0u)
            subtract(core, lanes, node.down + x[node_at(core, first + node.parent).variable] * node.down_stride,
                     row_place.units, sums);
        for (u32 k = 0; k < node.children; k++) {
            const Node child = node_at(core, first + __ldg(core.children + node.first_child + k));
            subtract(core, lanes, child.up + x[child.variable] * child.up_stride, row_place.units, sums);
        }
        ratings_of(lanes, row_place.domain, sums, ratings);
    } else {
        rate(core, lanes, x, info, Ahead<T>(core, lanes, info), member, ratings);
    }
}

// Computes the row of a node and, unless it is a root, its message to the parent, minus the message's least entry.
template <class T, class V, class K>
__device__ __forceinline__ void tree_up(const Core &core, const T &lanes, const Values<V> &x, const K &cache,
                                        const u8 *member, u32 first, u32 at, const Scratch<T> &scratch) {
    constexpr int LANES = T::LANES, N = T::N;
    const Node node = node_at(core, first + at);
    const uint4 info = __ldg(core.info + node.variable);
    const int domain = domain_of(info);
    int row[N];
    rate(core, lanes, x, cache, first, node, info, member, row);
    for (u32 k = 0; k < node.children; k++) {
        int message[N];
        scratch.load(lanes, 2 * __ldg(core.children + node.first_child + k) + 1, message);
#pragma unroll
        for (int j = 0; j < N; j++) row[j] += message[j];
    }
    // beyond the domain the entries of messages are undefined
#pragma unroll
    for (int j = 0; j < N; j++)
        if (lanes.part() * N + j >= domain) row[j] = PADDING;
    scratch.store(lanes, 2 * at, row);
    if (node.parent == ~0u) {
        lanes.sync();
        return;
    }
    const uint4 above = __ldg(core.info + node_at(core, first + node.parent).variable);
    const int units = T::HALF ? quads_of(above) / 2 : quads_of(above);
    int message[N];
#pragma unroll
    for (int j = 0; j < N; j++) message[j] = PADDING;
    // slots share the node's values, N at a time
    for (int a = 0; a < domain; a += N * T::NN) {
        const int part = a / N + lanes.slot();
#pragma unroll
        for (int r = 0; r < N; r++) {
            const int value = part * N + r;
            int cost;
            if (LANES == 1) {
                if (a == 0) {
                    cost = row[r];
                } else {
                    cost = PADDING;
                }
            } else {
                cost = __shfl_sync(lanes.mask, row[r], part < T::NV ? part : 0, LANES);
            }
            // all lanes of a group process a value together; slots beyond the domain add PADDING, which is never the
            // minimum
            if (LANES > 1 || value < domain) {
                const bool in = value < domain;
                const uint4 *edge = core.rows + node.up + (in ? value : 0) * node.up_stride;
                if (!in) cost = PADDING;
#pragma unroll
                for (int j = 0; j < T::Q; j++) {
                    int entries[T::UNIT];
                    entries_of<T>(__ldg(edge + min(lanes.part() * T::Q + j, units - 1)), entries);
#pragma unroll
                    for (int k = 0; k < T::UNIT; k++)
                        message[T::UNIT * j + k] = lower(message[T::UNIT * j + k], entries[k], cost);
                }
            }
        }
    }
#pragma unroll
    for (int s = T::NV; s < LANES; s <<= 1) {
#pragma unroll
        for (int j = 0; j < N; j++) message[j] = min(message[j], __shfl_xor_sync(lanes.mask, message[j], s));
    }
    const int above_domain = domain_of(above);
    int low = PADDING;
#pragma unroll
    for (int j = 0; j < N; j++)
        if (lanes.part() * N + j < above_domain) low = min(low, message[j]);
    low = lanes.least(low);
#pragma unroll
    for (int j = 0; j < N; j++) message[j] -= low;
    scratch.store(lanes, 2 * at + 1, message);
    lanes.sync();
}

// Samples a node given its parent; returns 1 to the lane that changed it.
template <class T, class V, class K>
__device__ __forceinline__ u32 tree_down(const Core &core, const T &lanes, const Values<V> &x, const K &cache,
                                         u32 first,
                                         u32 at, const Scratch<T> &scratch, const uint2 &boltzmann, u64 draw) {
    const Node node = node_at(core, first + at);
    int row[T::N];
    scratch.load(lanes, 2 * at, row);
    if (node.parent != ~0u) {
        const int quads = quads_of(__ldg(core.info + node.variable));
        const u32 parent = node_at(core, first + node.parent).variable;
        add_row(lanes, core.rows + node.down + x[parent] * node.down_stride, T::HALF ? quads / 2 : quads, row);
    }
    return cache.assign(core, lanes, x, node.variable, pick(lanes, boltzmann, row, mix(draw, node.variable)));
}
