// Streams of a generation from those of the one before. A jump of xoshiro is a linear map of its 256 bits (`fang::cuda::jumps`), so
// that no stream waits for the one before it.
#include "rng.cuh"

// Four threads a stream, one for each word: `columns` holds what each bit of a state becomes, four words a bit.
__global__ void __launch_bounds__(128) advance(u64 *streams, const u64 *__restrict__ columns, u32 count) {
    const u32 thread = blockIdx.x * 128 + threadIdx.x, word = thread % 4;
    if (thread / 4 >= count) return;
    u64 *const stream = streams + thread / 4 * 4ull;
    const u32 four = 0xFu << (threadIdx.x % 32 - word);
    u64 sum = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        const u64 bits = stream[i];
#pragma unroll 8
        for (u32 bit = 0; bit < 64; bit++)
            if (bits >> bit & 1) sum ^= columns[(i * 64 + bit) * 4 + word];
    }
    __syncwarp(four);
    stream[word] = sum;
}
