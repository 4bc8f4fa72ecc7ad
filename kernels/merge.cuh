// Component-wise merge of two assignments (merge.rs) by a block: where they differ, the constraint graph falls into parts
// that do not see each other; of each part the cheaper version is taken.
#pragma once
#include "core.cuh"

// Labels and cost differences of a block in global memory, one for each variable.
struct Merging {
    u32 *label;
    i64 *delta;
};

// Makes `ours` the best combination of both; a tie goes by a bit of `draw`. Call with all threads of the block.
template <class V>
__device__ void take_better(const Core &core, const Values<V> &ours, const V *theirs, const Merging &merging, u64 draw) {
    constexpr u32 SAME = ~0u;
    const u32 n = core.variables;
    volatile u32 *label = merging.label;
    for (u32 v = threadIdx.x; v < n; v += blockDim.x) {
        label[v] = ours[v] != theirs[v] ? v : SAME;
        merging.delta[v] = 0;
    }
    __syncthreads();
    // the least index of a component spreads; a label's own label is at most as large
    int changed = 1;
    while (changed) {
        changed = 0;
        for (u32 v = threadIdx.x; v < n; v += blockDim.x) {
            const u32 own = label[v];
            if (own == SAME) continue;
            u32 low = own;
            for (u32 k = __ldg(core.neighbour_begin + v); k < __ldg(core.neighbour_begin + v + 1); k++)
                low = min(low, label[__ldg(core.neighbours + k)]);
            low = min(low, label[low]);
            if (low < own) {
                label[v] = low;
                changed = 1;
            }
        }
        changed = __syncthreads_or(changed);
    }
    for (u32 f = threadIdx.x; f < core.functions; f += blockDim.x) {
        const uint4 entry = __ldg(core.entries + f);
        u32 root = SAME;
        for (u32 k = 0; k < entry.w && root == SAME; k++) root = label[__ldg(core.pairs + entry.z + k).x];
        if (root == SAME) continue;
        const i64 there = priced(core, cost_of(core, entry, [&](u32 v) { return (u32)theirs[v]; }));
        const i64 here = priced(core, cost_of(core, entry, [&](u32 v) { return ours[v]; }));
        if (there != here) atomicAdd((u64 *)merging.delta + root, (u64)(there - here));
    }
    for (u32 v = threadIdx.x; v < n; v += blockDim.x) {
        const u32 root = label[v];
        if (root == SAME) continue;
        const i64 *unary = core.costs + __ldg(core.unary + v);
        const i64 change = priced(core, __ldg(unary + theirs[v])) - priced(core, __ldg(unary + ours[v]));
        if (change) atomicAdd((u64 *)merging.delta + root, (u64)change);
    }
    __syncthreads();
    for (u32 v = threadIdx.x; v < n; v += blockDim.x) {
        const u32 root = label[v];
        if (root == SAME) continue;
        const i64 delta = ((volatile i64 *)merging.delta)[root];
        if (delta < 0 || (delta == 0 && mix(draw, root) & 1)) ours.set(v, theirs[v]);
    }
    __syncthreads();
}
