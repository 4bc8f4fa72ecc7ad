// Partition crossover of two assignments (GPX) by a block or a whole device: the constraint graph on the variables with
// different values has several components. The version of each component with lower cost is taken.
#pragma once
#include "core.cuh"

// Labels and cost differences of a state in global memory, one for each variable.
struct Crossover {
    u32 *label;
    i64 *delta;
};

// Returns the root of a variable's labels, the least known index of its component; halves the path.
__device__ __forceinline__ u32 root_of(volatile u32 *label, u32 v) {
    u32 at = label[v];
    for (u32 up = label[at]; up != at; up = label[at]) {
        label[v] = up;
        v = at;
        at = up;
    }
    return at;
}

// Unites the components of two variables. Labels always lead to smaller ones, and a former root never becomes a root
// again: if a root has just got another label, that one is tried (Jaiganesh and Burtscher, "A High-Performance
// Connected Components Implementation for GPUs", HPDC 2018).
__device__ __forceinline__ void unite(u32 *label, u32 v, u32 u) {
    u32 a = root_of(label, v), b = root_of(label, u);
    while (a != b) {
        const u32 high = max(a, b), low = min(a, b), found = atomicCAS(label + high, high, low);
        if (found == high) return;
        a = found;
        b = low;
    }
}

// The barrier of the threads of a block.
struct Block {
    __device__ __forceinline__ void operator()() const { __syncthreads(); }
};

// Makes `ours` the best combination of both assignments; a bit of `draw` breaks ties. All threads that `sync` waits for
// must call it: those of a state have the lanes 0 to `lanes` - 1. Threads with lane ~0 leave their state unchanged.
template <class X, class V, class S>
__device__ void take_better(const Core &core, const Values<X> &ours, const V *theirs, const Crossover &crossover,
                            u64 draw, u32 lane, u32 lanes, const S &sync) {
    constexpr u32 SAME = ~0u;
    const u32 n = core.variables;
    volatile u32 *label = crossover.label;
    for (u32 v = lane; v < n; v += lanes) {
        label[v] = ours[v] != theirs[v] ? v : SAME;
        crossover.delta[v] = 0;
    }
    sync();
    for (u32 v = lane; v < n; v += lanes) {
        if (label[v] == SAME) continue;
        const auto join = [&](u32 u) {
            if (u < v && label[u] != SAME) unite(crossover.label, v, u);
        };
#ifdef LINKS
        const uint4 info = __ldg(core.info + v);
        for (u32 k = 0; k < incidences_of(info); k++) join(__ldg(core.links + info.x + k).y);
#else
        const u32 end = __ldg(core.neighbour_begin + v + 1);
        for (u32 k = __ldg(core.neighbour_begin + v); k < end; k++) join(__ldg(core.neighbours + k));
#endif
    }
    sync();
    // no path shortening here, because it would overwrite the result of another thread
    for (u32 v = lane; v < n; v += lanes) {
        u32 at = label[v];
        if (at == SAME) continue;
        for (u32 up = label[at]; up != at; up = label[at]) at = up;
        label[v] = at;
    }
    sync();
#ifdef LINKS
    for (u32 v = lane; v < n; v += lanes) {
        const u32 root = label[v];
        if (root == SAME) continue;
        const uint4 info = __ldg(core.info + v);
        const u32 here = ours[v], there = theirs[v];
        i64 change = unary_of(core, info, there) - unary_of(core, info, here);
        for (u32 k = 0; k < incidences_of(info); k++) {
            const uint2 it = __ldg(core.links + info.x + k);
            // if both variables differ, the one with the larger number counts the function
            if (it.y > v && label[it.y] != SAME) continue;
            change += linked(core, info, it, theirs[it.y], there) - linked(core, info, it, ours[it.y], here);
        }
        if (change) atomicAdd((u64 *)crossover.delta + root, (u64)change);
    }
#else
    for (u32 f = lane; f < core.functions; f += lanes) {
        const uint4 entry = __ldg(core.entries + f);
        u32 root = SAME;
        for (u32 k = 0; k < entry.w && root == SAME; k++) root = label[__ldg(core.pairs + entry.z + k).x];
        if (root == SAME) continue;
        const i64 there = priced(core, cost_of(core, entry, [&](u32 v) { return (u32)theirs[v]; }));
        const i64 here = priced(core, cost_of(core, entry, [&](u32 v) { return ours[v]; }));
        if (there != here) atomicAdd((u64 *)crossover.delta + root, (u64)(there - here));
    }
    for (u32 v = lane; v < n; v += lanes) {
        const u32 root = label[v];
        if (root == SAME) continue;
        const i64 *unary = core.costs + __ldg(core.unary + v);
        const i64 change = priced(core, __ldg(unary + theirs[v])) - priced(core, __ldg(unary + ours[v]));
        if (change) atomicAdd((u64 *)crossover.delta + root, (u64)change);
    }
#endif
    sync();
    for (u32 v = lane; v < n; v += lanes) {
        const u32 root = label[v];
        if (root == SAME) continue;
        const i64 delta = ((volatile i64 *)crossover.delta)[root];
        if (delta < 0 || (delta == 0 && mix(draw, root) & 1)) ours.set(v, theirs[v]);
    }
    sync();
}
