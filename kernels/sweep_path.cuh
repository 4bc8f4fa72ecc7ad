// The order in which a sweep visits variables.
#pragma once
#include "core.cuh"

// A sequence of the variables, color class by color class; `order` determines the first class and the stride to the
// next.
struct SweepPath {
    u32 at, stride, place, end;

    __device__ __forceinline__ SweepPath(const Core &core, u64 order)
        : at(below(order, core.classes)), stride(__ldg(core.strides + below(mix(order, 0), core.strides_count))) {
        enter(core);
    }
    __device__ __forceinline__ void enter(const Core &core) {
        place = __ldg(core.class_begin + at);
        end = __ldg(core.class_begin + at + 1);
    }
    __device__ __forceinline__ void next_class(const Core &core) {
        at += stride;
        if (at >= core.classes) at -= core.classes;
        enter(core);
    }
    // Skips some variables.
    __device__ __forceinline__ void step(const Core &core, u32 steps) {
        place += steps;
        while (place >= end) {
            const u32 over = place - end;
            next_class(core);
            place += over;
        }
    }
    __device__ __forceinline__ u32 variable(const Core &core) const { return __ldg(core.class_members + place); }
    __device__ __forceinline__ uint4 info(const Core &core) const { return __ldg(core.class_info + place); }
};
