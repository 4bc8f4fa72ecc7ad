// The neighbourhood of heuristics/src/list/swap.rs on a device: two variables exchange their values.
#include "groups.cuh"

struct Groups {
    template <class View> static __device__ __forceinline__ void propose(View &view, Xoshiro &stream) {
        const u32 u = stream.index(view.variables()), v = stream.index(view.variables());
        const u32 a = view.origin_value(u, view.value(u)), b = view.origin_value(v, view.value(v));
        const u32 of_u = view.value_of_origin(u, b), of_v = view.value_of_origin(v, a);
        if (a == b || of_u == NONE || of_v == NONE) return;
        view.add(u, of_u);
        view.add(v, of_v);
    }
};
