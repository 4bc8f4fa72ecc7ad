// Elimination on pairs of probabilities and utilities: a chance variable turns utilities into expectations, with two
// sums at once; a decision takes the largest utility and the choice that has it. (Adoe, Chen, Doshi, "Fast solving of
// influence diagrams for multiagent planning on GPU-enabled architectures", multiply, sum and divide whole tables.)
//
// The first inputs are multiplied, the others added. The joint table is never stored.

#include "bucket.cuh"

// Smallest normal double: smaller probabilities lose digits and are treated as 0.
constexpr double LEAST = 2.2250738585072014e-308;

// Inputs of a step at a thread's output.
struct Inputs {
    const Input *inputs;
    const u64 *base;
    const u32 *own;

    __device__ __forceinline__ double at(u32 k, u32 value) const {
        return __ldg((const double *)((const char *)base[k] + own[k * THREADS] + value * inputs[k].slab));
    }
    __device__ __forceinline__ double product(u32 end, u32 value) const {
        double product = 1;
        for (u32 k = 0; k < end; k++) product *= at(k, value);
        return product;
    }
    __device__ __forceinline__ double sum(u32 begin, u32 end, u32 value) const {
        double sum = 0;
        for (u32 k = begin; k < end; k++) sum += at(k, value);
        return sum;
    }
};

// Computes outputs with one thread each or, for expectations, a power of two of threads.
template <class S, int ROLE>
__global__ void __launch_bounds__(THREADS) join_pair(Program program, u32 first_block, S s) {
    __shared__ Corner corner;
    const u32 t = threadIdx.x, block = blockIdx.x + first_block;
    const Step step = program.steps[program.map[block]];
    const u64 out = corner.locate(program, step, block);
    const u32 *own = corner.offsets + t;
    const u32 read = step.inputs - step.also, products = read - step.sums;
    const Inputs all = {program.inputs + step.input_at, corner.base, own};
    double made = 0;
    u64 second = 0;
    if constexpr (ROLE == EXPECT) {
        double weight = 0, worth = 0;
        for (u32 a = t & ((1u << step.split) - 1); a < step.domain; a += 1u << step.split) {
            const double product = all.product(products, a);
            weight += product;
            worth = fma(product, all.sum(products, read, a), worth);
        }
        weight = fold_lanes(s, weight, step.split);
        worth = fold_lanes(s, worth, step.split);
        made = weight < LEAST ? 0 : worth / weight;
        second = __double_as_longlong(weight);
    } else if constexpr (ROLE == LARGEST) {
        for (u32 a = 0; a < step.domain; a++) made = max(made, all.sum(0, read, a));
        u32 choice = 0;
        while (choice + 1 < step.domain && all.sum(0, read, choice) < made * (1 - step.tie)) choice++;
        double other = 0;
        for (u32 a = 0; a < step.domain; a++)
            if (a != choice) other = max(other, all.sum(0, read, a));
        const bool certain = step.domain == 1 || all.sum(0, read, choice) - other > step.margin * made;
        second = 2 * (u64)choice + certain;
    } else {
        made = all.product(products, 0);
        double least = made, most = made;
        for (u32 a = 1; a < step.domain; a++) {
            const double product = all.product(products, a);
            least = min(least, product);
            most = max(most, product);
        }
        second = __double_as_longlong(most > 0 ? (most - least) / most : 0);
    }
    if (t < step.threads) {
        *(double *)(corner.base[step.inputs] + out) = made;
        if (step.also) *(u64 *)(corner.base[read] + own[read * THREADS]) = second;
    }
}
