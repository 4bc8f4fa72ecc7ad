// Tree moves (forest.rs): min-sum from the leaves up, heat bath from the roots down. A forest's nodes stand in levels, roots
// first; those of a level do not see each other.
#pragma once
#include "team.cuh"

// A node of `Core::nodes`, eight numbers.
struct Node {
    u32 variable, parent;          // the parent's place among the forest's nodes, ~0 at a root
    u32 up, up_stride;             // rows over the parent's values, one for each value of the variable
    u32 down, down_stride;         // rows over the variable's values, one for each value of the parent
    u32 first_child, children;     // in `Core::children`: places among the forest's nodes
};

__device__ __forceinline__ Node node_at(const Core &core, u32 at) {
    const uint4 a = __ldg((const uint4 *)core.nodes + 2 * at), b = __ldg((const uint4 *)core.nodes + 2 * at + 1);
    return Node{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
}

// Where a team's rows and messages stand: two of NV * Q quads for each node, `stride` apart where a lane has a state alone.
struct Scratch {
    int4 *at;
    u32 stride;
    __device__ __forceinline__ int4 &operator[](u32 k) const { return at[(u64)k * stride]; }
};

__device__ __forceinline__ void lower(int &least, int cost, int more) {
#if __CUDA_ARCH__ >= 900
    least = __viaddmin_s32(cost, more, least);
#else
    least = min(least, cost + more);
#endif
}

// The row of a node and, unless it is a root, its message to the parent, less the message's least entry.
template <int NV, int NN, int Q, class V>
__device__ __forceinline__ void tree_up(const Core &core, const Team<NV, NN, Q> &team, const Values<V> &x, const u8 *member,
                                        u32 first, u32 at, const Scratch &scratch) {
    constexpr int LANES = NV * NN, WIDTH = NV * Q;
    const Node node = node_at(core, first + at);
    const uint4 info = __ldg(core.info + node.variable);
    const int quads = quads_of(info), mine = team.part() * Q;
    int4 row[Q];
    rate(core, team, x, info, member, row);
    for (u32 k = 0; k < node.children; k++) {
        const u32 child = __ldg(core.children + node.first_child + k);
#pragma unroll
        for (int j = 0; j < Q; j++)
            if (mine + j < quads) add(row[j], scratch[(2 * child + 1) * WIDTH + mine + j]);
    }
    // messages of children pad with what keeps the sum from overflowing
#pragma unroll
    for (int j = 0; j < Q; j++) {
        const int value = 4 * (mine + j), domain = domain_of(info);
        if (value >= domain) row[j].x = PADDING;
        if (value + 1 >= domain) row[j].y = PADDING;
        if (value + 2 >= domain) row[j].z = PADDING;
        if (value + 3 >= domain) row[j].w = PADDING;
        if (NN == 1 || team.slot() == 0) scratch[2 * at * WIDTH + mine + j] = row[j];
    }
    if (node.parent == ~0u) {
        team.sync();
        return;
    }
    const uint4 above = __ldg(core.info + node_at(core, first + node.parent).variable);
    const int width = quads_of(above);
    int4 message[Q];
#pragma unroll
    for (int j = 0; j < Q; j++) message[j] = make_int4(PADDING, PADDING, PADDING, PADDING);
    const int domain = domain_of(info);
    // slots share the node's values, four at a time
    for (int a = 0; a < domain; a += 4 * NN) {
        const int own = a + 4 * team.slot();
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int value = own + r;
            int cost = PADDING;
            if (LANES == 1) {
                if (value < domain) {
                    const int4 &quad = scratch[2 * at * WIDTH + value / 4];
                    cost = r == 0 ? quad.x : r == 1 ? quad.y : r == 2 ? quad.z : quad.w;
                }
            } else {
                const int quad = min(value / 4, NV * Q - 1);
                int held = 0;
#pragma unroll
                for (int j = 0; j < Q; j++) {
                    const int part = r == 0 ? row[j].x : r == 1 ? row[j].y : r == 2 ? row[j].z : row[j].w;
                    const int there = __shfl_sync(team.mask, part, quad / Q, LANES);
                    held = quad % Q == j ? there : held;
                }
                if (value < domain) cost = held;
            }
            const int4 *edge = core.rows + node.up + (value < domain ? value : 0) * node.up_stride;
#pragma unroll
            for (int j = 0; j < Q; j++) {
                const int4 entry = __ldg(edge + min(mine + j, width - 1));
                lower(message[j].x, entry.x, cost);
                lower(message[j].y, entry.y, cost);
                lower(message[j].z, entry.z, cost);
                lower(message[j].w, entry.w, cost);
            }
        }
    }
#pragma unroll
    for (int s = NV; s < LANES; s <<= 1) {
#pragma unroll
        for (int j = 0; j < Q; j++) {
            message[j].x = min(message[j].x, __shfl_xor_sync(team.mask, message[j].x, s));
            message[j].y = min(message[j].y, __shfl_xor_sync(team.mask, message[j].y, s));
            message[j].z = min(message[j].z, __shfl_xor_sync(team.mask, message[j].z, s));
            message[j].w = min(message[j].w, __shfl_xor_sync(team.mask, message[j].w, s));
        }
    }
    // places beyond the parent's domain do not count
    int low = PADDING;
    const int above_domain = domain_of(above);
#pragma unroll
    for (int j = 0; j < Q; j++) {
        const int value = 4 * (mine + j);
        if (value < above_domain) low = min(low, message[j].x);
        if (value + 1 < above_domain) low = min(low, message[j].y);
        if (value + 2 < above_domain) low = min(low, message[j].z);
        if (value + 3 < above_domain) low = min(low, message[j].w);
    }
#pragma unroll
    for (int s = 1; s < NV; s <<= 1) low = min(low, __shfl_xor_sync(team.mask, low, s));
#pragma unroll
    for (int j = 0; j < Q; j++) {
        if (NN == 1 || team.slot() == 0)
            scratch[(2 * at + 1) * WIDTH + mine + j] =
                make_int4(message[j].x - low, message[j].y - low, message[j].z - low, message[j].w - low);
    }
    team.sync();
}

// Draws a node given its parent; returns 1 to the lane that changed it.
template <int NV, int NN, int Q, class V>
__device__ __forceinline__ u32 tree_down(const Core &core, const Team<NV, NN, Q> &team, const Values<V> &x, u32 first, u32 at,
                                         const Scratch &scratch, const uint2 &boltzmann, u64 draw) {
    constexpr int WIDTH = NV * Q;
    const Node node = node_at(core, first + at);
    const uint4 info = __ldg(core.info + node.variable);
    const int quads = quads_of(info), mine = team.part() * Q;
    int4 row[Q];
#pragma unroll
    for (int j = 0; j < Q; j++) row[j] = scratch[2 * at * WIDTH + mine + j];
    if (node.parent != ~0u) {
        const u32 parent = node_at(core, first + node.parent).variable;
        const int4 *edge = core.rows + node.down + x[parent] * node.down_stride;
#pragma unroll
        for (int j = 0; j < Q; j++)
            if (mine + j < quads) add(row[j], __ldg(edge + mine + j));
    }
    const int value = pick(team, boltzmann, row, mix(draw, node.variable));
    u32 moved = 0;
    if (value >= 0) {
        moved = (u32)value != x[node.variable];
        if (moved) x.set(node.variable, value);
    }
    team.sync();
    return moved;
}
