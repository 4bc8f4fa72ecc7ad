// Belief propagation on junction trees exactly as published (Bistaffa, Bombieri, Farinelli, CUBE, section III).
// `terms.cuh` precedes it. In both tables of a message the separator's variables are the slowest axes, in the same
// order, so that each entry of the separator has a row of adjacent entries in both.

#include "constants.cuh"

// Passes a message. Each block handles an entry of the separator: it reduces the row of one table to the new entry, and
// multiplies the row of the other table by the new entry divided by the old one.
__global__ void reduce_scatter(const double *from, double *to, double *separator, u32 reduced, u32 scattered) {
    __shared__ double partial[LARGEST];
    __shared__ double ratio;
    const u32 t = threadIdx.x;
    const double *row = from + (u64)blockIdx.x * reduced;
    // first in registers, then the first warp sums over shared memory, then by shuffles (section III-B1)
    double sum = 0;
    for (u32 i = t; i < reduced; i += blockDim.x) sum += row[i];
    if (t >= 32) partial[t] = sum;
    __syncthreads();
    if (t < 32) {
        for (u32 i = t + 32; i < blockDim.x; i += 32) sum += partial[i];
        for (u32 other = 16; other > 0; other /= 2) sum += __shfl_down_sync(~0u, sum, other);
    }
    if (t == 0) {
        const double old = separator[blockIdx.x];
        ratio = old == 0 ? 0 : sum / old;
        separator[blockIdx.x] = sum;
    }
    __syncthreads();
    double *target = to + (u64)blockIdx.x * scattered;
    for (u32 i = t; i < scattered; i += blockDim.x) target[i] *= ratio;
}

// Writes a table with its axes in another order (section III-A2): each thread writes an entry.
__global__ void rearrange(const double *from, double *to, Terms terms, u32 entries) {
    __shared__ Terms shared;
    shared.share(terms);
    const u32 entry = blockIdx.x * blockDim.x + threadIdx.x;
    if (entry < entries) to[entry] = from[shared.place(entry)];
}
