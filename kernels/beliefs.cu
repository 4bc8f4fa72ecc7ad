// Belief trees, level by level: the children of a batch of beliefs. Equal children are merged into one node of the next
// level.
//
// A child is the belief after an action and an observation: a sum of products of sparse columns for each state, divided
// by the observation's probability. Children are distinguished by hashes of their rounded entries; the first of equal
// ones, by number, becomes the node. All children are compared with their nodes, so that no hash is trusted.

#include "constants.cuh"
#include "rng.cuh"

// A batch of beliefs. Beliefs are rows.
struct Growth {
    // The beliefs of the batch, and those of the nodes of the next level.
    const double *beliefs;
    double *next;
    // Start of the column of each action, observation and state; for each entry of a column, the previous state and the
    // weight.
    const u32 *begin;
    const u32 *from;
    const double *weight;
    // For each child: its belief, probability, hash, slot, and node.
    double *children;
    double *p;
    u64 *hash;
    u32 *slot;
    u32 *to;
    // A hash table: for each slot the hash (0 if empty), the first child of the batch and the node.
    u64 *keys;
    u32 *first;
    u32 *node;
    // For each block, its number of new nodes and the number of the first of them; for each new node, its child.
    u32 *count;
    const u32 *base;
    u32 *fresh;
    // Bits of the largest distance of a child from its node; then 1 if a child differs from its node.
    u64 *worst;
    // Number of nodes of the next level before this batch.
    u32 known;
    // Number of children of the batch, and of a belief; number of slots minus 1.
    u32 all, each, mask;
    // Number of states of this level and of the next one.
    u32 own, wide;
    // Binary logarithm of the number of threads of a row.
    u32 split;
    u32 unused;
};

__device__ __forceinline__ long long rounded(double weight) { return __double2ll_rn(weight * PARTS); }

template <class E> __device__ __forceinline__ E add_up(E own, u32 split) {
    for (u32 lane = 1; lane < 1u << split; lane <<= 1) own += __shfl_xor_sync(~0u, own, lane);
    return own;
}

// The row of a thread and the thread's position in it.
struct Row {
    u32 row, lane, step;

    __device__ __forceinline__ Row(u32 split) {
        const u64 thread = (u64)blockIdx.x * THREADS + threadIdx.x;
        row = (u32)(thread >> split), step = 1u << split, lane = (u32)thread & (step - 1);
    }
};

// Computes children, their probabilities and their hashes.
__global__ void __launch_bounds__(THREADS) grow(Growth g) {
    const Row at(g.split);
    // whole warps take part in the sums
    const bool active = at.row < g.all;
    const u32 wide = active ? g.wide : 0;
    const double *belief = g.beliefs + (u64)(at.row / g.each) * g.own;
    const u32 *begin = g.begin + (u64)(at.row % g.each) * g.wide;
    double *child = g.children + (u64)at.row * g.wide;
    double p = 0;
    for (u32 s = at.lane; s < wide; s += at.step) {
        double sum = 0;
        for (u32 k = begin[s]; k < begin[s + 1]; k++) sum = fma(__ldg(belief + g.from[k]), g.weight[k], sum);
        child[s] = sum;
        p += sum;
    }
    p = add_up(p, g.split);
    u64 hash = 0;
    if (p > 0)
        for (u32 s = at.lane; s < wide; s += at.step) {
            child[s] /= p;
            hash += mix((u64)rounded(child[s]), s);
        }
    hash = add_up(hash, g.split);
    if (active && at.lane == 0) {
        g.p[at.row] = p;
        g.hash[at.row] = max(hash, 1ull);
    }
}

// Finds the slot of each child with positive probability, and the first child of each slot.
__global__ void __launch_bounds__(THREADS) claim(Growth g) {
    const u32 child = blockIdx.x * THREADS + threadIdx.x;
    if (child >= g.all || !(g.p[child] > 0)) return;
    const u64 hash = g.hash[child];
    // terminates, because there are more slots than children and nodes
    for (u32 slot = (u32)hash & g.mask;; slot = (slot + 1) & g.mask) {
        const u64 found = atomicCAS((unsigned long long *)g.keys + slot, 0ull, hash);
        if (found == 0 || found == hash) {
            atomicMin(g.first + slot, child);
            g.slot[child] = slot;
            return;
        }
    }
}

__device__ __forceinline__ bool is_new(const Growth &g, u32 child) {
    if (child >= g.all || !(g.p[child] > 0)) return false;
    const u32 slot = g.slot[child];
    return g.node[slot] == NONE && g.first[slot] == child;
}

// Counts the new nodes of each block.
__global__ void __launch_bounds__(THREADS) count(Growth g) {
    const u32 own = __syncthreads_count(is_new(g, blockIdx.x * THREADS + threadIdx.x));
    if (threadIdx.x == 0) g.count[blockIdx.x] = own;
}

// Numbers the new nodes, in the order of the children.
__global__ void __launch_bounds__(THREADS) number(Growth g) {
    __shared__ u32 of_warps[THREADS / 32];
    const u32 child = blockIdx.x * THREADS + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool own = is_new(g, child);
    const u32 votes = __ballot_sync(~0u, own);
    if (lane == 0) of_warps[warp] = __popc(votes);
    __syncthreads();
    if (!own) return;
    u32 number = g.base[blockIdx.x] + __popc(votes & ((1u << lane) - 1));
    for (u32 before = 0; before < warp; before++) number += of_warps[before];
    g.node[g.slot[child]] = number;
    g.fresh[number - g.known] = child;
}

// Copies the beliefs of `all` new nodes to the next level.
__global__ void __launch_bounds__(THREADS) put(Growth g) {
    const Row at(g.split);
    if (at.row >= g.all) return;
    const double *child = g.children + (u64)g.fresh[at.row] * g.wide;
    double *next = g.next + (u64)(g.known + at.row) * g.wide;
    for (u32 s = at.lane; s < g.wide; s += at.step) next[s] = child[s];
}

// Looks up the node of each child, and measures the distance between both.
__global__ void __launch_bounds__(THREADS) meet(Growth g) {
    const Row at(g.split);
    const bool active = at.row < g.all && g.p[at.row] > 0;
    const u32 node = active ? g.node[g.slot[at.row]] : NONE, wide = active ? g.wide : 0;
    const double *child = g.children + (u64)at.row * g.wide, *next = g.next + (u64)(active ? node : 0) * g.wide;
    double distance = 0;
    bool equal = true;
    for (u32 s = at.lane; s < wide; s += at.step) {
        distance += fabs(next[s] - child[s]);
        equal &= rounded(next[s]) == rounded(child[s]);
    }
    distance = add_up(distance, g.split);
    if (!equal) atomicMax((unsigned long long *)g.worst + 1, 1ull);
    if (at.row < g.all && at.lane == 0) {
        g.to[at.row] = node;
        if (distance > 0) atomicMax((unsigned long long *)g.worst, (unsigned long long)__double_as_longlong(distance));
    }
}

// Computes the expected value of each vector under each of `rows` beliefs.
__global__ void __launch_bounds__(THREADS) expect(const double *beliefs, const double *vectors, double *out, u32 rows,
                                                  u32 count, u32 wide, u32 split) {
    const Row at(split);
    const bool active = at.row / count < rows;
    const double *belief = beliefs + (u64)(at.row / count) * wide, *vector = vectors + (u64)(at.row % count) * wide;
    double sum = 0;
    for (u32 s = at.lane; s < (active ? wide : 0); s += at.step) sum = fma(belief[s], vector[s], sum);
    sum = add_up(sum, split);
    if (active && at.lane == 0) out[at.row] = sum;
}
