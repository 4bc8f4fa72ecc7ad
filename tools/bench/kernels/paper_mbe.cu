// The published elimination (Fioretto et al., GpuBE, 5.3 and 5.4) exactly as described: the joint table is in memory,
// each function has a pass over it with a division and a remainder for each axis, then a pass eliminates. `terms.cuh`
// precedes it.

// Adds a function to the joint table. `I` is the type of row numbers.
template <class I> __global__ void aggregate(int *joint, const int *table, Terms terms, u64 rows) {
    __shared__ Terms shared;
    shared.share(terms);
    const u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) joint[row] += table[shared.place((I)row)];
}

// Takes the minimum of each run of `domain` rows: the eliminated variable is the last axis.
template <class I> __global__ void eliminate(int *out, const int *joint, u32 domain, u64 rows) {
    const u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int *from = joint + row * domain;
    int least = from[0];
    for (u32 value = 1; value < domain; value++) least = min(least, from[value]);
    out[row] = least;
}
