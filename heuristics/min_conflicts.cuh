// The heuristic of heuristics/src/list/min_conflicts.rs on a device.
#include "network.cuh"

struct Heuristic {
    static constexpr u32 BEST = 1 << 20;
    static constexpr bool EARLY = true;
    static __device__ __forceinline__ bool active(const Inputs &in) { return in.current_cost > 0.0; }
    static __device__ __forceinline__ u32 weight(const Inputs &in) {
        return in.cost == in.least ? BEST : BEST / 128 / (u32)in.domain;
    }
};
