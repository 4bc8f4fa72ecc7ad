// The heuristic of heuristics/src/list/boltzmann.rs on a device.
#include "network.cuh"

struct Heuristic {
    static __device__ __forceinline__ bool active(const Inputs &) { return true; }
    static __device__ __forceinline__ u32 weight(const Inputs &in) {
        return Weights(in.temperature).weight(above(in.cost, in.least));
    }
};
