// The neighbourhood of heuristics/src/list/satellite.rs on a device: photographs enter by their weight relative to that
// of the photographs with which they conflict.
#include "ejection.cuh"

struct Groups {
    static constexpr u32 CANDIDATES = 4;

    template <class View> static __device__ __forceinline__ void propose(View &view, Xoshiro &stream) {
        double best = 0.0;
        u32 variable = NONE, value = 0;
        for (u32 i = 0; i < CANDIDATES; i++) {
            const u32 photograph = stream.index(view.variables()), camera = stream.index(view.domain(photograph));
            const i64 gain = view.unary(photograph, view.value(photograph)) - view.unary(photograph, camera);
            if (gain <= 0) continue;
            view.mark_rises(photograph, camera);
            const double worth = (double)gain / (1.0 + (double)view.marked_weight(photograph));
            if (variable == NONE || worth > best) {
                best = worth;
                variable = photograph;
                value = camera;
            }
        }
        if (variable != NONE) Ejection<6, 8>::chain(view, variable, value);
    }
};
