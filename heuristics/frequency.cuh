// The heuristic of heuristics/src/list/frequency.rs on a device.
#include "network.cuh"

struct Heuristic {
    static __device__ __forceinline__ bool active(const Inputs &) { return true; }
    static __device__ __forceinline__ u32 weight(const Inputs &in) {
        const double penalty = 2.0 * in.temperature * in.frequency;
        return Weights(in.temperature).weight(above(in.cost + penalty, in.least));
    }
};
