// The mapping from the rows of a larger table to the entries of a smaller or rearranged one, by a division and a
// remainder for each axis, as published kernels do it (Fioretto et al., GpuBE, equation 2; Bistaffa et al., CUBE,
// equation 1).

#include "rng.cuh"

struct Terms {
    u32 digits;
    u32 mul[24], mod[24];
    u64 div[24];

    // Copies the terms to shared memory for all threads of a block.
    __device__ __forceinline__ void share(const Terms &terms) {
        for (u32 i = threadIdx.x; i < sizeof(Terms) / 4; i += blockDim.x) ((u32 *)this)[i] = ((const u32 *)&terms)[i];
        __syncthreads();
    }

    // Returns the entry of a row. `I` is the type of row numbers.
    template <class I> __device__ __forceinline__ u32 place(I row) const {
        u32 from = 0;
        for (u32 i = 0; i < digits; i++) from += mul[i] * (u32)(row / (I)div[i] % (I)mod[i]);
        return from;
    }
};
